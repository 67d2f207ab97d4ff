"""How far predictions lie from measurements: errors by kind of serving and by class of device."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KINDS: Final = ("dense batch 1", "dense batched", "tensor parallel", "moe")
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Judged:
    """A rate predicted and measured, with the range and the ceiling that were stated for it."""

    kind: str
    device_class: str
    measured: float
    base: float
    low: float | None
    high: float | None
    ceiling: float | None

    @property
    def error(self) -> float:
        """Predicted / measured - 1."""
        return self.base / self.measured - 1

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in the stated range."""
        return self.low is not None and self.high is not None and self.low <= self.measured <= self.high

    @property
    def above_ceiling(self) -> bool:
        """Whether the measurement lies above what the reads allow."""
        return self.ceiling is not None and self.measured > self.ceiling


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """The errors of a group of rows; shares and errors are ratios.

    ``median`` and ``p90`` are of the error's size, ``bias`` is the median of its sign and size, ``inside`` the share
    within the range.
    """

    group: str
    rows: int
    median: float
    p90: float
    bias: float
    inside: float
    above_ceiling: int


def error_line(group: str, rows: Sequence[Judged]) -> ErrorLine | None:
    """The errors of a group, None where it has no rows.

    >>> rows = [Judged("moe", "apple", 100, base, 80, 120, 150) for base in (90, 110, 130)]
    >>> line = error_line("moe", rows)
    >>> round(line.median, 3), round(line.bias, 3), line.inside
    (0.1, 0.1, 1.0)
    """
    if not rows:
        return None
    sizes = sorted(abs(row.error) for row in rows)
    return ErrorLine(
        group,
        len(rows),
        median(sizes),
        quantile(sizes, 0.9),
        median(row.error for row in rows),
        sum(row.inside for row in rows) / len(rows),
        sum(row.above_ceiling for row in rows),
    )


def error_table(rows: Iterable[Judged]) -> tuple[list[ErrorLine], list[ErrorLine]]:
    """The errors by kind of serving, with all rows as the first line, and by class of device."""
    rows = list(rows)
    by_kind = [(ALL, rows), *((kind, [row for row in rows if row.kind == kind]) for kind in KINDS)]
    classes = sorted({row.device_class for row in rows})
    by_class = [(name, [row for row in rows if row.device_class == name]) for name in classes]
    return _lines(by_kind), _lines(by_class)


def _lines(groups: Iterable[tuple[str, list[Judged]]]) -> list[ErrorLine]:
    return [line for name, rows in groups if (line := error_line(name, rows)) is not None]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share of ordered values lies, between neighbours in proportion.

    >>> quantile([0.0, 1.0, 2.0, 3.0, 4.0], 0.9)
    3.6
    """
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
