"""The charts: bars, lines and dots, each as SVG, with the names of its rows set beside it as HTML.

Colours are flat and differ in lightness as well as in hue; what colour says, a hatch, a dash or a label says too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from planner.report import svg
from planner.report.numbers import plain, rounded
from planner.report.parts import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.report.shapes import Bar, Dots, Line

# A line is told by colour and by dash, so that six lines need three colours and stay apart in grey.
_LOOKS: Final = (
    (svg.BLUE, ""),
    (svg.RUST, ""),
    (svg.VIOLET, ""),
    (svg.BLUE, "6 3"),
    (svg.RUST, "6 3"),
    (svg.VIOLET, "6 3"),
)
_DOT_LOOKS: Final = ((svg.STEEL, "circle"), (svg.BLUE, "square"), (svg.RUST, "triangle"), (svg.VIOLET, "diamond"))

MOST_LINES: Final = len(_LOOKS)

# Units of a chart's own space; the page stretches it to the width that it gives.
_WIDTH: Final = 700.0
_HALF: Final = 344.0
_NAMES: Final = 232.0


_BAR: Final = 13.0
_PITCH: Final = 18.5
_BROKEN_FROM: Final = 3.0
_MOST_MARK: Final = 2.5


def bar_chart(bars: Sequence[Bar], mark: float | None, mark_text: str, alt: str) -> str:
    """Horizontal bars with their values beside them, and a dashed line at a mark, or at each bar's own.

    A bar that dwarfs all others is broken off, so that they stay readable.
    """
    top = 22.0
    height = top + _PITCH * len(bars) + 4
    left = _NAMES
    # A whisker reaches beyond its bar.
    values = sorted((bar.reach for bar in bars), reverse=True)
    longest = values[0] if values else 1.0
    cap = longest
    if len(values) > 1 and longest > _BROKEN_FROM * max(values[1], mark or 0.0):
        cap = 1.25 * max(values[1], mark or 0.0)
    # A mark beyond what the bars bear is left to the words.
    marks = [bar.mark if bar.mark is not None and bar.mark <= _MOST_MARK * cap else None for bar in bars]
    room = _WIDTH - left - max((svg.text_width(bar.text, bold=True) for bar in bars), default=0.0) - 12
    scale = max(room, 60.0) / max(cap, (mark or 0.0) * 1.1, *(own or 0.0 for own in marks), 1e-300)
    parts = []
    for index, bar in enumerate(bars):
        y = top + _PITCH * index
        broken = bar.reach > cap
        length = min(bar.value, cap) * scale
        if bar.hatched:
            parts.append(svg.hatch(left, y, length, _BAR, svg.RUST))
        elif bar.outlined:
            parts.append(svg.rect(left, y, length, _BAR, "#FFFFFF", svg.BLUE if bar.strong else svg.STEEL))
        else:
            parts.append(svg.rect(left, y, length, _BAR, svg.BLUE if bar.strong else svg.STEEL))
        if bar.ends and not broken:
            low, high = (left + end * scale for end in bar.ends)
            middle = y + _BAR / 2
            parts.append(svg.line(low, middle, high, middle, svg.INK, 1.1))
            parts += [svg.line(end, middle - 3.5, end, middle + 3.5, svg.INK, 1.1) for end in (low, high)]
        if broken:
            cut_at = left + length - 16
            d = f"M{svg.number(cut_at)} {svg.number(y + _BAR + 1)}l5 -{_BAR + 2:g}h4l-5 {_BAR + 2:g}z"
            parts.append(f'<path d="{d}" fill="#FFFFFF"/>')
    parts.append(svg.line(left, top - 6, left, height, svg.INK))
    if mark is not None:
        at = left + mark * scale
        parts.append(svg.line(at, top - 6, at, height, svg.RUST, 1.1, "4 3"))
        half = svg.text_width(mark_text, bold=True) / 2
        words_at = min(max(at, left + half), _WIDTH - half)
        parts.append(svg.text(words_at, 10, mark_text, colour=svg.RUST, anchor="middle", weight=600))
    for index, bar in enumerate(bars):
        y = top + _PITCH * index
        own = marks[index]
        x = left + max(min(bar.reach, cap), own or 0.0) * scale + 6
        room = svg.text_width(bar.text, bold=bar.strong)
        # The dashed line must not run through a value.
        parts.append(svg.rect(x - 2, y, room, _BAR, "#FFFFFF"))
        colour = svg.RUST if bar.hatched else svg.INK
        parts.append(svg.text(x, y + _BAR - 3, bar.text, colour=colour, weight=700 if bar.strong else 500))
        if own is not None:
            at = left + own * scale
            parts.append(svg.line(at, y - 2, at, y + _BAR + 2, svg.RUST, 2.2))
    names = [(bar.label, bar.strong) for bar in bars]
    middles = [top + _PITCH * index + _BAR / 2 for index in range(len(bars))]
    return svg.named(svg.drawing(_WIDTH, height, alt, parts), names, middles, height, left - 8, _WIDTH)


def _grouped(lines: Sequence[Line]) -> list[tuple[str, tuple[float, ...]]]:
    """Lines that run on top of each other as one, with their labels together."""
    found: dict[tuple[str, ...], tuple[list[str], tuple[float, ...]]] = {}
    for line in lines:
        key = tuple(f"{value:.6g}" for value in line.values)
        found.setdefault(key, ([], line.values))[0].append(line.label)
    return [(", ".join(names), values) for names, values in found.values()]


def line_chart(
    lines: Sequence[Line],
    positions: Sequence[float],
    alt: str,
    *,
    unit: str,
    across: str,
    shaded_above: float | None = None,
    shaded_text: str = "",
    mark: float | None = None,
    mark_text: str = "",
) -> str:
    """Lines over positions on a log scale, each labelled at its end; a region may be shaded, a level marked."""
    grouped = _grouped(lines)[:MOST_LINES]
    height, top, bottom = 236.0, 26.0, 196.0
    longest = max((svg.text_width(label, 10, bold=True) for label, _ in grouped), default=0.0)
    gutter = min(max(longest + 14, 40.0), 120.0)
    ticks = svg.nice_ticks(max((v for _, values in grouped for v in values), default=1.0))
    tick_texts = [tick_text(tick, ticks) for tick in ticks]
    left, right = 10 + max(svg.text_width(text, 9.5) for text in tick_texts), _HALF - gutter
    low, high = math.log2(min(positions)), math.log2(max(positions))

    def x(position: float) -> float:
        return left + (right - left) * ((math.log2(position) - low) / (high - low) if high > low else 0.5)

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / ticks[-1]

    parts = [svg.text(0, 10, unit, colour=svg.GREY, size=9.5)]
    if shaded_above is not None and positions[-1] > shaded_above:
        start = x(max(shaded_above, min(positions)))
        parts.append(svg.rect(start, top, right - start, bottom - top, svg.SHADE))
        room = svg.text_width(shaded_text, 9)
        parts.append(svg.text(min(start, _HALF - room), top - 4, shaded_text, colour=svg.GREY, size=9))
    for tick, text in zip(ticks, tick_texts, strict=True):
        parts.append(
            svg.line(left, y(tick), right, y(tick), svg.INK if tick == 0 else svg.RULE, 1.0 if tick == 0 else 0.8)
        )
        parts.append(svg.text(left - 5, y(tick) + 3.3, text, colour=svg.GREY, anchor="end", size=9.5))
    if mark is not None and _LEAST_MARK * ticks[-1] < mark < ticks[-1]:
        parts.append(svg.line(left, y(mark), right, y(mark), svg.RUST, 1.0, "4 3"))
        parts += _mark_text(mark_text, left + 4, y(mark), [y(values[0]) for _, values in grouped])
    parts += _position_ticks(positions, x, bottom)
    parts.append(svg.text((left + right) / 2, height - 8, across, colour=svg.GREY, anchor="middle", size=9.5))
    ends = [y(values[-1]) for _, values in grouped]
    places = svg.spread(ends, 12.0, top + 2, bottom - 2)
    for index, ((label, values), end, place) in enumerate(zip(grouped, ends, places, strict=True)):
        colour, dash = _LOOKS[index]
        points = [(x(position), y(value)) for position, value in zip(positions, values, strict=True)]
        path = " ".join(f"{svg.number(a)},{svg.number(b)}" for a, b in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes}/>')
        parts += [f'<circle cx="{svg.number(a)}" cy="{svg.number(b)}" r="2" fill="{colour}"/>' for a, b in points]
        if abs(place - end) > 1:
            parts.append(svg.line(points[-1][0] + 2, end, points[-1][0] + 8, place, colour, 0.7))
        name = svg.fitted(label, _HALF - points[-1][0] - 11, 10, bold=True)
        parts.append(svg.text(points[-1][0] + 10, place + 3.4, name, colour=colour, size=10, weight=600))
    return svg.drawing(_HALF, height, alt, parts)


# Below this share of the scale a mark lies among the axis's own ticks and cannot be read.
_LEAST_MARK: Final = 0.08


def _mark_text(text: str, x: float, y: float, taken: Sequence[float]) -> list[str]:
    """The mark's words above its line, or below it where a line of the chart is in the way; none where both are."""
    for place in (y - 3.5, y + 10):
        if all(abs(other - (place - 3)) > _CLEAR for other in taken):
            return [svg.text(x, place, text, colour=svg.RUST, size=8.5)]
    return []


_CLEAR: Final = 7.0


def tick_text(tick: float, ticks: Sequence[float]) -> str:
    """A tick's number with the decimals that tell it from its neighbours."""
    step = ticks[1] - ticks[0]
    places = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    if places == 0 and step % 1:
        places = 1
    return rounded(tick, places)


def _position_ticks(positions: Sequence[float], x: Callable[[float], float], bottom: float) -> list[str]:
    """Ticks with as many of their numbers as have room."""
    parts, free = [], -math.inf
    for position in positions:
        at, text = x(position), rounded(position, 0)
        parts.append(svg.line(at, bottom, at, bottom + 4, svg.INK))
        half = svg.text_width(text, 9.5) / 2
        if at - half > free:
            parts.append(svg.text(at, bottom + 15, text, colour=svg.GREY, anchor="middle", size=9.5))
            free = at + half + 3
    return parts


def dot_chart(rows: Sequence[Dots], names: Sequence[str], mark: float, mark_text: str, alt: str) -> str:
    """A row of marks for each label, one shape for each name, on a common log scale, and a line at a mark.

    On a log scale the same step of precision is the same distance in every row.
    """
    top, pitch = 44.0, 22.0
    height = top + pitch * len(rows) + 24
    left = _NAMES
    known = [v for row in rows for v in row.values if v is not None and v > 0]
    ticks = svg.log_ticks(min(known, default=1.0), max(known, default=1.0))
    right, bottom = _WIDTH - 30, height - 20
    scale = (right - left) / math.log(ticks[-1] / ticks[0])

    def across(value: float) -> float:
        return left + math.log(value / ticks[0]) * scale

    parts = _key(names, left)
    for tick in ticks:
        at = across(tick)
        parts.append(svg.line(at, top - 8, at, bottom, svg.RULE, 0.8))
        parts.append(svg.text(at, bottom + 14, plain(tick), colour=svg.GREY, anchor="middle", size=9.5))
    at = across(mark)
    if left <= at <= right:
        parts.append(svg.line(at, top - 8, at, bottom, svg.RUST, 1.1, "4 3"))
        half = svg.text_width(mark_text, 9.5, bold=True) / 2
        words_at = min(at, _WIDTH - half)
        parts.append(svg.text(words_at, top - 12, mark_text, colour=svg.RUST, anchor="middle", size=9.5, weight=600))
    for index, row in enumerate(rows):
        y = top + pitch * index + 6
        xs = [across(value) for value in row.values if value is not None]
        if xs:
            parts.append(svg.line(min(xs), y, max(xs), y, svg.STEEL, 1.2))
        free = -math.inf
        placed = [(across(v), n) for n, v in enumerate(row.values) if v is not None]
        for x, n in sorted(placed):
            parts.append(_shape(x, y, n))
            half = svg.text_width(row.texts[n], 9) / 2
            middle = min(max(x, left - 20 + half), _WIDTH - half)
            # A value whose place is taken is left to the table.
            if middle - half > free:
                # The dashed line must not run through a value.
                parts.append(svg.rect(middle - half, y - 14, 2 * half, 8.5, "#FFFFFF"))
                parts.append(svg.text(middle, y - 6.5, row.texts[n], colour=svg.INK, anchor="middle", size=9))
                free = middle + half + 2
    names_beside = [(row.label, False) for row in rows]
    middles = [top + pitch * index + 6 for index in range(len(rows))]
    return svg.named(svg.drawing(_WIDTH, height, alt, parts), names_beside, middles, height, left - 26, _WIDTH)


def _key(names: Sequence[str], left: float) -> list[str]:
    parts, x = [], left
    for index, name in enumerate(names):
        text = cut(name, 16)
        parts.append(_shape(x + 4, 9, index))
        parts.append(svg.text(x + 13, 12.5, text, colour=svg.GREY, size=9.5))
        x += svg.text_width(text, 9.5) + 30
    return parts


def _shape(x: float, y: float, index: int) -> str:
    colour, kind = _DOT_LOOKS[index]
    r = 4.2
    if kind == "circle":
        return f'<circle cx="{svg.number(x)}" cy="{svg.number(y)}" r="{r}" fill="{colour}"/>'
    if kind == "square":
        return svg.rect(x - r + 0.4, y - r + 0.4, 2 * r - 0.8, 2 * r - 0.8, colour)
    if kind == "triangle":
        points: tuple[tuple[float, float], ...] = (
            (x, y - r - 0.4),
            (x + r + 0.4, y + r - 0.6),
            (x - r - 0.4, y + r - 0.6),
        )
    else:
        points = ((x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y))
    path = " ".join(f"{svg.number(a)},{svg.number(b)}" for a, b in points)
    return f'<polygon points="{path}" fill="{colour}"/>'
