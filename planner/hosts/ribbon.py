"""What the buttons of the add-in's tab run: the same as in :mod:`planner.hosts.live`, and a message to the user.

An error of the user's is one line in a box; anything else is a bug, whose traceback xlwings shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.hosts import live
from planner.issues import PlannerError, Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    import xlwings

    from planner.plan.study import Study

_MOST_SHOWN: Final = 12


def evaluate() -> None:
    """The button Evaluate."""
    _run("Evaluating scenarios", lambda book: f"{summary(live.evaluate(book))}\n\nThe sheets are not saved yet.")


def check() -> None:
    """The button Check."""
    _run("Checking scenarios", lambda book: summary(live.check(book)))


def report() -> None:
    """The button Report."""
    _run("Rendering the report", _report)


def _report(book: xlwings.Book) -> str:
    study, path = live.report(book)
    return f"{summary(study)}\n\nWrote {path}"


def _run(status: str, action: Callable[[xlwings.Book], str]) -> None:
    book = live.open_book()
    app = book.app
    app.status_bar = f"planner: {status} ..."
    try:
        said, mode = action(book), "info"
    except PlannerError as error:
        said, mode = str(error), "critical"
    finally:
        # False gives the bar back to Excel.
        app.status_bar = False
    app.alert(said, "planner", mode=mode)


def summary(study: Study) -> str:
    """What came of it, in the few lines that a message box can hold."""
    rows = f"{len(study.cases):,} scenarios evaluated, {len(study.skipped):,} rows skipped"
    lines = [f"{rows}; {study.count(Severity.ERROR):,} errors, {study.count(Severity.WARNING):,} warnings."]
    shown = [issue for issue in study.issues if issue.severity is not Severity.NOTE]
    lines += [f"{issue.severity}: {issue}" for issue in shown[:_MOST_SHOWN]]
    if len(shown) > _MOST_SHOWN:
        lines.append(f"... and {len(shown) - _MOST_SHOWN:,} more")
    return "\n".join(lines)
