"""The charts of money: curves over a plain scale with marked points, bars by month, and what swings to both sides."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final

from planner.report import svg
from planner.report.charts import tick_text
from planner.report.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.report.shapes import Curve, Gauge, Spot

# A line is told by colour and by dash; what it is held against is rust and dashed.
_LOOKS: Final = ((svg.BLUE, ""), (svg.VIOLET, "7 3"), (svg.STEEL, "2 3"))
MOST_CURVES: Final = len(_LOOKS)
_WIDTH: Final = 700.0
_HALF: Final = 344.0
# Wider than elsewhere, since an assumption is named with its ends.
_NAMES: Final = 316.0
_BAR: Final = 13.0
_PITCH: Final = 21.0


def curve_chart(
    curves: Sequence[Curve],
    spots: Sequence[Spot],
    alt: str,
    *,
    unit: str,
    across: str,
    ends: tuple[float, float],
    most_y: float,
    x_ticks: Sequence[tuple[float, str]] = (),
) -> str:
    """Curves over a plain scale, each labelled at its end, and marked points with their words."""
    height, top, bottom = 236.0, 26.0, 196.0
    least, most = ends
    ticks = svg.nice_ticks(most_y)
    plain_ticks = [tick for tick in svg.nice_ticks(most) if tick <= most * (1 + 1e-9)]
    x_ticks = x_ticks or [(tick, tick_text(tick, plain_ticks)) for tick in plain_ticks]
    texts = [tick_text(tick, ticks) for tick in ticks]
    left = max(svg.text_width(text, 9.5) for text in texts) + 8
    longest = max((svg.text_width(curve.label, 10, bold=True) for curve in curves), default=0.0)
    right = _HALF - min(longest + 13, 110.0)

    def x(value: float) -> float:
        return left + (right - left) * (value - least) / (most - least)

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / ticks[-1]

    parts = [svg.text(0, 10, unit, colour=svg.GREY, size=9.5)]
    for tick, text in zip(ticks, texts, strict=True):
        first = tick == 0
        parts.append(svg.line(left, y(tick), right, y(tick), svg.INK if first else svg.RULE, 1.0 if first else 0.8))
        parts.append(svg.text(left - 5, y(tick) + 3.3, text, colour=svg.GREY, anchor="end", size=9.5))
    parts += _across(x_ticks, x, bottom)
    parts.append(svg.text((left + right) / 2, height - 8, across, colour=svg.GREY, anchor="middle", size=9.5))
    marks = [(x(spot.x), y(spot.y), spot) for spot in spots if spot.y <= ticks[-1]]
    lines = [[(x(a), y(b)) for a, b in _within(curve.points, ticks[-1])] for curve in curves]
    words = _words(marks, lines, left, right, top)
    # Rules must not run through words, nor plates hide what the words explain: plates lie between the two.
    parts += [svg.rect(start - 1, place - 8.5, room + 1, 11, "#FFFFFF") for start, room, place, _ in words]
    looks = iter(_LOOKS)
    drawn = []
    for curve in curves:
        colour, dash = (svg.RUST, "4 3") if curve.against else next(looks)
        points = _within(curve.points, ticks[-1])
        path = " ".join(f"{svg.number(x(a))},{svg.number(y(b))}" for a, b in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        width = 2.2 if curve.strong else 1.5
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>')
        drawn.append((curve.label, colour, points[-1]))
    places = svg.spread([y(end[1]) for _, _, end in drawn], 12.0, top + 2, bottom - 2)
    for (label, colour, end), place in zip(drawn, places, strict=True):
        if x(end[0]) < right - 2 or abs(place - y(end[1])) > 1:
            parts.append(svg.line(x(end[0]) + 2, y(end[1]), right + 6, place, svg.STEEL, 0.5))
        name = svg.fitted(label, _HALF - right - 10, 10, bold=True)
        parts.append(svg.text(right + 9, place + 3.4, name, colour=colour, size=10, weight=600))
    parts += _spots(marks)
    parts += [svg.text(start, place, text, colour=svg.INK, size=9.5, weight=600) for start, _, place, text in words]
    return svg.drawing(_HALF, height, alt, parts)


def _within(points: Sequence[tuple[float, float]], most: float) -> list[tuple[float, float]]:
    """The part of a falling or rising line that a scale holds, cut where it leaves the scale."""
    kept: list[tuple[float, float]] = []
    for before, point in zip((None, *points), points, strict=False):
        if before is not None and (before[1] > most) != (point[1] > most):
            share = (most - before[1]) / (point[1] - before[1])
            kept.append((before[0] + share * (point[0] - before[0]), most))
        if point[1] <= most:
            kept.append(point)
    return kept or [(points[-1][0], most)]


def _across(ticks: Sequence[tuple[float, str]], x: Callable[[float], float], bottom: float) -> list[str]:
    parts, free = [], -math.inf
    for tick, words in ticks:
        at = x(tick)
        parts.append(svg.line(at, bottom, at, bottom + 4, svg.INK))
        half = svg.text_width(words, 9.5) / 2
        if at - half > free:
            parts.append(svg.text(at, bottom + 15, words, colour=svg.GREY, anchor="middle", size=9.5))
            free = at + half + 4
    return parts


def _spots(spots: Sequence[tuple[float, float, Spot]]) -> list[str]:
    """Marked points: a ring where lines meet, a full square where the plan stands."""
    return [
        svg.rect(x - 3.6, y - 3.6, 7.2, 7.2, svg.INK, "#FFFFFF")
        if spot.planned
        else svg.circle(x, y, 4.0, "#FFFFFF", svg.INK)
        for x, y, spot in spots
    ]


def _words(
    spots: Sequence[tuple[float, float, Spot]],
    lines: Sequence[Sequence[tuple[float, float]]],
    left: float,
    right: float,
    top: float,
) -> list[tuple[float, float, float, str]]:
    """Where the words of marked points start, how wide they are and at which height: off all lines where that can be.

    None stands over another; those without a place are left out.
    """
    found: list[tuple[float, float, float, str]] = []
    taken: list[tuple[float, float, float]] = []
    for x, y, spot in spots:
        if not spot.text:
            continue
        room = svg.text_width(spot.text, 9.5, bold=True)
        starts = [start for start in (x + 7, x - room - 7) if left <= start and start + room < right] or [left]
        heights = [y - 7, y + 14, y - 19, y + 26, y - 31, y + 38]
        free = [
            (start, height)
            for height in heights
            for start in starts
            if top < height < _LOWEST and _free(start, room, height, taken)
        ]
        if not free:
            continue
        start, height = min(free, key=lambda at: _crossings(at[0], at[0] + room, at[1], lines))
        taken.append((start, start + room, height))
        found.append((start, room, height, spot.text))
    return found


_LOWEST: Final = 194.0


def _crossings(start: float, end: float, height: float, lines: Sequence[Sequence[tuple[float, float]]]) -> int:
    """How many lines run through words of this place."""
    return sum(
        any(_through(first, second, start, end, height) for first, second in itertools.pairwise(line)) for line in lines
    )


def _through(first: tuple[float, float], second: tuple[float, float], start: float, end: float, height: float) -> bool:
    """Whether a stretch of a line comes into the box of words: between where it enters and leaves their width."""
    (x1, y1), (x2, y2) = sorted((first, second))
    low, high = max(x1, start), min(x2, end)
    if low > high:
        return False
    slope = (y2 - y1) / (x2 - x1) if x2 > x1 else 0.0
    ends = (y1 + slope * (low - x1), y1 + slope * (high - x1)) if slope else (y1, y2)
    return min(ends) < height + 3 and max(ends) > height - 9


def _free(start: float, room: float, place: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    return all(abs(place - other) > _LINE or start > end or start + room < begin for begin, end, other in taken)


_LINE: Final = 11.0


def tornado(rows: Sequence[Gauge], base: float, base_text: str, say: Callable[[float], str], alt: str) -> str:
    """The value between the two ends of each assumption, cheaper to the left in blue, dearer to the right hatched."""
    top = 24.0
    height = top + _PITCH * len(rows) + 22
    bottom = height - 20
    most = max((row.high for row in rows), default=base)
    least = min((row.low for row in rows), default=base)
    gutter = max((svg.text_width(say(row.high)) for row in rows), default=0.0) + 12
    before = max((svg.text_width(say(row.low)) for row in rows), default=0.0) + 12
    left, right = _NAMES + before, _WIDTH - gutter
    # From nothing on where the scale bears it, so that lengths mean shares.
    start = 0.0 if least < (most - least) * 2 else least - (most - least) * 0.1
    scale = (right - left) / ((most - start) or 1.0)

    def across(value: float) -> float:
        return left + (value - start) * scale

    parts = []
    ticks = [tick for tick in svg.nice_ticks(most) if start <= tick <= most] if start == 0 else []
    for tick in ticks:
        at = across(tick)
        parts.append(svg.line(at, top - 6, at, bottom, svg.RULE, 0.8))
        parts.append(svg.text(at, bottom + 14, tick_text(tick, ticks), colour=svg.GREY, anchor="middle", size=9.5))
    middle = across(base)
    for index, row in enumerate(rows):
        y = top + _PITCH * index
        low, high = across(row.low), across(row.high)
        parts.append(svg.rect(low, y, middle - low, _BAR, svg.BLUE))
        if high > middle:
            parts.append(svg.hatch(middle, y, high - middle, _BAR, svg.RUST))
        parts += _end(low - 5, y, say(row.low), "end")
        parts += _end(high + 5, y, say(row.high), "start")
    parts.append(svg.line(middle, top - 8, middle, bottom, svg.INK, 1.2))
    half = svg.text_width(base_text, bold=True) / 2
    words_at = min(max(middle, _NAMES + half), _WIDTH - half)
    parts.append(svg.text(words_at, 10, base_text, colour=svg.INK, anchor="middle", weight=600))
    names = [(f"{row.label}: {row.ends}", False) for row in rows]
    middles = [top + _PITCH * index + _BAR / 2 for index in range(len(rows))]
    return svg.named(svg.drawing(_WIDTH, height, alt, parts), names, middles, height, _NAMES - 8, _WIDTH)


def _end(x: float, y: float, words: str, anchor: str) -> list[str]:
    """A value at a bar's end, which no rule may run through."""
    room = svg.text_width(words, 10)
    start = x - room if anchor == "end" else x
    return [
        svg.rect(start - 1, y + 1, room + 2, _BAR - 2, "#FFFFFF"),
        svg.text(x, y + _BAR - 3, words, colour=svg.INK, anchor=anchor, size=10, weight=500),
    ]


def month_bars(values: Sequence[float], names: Sequence[str], marked: Sequence[int], alt: str, *, unit: str) -> str:
    """A bar for each month with its value above; those that are marked stand out."""
    height, top, bottom = 236.0, 34.0, 196.0
    pitch = (_HALF - 8) / max(len(values), 1)
    most = max(values, default=1.0) or 1.0
    parts = [svg.text(0, 10, unit, colour=svg.GREY, size=9.5)]
    for index, value in enumerate(values):
        x, tall = 4 + pitch * index, (bottom - top) * value / most
        fill = svg.BLUE if index in marked else svg.STEEL
        parts.append(svg.rect(x + 2, bottom - tall, pitch - 4, tall, fill))
        weight = 700 if index in marked else 400
        middle = x + pitch / 2
        size = 9.5 if max(svg.text_width(plain(each), 9.5) for each in values) < pitch else 7.5
        parts.append(
            svg.text(middle, bottom - tall - 4, plain(value), colour=svg.INK, anchor="middle", size=size, weight=weight)
        )
        parts.append(svg.text(middle, bottom + 14, names[index], colour=svg.GREY, anchor="middle", size=9))
    parts.append(svg.line(4, bottom, _HALF - 4, bottom, svg.INK))
    return svg.drawing(_HALF, height, alt, parts)
