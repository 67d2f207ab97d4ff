"""The Sensitivity sheet: cost against utilisation, live; what moves the cost most; best, planned and worst case."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from planner.formulas import cost
from planner.plan.scenario import header_of
from planner.plan.study import FIXES_LIMIT
from planner.workbook.cost_sheet import cost_rows, short_name, unpriced
from planner.workbook.layout import (
    BLUE,
    CHART_ROWS,
    GREY,
    LINE,
    NAVY,
    PALE,
    CellOut,
    Chart,
    Rule,
    Series,
    Sheet,
    Style,
    address,
    chart_columns,
    on_sheet,
)
from planner.workbook.money_looks import (
    amount_format,
    axis_format,
    compared_word,
    is_converted,
    log_start,
    with_currency,
    y_title,
)
from planner.workbook.results_sheet import HEAD, HEAD_FIGURE, HEAD_TEXT, LINK, Functions
from planner.workbook.row_sheet import ROW
from planner.workbook.table_sheets import LEDE, MOST_CHARTED, TITLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.sensitivity import Swing
    from planner.plan.study import Case, Study
    from planner.workbook.results_sheet import Writing

SHARES: Final = tuple(tenth / 10 for tenth in range(1, 11))
_PART_ROW, _HEAD_ROW, _FIRST = 2, 3, 4
_BEST, _PLANNED, _WORST, _API, _HOUR, _RATE, _BUSY, _SHARES = range(1, 9)
_LAST: Final = _SHARES + len(SHARES) - 1
# The swings' own columns.
_CHEAP, _DEAR, _AT_CHEAP, _AS_PLANNED, _AT_DEAR, _SAVES, _COSTS = range(1, 8)
_MOST_APIS: Final = 3
_HEIGHT: Final = 63.0
_PER_M: Final = "money/M tokens"


def sensitivity_sheet(study: Study, writing: Writing) -> Sheet:
    """Cost against utilisation, the swings of each assumption, the outlook; or what to type for them."""
    rows = [
        (index, case)
        for index, case in enumerate(study.cases[:FIXES_LIMIT])
        if study.purse.amount(case.result, "cost_per_m_tokens") is not None
    ]
    if not rows:
        return unpriced(
            writing,
            "Sensitivity",
            "Sensitivity: no row has a cost yet",
            "Add columns of these headers to the scenario sheet, fill them, and run planner again.",
            ("device_cost_h", "device_capex_cost", "useful_life_years", "busy_share"),
        )
    return _Sensitivity(study, writing, rows).describe()


class _Sensitivity:
    """The sheet: cost against utilisation with the outlook, charts, and the swings of every scenario."""

    def __init__(self, study: Study, writing: Writing, rows: list[tuple[int, Case]]) -> None:
        self.study, self.writing, self.rows = study, writing, rows
        self.live = writing.functions is not Functions.NONE
        self.sheet = writing.names["Sensitivity"]
        self.word = compared_word(study)
        self.cost = cost_rows(study, writing)
        self.apis = self._apis()
        self.api_row = _FIRST + len(rows)
        self.chart_row = self.api_row + len(self.apis) + 1
        self.swing_head = self.chart_row + 2 * CHART_ROWS
        self.starts = self._starts()
        self.widths = {0: 33.0} | dict.fromkeys(range(1, _SHARES), 11.0) | dict.fromkeys(range(_SHARES, _LAST + 1), 8.0)
        costs = [self.told(case, case.result.cost_per_m_tokens) for _, case in rows]
        self.shown = amount_format("cost_per_m_tokens", costs)

    def told(self, case: Case, value: float | None) -> float | None:
        """An amount of a row in the currency of comparison."""
        return self.study.purse.of(case.result.scenario, value)

    def _apis(self) -> list[tuple[int, Case]]:
        """Of the first scenarios those whose APIs charge differently, for the lines of the chart."""
        found: dict[float, tuple[int, Case]] = {}
        for number, (_, case) in enumerate(self.rows[:MOST_CHARTED]):
            charged = self.told(case, case.result.api_cost_per_m_output)
            if charged is not None:
                found.setdefault(charged, (number, case))
        return list(found.values())[:_MOST_APIS]

    def _starts(self) -> list[int]:
        """The row of each scenario's heading among the swings."""
        found, row = [], self.swing_head + 1
        for index, _ in self.rows:
            found.append(row)
            row += 1 + len(self.study.swings[index])
        return found

    def describe(self) -> Sheet:
        """The sheet."""
        last = _FIRST + len(self.rows) - 1
        cell, api = address(_FIRST, _SHARES), address(_FIRST, _API, fix_column=True)
        below = f"AND(ISNUMBER({cell}),ISNUMBER({api}),{cell}<={api})"
        return Sheet(
            name=self.sheet,
            cells=list(self.cells()),
            widths=self.widths,
            freeze=(_FIRST, 1),
            merges=[
                (_PART_ROW, _BEST, _PART_ROW, _WORST),
                (_PART_ROW, _API, _PART_ROW, _BUSY),
                (_PART_ROW, _SHARES, _PART_ROW, _LAST),
            ],
            rules=[Rule((_FIRST, _SHARES, last, _LAST), below, PALE, BLUE, bold=True)],
            charts=self.charts(),
            heights={_HEAD_ROW: _HEIGHT, self.swing_head: _HEIGHT},
            repeat_rows=(self.swing_head, self.swing_head),
            repeat_columns=(0, 0),
            gridlines=False,
            mark="sensitivity",
            tab=BLUE,
        )

    def cells(self) -> Iterator[CellOut]:
        """Title, the table against utilisation, the APIs' lines, the swings."""
        purse = self.study.purse
        other = sum(
            case.result.cost_per_m_tokens is not None and not purse.holds(case.result.scenario)
            for case in self.study.cases[:FIXES_LIMIT]
        )
        more = len(self.study.cases) - FIXES_LIMIT
        left = f" {other:,} in another currency without a rate are left out." if other else ""
        left += f" Of the first {FIXES_LIMIT} scenarios; {more:,} more are left out." if more > 0 else ""
        rates = " at the rates on the Cost sheet" if is_converted(self.study) else ""
        yield CellOut(0, 0, "Sensitivity: what moves the cost of a million output tokens", style=TITLE)
        yield CellOut(
            1,
            0,
            f"All in {self.word}{rates}. The table against utilisation follows your edits, and is blue where the API "
            "is no cheaper; best and worst case and the swings stay as at the run. Best and worst: every uncertain "
            f"assumption at its good or bad end at once.{left}",
            style=LEDE,
        )
        parts = (
            (_BEST, "Best, planned, worst case"),
            (_API, "What it rests on"),
            (_SHARES, "Cost per M output at a utilisation of"),
        )
        yield CellOut(_PART_ROW, 0, None, style=HEAD_TEXT)
        starts = dict(parts)
        for column in range(_BEST, _LAST + 1):
            yield CellOut(_PART_ROW, column, starts.get(column), style=HEAD_FIGURE)
        yield CellOut(_HEAD_ROW, 0, header_of("name"), style=HEAD_TEXT)
        heads = {
            _BEST: f"Best case ({_PER_M})",
            _PLANNED: f"As planned ({_PER_M})",
            _WORST: f"Worst case ({_PER_M})",
            _API: f"API per M output ({_PER_M})",
            _HOUR: "Cost per hour (money/h)",
            _RATE: "Rate that costs rest on (tok/s)",
            _BUSY: "Utilisation as planned",
        }
        for column, head in heads.items():
            look = HEAD_FIGURE if column <= _WORST else HEAD
            yield CellOut(_HEAD_ROW, column, with_currency(head, self.word), style=look)
        percent = dataclasses.replace(HEAD_FIGURE, number_format="0%")
        for column, share in enumerate(SHARES, _SHARES):
            yield CellOut(_HEAD_ROW, column, share, style=percent)
        for number, (index, case) in enumerate(self.rows):
            yield from self._row(_FIRST + number, index, case)
        for row, (number, case) in enumerate(self.apis, self.api_row):
            yield from self._api_line(row, number, case)
        yield from self._swings()

    def _row(self, row: int, index: int, case: Case) -> Iterator[CellOut]:
        result, outlook = case.result, self.study.outlooks[index]
        money = Style(number_format=self.shown, bottom=LINE)
        at_run = dataclasses.replace(money, fill=PALE)
        yield CellOut(row, 0, case.name, self.writing.link(case), LINK)
        yield CellOut(row, _BEST, self.told(case, outlook.best_cost if outlook else None), style=at_run)
        yield CellOut(row, _WORST, self.told(case, outlook.worst_cost if outlook else None), style=at_run)
        bold = dataclasses.replace(at_run, bold=True)
        yield self._there((row, _PLANNED), index, case, "cost_per_m_tokens", bold)
        yield self._there((row, _API), index, case, "api_cost_per_m_output", money)
        hour = Style(number_format="#,##0.00##", bottom=LINE, colour=GREY)
        yield self._there((row, _HOUR), index, case, "hourly_cost_h", hour)
        rate = Style(number_format="#,##0.0", bottom=LINE, colour=GREY)
        yield self._there((row, _RATE), index, case, "fleet_tokens_per_sec", rate)
        busy = Style(number_format="0%", bottom=LINE, colour=GREY)
        yield self._there((row, _BUSY), index, case, "busy_share", busy)
        hourly, tokens = self.told(case, result.hourly_cost_h), result.fleet_tokens_per_sec
        for column, share in enumerate(SHARES, _SHARES):
            bind = {
                "hourly_cost_h": address(row, _HOUR, fix_column=True),
                "aggregate_tokens_per_sec": address(row, _RATE, fix_column=True),
                "busy_share": address(_HEAD_ROW, column, fix_row=True),
            }
            value = cost.cost_per_m_tokens(hourly, tokens, share) if hourly and tokens else None
            yield CellOut(row, column, value, self.writing.formula(cost.cost_per_m_tokens, bind, value), money)

    def _there(self, at: tuple[int, int], index: int, case: Case, name: str, style: Style) -> CellOut:
        """A figure of the Cost sheet, amounts in the currency of comparison."""
        value = getattr(case.result, name)
        there = on_sheet(self.writing.names["Cost"], self.cost.at(name, ROW + index))
        text = there
        if name not in {"fleet_tokens_per_sec", "busy_share"}:
            value = self.told(case, value)
            if self.study.purse.rate(case.result.scenario) is not None:
                text += "*" + on_sheet(self.writing.names["Cost"], self.cost.at("exchange_rate", ROW + index))
        formula = f'=IF(ISNUMBER({there}),{text},"")' if self.live else ""
        return CellOut(*at, value, formula, style)

    def _api_line(self, row: int, number: int, case: Case) -> Iterator[CellOut]:
        """What an API charges, the same at every utilisation, for the chart."""
        name = case.result.scenario.api or "API"
        told = name if len(self.apis) == 1 else f"{name}, {short_name(case)}"
        yield CellOut(row, 0, told, style=Style(bottom=LINE, colour=GREY))
        charged = self.told(case, case.result.api_cost_per_m_output)
        there = address(_FIRST + number, _API, fix_column=True)
        look = Style(number_format=self.shown, bottom=LINE, colour=GREY)
        for column in range(_SHARES, _LAST + 1):
            yield CellOut(row, column, charged, f"={there}" if self.live else "", look)

    def _swings(self) -> Iterator[CellOut]:
        """Each scenario's assumptions, the one that moves its cost most first."""
        heads = {
            0: "What each assumption moves",
            _CHEAP: "Cheaper end",
            _DEAR: "Dearer end",
            _AT_CHEAP: f"Cost at the cheaper end ({_PER_M})",
            _AS_PLANNED: f"As planned ({_PER_M})",
            _AT_DEAR: f"Cost at the dearer end ({_PER_M})",
            _SAVES: f"Down by ({_PER_M})",
            _COSTS: f"Up by ({_PER_M})",
        }
        for column, head in heads.items():
            look = HEAD_FIGURE if column > _DEAR else HEAD_TEXT
            yield CellOut(self.swing_head, column, with_currency(head, self.word), style=look)
        for start, (index, case) in zip(self.starts, self.rows, strict=True):
            yield CellOut(start, 0, case.name, style=Style(bold=True, colour=NAVY, bottom=LINE, fill=PALE))
            for column in range(1, _COSTS + 1):
                yield CellOut(start, column, None, style=Style(bottom=LINE, fill=PALE))
            for row, swing in enumerate(self.study.swings[index], start + 1):
                yield from self._swing(row, case, swing)

    def _swing(self, row: int, case: Case, swing: Swing) -> Iterator[CellOut]:
        text, money = Style(bottom=LINE, indent=1, align="left"), Style(number_format=self.shown, bottom=LINE)
        yield CellOut(row, 0, swing.name, style=text)
        yield CellOut(row, _CHEAP, swing.cheap, style=text)
        yield CellOut(row, _DEAR, swing.dear, style=text)
        cheap, dear = self.told(case, swing.cheap_cost), self.told(case, swing.dear_cost)
        base = self.told(case, case.result.cost_per_m_tokens)
        amounts = {_AT_CHEAP: cheap, _AS_PLANNED: base, _AT_DEAR: dear}
        for column, value in amounts.items():
            yield CellOut(row, column, value, style=money)
        at = {column: address(row, column) for column in amounts}
        down, up = max((base or 0.0) - (cheap or 0.0), 0.0), max((dear or 0.0) - (base or 0.0), 0.0)
        for column, value, less, more in (
            (_SAVES, down, at[_AT_CHEAP], at[_AS_PLANNED]),
            (_COSTS, up, at[_AS_PLANNED], at[_AT_DEAR]),
        ):
            yield CellOut(row, column, value, f"=MAX({more}-{less},0)" if self.live else "", money)

    def charts(self) -> list[Chart]:
        """Cost against utilisation with the APIs, the swings of two scenarios, the outlook."""
        shares = (_HEAD_ROW, _SHARES, _HEAD_ROW, _LAST)
        charted = range(_FIRST, _FIRST + min(len(self.rows), MOST_CHARTED))
        lines = [Series(self.sheet, (row, 0), shares, (row, _SHARES, row, _LAST)) for row in charted]
        apis = range(self.api_row, self.api_row + len(self.apis))
        lines += [Series(self.sheet, (row, 0), shares, (row, _SHARES, row, _LAST), "dashed") for row in apis]
        left, right = chart_columns(self.widths, 2)
        below = self.chart_row + CHART_ROWS
        per_m = f"{self.word} per M output tokens"
        of = f", first {MOST_CHARTED} scenarios" if len(self.rows) > MOST_CHARTED else ""
        titles = (f"Cost against utilisation{of}", f"Best case, as planned, worst case{of}")
        told = [self.told(case, case.result.cost_per_m_tokens) for _, case in self.rows[:MOST_CHARTED]]
        log_from = log_start([*told, *(self.told(case, case.result.api_cost_per_m_output) for _, case in self.apis)])
        title, shown = y_title(per_m, log_from), axis_format(self.shown)
        found = [
            Chart("line", titles[0], "utilisation", title, tuple(lines), (self.chart_row, left), shown, "0%", log_from)
        ]
        places = ((self.chart_row, right), (below, right))
        found += [self._tornado(number, at, per_m) for number, at in zip(self._charted(), places, strict=False)]
        names = (_FIRST, 0, charted[-1], 0)
        cases = tuple(
            Series(self.sheet, (_HEAD_ROW, column), names, (_FIRST, column, charted[-1], column))
            for column in (_BEST, _PLANNED, _WORST)
        )
        last = Chart("column", titles[1], "", title, cases, (below, left), shown, log_from=log_from)
        return [*found, last]

    def _charted(self) -> list[int]:
        """Whose swings are charted: the recommended scenario's first, then those of the first that have any."""
        best = self.study.recommendation.best
        numbers = [number for number, (index, _) in enumerate(self.rows) if self.study.swings[index]]
        return sorted(numbers, key=lambda number: self.rows[number][1].result is not best)

    def _tornado(self, number: int, at: tuple[int, int], per_m: str) -> Chart:
        index, case = self.rows[number]
        first = self.starts[number] + 1
        last = first + len(self.study.swings[index]) - 1

        def series(column: int, look: str = "") -> Series:
            return Series(
                self.sheet, (self.swing_head, column), (first, 0, last, 0), (first, column, last, column), look
            )

        stack = (series(_AT_CHEAP, "unseen"), series(_SAVES), series(_COSTS))
        ends = f"{per_m}: cheaper end, as planned where the colours meet, dearer end"
        title = f"What moves the cost of {short_name(case)}"
        return Chart("bar_stacked", title, "", ends, stack, at, axis_format(self.shown))
