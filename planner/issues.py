"""What is said about the user's data: issues, which are returned, and the one error that stops a run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Severity(StrEnum):
    """How much an issue costs: an error skips its row, a warning flags it, a note only explains."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One thing to know about one cell: where it is, what is wrong, what is accepted or what to do.

    Issues are values. Reading and evaluating return all of them in one pass and raise none.

    >>> print(Issue(severity=Severity.ERROR, code="value", sheet="Scenarios", cell="C7",
    ...             problem="Devices is -2", accepted="a whole number of at least 1"))
    Scenarios!C7: Devices is -2; expected a whole number of at least 1.
    """

    severity: Severity
    code: str
    problem: str
    sheet: str = ""
    cell: str = ""
    field: str = ""
    row: int | None = None
    accepted: str = ""
    advice: str = ""

    @property
    def where(self) -> str:
        """The cell as Excel writes it, the sheet quoted where Excel would quote it."""
        if not self.sheet:
            return self.cell
        sheet = quoted_sheet(self.sheet)
        return f"{sheet}!{self.cell}" if self.cell else sheet

    @property
    def remedy(self) -> str:
        """What to do about it, as a phrase of its own."""
        return self.advice or (f"Expected {self.accepted}" if self.accepted else "")

    def __str__(self) -> str:
        said = self.problem
        if self.accepted:
            said += f"; expected {self.accepted}"
        if self.advice:
            said += f". {self.advice}"
        stop = "" if said.endswith("?") else "."
        return f"{self.where}: {said}{stop}" if self.where else f"{said}{stop}"


@lru_cache
def quoted_sheet(name: str) -> str:
    """A sheet's name as a formula writes it.

    >>> quoted_sheet("Scenarios"), quoted_sheet("Q3 plan"), quoted_sheet("Bob's")
    ('Scenarios', "'Q3 plan'", "'Bob''s'")
    """
    plain = name.replace("_", "a").isalnum() and name.isascii() and name[0].isalpha()
    # A name such as S1 or RC reads as a cell, so it is quoted as well.
    looks_like_cell = name[-1:].isdigit()
    if plain and not looks_like_cell and name.upper() not in {"R", "C", "RC", "TRUE", "FALSE"}:
        return name
    return "'" + name.replace("'", "''") + "'"


class PlannerError(Exception):
    """Planner cannot go on: no such file, no such sheet, an encrypted workbook. Its text is one line."""
