"""What is said about the scenarios: flags by code, every issue with its cells, rows left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.issues import Severity
from planner.plan.checks import FLAGS
from planner.report.parts import Cell, Head, Row, Table, cell_ranges, count, cut, labels, sentence, without_empty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.issues import Issue
    from planner.plan.study import Case, Study

# A row costs 8 ms and a reader's patience: what is longer than this stays in the workbook.
MOST_CHECKS: Final = 100
# Of very many scenarios nobody reads on, and each line takes its time to lay out.
_CHECKS_OF_MANY, _MANY = 40, 300
IN_WORKBOOK: Final = "the results workbook"

_LONGEST_PROBLEM: Final = 300


@dataclass(frozen=True, slots=True)
class FlagLine:
    """A flag of the results: its code in this report, its words, the scenarios that carry it, what to do."""

    code: str
    words: str
    severity: str
    scenarios: str
    few: str
    advice: str
    issue_code: str


def flag_lines(study: Study) -> tuple[FlagLine, ...]:
    """The flags that the study's results carry, warnings first, each with a code such as W1 or N2."""
    found: dict[str, list[tuple[Case, Issue]]] = {}
    for case in study.cases:
        for issue in case.result.issues:
            found.setdefault(issue.code, []).append((case, issue))
    order = {code: index for index, code in enumerate(FLAGS)}
    lines = []
    for severity, letter in ((Severity.WARNING, "W"), (Severity.NOTE, "N")):
        codes = [code for code, pairs in found.items() if pairs[0][1].severity is severity]
        for index, code in enumerate(sorted(codes, key=lambda code: order.get(code, len(order))), 1):
            pairs = found[code]
            lines.append(
                FlagLine(
                    f"{letter}{index}",
                    FLAGS.get(code, code),
                    str(severity),
                    labels(case.number for case, _ in pairs),
                    labels((case.number for case, _ in pairs), 2),
                    _one_advice(pairs),
                    code,
                )
            )
    return tuple(lines)


def _one_advice(pairs: Sequence[tuple[Case, Issue]]) -> str:
    """The advice that the issues of one code share; where it names each row's own columns, the first row's."""
    return next((issue.advice for _, issue in pairs if issue.advice), "")


_CHECK_HEADS: Final = (
    Head("Kind", text=1),
    Head("Cells", text=2),
    Head("Scenarios", text=2),
    Head("What", text=7),
    Head("What to do", text=5),
)
_FEW_NAMES: Final = 3
_ORDER: Final = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def checks_table(study: Study) -> Table:
    """Every issue with its cells and what to do, errors first; the same finding in several rows is one line."""
    numbers = {case.origin.row: case.number for case in study.cases if case.origin.row}
    skipped = {row.origin.row: row.name for row in study.skipped}
    owners = _owners(study)
    found: dict[tuple[Severity, str, str], list[Issue]] = {}
    for issue in study.issues:
        found.setdefault((issue.severity, issue.problem, issue.remedy), []).append(issue)
    kinds = sorted(found, key=lambda kind: _ORDER.index(kind[0]))
    rows = []
    for severity, problem, remedy in kinds[: MOST_CHECKS if len(study.cases) <= _MANY else _CHECKS_OF_MANY]:
        issues = found[severity, problem, remedy]
        own = [n for issue in issues if (n := owners.get(id(issue)) or numbers.get(issue.row or -1))]
        names = list(dict.fromkeys(cut(skipped[issue.row], 28) for issue in issues if issue.row in skipped))
        more = len(names) - _FEW_NAMES
        who = labels(own) or ", ".join(names[:_FEW_NAMES]) + (f" and {more} more" if more > 0 else "")
        rows.append(
            Row(
                (
                    Cell(sentence(str(severity)), marks="kind"),
                    Cell(_cells_of(issues)),
                    Cell(who),
                    Cell(cut(problem, _LONGEST_PROBLEM)),
                    Cell(cut(remedy, _LONGEST_PROBLEM)),
                ),
                str(severity),
            )
        )
    more = len(kinds) - len(rows)
    note = f"{sentence(count(more, 'more line'))} on the Checks sheet of {IN_WORKBOOK}." if more > 0 else ""
    return without_empty(Table(_CHECK_HEADS, tuple(rows), note=note))


def _owners(study: Study) -> dict[int, int]:
    """The case of each issue of a result, by identity: rows made in Python have no row number."""
    return {id(issue): case.number for case in study.cases for issue in case.result.issues}


def _cells_of(issues: Sequence[Issue]) -> str:
    sheets = {issue.sheet for issue in issues}
    if len(issues) == 1 or len(sheets) > 1:
        where = list(dict.fromkeys(issue.where for issue in issues))
        more = len(where) - _FEW_NAMES
        return ", ".join(where[:_FEW_NAMES]) + (f" and {more} more" if more > 0 else "")
    cells = cell_ranges(issue.cell for issue in issues)
    head = issues[0].where.removesuffix(issues[0].cell)
    return f"{head}{cells}"


def skipped_table(study: Study) -> Table:
    """The rows that could not be evaluated, each with its errors and their cells."""
    rows = []
    for row in study.skipped[:MOST_CHECKS]:
        own = [i for i in study.issues if i.severity is Severity.ERROR and i.row == row.origin.row]
        # A column that the headers lack is said once, at the header, for all the rows below it.
        errors = own or [i for i in study.issues if i.severity is Severity.ERROR and i.code == "header"]
        said = "; ".join(f"{issue.cell}: {issue.problem}" for issue in errors)
        rows.append(
            Row((Cell(f"{row.origin.row}", marks="tag"), Cell(cut(row.name)), Cell(cut(said, _LONGEST_PROBLEM))))
        )
    more = len(study.skipped) - len(rows)
    note = f"{sentence(count(more, 'more row'))} on the Checks sheet of {IN_WORKBOOK}." if more > 0 else ""
    heads = (Head("Row"), Head("Scenario", text=4), Head("Why it is left out", text=8))
    return Table(heads, tuple(rows), note=note)
