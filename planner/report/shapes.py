"""What charts are made of: bars, stacks, ranges, lines and dots, and the words that head them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the first page: its value and text; hatched where it does not qualify, strong where it is best.

    ``ends`` are the range that a whisker shows; an ``outlined`` bar is an upper bound beside estimates; ``mark`` is
    what the bar is held against where that is its own.
    """

    label: str
    value: float
    text: str
    hatched: bool = False
    strong: bool = False
    ends: tuple[float, float] | None = None
    outlined: bool = False
    mark: float | None = None

    @property
    def reach(self) -> float:
        """How far the bar and its whisker reach."""
        return max(self.value, *(self.ends or (self.value, self.value)))


@dataclass(frozen=True, slots=True)
class Stack:
    """A row of stacked parts: its label, its parts in the order of the chart's names, and a text at its end.

    ``strong`` sets its name in bold, ``bad`` its text in the colour of warnings.
    """

    label: str
    parts: tuple[float, ...]
    text: str
    strong: bool = False
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """A row of a range chart: the estimate with its ends, the rates beside it, and a text at its end."""

    label: str
    value: float
    ends: tuple[float, float] | None
    ceiling: float | None
    core: float | None
    measured: float | None
    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart: its label at the end, and its values over the chart's positions."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Dots:
    """A row of a dot chart: its label, and its values with their texts, None where there is none."""

    label: str
    values: tuple[float | None, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart's words: the title says what it shows, the subtitle in which unit and on what basis."""

    title: str
    subtitle: str
    alt: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line over a plain scale: its label at the end, and its points; ``against`` is what others are held against."""

    label: str
    points: tuple[tuple[float, float], ...]
    against: bool = False
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """A point of a chart with its words; ``planned`` is where the plan stands, else where two lines meet."""

    x: float
    y: float
    text: str
    planned: bool = False


@dataclass(frozen=True, slots=True)
class Gauge:
    """An assumption with its two ends in words, and the value at each, the lower first."""

    label: str
    low: float
    high: float
    ends: str
