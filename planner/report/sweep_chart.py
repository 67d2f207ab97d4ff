"""The front of a sweep as a drawing of its own: speed of one stream across, cost or throughput up."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final

import numpy as np

from planner.report import svg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.plan.sweep_view import FrontView

_WIDTH: Final = 860.0
_HEIGHT: Final = 520.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 66.0, 20.0, 62.0, 46.0
_DOT: Final = "#C3CBD3"
_LEGEND_ROW: Final = 16.0
# Told apart by colour and by dash, so that they stay apart in grey.
_LOOKS: Final = (
    (svg.BLUE, ""), (svg.RUST, ""), (svg.VIOLET, ""), (svg.BLUE, "6 3"), (svg.RUST, "6 3"), (svg.VIOLET, "6 3"),
)  # fmt: skip
_DECADE: Final = 10.0


def front_chart(view: FrontView) -> str:
    """The front as SVG, with the other points thinned out behind it; scales are logarithmic from ten to one on."""
    xs, ys = (
        np.concatenate((view.columns[name], others))
        for name, others in zip((view.gain, view.against), view.others, strict=True)
    )
    legend = _LEGEND_ROW * len(view.drawn)
    height = _HEIGHT + legend
    bottom = height - _BOTTOM - legend
    x_of, x_ticks = _scale(xs, _LEFT, _WIDTH - _RIGHT)
    y_of, y_ticks = _scale(ys, bottom, _TOP)
    parts = [
        svg.text(_LEFT, 22, view.title, colour=svg.NAVY, size=15, weight=700),
        svg.text(_LEFT, 40, svg.fitted(view.sentences[0], _WIDTH - _LEFT - _RIGHT), colour=svg.GREY),
        svg.text(_LEFT, _TOP - 6, view.against_title, colour=svg.GREY),
        svg.text(_WIDTH - _RIGHT, bottom + 34, view.gain_title, colour=svg.GREY, anchor="end"),
    ]
    for tick in y_ticks:
        parts += [svg.line(_LEFT, y_of(tick), _WIDTH - _RIGHT, y_of(tick), svg.RULE)]
        parts += [svg.text(_LEFT - 7, y_of(tick) + 3.5, _figure(tick), colour=svg.GREY, anchor="end")]
    for tick in x_ticks:
        parts += [svg.line(x_of(tick), _TOP, x_of(tick), bottom, svg.RULE)]
        parts += [svg.text(x_of(tick), bottom + 17, _figure(tick), colour=svg.GREY, anchor="middle")]
    parts += [
        svg.circle(x_of(x), y_of(y), 1.8, _DOT)
        for x, y in zip(*(values.tolist() for values in view.others), strict=True)
        if x > 0 and y > 0
    ]
    for number, task in enumerate(view.drawn):
        colour, dash = _LOOKS[number % len(_LOOKS)]
        rows = slice(task.start, task.stop)
        places = [
            (x_of(x), y_of(y))
            for x, y in zip(
                view.columns[view.gain][rows].tolist(), view.columns[view.against][rows].tolist(), strict=True
            )
        ]
        parts += [svg.line(*one, *other, colour, 1.6, dash) for one, other in itertools.pairwise(places)]
        parts += [svg.circle(*place, 3.4, colour, "#FFFFFF") for place in places]
        y = height - legend + _LEGEND_ROW * number - 2
        parts += [svg.line(_LEFT, y - 3.5, _LEFT + 26, y - 3.5, colour, 1.6, dash)]
        parts += [svg.circle(_LEFT + 13, y - 3.5, 3.4, colour, "#FFFFFF")]
        parts += [svg.text(_LEFT + 34, y, svg.fitted(task.label, _WIDTH - _LEFT - 40))]
    alt = f"{view.title}: {view.gain_title} across, {view.against_title} up. {view.sentences[0]}"
    return svg.drawing(_WIDTH, height, alt, [svg.rect(0, 0, _WIDTH, height, "#FFFFFF"), *parts])


def _scale(values: np.ndarray, start: float, stop: float) -> tuple[Callable[[float], float], Sequence[float]]:
    """Where a value stands between two places, and the round values to draw."""
    values = values[values > 0]
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, _DECADE)
    if high <= _DECADE * low:
        ticks = svg.nice_ticks(high)
        return (lambda value: start + (stop - start) * value / ticks[-1]), ticks
    # Ends are rounder than ticks are many: a decade that nothing stands in is not drawn.
    ends = [step * 10.0**power for power in range(-9, 13) for step in (1, 2, 5)]
    least = max((end for end in ends if end <= low), default=low)
    most = min((end for end in ends if end >= high), default=high)
    first, width = math.log(least), math.log(most / least)
    ticks = [tick for tick in svg.log_ticks(low, high) if least <= tick <= most]
    return (lambda value: start + (stop - start) * (math.log(max(value, least)) - first) / width), ticks


def _figure(value: float) -> str:
    return f"{value:,.10g}"
