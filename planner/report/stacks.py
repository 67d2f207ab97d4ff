"""Charts of rows: parts stacked to a whole, and estimates with their range beside what bounds them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from planner.report import svg
from planner.report.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.report.shapes import Reach, Stack

_WIDTH: Final = 700.0
_NAMES: Final = 232.0
_BAR: Final = 13.0
_PITCH: Final = 18.5
_KEY: Final = 16.0
# Fills and the colour of a text on them; a hatch tells the last ones in grey as well.
_FILLS: Final = (
    (svg.BLUE, "#FFFFFF"),
    (svg.SKY, svg.INK),
    (svg.VIOLET, "#FFFFFF"),
    (svg.STEEL, "#FFFFFF"),
    (svg.PALE, svg.INK),
    (svg.RUST, "#FFFFFF"),
    (svg.NAVY, "#FFFFFF"),
)
# A share below this has no room for its number.
_LEAST_SHARE: Final = 0.07
_MOST_OF_WHOLE: Final = 1.5


def stack_chart(rows: Sequence[Stack], names: Sequence[str], whole: float | None, whole_text: str, alt: str) -> str:
    """A bar of stacked parts for each row, with the share of each part in it.

    Each row is its own whole, unless a ``whole`` is given: then rows are measured against that, which a dashed line
    marks, and one that goes far beyond is broken off.
    """
    used = [index for index in range(len(names)) if any(row.parts[index] > 0 for row in rows)]
    keys, below = _key([(names[index], index) for index in used])
    top = below + (18.0 if whole else 8.0)
    height = top + _PITCH * len(rows) + 4
    gutter = max((svg.text_width(row.text) for row in rows), default=0.0) + 12
    most = 1.0
    if whole:
        most = min(max((1.08, *(sum(row.parts) / whole for row in rows))), _MOST_OF_WHOLE)
    scale = max(_WIDTH - _NAMES - gutter, 80.0) / most
    parts = keys
    for index, row in enumerate(rows):
        y = top + _PITCH * index
        total = whole or sum(row.parts) or 1.0
        end = _NAMES + min(sum(row.parts) / total, most) * scale
        x = _NAMES
        for number in used:
            share = row.parts[number] / total
            length = min(share * scale, end - x)
            if length <= 0:
                continue
            fill, ink = _FILLS[number]
            # A white edge parts neighbours whose greys are alike.
            parts.append(svg.rect(x, y, length, _BAR, fill, "#FFFFFF"))
            if not whole and share >= _LEAST_SHARE:
                words = svg.percent(share)
                parts.append(svg.text(x + length / 2, y + 9.8, words, colour=ink, anchor="middle", size=8.5))
            x += length
        if sum(row.parts) / total > most:
            cut_at = end - 14
            d = f"M{svg.number(cut_at)} {svg.number(y + _BAR + 1)}l5 -{_BAR + 2:g}h4l-5 {_BAR + 2:g}z"
            parts.append(f'<path d="{d}" fill="#FFFFFF"/>')
    parts.append(svg.line(_NAMES, top - 4, _NAMES, height, svg.INK))
    if whole:
        at = _NAMES + scale
        parts.append(svg.line(at, top - 4, at, height, svg.RUST, 1.1, "4 3"))
        half = svg.text_width(whole_text, 9.5, bold=True) / 2
        parts.append(
            svg.text(
                min(at, _WIDTH - half), top - 8, whole_text, colour=svg.RUST, anchor="middle", size=9.5, weight=600
            )
        )
    for index, row in enumerate(rows):
        y = top + _PITCH * index
        x = _WIDTH - gutter + 8
        colour = svg.RUST if row.bad else svg.INK
        parts.append(svg.text(x, y + _BAR - 3, row.text, colour=colour, weight=600 if row.bad or row.strong else 400))
    names_beside = [(row.label, row.strong) for row in rows]
    middles = [top + _PITCH * index + _BAR / 2 for index in range(len(rows))]
    return svg.named(svg.drawing(_WIDTH, height, alt, parts), names_beside, middles, height, _NAMES - 8, _WIDTH)


def _key(names: Sequence[tuple[str, int]]) -> tuple[list[str], float]:
    """The key over a chart, in as many lines as it takes, and where it ends."""
    parts, x, y = [], _NAMES, 2.0
    for name, index in names:
        room = svg.text_width(name, 9.5) + 26
        if x + room > _WIDTH and x > _NAMES:
            x, y = _NAMES, y + _KEY
        parts.append(svg.rect(x, y, 10, 10, _FILLS[index][0]))
        parts.append(svg.text(x + 14, y + 8.6, name, colour=svg.GREY, size=9.5))
        x += room
    return parts, y + 12


_RANGE: Final = "estimate with its range"
_CEILING: Final = "ceiling"
_CORE: Final = "upper bound at the typed efficiency"
_MEASURED: Final = "measured"


def range_chart(rows: Sequence[Reach], mark: float, mark_text: str, alt: str) -> str:
    """The estimate of each row with its range, between marks of the ceiling, the core and what was measured."""
    pitch = 21.0
    keys, below = _range_key(rows)
    top = below + 26.0
    height = top + pitch * len(rows) + 22
    gutter = max((svg.text_width(row.text) for row in rows), default=0.0) + 14
    known = [v for row in rows for v in (row.value, *(row.ends or ()), row.ceiling, row.core, row.measured) if v]
    ticks = svg.log_ticks(min(known, default=1.0), max(known, default=1.0))
    right, bottom = _WIDTH - gutter, height - 18
    scale = (right - _NAMES) / math.log(ticks[-1] / ticks[0])

    def across(value: float) -> float:
        return _NAMES + math.log(value / ticks[0]) * scale

    parts, free = keys, -math.inf
    for tick in ticks:
        at, words = across(tick), plain(tick)
        parts.append(svg.line(at, top - 8, at, bottom, svg.RULE, 0.8))
        half = svg.text_width(words, 9.5) / 2
        if at - half > free:
            parts.append(svg.text(at, bottom + 14, words, colour=svg.GREY, anchor="middle", size=9.5))
            free = at + half + 3
    if ticks[0] <= mark <= ticks[-1]:
        at = across(mark)
        parts.append(svg.line(at, top - 8, at, bottom, svg.RUST, 1.1, "4 3"))
        half = svg.text_width(mark_text, 9.5, bold=True) / 2
        words_at = min(max(at, _NAMES + half), right - half)
        parts.append(svg.text(words_at, top - 12, mark_text, colour=svg.RUST, anchor="middle", size=9.5, weight=600))
    for index, row in enumerate(rows):
        y = top + pitch * index + 5
        parts += _reach(row, y, across)
        weight = 600 if row.strong else 400
        parts.append(svg.text(right + 10, y + 3.6, row.text, colour=svg.INK, weight=weight))
    names = [(row.label, row.strong) for row in rows]
    middles = [top + pitch * index + 5 for index in range(len(rows))]
    return svg.named(svg.drawing(_WIDTH, height, alt, parts), names, middles, height, _NAMES - 26, _WIDTH)


def _reach(row: Reach, y: float, across: Callable[[float], float]) -> list[str]:
    parts = []
    if row.ceiling:
        at = across(row.ceiling)
        # From the estimate to the ceiling is what the step's other parts cost.
        parts.append(svg.line(across(row.value), y, at, y, svg.STEEL, 0.9))
    if row.ends:
        low, high = (across(end) for end in row.ends)
        parts.append(svg.rect(low, y - 4.5, high - low, 9, svg.SKY))
    if row.ceiling:
        parts.append(svg.line(at, y - 6, at, y + 6, svg.INK, 2.2))
    if row.core:
        parts.append(svg.circle(across(row.core), y, 3.4, "#FFFFFF", svg.STEEL))
    at = across(row.value)
    parts.append(svg.rect(at - 1.6, y - 6, 3.2, 12, svg.BLUE))
    if row.measured:
        parts.append(svg.diamond(across(row.measured), y, 5.0, svg.RUST))
    return parts


def _range_key(rows: Sequence[Reach]) -> tuple[list[str], float]:
    parts, x, y = [], _NAMES, 8.0
    wanted = (
        (_RANGE, True),
        (_CEILING, any(row.ceiling for row in rows)),
        (_CORE, any(row.core for row in rows)),
        (_MEASURED, any(row.measured for row in rows)),
    )
    for name, on in wanted:
        if not on:
            continue
        room = svg.text_width(name, 9.5) + 22
        if x + room > _WIDTH:
            x, y = _NAMES, y + _KEY
        if name == _RANGE:
            parts += [svg.rect(x, y - 4.5, 18, 9, svg.SKY), svg.rect(x + 7.4, y - 6, 3.2, 12, svg.BLUE)]
        elif name == _CEILING:
            parts.append(svg.line(x + 12, y - 6, x + 12, y + 6, svg.INK, 2.2))
        elif name == _CORE:
            parts.append(svg.circle(x + 11, y, 3.4, "#FFFFFF", svg.STEEL))
        else:
            parts.append(svg.diamond(x + 11, y, 5.0, svg.RUST))
        parts.append(svg.text(x + 22, y + 3.4, name, colour=svg.GREY, size=9.5))
        x += room + 12
    return parts, y + 6
