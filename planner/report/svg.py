"""What charts are drawn with: colours, texts, lines and rectangles as SVG, scales, ticks and places of labels.

Every look is set as an attribute of its element, since a page's style sheet does not reach into a chart.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Final

from planner.report.numbers import as_percent
from planner.report.parts import cut, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence


NAVY: Final = "#0B3954"
BLUE: Final = "#075F98"
STEEL: Final = "#7D93A8"
GREY: Final = "#5B6673"
INK: Final = "#1D2733"
RULE: Final = "#DCE2E8"
SHADE: Final = "#EFF2F5"
RUST: Final = "#B3430E"
VIOLET: Final = "#6A4C93"
SKY: Final = "#9CC5E3"
PALE: Final = "#D3DAE1"

SIZE: Final = 10.5
_LETTER: Final = 0.58
_BOLD: Final = 1.07


def text_width(text: str, size: float = SIZE, *, bold: bool = False) -> float:
    """The room that a text takes in a chart, on the safe side."""
    return width_of(text) * size * _LETTER * (_BOLD if bold else 1.0)


def fitted(text: str, room: float, size: float = SIZE, *, bold: bool = False) -> str:
    """A text cut to the room that a chart has for it."""
    return cut(text, max(room / (size * _LETTER * (_BOLD if bold else 1.0)), 2.0))


def nice_ticks(top: float, about: int = 5) -> list[float]:
    """Round ticks from 0 to at least the top.

    >>> nice_ticks(81.4)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    """
    if not top > 0 or not math.isfinite(top):
        return [0.0, 1.0]
    rough = top / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1.0, 2.0, 2.5, 5.0, 10.0) if nice * power >= rough * (1 - 1e-9))
    return [step * n for n in range(math.ceil(top / step * (1 - 1e-9)) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Round ticks of a log scale, from at most the low to at least the high value; few enough to be read.

    >>> log_ticks(4, 150)
    [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    """
    if not 0 < low <= high < math.inf:
        return [1.0, 10.0]
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1.0, 2.0, 5.0) if last - first <= _DECADES_WITH_STEPS else (1.0,)
    every = max(1, -(-(last - first) // _MOST_DECADES))
    ticks = [step * 10.0**power for power in range(first, last + every, every) for step in steps]
    start = max((n for n, tick in enumerate(ticks) if tick <= low), default=0)
    stop = min((n for n, tick in enumerate(ticks) if tick >= high and n > start), default=len(ticks) - 1)
    return ticks[start : stop + 1]


_DECADES_WITH_STEPS: Final = 3
_MOST_DECADES: Final = 8


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places, moved as little as they can be so that neighbours stand a gap apart within the limits.

    >>> spread([10, 11, 50], 8, 0, 100)
    [6.5, 14.5, 50.0]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[tuple[float, list[int]]] = []
    for index in order:
        groups.append((float(places[index]), [index]))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (len(groups[-1][1]) + len(groups[-2][1])) / 2:
            (b, right), (a, left) = groups.pop(), groups.pop()
            merged = left + right
            groups.append(((a * len(left) + b * len(right)) / len(merged), merged))
    found = [0.0] * len(places)
    for middle, members in groups:
        for rank, index in enumerate(members):
            found[index] = middle + gap * (rank - (len(members) - 1) / 2)
    # Room lost at an edge is taken from the other side.
    floor = low
    for index in order:
        found[index] = floor = max(found[index], floor)
        floor += gap
    ceiling = high
    for index in reversed(order):
        found[index] = ceiling = min(found[index], ceiling)
        ceiling -= gap
    return found


def number(value: float) -> str:
    """A coordinate, without needless zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(
    x: float, y: float, words: str, *, colour: str = INK, anchor: str = "start", size: float = SIZE, weight: int = 400
) -> str:
    """A text at its baseline, in one of Inter's weights."""
    return (
        f'<text x="{number(x)}" y="{number(y)}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0, dash: str = "") -> str:  # noqa: PLR0917  two points are four numbers
    """A straight line, dashed where dashes are given."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" '
        f'stroke="{colour}" stroke-width="{number(width)}"{dashes}/>'
    )


def rect(x: float, y: float, width: float, height: float, fill: str, stroke: str = "none") -> str:  # noqa: PLR0917  as SVG has them
    """A rectangle."""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(width, 0.0))}" height="{number(height)}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def circle(x: float, y: float, radius: float, fill: str, stroke: str = "none") -> str:
    """A circle."""
    return (
        f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{fill}" stroke="{stroke}" '
        'stroke-width="1.3"/>'
    )


def diamond(x: float, y: float, radius: float, fill: str) -> str:
    """A square on its corner."""
    corners = ((x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y))
    return f'<polygon points="{" ".join(f"{number(a)},{number(b)}" for a, b in corners)}" fill="{fill}"/>'


def percent(share: float) -> str:
    """A share as a chart says it.

    >>> percent(0.708)
    '71%'
    """
    return as_percent(share)


# WeasyPrint draws a text of SVG letter by letter, which takes Arabic apart and turns Hebrew round.
def named(  # noqa: PLR0917  a drawing, its names, and the space they share
    drawn: str, names: Sequence[tuple[str, bool]], middles: Sequence[float], height: float, room: float, width: float
) -> str:
    """A chart with the names of its rows on their left, as HTML; a name that must stand out is bold."""
    labels = []
    for (name, strong), middle in zip(names, middles, strict=True):
        words = escape(fitted(name, room, bold=strong))
        if strong:
            words = f"<strong>{words}</strong>"
        style = f"top:{100 * middle / height:.3f}%;width:{100 * room / width:.3f}%"
        labels.append(f'<div class="name" style="{style}">{words}</div>')
    return f'<div class="drawn">{drawn}{"".join(labels)}</div>'


def drawing(width: float, height: float, alt: str, parts: Sequence[str]) -> str:
    """A chart of these parts, with the words that stand for it where it cannot be seen."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
        f'font-family="Inter, sans-serif"><title>{escape(alt)}</title>{"".join(parts)}</svg>'
    )


# Strokes and no pattern: the ids of patterns would clash between the charts of a page.
def hatch(x: float, y: float, width: float, height: float, colour: str) -> str:
    """Slanted strokes within a rectangle, each cut at its edges."""
    strokes = []
    start, low = -height, y + height
    while start < width:
        x1, x2 = max(start, 0.0), min(start + height, width)
        strokes.append(f"M{number(x + x1)} {number(low - (x1 - start))}L{number(x + x2)} {number(low - (x2 - start))}")
        start += 4.5
    path = f'<path d="{"".join(strokes)}" stroke="{colour}" stroke-width="0.9" fill="none"/>'
    return rect(x, y, width, height, "#FFFFFF", colour) + path
