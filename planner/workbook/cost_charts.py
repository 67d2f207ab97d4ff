"""The charts of the Cost sheet, and the rows behind them: the first scenarios with a cost, in one currency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.formulas import cost
from planner.plan.scenario import FIGURES, header_of
from planner.workbook.layout import LINE, NAVY, CellOut, Chart, Series, Style, address, chart_columns, head_height
from planner.workbook.money_looks import amount_format, axis_format, compared_word, log_start, shown, y_title
from planner.workbook.results_sheet import HEAD_FIGURE, HEAD_TEXT, Functions
from planner.workbook.row_sheet import ROW
from planner.workbook.table_sheets import MOST_CHARTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.study import Case
    from planner.workbook.row_sheet import RowSheet

LINES: Final = (
    "rent_cost_h",
    "depreciation_cost_h",
    "energy_cost_h",
    "hosting_cost_h",
    "licence_cost_h",
    "support_cost_h",
    "staff_cost_h",
)
_LINED: Final = Style(bottom=LINE)


class CostCharts:
    """The rows behind the charts, below the table: the first scenarios with a cost, in the currency of comparison."""

    _LINES: Final = 3

    def __init__(self, rows: RowSheet) -> None:
        self.rows, self.study, self.writing = rows, rows.study, rows.writing
        purse = self.study.purse
        known = [
            (index, case)
            for index, case in enumerate(self.study.cases)
            if purse.amount(case.result, "cost_per_m_tokens") is not None
        ]
        self.cases, self.left_out = known[:MOST_CHARTED], len(known) - MOST_CHARTED
        self.head = rows.last_row + 3
        self.first, self.last = self.head + 1, self.head + len(self.cases)
        self.word = compared_word(self.study)

    def cells(self) -> Iterator[CellOut]:
        """The rows, live: cost and API per million output tokens, and a month of each line."""
        if not self.cases:
            return
        more = f", the first {MOST_CHARTED}; {self.left_out:,} more have a cost" if self.left_out > 0 else ""
        yield CellOut(self.head - 1, 0, f"Behind the charts, in {self.word}{more}", style=Style(bold=True, colour=NAVY))
        yield CellOut(self.head, 0, header_of("name"), style=HEAD_TEXT)
        for column, head in enumerate(self._heads(), 1):
            yield CellOut(self.head, column, head, style=HEAD_FIGURE)
        for row, (index, case) in enumerate(self.cases, self.first):
            yield CellOut(row, 0, case.name, self._there(address(ROW + index, 0)), _LINED)
            for column, name in enumerate(("cost_per_m_tokens", "api_cost_per_m_output"), 1):
                told = [self._told(case, name) for _, case in self.cases]
                yield self._amount((row, column), index, case, name, amount_format(name, told))
            for column, name in enumerate(LINES, self._LINES):
                yield self._amount((row, column), index, case, name, shown(0))

    def _heads(self) -> list[str]:
        rates = [f"{head} ({self.word}/M tokens)" for head in ("Cost per M output", "API per M output")]
        return rates + [f"{FIGURES[name].label} ({self.word}/month)" for name in LINES]

    def heights(self) -> dict[int, float]:
        """The height of the heads' row."""
        if not self.cases:
            return {}
        return {self.head: head_height((head, self.rows.widths[at]) for at, head in enumerate(self._heads(), 1))}

    def _there(self, cell: str) -> str:
        return "" if self.writing.functions is Functions.NONE else f"={cell}"

    def _told(self, case: Case, name: str) -> float | None:
        value = getattr(case.result, name)
        hours = case.result.scenario.hours_per_month
        if name in LINES and value is not None and hours is not None:
            value = cost.monthly_cost(value, hours)
        return self.study.purse.of(case.result.scenario, value)

    def _amount(self, at: tuple[int, int], index: int, case: Case, name: str, look: str) -> CellOut:
        there, value = self.rows.at(name, ROW + index), self._told(case, name)
        text = there
        if name in LINES:
            text += f"*{self.rows.at('hours_per_month', ROW + index)}"
        if self.study.purse.rate(case.result.scenario) is not None:
            text += f"*{self.rows.at('exchange_rate', ROW + index)}"
        formula = f'=IF(ISNUMBER({there}),{text},"")'
        live = self.writing.functions is not Functions.NONE
        return CellOut(*at, value, formula if live else "", Style(number_format=look, bottom=LINE))

    def charts(self) -> list[Chart]:
        """Cost by scenario beside its API, and what a month's cost is made of."""
        if not self.cases:
            return []
        sheet, names = self.writing.names["Cost"], (self.first, 0, self.last, 0)

        def series(column: int, look: str = "") -> Series:
            return Series(sheet, (self.head, column), names, (self.first, column, self.last, column), look)

        has_api = any(self._told(case, "api_cost_per_m_output") is not None for _, case in self.cases)
        values = [self._told(case, "cost_per_m_tokens") for _, case in self.cases]
        lines = [
            series(column)
            for column, name in enumerate(LINES, self._LINES)
            if any(self._told(case, name) for _, case in self.cases)
        ]
        log_from = log_start([*values, *(self._told(case, "api_cost_per_m_output") for _, case in self.cases)])
        at, (left, right) = self.last + 2, chart_columns(self.rows.widths, 2)
        return [
            Chart(
                "column",
                "Cost per million output tokens, beside the API" if has_api else "Cost per million output tokens",
                "",
                y_title(f"{self.word} per M output tokens", log_from),
                (series(1), *((series(2, "marks"),) if has_api else ())),
                (at, left),
                axis_format(amount_format("cost_per_m_tokens", values)),
                log_from=log_from,
            ),
            Chart("column_stacked", "Cost of a month by line", "", f"{self.word} per month", tuple(lines), (at, right)),
        ]
