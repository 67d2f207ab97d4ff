"""The summary report of a batch: the best scenario of all, the ranking, the workbooks, and what came to nothing."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.batch.ledger import Status
from planner.batch.rows import currency_of
from planner.batch.summary import why
from planner.plan.basis import has_range, planning_rate
from planner.plan.study import Options, Source, Study
from planner.report import money
from planner.report.answer import answer_of
from planner.report.control import MOST_FACTS, band_facts, bases, control, is_controlled, running, title_size
from planner.report.front import Verdict
from planner.report.numbers import date, plain, rounded
from planner.report.parts import LONGEST_TITLE, Cell, Head, Row, Table, count, cut, say, sentence, without_empty
from planner.report.render import bars_svg
from planner.report.tables import ranked
from planner.units import unit_of

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from planner.batch.ledger import Done
    from planner.batch.rows import Line
    from planner.report.answer import Bars
    from planner.report.control import Control
    from planner.report.front import Tile
    from planner.settings import Settings

TEMPLATE: Final = "batch.html.j2"
WHAT: Final = "Capacity summary"
DEFAULT_TITLE: Final = "LLM serving capacity, all workbooks"
# Three tables of these are the most that is printed; a row costs 8 ms.
MOST_ROWS: Final = 100
_LONGEST_PATH: Final = 60
_LONGEST_WHY: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The summary report as ready texts and numbers."""

    title: str
    title_size: str
    subtitle: str
    control: Control
    controlled: bool
    stamp: str
    running: str
    facts: tuple[tuple[str, str], ...]
    verdict: Verdict
    tiles: tuple[Tile, ...]
    front: Bars | None
    drawn: str
    bad: Table
    ranking: Table
    workbooks: Table
    bases: tuple[tuple[str, str], ...]
    made_iso: str


def pages_of(workbooks: Sequence[Done], found: Sequence[Line], settings: Settings, made: dt.datetime) -> Pages:
    """What the summary report of a batch says."""
    compared = dataclasses.replace(settings, currency=currency_of(workbooks) or settings.currency)
    study = Study(tuple(line.case for line in found), (), (), Source(), Options(today=made.date()), compared)
    answer = answer_of(study)
    title = cut(settings.title or DEFAULT_TITLE, LONGEST_TITLE)
    scope = f"What {count(len(found), 'scenario')} in {count(len(workbooks), 'workbook')} can serve"
    return Pages(
        title=title,
        title_size=title_size(title),
        subtitle=cut(settings.subtitle, LONGEST_TITLE) or scope,
        control=control(settings, made, WHAT),
        controlled=is_controlled(settings),
        stamp=f"{count(len(workbooks), 'workbook')} · {date(made)} · {money.stamp(study)}",
        running=running(settings, title),
        facts=_facts(workbooks, found, settings, made),
        verdict=_verdict(answer.verdict, study, found),
        tiles=answer.tiles,
        front=answer.bars,
        drawn=bars_svg(answer.bars),
        bad=_bad(workbooks),
        ranking=_ranking(study, found),
        workbooks=_workbooks(workbooks),
        bases=bases(settings, priced=money.has_money(study)),
        made_iso=f"{made:%Y-%m-%dT%H:%M:%SZ}",
    )


def _facts(
    workbooks: Sequence[Done], found: Sequence[Line], settings: Settings, made: dt.datetime
) -> tuple[tuple[str, str], ...]:
    done = sum(one.status is Status.DONE for one in workbooks)
    lost = sum(one.status in {Status.REFUSED, Status.FAILED} for one in workbooks)
    skipped = sum(one.skipped_rows for one in workbooks)
    counted = (
        ("Workbooks", f"{plain(done)} done{f', {plain(lost)} came to nothing' if lost else ''}"),
        ("Scenarios", f"{plain(len(found))}{f', {plain(skipped)} rows left out' if skipped else ''}"),
    )
    told = band_facts(settings, made)
    if told:
        return (*told, *counted)[:MOST_FACTS]
    return (*counted, ("Warnings", plain(sum(one.warnings for one in workbooks))), ("Made", date(made)))


def _verdict(said: Verdict, study: Study, found: Sequence[Line]) -> Verdict:
    """The answer over all workbooks, and where the best scenario stands."""
    best = study.recommendation.best
    if not found:
        return Verdict("bad", "No recommendation", "No workbook has a scenario that could be evaluated", ())
    if best is None:
        return said
    line = found[study.case_of(best).number - 1]
    where = (
        f"{line.case.label} stands in {cut(line.done.name, _LONGEST_PATH)}, {line.done.sheet}!{line.values['cell']}."
    )
    return dataclasses.replace(said, body=(*said.body, where))


def _bad(workbooks: Sequence[Done]) -> Table:
    """The workbooks that came to nothing, or of which something is missing, with the reason."""
    lost = [one for one in workbooks if why(one) and one.status is not Status.PASSED]
    rows = tuple(
        Row((Cell(cut(one.name, _LONGEST_PATH)), Cell(str(one.status)), Cell(cut(why(one), _LONGEST_WHY))))
        for one in lost[:MOST_ROWS]
    )
    heads = (Head("Workbook", text=4), Head("Outcome", text=2), Head("Why", text=9))
    return Table(heads, rows, note=_more(len(lost), "workbook", "Workbooks"))


def _ranking(study: Study, found: Sequence[Line]) -> Table:
    """The best scenarios of all workbooks, best first, on the basis on which they were compared."""
    best, figure = study.recommendation.best, study.recommendation.figure
    first = ranked(study)[:MOST_ROWS]
    values = [study.recommendation.value(case.result) for case in first]
    decimals = money.decimals_of(values, study.purse.code)
    rows = []
    for case, value in zip(first, values, strict=True):
        result, line = case.result, found[case.number - 1]
        cost = "" if value is None else rounded(value, decimals)
        cells = (
            Cell(cut(case.name, _LONGEST_PATH), case.label),
            Cell(cut(line.done.name, _LONGEST_PATH)),
            Cell(line.values["cell"]),
            Cell(say("tokens_per_sec", planning_rate(result))),
            Cell("estimate" if has_range(result) else "upper bound"),
            Cell(cost if study.recommendation.by_cost else say(figure, value)),
            Cell({True: "yes", False: "no", None: ""}[line.values["fits"]]),
        )
        rows.append(Row(cells, "best" if result is best else ""))
    heads = (
        Head("Scenario", text=4),
        Head("Workbook", text=4),
        Head("Cell"),
        Head("Per stream", "tok/s"),
        Head("Basis", text=2),
        _measure(study),
        Head("Fits", text=1),
    )
    return without_empty(Table(heads, tuple(rows), note=_more(len(found), "scenario", "Scenarios")))


def _measure(study: Study) -> Head:
    """What the scenarios were ranked by, with the currency where it is money."""
    figure = study.recommendation.figure
    if study.recommendation.by_cost:
        return Head("Cost", f"{study.purse.code or 'money'}/M output")
    return Head(f"{_MEASURES[figure]} per device", unit_of(figure).symbol)


_MEASURES: Final = {
    "requests_per_device_per_hour": "Requests",
    "aggregate_tokens_per_sec": "Aggregate",
    "estimated_requests_per_hour": "Estimated requests",
    "estimated_aggregate_tokens_per_sec": "Estimated aggregate",
}


def _workbooks(workbooks: Sequence[Done]) -> Table:
    rows = tuple(
        Row(
            (
                Cell(cut(one.name, _LONGEST_PATH)),
                Cell(plain(len(one.rows))),
                Cell(plain(one.skipped_rows)),
                Cell(plain(one.warnings)),
                Cell(cut(one.best or "none fits and keeps reading pace", _LONGEST_PATH)),
            )
        )
        for one in [one for one in workbooks if one.status is Status.DONE][:MOST_ROWS]
    )
    heads = (
        Head("Workbook", text=5),
        Head("Scenarios"),
        Head("Left out", "rows"),
        Head("Warnings"),
        Head("Best scenario", text=5),
    )
    done = sum(one.status is Status.DONE for one in workbooks)
    return Table(heads, rows, note=_more(done, "workbook", "Workbooks"))


def _more(total: int, what: str, sheet: str) -> str:
    """What a table does not print, and where it is."""
    more = total - MOST_ROWS
    return f"{sentence(count(more, f'more {what}'))} on the {sheet} sheet of summary.xlsx." if more > 0 else ""
