"""Rows of cells to scenarios: which sheet, what each cell means, and every issue at its cell."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner.columns import echo
from planner.headers import Grid, Header, column_letters, find_header, header_again, may_name, with_units
from planner.issues import Issue, PlannerError, Severity
from planner.library_sheets import library_header, read_library
from planner.plan.fill import EMPTY_LIBRARY, Library
from planner.plan.resolve import resolve
from planner.plan.scenario import COLUMNS, Scenario, header_of
from planner.plan.study import Entry, Skipped
from planner.settings_sheet import ReadSettings, read_settings
from planner.table_rows import Reading, Row, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.plan.bulk_fill import Completed
    from planner.plan.resolve import Resolution

PREFERRED_SHEET: Final = "Scenarios"
_MOST_NAMED: Final = 8
# Which absent column explains a field that a row lacks.
_WANT: Final = MappingProxyType(
    {"weights_gb": "weights_gb", "precision": "weights_gb", "device_bandwidth_gb_s": "device_bandwidth_gb_s"}
)


@dataclass(frozen=True, slots=True)
class ScenarioTable:
    """What a workbook's scenario sheet says: the rows that can be evaluated, those that cannot, and every issue."""

    sheet: str
    header: Header
    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...]
    issues: tuple[Issue, ...]
    library: Library = EMPTY_LIBRARY
    settings: ReadSettings = field(default_factory=ReadSettings)
    # The entries' scenarios as columns, where many were completed together.
    completed: Completed | None = field(default=None, repr=False, compare=False)

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The completed scenarios, in the order of their rows."""
        return tuple(entry.resolution.scenario for entry in self.entries)


def read_table(grids: Iterable[Grid], sheet: str = "") -> ScenarioTable:
    """The scenario table of a workbook: the named sheet, else `Scenarios`, else the best-fitting header row.

    Blanks are filled from the sheets `Devices` and `Models` among the grids, then from the catalogue.
    Raises PlannerError where no sheet has a header row that fits.
    """
    theirs = [grid for grid in grids if not grid.ours]
    grid, header, others = _choose(theirs, sheet)
    own = read_library([other for other in theirs if other is not grid])
    reader = _Reader(grid, header, own.library)
    if others:
        reader.say_others(others)
    table = reader.table()
    return replace(table, issues=own.issues + table.issues, settings=read_settings(theirs))


def _choose(grids: list[Grid], sheet: str) -> tuple[Grid, Header, list[str]]:
    """The sheet to read, its header, and the sheets that would have done as well."""
    wanted = (sheet or PREFERRED_SHEET).casefold()
    named = [grid for grid in grids if grid.name.casefold() == wanted]
    if sheet and not named:
        raise PlannerError(f"No sheet named '{sheet}'; the workbook has {', '.join(grid.name for grid in grids)}.")
    # A sheet asked for by name is read or refused; no other one takes its place.
    # The user's own devices and models name columns of a scenario's too; such a sheet is read as one when asked for.
    scenarios = [grid for grid in grids if not library_header(grid)]
    for candidates in (named,) if sheet else (named, scenarios, grids):
        scored = [(len(header.cells), grid, header) for grid in candidates if (header := find_header(grid))]
        if scored:
            most, grid, header = max(scored, key=lambda item: item[0])
            return grid, header, [other.name for score, other, _ in scored if score == most and other is not grid]
    where = f"Sheet '{sheet}' has no" if sheet else "No sheet has a"
    raise PlannerError(
        f"{where} row of headers that planner knows, such as {header_of('name')}, {header_of('params_b')}, "
        f"{header_of('precision')}, {header_of('device_bandwidth_gb_s')}. `planner new FILE.xlsx` writes a starter."
    )


# What people call a row that sums up the rows above it.
_TOTALS: Final = re.compile(
    r"(grand |sub ?)?totals?|sub ?totals?\b.*|(sum|avg|average) of\b.*|sum|average|avg|mean|"
    r"median|min(imum)?|max(imum)?|"
    r"gesamt(summe)?|summe|mittelwert|durchschnitt|totale?s?|promedio|moyenne|\u03a3|\u2211|\u00f8",
    re.IGNORECASE,
)


# From so many rows on, columns are faster than one row after another.
_IN_COLUMNS_FROM: Final = 300


class _Reader:
    """Reads the rows below a header, and below any further header that stands among them."""

    def __init__(self, grid: Grid, header: Header, library: Library) -> None:
        self.grid, self.header, self.library = grid, header, library
        self.issues: list[Issue] = []
        self.entries: list[Entry] = []
        self.skipped: list[Skipped] = []
        self.unnamed: set[str] = set()
        self.first_at: dict[str, str] = {}
        self.ended = False
        # Rows to be completed, each with the columns that its header lacks.
        self.pending: list[tuple[Row, set[str]]] = []
        self.completed: Completed | None = None
        self._take(header)

    def table(self) -> ScenarioTable:
        first = self.header
        rows = [number for number in sorted(self.grid.rows) if number > first.row]
        if rows and rows[0] == first.row + 1 and (measured := with_units(self.grid, rows[0], first)):
            self.header = measured
            self.reading = Reading(self.grid, measured)
            self._say(rows.pop(0), Severity.NOTE, "units", "The row holds the units of the columns and is read as such")
        for number in rows:
            row = None if self.ended else Row(self.reading, number)
            # What holds a number and nothing amiss, and a text that names no field, heads nothing.
            is_plain = row is not None and row.has_figures and row.last_text and not may_name(row.last_text)
            if not is_plain and (again := header_again(self.grid, number, self.header)):
                self._say(number, Severity.NOTE, "header", "The row is a header again, and heads the rows below it")
                self._take(again)
            elif row:
                self._read(row)
        self._resolve()
        if not self.entries and not self.skipped:
            self._say(
                first.row + 1,
                Severity.ERROR,
                "empty",
                f"No scenario stands below the headers of row {first.row}",
                "one scenario a row",
            )
        self._say_hidden()
        self.issues.sort(key=lambda issue: issue.row or 0)
        entries, skipped, issues = tuple(self.entries), tuple(self.skipped), tuple(self.issues)
        return ScenarioTable(self.grid.name, first, entries, skipped, issues, self.library, completed=self.completed)

    def _take(self, header: Header) -> None:
        """Read with a header from here on, and say what is wrong with it."""
        self.header, self.ended = header, False
        self.reading = Reading(self.grid, header)
        absent = _absent_columns(self.grid, header)
        self.unnamed = {issue.field for issue in absent}
        self.issues += [*header.issues, *absent]
        if header.unread:
            without = [COLUMNS[name].label for name in ("devices", "efficiency", "batch") if name not in header.cells]
            # A column of numbers may be the very input that the sheet seems to lack.
            serious = without and any(self._numeric(column) for column in header.unread)
            tail = f", and none is read as {', '.join(without)}, so the rows count as if blank" if without else ""
            said = f"Columns that planner does not read: {', '.join(header.unread.values())}{tail}"
            self._say(header.row, Severity.WARNING if serious else Severity.NOTE, "unread", said)

    def _numeric(self, column: int) -> bool:
        """Whether a column holds a number below the header."""
        cells = (line.get(column) for row, line in self.grid.rows.items() if row > self.header.row)
        return any(cell is not None and type(cell.value) in {int, float} for cell in cells)

    def say_others(self, others: list[str]) -> None:
        """Say which other sheets would have done as well as the one that is read."""
        named = ", ".join(f"'{name}'" for name in others[:_MOST_NAMED])
        said = f"Sheet '{self.grid.name}' is read; {named} would do as well"
        self._say(self.header.row, Severity.NOTE, "sheet", said, advice="Name one with --sheet")

    def _read(self, row: Row) -> None:
        if row.blank:
            return
        number, name = row.row, row.name
        if _TOTALS.fullmatch(name.strip(" :")):
            said = f"{echo(name)} looks like a row of totals, so it is not read as a scenario"
            self._say(number, Severity.WARNING, "totals", said, advice="Name it otherwise if it is one")
            return
        if row.foreign:
            said = "The row looks like the header of another table, so neither it nor the rows below are read"
            self._say(number, Severity.WARNING, "header", said, advice="Put other tables on a sheet of their own")
            self.ended = True
            return
        self.issues += row.issues
        if row.heading:
            return
        self.pending.append((row, self.unnamed))

    def _resolve(self) -> None:
        """Complete the rows that were read, and sort those that run from those that cannot."""
        resolutions = self._resolutions()
        for (row, unnamed), resolution in zip(self.pending, resolutions, strict=True):
            name, origin = row.name, row.origin
            if row.refused or not resolution.ok:
                # A column that is absent altogether is said once, at the header, not again at every row.
                self.issues += [
                    origin.locate(issue)
                    for issue in resolution.issues
                    if not (issue.code == "missing" and _WANT[issue.field] in unnamed)
                ]
                self.skipped.append(Skipped(name, origin))
                continue
            # What is to be known of a row that runs comes with its result.
            self.entries.append(Entry(resolution, origin))
            if name in self.first_at:
                said = f"Scenario {echo(name)} is also at {self.first_at[name]}"
                note = Issue(severity=Severity.NOTE, code="name", field="name", problem=said)
                self.issues.append(origin.locate(note))
            self.first_at.setdefault(name, origin.cell_of("name"))

    def _resolutions(self) -> list[Resolution]:
        rows = [row for row, _ in self.pending]
        whole = [row for row in rows if not row.refused]
        if len(whole) < _IN_COLUMNS_FROM:
            return list(map(self._resolution, rows))
        # Loads numpy, which a small table can do without.
        from planner.plan.bulk_fill import resolve_each  # noqa: PLC0415

        done, completed = resolve_each(columns_of(whole), len(whole), self.library)
        if completed.ok.tolist() == [resolution.ok for resolution in done]:
            self.completed = completed.taking(completed.ok.nonzero()[0])
        found = iter(done)
        return [self._resolution(row) if row.refused else next(found) for row in rows]

    def _resolution(self, row: Row) -> Resolution:
        return resolve(Scenario(**row.values), frozenset(row.refused), self.library)

    def _say_hidden(self) -> None:
        """Rows that a filter or a hand has hidden count like any other; who hid them may think otherwise."""
        read = {entry.origin.row for entry in self.entries} | {row.origin.row for row in self.skipped}
        hidden = sorted(read & self.grid.hidden)
        if hidden:
            shown = ", ".join(map(str, hidden[:_MOST_NAMED])) + (" and more" if len(hidden) > _MOST_NAMED else "")
            self._say(hidden[0], Severity.NOTE, "hidden", f"Hidden rows are read as well: {shown}")

    def _say(
        self, row: int, severity: Severity, code: str, problem: str, accepted: str = "", *, advice: str = ""
    ) -> None:
        first = min((cell.column for cell in self.header.cells.values()), default=1)
        cell = f"{column_letters(first)}{row}"
        self.issues.append(
            Issue(
                severity=severity,
                code=code,
                problem=problem,
                accepted=accepted,
                advice=advice,
                sheet=self.grid.name,
                cell=cell,
                row=row,
            )
        )


def _absent_columns(grid: Grid, header: Header) -> list[Issue]:
    """Inputs for which the sheet has no column at all."""
    have = set(header.cells)
    lacking = []
    if not have & {"weights_gb", "model"} and not {"params_b", "precision"} <= have:
        lacking.append(
            (
                "weights_gb",
                "weights",
                f"{header_of('weights_gb')}, or {header_of('params_b')} and {header_of('precision')}",
            )
        )
    if not have & {"device_bandwidth_gb_s", "bandwidth_gb_s", "device"}:
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
