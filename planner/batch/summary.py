"""The summary workbook of a batch: every scenario with its file and cell, every workbook, every error and warning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planner.batch.ledger import Done, Status
from planner.batch.rows import SHOWN
from planner.columns import PrecisionName, Text
from planner.headers import column_letters
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC
from planner.workbook.layout import (
    BLUE,
    GREY,
    LINE,
    RUST,
    RUST_PALE,
    CellOut,
    Rule,
    Sheet,
    Style,
    on_sheet,
    text_literal,
    wrapped_heights,
)
from planner.workbook.results_sheet import (
    FIRST_ROW,
    HEAD,
    HEAD_FIGURE,
    HEAD_TEXT,
    HEADER_HEIGHT,
    LINK,
    as_cell,
    style_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.batch.rows import Line, Shown
    from planner.batch.scan import Said

# A sheet takes 1,048,576 rows; what is beyond goes on another.
MOST_ROWS: Final = 1_000_000
_LONGEST_LITERAL: Final = 255

_WHERE: Final = ("No", "Workbook", "Cell", "Scenario")
_SCENARIO_COLUMNS: Final = (*_WHERE, *(shown.name for shown in SHOWN), "Flags")
_AT: Final[Mapping[str, int]] = {name: index for index, name in enumerate(_SCENARIO_COLUMNS)}
_YES, _NO = "yes", "no"

_PLAIN: Final = Style(bottom=LINE)
_WRAPPED: Final = Style(bottom=LINE, wrap=True, top_aligned=True)
_TOP_LINK: Final = Style(colour=BLUE, underline=True, bottom=LINE, top_aligned=True)
_TOP: Final = (_TOP_LINK, _WRAPPED)
_CENTRED: Final = Style(bottom=LINE, align="center")
_FLAGS: Final = Style(colour=RUST, bottom=LINE, align="left", indent=1)

_WORKBOOK_HEADS: Final[Mapping[str, float]] = {
    "Workbook": 40.0,
    "Outcome": 12.0,
    "Scenarios": 11.0,
    "Rows skipped": 11.0,
    "Errors": 9.0,
    "Warnings": 10.0,
    "Best scenario": 34.0,
    "Why": 80.0,
    "Report": 30.0,
    "Time (s)": 10.0,
    "Tries": 8.0,
    "Source": 50.0,
}
_ISSUE_HEADS: Final[Mapping[str, float]] = {
    "Workbook": 40.0,
    "Severity": 11.0,
    "Cell": 26.0,
    "What": 80.0,
    "What to do": 60.0,
}


def summary_sheets(workbooks: Sequence[Done], found: Sequence[Line], passed: Sequence[Said]) -> list[Sheet]:
    """The sheets of ``summary.xlsx``."""
    parts = [found[start : start + MOST_ROWS] for start in range(0, len(found), MOST_ROWS)] or [found]
    return [
        *(_scenario_sheet(f"Scenarios{f' {number}' * (number > 1)}", part) for number, part in enumerate(parts, 1)),
        _workbook_sheet(workbooks, passed),
        _issue_sheet(workbooks),
    ]


def _scenario_sheet(name: str, found: Sequence[Line]) -> Sheet:
    last = FIRST_ROW + max(len(found), 1) - 1
    widths = dict.fromkeys(_AT.values(), 12.0)
    widths |= {_AT["No"]: 7.0, _AT["Workbook"]: 32.0, _AT["Scenario"]: 34.0, _AT["model"]: 22.0, _AT["Flags"]: 60.0}
    return Sheet(
        name=name,
        cells=_scenario_cells(found),
        widths=widths,
        freeze=(FIRST_ROW, len(_WHERE)),
        filter=(0, 0, last, len(_AT) - 1),
        rules=_scenario_rules(last),
        notes={(0, _AT[shown.name]): shown.column.help for shown in SHOWN if shown.column},
        heights={0: HEADER_HEIGHT},
        repeat_rows=(0, 0),
        mark=f"batch {name.lower()}",
        tab=BLUE,
    )


def _scenario_cells(found: Sequence[Line]) -> Iterator[CellOut]:
    for name in (*_WHERE, "Flags"):
        yield CellOut(0, _AT[name], name, style=HEAD_TEXT)
    for shown in SHOWN:
        yield CellOut(0, _AT[shown.name], shown.title, style=_head_style(shown))
    looks = [(_AT[shown.name], shown, _style(shown)) for shown in SHOWN]
    for row, line in enumerate(found, FIRST_ROW):
        done, values = line.done, line.values
        results = done.outputs[0].name if done.outputs else ""
        cell = values["cell"]
        yield CellOut(row, _AT["No"], line.case.number, style=_PLAIN)
        yield _linked(row, _AT["Workbook"], done.name, (results, ""))
        # Its cell in the copy that holds the results.
        yield _linked(row, _AT["Cell"], cell, (results, on_sheet(done.sheet, cell)))
        yield CellOut(row, _AT["Scenario"], values["name"], style=_PLAIN)
        for column, shown, style in looks:
            yield CellOut(row, column, _as_shown(shown, values[shown.name]), style=style)
        yield CellOut(row, _AT["Flags"], line.flags, style=_FLAGS)


def _head_style(shown: Shown) -> Style:
    if not shown.is_input:
        return HEAD_FIGURE
    return HEAD_TEXT if shown.column and isinstance(shown.column.rule, Text) else HEAD


def _style(shown: Shown) -> Style:
    return style_of(shown.name, shown.column) if shown.column else _CENTRED


def _as_shown(shown: Shown, value: Any) -> Any:
    """A precision as a cell holds it, a yes or no in words; nothing for a blank text."""
    if isinstance(value, bool):
        return _YES if value else _NO
    if value and shown.column and isinstance(shown.column.rule, PrecisionName):
        return as_cell(value)
    return None if value == "" else value


def _linked(
    row: int, column: int, text: str, to: tuple[str, str], styles: tuple[Style, Style] = (LINK, _PLAIN)
) -> CellOut:
    """A text that leads to a file beside the summary and a place in it; plain where there is none or no link to it.

    ``styles`` are that of a link and that of a plain text.
    """
    file, place = to
    target = f"{file}#{place}" if place else file
    # In a link these signs mean something else; a formula holds no longer texts.
    unlinkable = not file or "#" in file + place or "%" in target or max(len(text), len(target)) > _LONGEST_LITERAL
    if unlinkable:
        return CellOut(row, column, text, style=styles[1])
    return CellOut(row, column, text, f"=HYPERLINK({text_literal(target)},{text_literal(text)})", styles[0])


def _scenario_rules(last: int) -> list[Rule]:
    def on(name: str) -> tuple[tuple[int, int, int, int], str]:
        return (FIRST_ROW, _AT[name], last, _AT[name]), f"${column_letters(_AT[name] + 1)}{FIRST_ROW + 1}"

    rates = [on(name) for name in ("tokens_per_sec", "estimated_tokens_per_sec")]
    fit, cell = on("fits")
    return [
        *(
            Rule(area, f"AND(ISNUMBER({rate}),{rate}<{READING_PACE_TOKENS_PER_SEC:g})", RUST_PALE, RUST)
            for area, rate in rates
        ),
        Rule(fit, f'{cell}="{_NO}"', RUST_PALE, RUST),
    ]


def _workbook_sheet(workbooks: Sequence[Done], passed: Sequence[Said]) -> Sheet:
    last = max(len(workbooks) + len(passed), 1)
    outcome = "$B2"
    whole = (1, 0, last, len(_WORKBOOK_HEADS) - 1)
    return Sheet(
        name="Workbooks",
        cells=_workbook_cells(workbooks, passed),
        widths=dict(enumerate(_WORKBOOK_HEADS.values())),
        freeze=(1, 1),
        filter=(0, 0, last, len(_WORKBOOK_HEADS) - 1),
        rules=[
            Rule(whole, f'OR({outcome}="{Status.REFUSED}",{outcome}="{Status.FAILED}")', RUST_PALE, RUST),
            Rule(whole, f'{outcome}="{Status.PASSED}"', "", GREY),
        ],
        repeat_rows=(0, 0),
        mark="batch workbooks",
    )


def _workbook_cells(workbooks: Sequence[Done], passed: Sequence[Said]) -> Iterator[CellOut]:
    for column, head in enumerate(_WORKBOOK_HEADS):
        yield CellOut(0, column, head, style=HEAD_TEXT)
    for row, done in enumerate(workbooks, 1):
        names = [output.name for output in done.outputs]
        report = next((name for name in names if name.endswith(".pdf")), "")
        worked = done.status is Status.DONE
        yield _linked(row, 0, done.name, (names[0] if names else "", ""))
        yield from _plain_row(row, 1, [str(done.status)])
        counts = [len(done.rows), done.skipped_rows, done.errors, done.warnings] if worked else [None] * 4
        yield from _plain_row(row, 2, [*counts, done.best, why(done)])
        yield _linked(row, 8, report.rpartition("/")[2], (report, ""))
        yield CellOut(row, 9, done.seconds, style=Style(number_format="0.00", bottom=LINE))
        yield from _plain_row(row, 10, [done.tries, done.source])
    for row, said in enumerate(passed, len(workbooks) + 1):
        texts = ["", str(Status.PASSED), *[None] * 5, said.why, *[None] * 3, said.source]
        yield from _plain_row(row, 0, texts)


def _plain_row(row: int, first: int, values: Sequence[Any]) -> Iterator[CellOut]:
    yield from (CellOut(row, column, value, style=_PLAIN) for column, value in enumerate(values, first))


def why(done: Done) -> str:
    """What is missing of a workbook, or why it came to nothing."""
    return done.reason or "; ".join(done.left_out)


def _issue_sheet(workbooks: Sequence[Done]) -> Sheet:
    told = [(done, "error", "", why(done), "") for done in workbooks if why(done) and done.status is not Status.PASSED]
    told = [*told, *((done, *issue) for done in workbooks for issue in done.issues)][:MOST_ROWS]
    last, cells, widths = max(len(told), 1), list(_issue_cells(told)), dict(enumerate(_ISSUE_HEADS.values()))
    return Sheet(
        name="Issues",
        cells=cells,
        widths=widths,
        heights=wrapped_heights(cells, widths),
        freeze=(1, 1),
        filter=(0, 0, last, len(_ISSUE_HEADS) - 1),
        rules=[Rule((1, 0, last, len(_ISSUE_HEADS) - 1), '$B2="error"', RUST_PALE, RUST)],
        repeat_rows=(0, 0),
        mark="batch issues",
        tab=RUST,
    )


def _issue_cells(told: Sequence[tuple[Done, str, str, str, str]]) -> Iterator[CellOut]:
    for column, head in enumerate(_ISSUE_HEADS):
        yield CellOut(0, column, head, style=HEAD_TEXT)
    for row, (done, severity, where, problem, remedy) in enumerate(told, 1):
        results = done.outputs[0].name if done.outputs else ""
        first = where.partition(",")[0].partition(" and ")[0]
        yield _linked(row, 0, done.name, (results, ""), _TOP)
        yield CellOut(row, 1, severity, style=_WRAPPED)
        yield _linked(row, 2, where, (results if "!" in first else "", first), _TOP)
        yield CellOut(row, 3, problem, style=_WRAPPED)
        yield CellOut(row, 4, remedy, style=_WRAPPED)
