"""Rows of cells to scenarios: which sheet, what each cell means, and every issue at its cell."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner.columns import BadValueError, Text, Typed, Understood, echo, read_value
from planner.headers import Cell, Grid, Header, HeaderCell, column_letters, find_header
from planner.issues import Issue, PlannerError, Severity
from planner.plan.resolve import resolve
from planner.plan.scenario import COLUMNS, Scenario, header_of
from planner.plan.study import Entry, Origin, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFERRED_SHEET: Final = "Scenarios"
_AS_BLANK: Final = frozenset({"-", "\u2013", "\u2014", "n/a"})
# Which absent column explains a field that a row lacks.
_WANT: Final = MappingProxyType(
    {"weights_gb": "weights_gb", "precision": "weights_gb", "device_bandwidth_gb_s": "device_bandwidth_gb_s"}
)
_LABELS_ONLY: Final = frozenset({"name", "model", "notes"})


@dataclass(frozen=True, slots=True)
class ScenarioTable:
    """What a workbook's scenario sheet says: the rows that can be evaluated, those that cannot, and every issue."""

    sheet: str
    header: Header
    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...]
    issues: tuple[Issue, ...]

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The completed scenarios, in the order of their rows."""
        return tuple(entry.resolution.scenario for entry in self.entries)


def read_table(grids: Iterable[Grid], sheet: str = "") -> ScenarioTable:
    """The scenario table of a workbook: the named sheet, else `Scenarios`, else the best-fitting header row.

    Raises PlannerError where no sheet has a header row that fits.
    """
    grid, header = _choose([grid for grid in grids if not grid.ours], sheet)
    return _read_rows(grid, header)


def _choose(grids: list[Grid], sheet: str) -> tuple[Grid, Header]:
    wanted = (sheet or PREFERRED_SHEET).casefold()
    named = [grid for grid in grids if grid.name.casefold() == wanted]
    if sheet and not named:
        raise PlannerError(f"No sheet named '{sheet}'; the workbook has {', '.join(grid.name for grid in grids)}.")
    # A sheet asked for by name is read or refused; no other one takes its place.
    for candidates in (named,) if sheet else (named, grids):
        scored = [(len(header.cells), grid, header) for grid in candidates if (header := find_header(grid))]
        if scored:
            _, grid, header = max(scored, key=lambda item: item[0])
            return grid, header
    where = f"Sheet '{sheet}' has no" if sheet else "No sheet has a"
    raise PlannerError(
        f"{where} row of headers that planner knows, such as {header_of('name')}, {header_of('params_b')}, "
        f"{header_of('precision')}, {header_of('device_bandwidth_gb_s')}. `planner new FILE.xlsx` writes a starter."
    )


def _read_rows(grid: Grid, header: Header) -> ScenarioTable:
    issues = list(header.issues)
    absent = _absent_columns(grid, header)
    issues += absent
    unnamed = {issue.field for issue in absent}
    entries: list[Entry] = []
    skipped: list[Skipped] = []
    first_at: dict[str, str] = {}
    for row in sorted(number for number in grid.rows if number > header.row):
        read = _Row(grid, header, row)
        if read.blank:
            continue
        issues += read.issues
        if read.heading:
            continue
        resolution = resolve(Scenario(**read.values), frozenset(read.refused))
        missing = resolution.issues
        # A column that is absent altogether is said once, at the header, not again at every row.
        issues += [read.origin.locate(i) for i in missing if not (i.code == "missing" and _WANT[i.field] in unnamed)]
        name = resolution.scenario.name
        if read.refused or missing:
            skipped.append(Skipped(name, read.origin))
            continue
        entries.append(Entry(resolution, read.origin))
        if name in first_at:
            issues.append(
                read.said("name", Severity.NOTE, "name", f"Scenario {echo(name)} is also at {first_at[name]}")
            )
        first_at.setdefault(name, read.cell_of("name"))
    if not entries and not skipped:
        issues.append(
            Issue(
                severity=Severity.ERROR,
                code="empty",
                problem=f"No scenario stands below the headers of row {header.row}",
                accepted="one scenario a row",
                sheet=grid.name,
                cell=f"A{header.row + 1}",
                row=header.row + 1,
            )
        )
    issues.sort(key=lambda issue: issue.row or 0)
    return ScenarioTable(grid.name, header, tuple(entries), tuple(skipped), tuple(issues))


def _absent_columns(grid: Grid, header: Header) -> list[Issue]:
    """Inputs for which the sheet has no column at all."""
    have = set(header.cells)
    lacking = []
    if "weights_gb" not in have and not {"params_b", "precision"} <= have:
        lacking.append(
            (
                "weights_gb",
                "weights",
                f"{header_of('weights_gb')}, or {header_of('params_b')} and {header_of('precision')}",
            )
        )
    if not have & {"device_bandwidth_gb_s", "bandwidth_gb_s"}:
        either = f"{header_of('device_bandwidth_gb_s')} or {header_of('bandwidth_gb_s')}"
        lacking.append(("device_bandwidth_gb_s", "bandwidth", either))
    return [
        Issue(
            severity=Severity.ERROR,
            code="header",
            field=name,
            problem=f"The headers name no column for {what}",
            accepted=wanted,
            sheet=grid.name,
            cell=f"A{header.row}",
            row=header.row,
        )
        for name, what, wanted in lacking
    ]


class _Row:
    """One row below the header: the values as understood, and the issues of its cells."""

    def __init__(self, grid: Grid, header: Header, row: int) -> None:
        self.grid, self.header, self.row = grid, header, row
        self.values: dict[str, Any] = {}
        self.refused: set[str] = set()
        self.issues: list[Issue] = []
        plain = set()
        for name, head in header.cells.items():
            cell = grid.rows[row].get(head.column)
            if cell is None or _is_blank(cell):
                continue
            try:
                understood = _understand(name, cell, head)
            except BadValueError as bad:
                self.refused.add(name)
                self.issues.append(self.said(name, Severity.ERROR, bad.code, bad.problem, bad.accepted))
                continue
            if understood.note:
                self.issues.append(self.said(name, Severity.NOTE, "read-as", understood.note))
            if understood.plain:
                plain.add(name)
            self.values[name] = understood.value
        self.blank = not self.values and not self.refused
        self.heading = not self.blank and not self.refused and set(self.values) <= _LABELS_ONLY
        if self.heading:
            problem = f"The row holds only {' and '.join(COLUMNS[name].label.lower() for name in self.values)}"
            self.issues = [self.said("name", Severity.NOTE, "heading", problem + ", so it is read as a heading")]
        self.values.setdefault("name", f"Row {row}")
        cells = {name: self.cell_of(name) for name in header.cells}
        self.origin = Origin(grid.name, row, MappingProxyType(cells), frozenset(plain))

    def cell_of(self, name: str) -> str:
        head = self.header.cells.get(name)
        first = min(cell.column for cell in self.header.cells.values())
        return f"{column_letters(head.column if head else first)}{self.row}"

    def said(self, name: str, severity: Severity, code: str, problem: str, accepted: str = "") -> Issue:
        return Issue(
            severity=severity,
            code=code,
            field=name,
            problem=problem,
            accepted=accepted,
            sheet=self.grid.name,
            cell=self.cell_of(name),
            row=self.row,
        )


def _is_blank(cell: Cell) -> bool:
    if cell.value is None:
        return not cell.formula
    return isinstance(cell.value, str) and (not cell.value.strip() or cell.value.strip().casefold() in _AS_BLANK)


def _understand(name: str, cell: Cell, head: HeaderCell) -> Understood:
    column = COLUMNS[name]
    if cell.value is None:
        raise BadValueError(
            f"{column.label} is a formula without a stored value",
            "a value; open the workbook in Excel and save it, or type the value",
            "no-value",
        )
    if cell.error and isinstance(column.rule, Text):
        return Understood(str(cell.value), note=f"{column.label} is {cell.value}, an error of the workbook")
    if cell.error:
        raise BadValueError(
            f"{column.label} is {cell.value}, an error of the workbook", column.rule.accepted, "cell-error"
        )
    return read_value(name, column, Typed(cell.value, cell.percent, head.factor))
