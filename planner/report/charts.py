"""Charts as SVG: scales, ticks and label places worked out here, every look set as an attribute of its element.

A page's style sheet does not reach into a chart, so nothing is left to it. Colours are flat and differ in
lightness as well as in hue; what colour says, a hatch, a dash or a label says too.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Final

from planner.report.parts import cut, width_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.report.parts import Bar, Dots, Line

NAVY: Final = "#0B3954"
BLUE: Final = "#075F98"
STEEL: Final = "#7D93A8"
GREY: Final = "#5B6673"
INK: Final = "#1D2733"
RULE: Final = "#DCE2E8"
SHADE: Final = "#EFF2F5"
RUST: Final = "#B3430E"
VIOLET: Final = "#6A4C93"
GREEN: Final = "#0B7A57"

# A line is told by colour and by dash, so that six lines need three colours and stay apart in grey.
_LOOKS: Final = (
    (BLUE, ""),
    (RUST, ""),
    (VIOLET, ""),
    (BLUE, "6 3"),
    (RUST, "6 3"),
    (VIOLET, "6 3"),
)
_DOT_LOOKS: Final = ((STEEL, "circle"), (BLUE, "square"), (RUST, "triangle"), (VIOLET, "diamond"))

MOST_LINES: Final = len(_LOOKS)
MOST_DOTS: Final = len(_DOT_LOOKS)

# Units of a chart's own space; the page stretches it to the width that it gives.
_WIDTH: Final = 700.0
_HALF: Final = 344.0
_SIZE: Final = 10.5
_LETTER: Final = 0.58
_BOLD: Final = 1.07


def text_width(text: str, size: float = _SIZE, *, bold: bool = False) -> float:
    """The room that a text takes in a chart, on the safe side."""
    return width_of(text) * size * _LETTER * (_BOLD if bold else 1.0)


def fitted(text: str, room: float, size: float = _SIZE, *, bold: bool = False) -> str:
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


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(
    x: float, y: float, text: str, *, colour: str = INK, anchor: str = "start", size: float = _SIZE, weight: int = 400
) -> str:
    return (
        f'<text x="{_number(x)}" y="{_number(y)}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0, dash: str = "") -> str:  # noqa: PLR0917  two points are four numbers
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}" '
        f'stroke="{colour}" stroke-width="{_number(width)}"{dashes}/>'
    )


def _rect(x: float, y: float, width: float, height: float, fill: str, stroke: str = "none") -> str:  # noqa: PLR0917  as SVG has them
    return (
        f'<rect x="{_number(x)}" y="{_number(y)}" width="{_number(max(width, 0.0))}" height="{_number(height)}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def _svg(width: float, height: float, alt: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_number(width)} {_number(height)}" '
        f'font-family="Inter, sans-serif"><title>{escape(alt)}</title>{"".join(parts)}</svg>'
    )


# Strokes and no pattern: the ids of patterns would clash between the charts of a page.
def _hatch(x: float, y: float, width: float, height: float, colour: str) -> str:
    """Slanted strokes within a rectangle, each cut at its edges."""
    strokes = []
    start, low = -height, y + height
    while start < width:
        x1, x2 = max(start, 0.0), min(start + height, width)
        strokes.append(
            f"M{_number(x + x1)} {_number(low - (x1 - start))}L{_number(x + x2)} {_number(low - (x2 - start))}"
        )
        start += 4.5
    path = f'<path d="{"".join(strokes)}" stroke="{colour}" stroke-width="0.9" fill="none"/>'
    return _rect(x, y, width, height, "#FFFFFF", colour) + path


_BAR: Final = 13.0
_PITCH: Final = 18.5
_BAR_LABELS: Final = 232.0
_BROKEN_FROM: Final = 3.0


def bar_chart(bars: Sequence[Bar], mark: float, mark_text: str, alt: str) -> str:
    """Horizontal bars with their values beside them, and a dashed line at a mark.

    A bar that dwarfs all others is broken off, so that they stay readable.
    """
    top = 22.0
    height = top + _PITCH * len(bars) + 4
    left = _BAR_LABELS
    values = sorted((bar.value for bar in bars), reverse=True)
    longest = values[0] if values else 1.0
    cap = longest
    if len(values) > 1 and longest > _BROKEN_FROM * max(values[1], mark):
        cap = 1.25 * max(values[1], mark)
    room = _WIDTH - left - max((text_width(bar.text, bold=True) for bar in bars), default=0.0) - 12
    scale = max(room, 60.0) / max(cap, mark * 1.1)
    at = left + mark * scale
    parts = []
    for index, bar in enumerate(bars):
        y = top + _PITCH * index
        broken = bar.value > cap
        length = min(bar.value, cap) * scale
        weight = 700 if bar.strong else 400
        name = fitted(bar.label, left - 12, bold=bar.strong)
        parts.append(_text(left - 8, y + _BAR - 3, name, anchor="end", weight=weight))
        if bar.hatched:
            parts.append(_hatch(left, y, length, _BAR, RUST))
        else:
            parts.append(_rect(left, y, length, _BAR, BLUE if bar.strong else STEEL))
        if broken:
            cut_at = left + length - 16
            d = f"M{_number(cut_at)} {_number(y + _BAR + 1)}l5 -{_number(_BAR + 2)}h4l-5 {_number(_BAR + 2)}z"
            parts.append(f'<path d="{d}" fill="#FFFFFF"/>')
    parts.append(_line(left, top - 6, left, height, INK))
    parts.append(_line(at, top - 6, at, height, RUST, 1.1, "4 3"))
    half = text_width(mark_text, bold=True) / 2
    parts.append(
        _text(min(max(at, left + half), _WIDTH - half), 10, mark_text, colour=RUST, anchor="middle", weight=600)
    )
    for index, bar in enumerate(bars):
        y = top + _PITCH * index
        x = left + min(bar.value, cap) * scale + 6
        room = text_width(bar.text, bold=bar.strong)
        # The dashed line must not run through a value.
        parts.append(_rect(x - 2, y, room, _BAR, "#FFFFFF"))
        colour = RUST if bar.hatched else INK
        parts.append(_text(x, y + _BAR - 3, bar.text, colour=colour, weight=700 if bar.strong else 500))
    return _svg(_WIDTH, height, alt, parts)


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
    longest = max((text_width(label, 10, bold=True) for label, _ in grouped), default=0.0)
    gutter = min(max(longest + 14, 40.0), 120.0)
    ticks = nice_ticks(max((v for _, values in grouped for v in values), default=1.0))
    tick_texts = [_tick(tick, ticks) for tick in ticks]
    left, right = 10 + max(text_width(text, 9.5) for text in tick_texts), _HALF - gutter
    low, high = math.log2(min(positions)), math.log2(max(positions))

    def x(position: float) -> float:
        return left + (right - left) * ((math.log2(position) - low) / (high - low) if high > low else 0.5)

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / ticks[-1]

    parts = [_text(0, 10, unit, colour=GREY, size=9.5)]
    if shaded_above is not None and positions[-1] > shaded_above:
        start = x(max(shaded_above, min(positions)))
        parts.append(_rect(start, top, right - start, bottom - top, SHADE))
        room = text_width(shaded_text, 9)
        parts.append(_text(min(start, _HALF - room), top - 4, shaded_text, colour=GREY, size=9))
    for tick, text in zip(ticks, tick_texts, strict=True):
        parts.append(_line(left, y(tick), right, y(tick), INK if tick == 0 else RULE, 1.0 if tick == 0 else 0.8))
        parts.append(_text(left - 5, y(tick) + 3.3, text, colour=GREY, anchor="end", size=9.5))
    if mark is not None and _LEAST_MARK * ticks[-1] < mark < ticks[-1]:
        parts.append(_line(left, y(mark), right, y(mark), RUST, 1.0, "4 3"))
        parts += _mark_text(mark_text, left + 4, y(mark), [y(values[0]) for _, values in grouped])
    parts += _position_ticks(positions, x, bottom)
    parts.append(_text((left + right) / 2, height - 8, across, colour=GREY, anchor="middle", size=9.5))
    ends = [y(values[-1]) for _, values in grouped]
    places = spread(ends, 12.0, top + 2, bottom - 2)
    for index, ((label, values), end, place) in enumerate(zip(grouped, ends, places, strict=True)):
        colour, dash = _LOOKS[index]
        points = [(x(position), y(value)) for position, value in zip(positions, values, strict=True)]
        path = " ".join(f"{_number(a)},{_number(b)}" for a, b in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes}/>')
        parts += [f'<circle cx="{_number(a)}" cy="{_number(b)}" r="2" fill="{colour}"/>' for a, b in points]
        if abs(place - end) > 1:
            parts.append(_line(points[-1][0] + 2, end, points[-1][0] + 8, place, colour, 0.7))
        name = fitted(label, _HALF - points[-1][0] - 11, 10, bold=True)
        parts.append(_text(points[-1][0] + 10, place + 3.4, name, colour=colour, size=10, weight=600))
    return _svg(_HALF, height, alt, parts)


# Below this share of the scale a mark lies on the axis and says nothing.
_LEAST_MARK: Final = 0.02


def _mark_text(text: str, x: float, y: float, taken: Sequence[float]) -> list[str]:
    """The mark's words above its line, or below it where a line of the chart is in the way; none where both are."""
    for place in (y - 3.5, y + 10):
        if all(abs(other - (place - 3)) > _CLEAR for other in taken):
            return [_text(x, place, text, colour=RUST, size=8.5)]
    return []


_CLEAR: Final = 7.0


def _tick(tick: float, ticks: Sequence[float]) -> str:
    step = ticks[1] - ticks[0]
    places = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    if places == 0 and step % 1:
        places = 1
    return f"{tick:,.{places}f}"


def _position_ticks(positions: Sequence[float], x: Callable[[float], float], bottom: float) -> list[str]:
    """Ticks with as many of their numbers as have room."""
    parts, free = [], -math.inf
    for position in positions:
        at, text = x(position), f"{position:,.0f}"
        parts.append(_line(at, bottom, at, bottom + 4, INK))
        half = text_width(text, 9.5) / 2
        if at - half > free:
            parts.append(_text(at, bottom + 15, text, colour=GREY, anchor="middle", size=9.5))
            free = at + half + 3
    return parts


def dot_chart(rows: Sequence[Dots], names: Sequence[str], mark: float, mark_text: str, alt: str) -> str:
    """A row of marks for each label, one shape for each name, on a common log scale, and a line at a mark.

    On a log scale the same step of precision is the same distance in every row.
    """
    top, pitch = 44.0, 24.0
    height = top + pitch * len(rows) + 24
    left = _BAR_LABELS
    known = [v for row in rows for v in row.values if v is not None and v > 0]
    ticks = log_ticks(min(known, default=1.0), max(known, default=1.0))
    right, bottom = _WIDTH - 30, height - 20
    scale = (right - left) / math.log(ticks[-1] / ticks[0])

    def across(value: float) -> float:
        return left + math.log(value / ticks[0]) * scale

    parts = _key(names, left)
    for tick in ticks:
        at = across(tick)
        parts.append(_line(at, top - 8, at, bottom, RULE, 0.8))
        parts.append(_text(at, bottom + 14, f"{tick:,.10g}", colour=GREY, anchor="middle", size=9.5))
    at = across(mark)
    if left <= at <= right:
        parts.append(_line(at, top - 8, at, bottom, RUST, 1.1, "4 3"))
        half = text_width(mark_text, 9.5, bold=True) / 2
        words_at = min(at, _WIDTH - half)
        parts.append(_text(words_at, top - 12, mark_text, colour=RUST, anchor="middle", size=9.5, weight=600))
    for index, row in enumerate(rows):
        y = top + pitch * index + 6
        parts.append(_text(left - 26, y + 3.5, fitted(row.label, left - 34), anchor="end"))
        xs = [across(value) for value in row.values if value is not None]
        if xs:
            parts.append(_line(min(xs), y, max(xs), y, STEEL, 1.2))
        free = -math.inf
        placed = [(across(v), n) for n, v in enumerate(row.values) if v is not None]
        for x, n in sorted(placed):
            parts.append(_shape(x, y, n))
            half = text_width(row.texts[n], 9) / 2
            middle = min(max(x, left - 20 + half), _WIDTH - half)
            # A value whose place is taken is left to the table.
            if middle - half > free:
                # The dashed line must not run through a value.
                parts.append(_rect(middle - half, y - 14, 2 * half, 8.5, "#FFFFFF"))
                parts.append(_text(middle, y - 6.5, row.texts[n], colour=INK, anchor="middle", size=9))
                free = middle + half + 2
    return _svg(_WIDTH, height, alt, parts)


def _key(names: Sequence[str], left: float) -> list[str]:
    parts, x = [], left
    for index, name in enumerate(names):
        text = cut(name, 16)
        parts.append(_shape(x + 4, 9, index))
        parts.append(_text(x + 13, 12.5, text, colour=GREY, size=9.5))
        x += text_width(text, 9.5) + 30
    return parts


def _shape(x: float, y: float, index: int) -> str:
    colour, kind = _DOT_LOOKS[index]
    r = 4.2
    if kind == "circle":
        return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{r}" fill="{colour}"/>'
    if kind == "square":
        return _rect(x - r + 0.4, y - r + 0.4, 2 * r - 0.8, 2 * r - 0.8, colour)
    if kind == "triangle":
        points: tuple[tuple[float, float], ...] = (
            (x, y - r - 0.4),
            (x + r + 0.4, y + r - 0.6),
            (x - r - 0.4, y + r - 0.6),
        )
    else:
        points = ((x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y))
    path = " ".join(f"{_number(a)},{_number(b)}" for a, b in points)
    return f'<polygon points="{path}" fill="{colour}"/>'
