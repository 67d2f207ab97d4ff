"""The settings of a report as a workbook's sheet `Report` gives them: a key in column A, its value in column B."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PureWindowsPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner.cells import is_blank
from planner.columns import BadValueError, echo
from planner.headers import normalise
from planner.issues import Issue, PlannerError, Severity
from planner.logo import read_logo
from planner.settings import Decision, Settings, overridden, read_date, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner.headers import Cell, Grid

SHEET: Final = "Report"
_KEY, _VALUE, _OWNER, _BY = 1, 2, 3, 4
# Rows beyond these are no list of settings.
_MOST_ROWS: Final = 500
_CLOSE: Final = 0.6
# A row of headers, and the headers of the decisions' columns.
_HEADERS: Final = frozenset({"setting", "key", "item", "field", "name"})
_HEADER_VALUES: Final = frozenset({"", "value", "values", "your value", "text", "entry"})


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The settings that a sheet gives, the cell of each, and every issue; values stand as they were read."""

    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    cells: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    issues: tuple[Issue, ...] = ()
    sheet: str = SHEET

    @property
    def settings(self) -> Settings:
        """The settings, with the usual ones where none or a bad one is given."""
        return Settings(**self.values)


def is_settings_name(name: str) -> bool:
    """Whether a sheet of that name may hold the settings of a report."""
    return name.casefold() == SHEET.casefold()


def read_settings(grids: Iterable[Grid]) -> ReadSettings:
    """The settings of the sheet `Report`; none where there is no such sheet, or where it is something else.

    A value that is not accepted is an issue at its cell, and an unknown key a warning with the nearest key.
    """
    grid = next((grid for grid in grids if is_settings_name(grid.name) and not grid.ours), None)
    if grid is None or not any(_known(row) for row in list(grid.rows.values())[:_MOST_ROWS]):
        return ReadSettings()
    return _Reader(grid).read()


@cache
def _keys() -> Mapping[str, str]:
    """Every key that names a setting, as compared by :func:`normalise`."""
    found: dict[str, str] = {}
    for name, setting in settings().items():
        for text in (setting.label, name, *setting.aliases):
            found.setdefault(normalise(text), name)
    return MappingProxyType(found)


def _known(row: Mapping[int, Cell]) -> str | None:
    cell = row.get(_KEY)
    return _keys().get(normalise(str(cell.value))) if cell is not None and isinstance(cell.value, str) else None


def complete(read: ReadSettings, folder: Path, over: Mapping[str, Any]) -> tuple[Settings, tuple[Issue, ...]]:
    """The settings of a sheet with those that win over them, the logo's file found and tried, and every issue.

    A logo that the sheet names lies in the workbook's ``folder``: a workbook may come from anybody, and must not show
    other files of who runs it, nor have a computer of its choice asked for one.
    Raises PlannerError where one that wins is not accepted.
    """
    settled = overridden(read.settings, over)
    if not settled.logo:
        return settled, read.issues
    named = bool(over.get("logo"))
    path = Path(settled.logo) if named else folder / settled.logo
    try:
        if not named and not _lies_within(folder, settled.logo):
            raise BadValueError(  # noqa: TRY301  said at its cell, as what reading finds
                f"Logo is {echo(settled.logo)}, outside the workbook's folder", "a file in it, or another by --logo"
            )
        read_logo(path, settled.logo)
    except BadValueError as bad:
        if named:
            raise PlannerError(f"{bad.problem}; expected {bad.accepted}.") from bad
        refused = _issue(read.sheet, read.cells.get("logo", ""), bad.problem, bad.accepted, Severity.ERROR, "value")
        return dataclasses.replace(settled, logo=""), (*read.issues, refused)
    return dataclasses.replace(settled, logo=str(path)), read.issues


def _lies_within(folder: Path, name: str) -> bool:
    """Whether a path leads to somewhere below a folder; nothing outside of it is asked."""
    pure = PureWindowsPath(name)
    if pure.anchor or ".." in pure.parts:
        return False
    return (folder / name).resolve().is_relative_to(folder.resolve())


class _Reader:
    """Reads the rows of a sheet of settings."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.values: dict[str, Any] = {}
        self.cells: dict[str, str] = {}
        self.issues: list[Issue] = []
        self.several: dict[str, list[tuple[int, Any]]] = {}

    def read(self) -> ReadSettings:
        for number in sorted(self.grid.rows)[:_MOST_ROWS]:
            row = self.grid.rows[number]
            key = row.get(_KEY)
            if key is None or not isinstance(key.value, str) or not key.value.strip():
                continue
            name = _known(row)
            if name is None:
                self._unknown(number, row)
            else:
                self._setting(number, name, row)
        for name, found in self.several.items():
            self._take(name, [value for _, value in found], f"B{found[0][0]}")
        return ReadSettings(
            MappingProxyType(self.values), MappingProxyType(self.cells), tuple(self.issues), self.grid.name
        )

    def _unknown(self, number: int, row: Mapping[int, Cell]) -> None:
        """Warn of a key that names no setting, where a value stands beside it: a line of text alone is a heading."""
        key, value = normalise(row[_KEY].value), row.get(_VALUE)
        if value is None or is_blank(value):
            return
        if key in _HEADERS and normalise(str(value.value)) in _HEADER_VALUES:
            return
        close = difflib.get_close_matches(key, _keys(), n=1, cutoff=_CLOSE)
        labels = settings()
        if close:
            advice = f"Did you mean {labels[_keys()[close[0]]].label}?"
        else:
            advice = f"The keys are {', '.join(setting.label for setting in labels.values())}"
        said = f"{echo(row[_KEY].value)} is no setting that planner knows, so it is not read"
        self.issues.append(_issue(self.grid.name, f"A{number}", said, "", Severity.WARNING, "setting", advice))

    def _setting(self, number: int, name: str, row: Mapping[int, Cell]) -> None:
        cell, setting = row.get(_VALUE), settings()[name]
        if cell is None or is_blank(cell):
            return
        if cell.error or (cell.formula and cell.value is None):
            what = f"{cell.value}, an error of the workbook" if cell.error else "a formula without a stored value"
            self._refuse(f"B{number}", f"{setting.label} is {what}", setting.accepted)
            return
        if name == "decisions":
            if normalise(str(cell.value)) not in {"decision", "decisions"}:
                self.several.setdefault(name, []).append((number, self._decision(number, row)))
        elif setting.several:
            self.several.setdefault(name, []).append((number, cell.value))
        elif name in self.cells:
            said = f"{setting.label} stands a second time; the one at {self.cells[name]} is used"
            self.issues.append(_issue(self.grid.name, f"B{number}", said, "", Severity.WARNING, "twice"))
        else:
            self._take(name, cell.value, f"B{number}")

    def _decision(self, number: int, row: Mapping[int, Cell]) -> Decision | str:
        """A decision with its owner and its date, which may stand in their own columns."""
        what, owner, by = (row.get(column) for column in (_VALUE, _OWNER, _BY))
        if all(cell is None or is_blank(cell) for cell in (owner, by)):
            return "" if what is None else str(what.value)
        date = None
        if by is not None and not is_blank(by):
            try:
                date = read_date("By", by.value)
            except BadValueError as bad:
                self._refuse(f"D{number}", bad.problem, bad.accepted)
        return Decision(
            " ".join(str(what.value if what else "").split()),
            "" if owner is None or is_blank(owner) else " ".join(str(owner.value).split()),
            date,
        )

    def _take(self, name: str, value: Any, cell: str) -> None:
        """A value as its setting reads it; the usual one stays where it is not accepted."""
        self.cells[name] = cell
        setting = settings()[name]
        try:
            self.values[name] = setting.read(setting.label, value)
        except BadValueError as bad:
            self._refuse(cell, bad.problem, bad.accepted)

    def _refuse(self, cell: str, problem: str, accepted: str) -> None:
        self.issues.append(_issue(self.grid.name, cell, problem, accepted, Severity.ERROR, "value"))


def _issue(  # noqa: PLR0917  the parts of an issue
    sheet: str, cell: str, problem: str, accepted: str, severity: Severity, code: str, advice: str = ""
) -> Issue:
    row = int(cell.lstrip("ABCD")) if cell else None
    return Issue(
        severity=severity,
        code=code,
        problem=problem,
        accepted=accepted,
        advice=advice,
        sheet=sheet,
        cell=cell,
        row=row,
    )
