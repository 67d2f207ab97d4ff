"""Charts as SVG: scales, ticks, places of labels, and texts that stay inside."""

import itertools
import math
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.report import charts
from planner.report.shapes import Bar, Dots, Line, Reach, Stack
from planner.report.stacks import range_chart as charts_of_ranges
from planner.report.stacks import stack_chart
from planner.report.svg import RUST, STEEL, log_ticks, nice_ticks, spread, text_width

SVG = "{http://www.w3.org/2000/svg}"
LONG = "a name without blanks " + "x" * 220
WIDE = "名" * 120
MARKUP = "<script>alert('x')</script> & \"q\""


def parse(chart):
    """The chart's drawing; the names of its rows stand beside it as HTML."""
    root = ET.fromstring(chart)
    return root if root.tag == f"{SVG}svg" else root.find(f"{SVG}svg")


def names(chart):
    return ["".join(node.itertext()) for node in ET.fromstring(chart).iter("div") if node.get("class") == "name"]


def texts(svg):
    return ["".join(node.itertext()) for node in parse(svg).iter(f"{SVG}text")]


def spans(svg):
    """Each text's left and right end and its baseline, by the charts' own measure."""
    found = []
    for node in parse(svg).iter(f"{SVG}text"):
        size, bold = float(node.get("font-size")), int(node.get("font-weight")) >= 600
        width = text_width(node.text, size, bold=bold)
        x = float(node.get("x"))
        left = {"start": x, "middle": x - width / 2, "end": x - width}[node.get("text-anchor")]
        found.append((left, left + width, float(node.get("y")), size, node.text))
    return found


def assert_inside(svg):
    _, _, width, height = map(float, parse(svg).get("viewBox").split())
    for left, right, y, _, text in spans(svg):
        assert left >= -1, text
        assert right <= width + 1, text
        assert 0 < y <= height, text


def assert_no_overlap(svg):
    found = spans(svg)
    for index, (a1, a2, ay, size, first) in enumerate(found):
        for b1, b2, by, _, second in found[index + 1 :]:
            apart = a2 <= b1 + 0.5 or b2 <= a1 + 0.5 or abs(ay - by) >= size * 0.8
            assert apart, (first, second)


def bars(*values, label="S01 a name"):
    return [Bar(label, value, f"{value:,.2f}", hatched=value < 10) for value in values]


def bar_chart(found):
    return charts.bar_chart(found, 10.0, "reading pace, 10 tok/s", "what it shows")


@pytest.mark.parametrize("label", ["S01", LONG, WIDE, MARKUP])
@pytest.mark.parametrize("values", [(20.34,), (5.0, 40.0, 80.0), (0.01, 1e6), (9.9, 10.1)])
def test_bars_stay_inside_whatever_their_names(label, values):
    svg = bar_chart(bars(*values, label=label))
    assert_inside(svg)
    assert_no_overlap(svg)


def test_bars_have_alt_text_and_escaped_names():
    svg = bar_chart(bars(20.0, label=MARKUP))
    assert parse(svg).find(f"{SVG}title").text == "what it shows"
    assert "<script" not in svg
    assert parse(svg).get("font-family").startswith("Inter")


@pytest.mark.parametrize("name", ["S01 שלום עולם", "S01 عربي FP16", "S01 日本語", MARKUP])
def test_names_stand_beside_the_drawing_which_would_take_arabic_apart(name):
    for chart in (bar_chart(bars(20.0, label=name)), dot_chart([Dots(name, (20.0,), ("20.00",))], ("FP16",))):
        assert names(chart) == [name]
        assert name not in texts(chart)


@pytest.mark.parametrize("name", [LONG, WIDE])
def test_long_names_beside_a_drawing_are_cut(name):
    (shown,) = names(bar_chart(bars(20.0, label=name)))
    assert shown.endswith("…")
    assert text_width(shown) <= 232


def test_a_mark_among_the_ticks_of_the_axis_is_left_out():
    low = line_chart([Line("a", (250.0,) * 8)], mark=10, mark_text="reading pace")
    high = line_chart([Line("a", (50.0,) * 8)], mark=10, mark_text="reading pace")
    assert "reading pace" not in texts(low)
    assert "reading pace" in texts(high)


def test_a_bar_that_dwarfs_the_others_is_broken_off():
    plain, broken = bar_chart(bars(20.0, 50.0)), bar_chart(bars(20.0, 5000.0))
    white = f'{SVG}path[@fill="#FFFFFF"]'
    assert parse(plain).find(white) is None
    assert parse(broken).find(white) is not None
    widths = [float(r.get("width")) for r in parse(broken).iter(f"{SVG}rect") if r.get("fill") == STEEL]
    assert widths[1] / widths[0] < 5


def test_hatching_stays_within_its_bar():
    svg = bar_chart(bars(5.0, 40.0))
    bar = next(r for r in parse(svg).iter(f"{SVG}rect") if r.get("stroke") == RUST)
    left, width = float(bar.get("x")), float(bar.get("width"))
    strokes = next(p for p in parse(svg).iter(f"{SVG}path") if p.get("stroke") == RUST).get("d")
    xs = [float(x) for x in re.findall(r"[ML]([\d.]+) ", strokes)]
    assert all(left - 0.01 <= x <= left + width + 0.01 for x in xs)


BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)


def line_chart(lines, positions=BATCHES, **more):
    return charts.line_chart(lines, positions, "alt", unit="tok/s", across="batch", **more)


def test_lines_are_labelled_apart():
    lines = [Line(f"S{n:02d}", tuple(20.0 + n / 100 for _ in BATCHES)) for n in range(6)]
    svg = line_chart(lines, shaded_above=32, shaded_text="model overstates", mark=10, mark_text="reading pace")
    assert_inside(svg)
    assert_no_overlap(svg)
    assert {f"S{n:02d}" for n in range(6)} <= set(texts(svg))


def test_lines_on_top_of_each_other_share_one_label():
    svg = line_chart([Line("S01", (20.0,) * 8), Line("S02", (20.0,) * 8), Line("S03", (30.0,) * 8)])
    assert "S01, S02" in texts(svg)
    assert len(list(parse(svg).iter(f"{SVG}polyline"))) == 2


def test_six_lines_differ_by_colour_or_dash():
    lines = [Line(f"S{n}", tuple(n + b for b in BATCHES)) for n in range(6)]
    looks = {(p.get("stroke"), p.get("stroke-dasharray")) for p in parse(line_chart(lines)).iter(f"{SVG}polyline")}
    assert len(looks) == 6


def test_the_shade_starts_at_the_limit_and_is_left_out_below_it():
    shaded = line_chart([Line("a", BATCHES)], shaded_above=32, shaded_text="model overstates")
    assert "model overstates" in texts(shaded)
    below = line_chart([Line("a", (1, 2, 3))], (1, 8, 32), shaded_above=32, shaded_text="model overstates")
    assert "model overstates" not in texts(below)
    above = line_chart([Line("a", (1, 2))], (64, 128), shaded_above=32, shaded_text="model overstates")
    assert_inside(above)


@pytest.mark.parametrize("positions", [(8,), (1, 128), tuple(range(1, 33)), (1, 1_000_000)])
def test_any_batches_give_a_chart(positions):
    svg = line_chart([Line("S01", tuple(float(p) for p in positions))], positions)
    assert_inside(svg)
    assert_no_overlap(svg)


@pytest.mark.parametrize("label", [LONG, WIDE, MARKUP])
def test_long_labels_of_lines_are_cut(label):
    assert_inside(line_chart([Line(label, BATCHES)]))


def dot_chart(rows, precisions=("FP16", "INT8", "INT4")):
    return charts.dot_chart(rows, precisions, 10.0, "reading pace, 10 tok/s", "alt")


@pytest.mark.parametrize("label", ["S01 short", LONG, WIDE, MARKUP])
@pytest.mark.parametrize("values", [(20.34, 40.68, 81.36), (5.0, 5.0, 5.0), (0.001, 10.0, 1e7), (None, None, 20.0)])
def test_dots_stay_inside_and_apart(label, values):
    rows = [Dots(label, values, tuple("" if v is None else f"{v:,.2f}" for v in values))] * 3
    svg = dot_chart(rows)
    assert_inside(svg)
    assert_no_overlap(svg)


def test_dots_without_any_value_give_a_chart():
    assert_inside(dot_chart([Dots("S01", (None,), ("",))], ("FP16",)))


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_ticks_are_round_few_and_reach_the_top(top):
    ticks = nice_ticks(top)
    assert ticks[0] == 0
    assert ticks[-1] >= top * (1 - 1e-6)
    assert 2 <= len(ticks) <= 11


@pytest.mark.parametrize("top", [0.0, -1.0, math.nan, math.inf])
def test_ticks_of_nothing_are_zero_and_one(top):
    assert nice_ticks(top) == [0.0, 1.0]


@given(st.floats(min_value=1e-6, max_value=1e9), st.floats(min_value=1, max_value=1e12))
def test_log_ticks_enclose_the_values(low, ratio):
    ticks = log_ticks(low, low * ratio)
    assert ticks[0] <= low * (1 + 1e-9)
    assert ticks[-1] >= low * ratio * (1 - 1e-9)
    assert len(ticks) >= 2
    assert len(ticks) <= 12
    assert ticks == sorted(set(ticks))


@given(st.lists(st.floats(min_value=0, max_value=200), max_size=12))
def test_spread_keeps_gap_order_and_limits(places):
    found = spread(places, 12, 0, 200)
    ordered = sorted(found)
    assert all(b - a >= 12 - 1e-6 for a, b in itertools.pairwise(ordered))
    assert all(-1e-6 <= place <= 200 + 1e-6 for place in found)
    for (a, moved_a), (b, moved_b) in itertools.combinations(zip(places, found, strict=True), 2):
        if a < b:
            assert moved_a < moved_b


def test_spread_leaves_places_that_are_apart():
    assert spread([10, 60, 110], 12, 0, 200) == [10, 60, 110]


STEPS = ("reading weights", "reading KV cache", "latency of layers")


def stacks(label="S01 one", whole=None, *parts):
    rows = [Stack(label, part, "31.85 ms") for part in (parts or ((20.0, 5.0, 1.0), (0.0, 1.0, 30.0)))]
    return stack_chart(rows, STEPS, whole, "usable memory" if whole else "", "alt")


@pytest.mark.parametrize("label", ["S01 short", LONG, WIDE, MARKUP])
@pytest.mark.parametrize("whole", [None, 1.0])
def test_stacks_stay_inside_and_apart(label, whole):
    svg = stacks(label, whole, (0.5, 0.2, 0.1), (3.0, 2.0, 1.0))
    assert_inside(svg)
    assert_no_overlap(svg)


def test_the_shares_of_a_stack_are_written_where_there_is_room():
    found = texts(stacks())
    # 20 / 26, 5 / 26 and 30 / 31; 1 / 26 is too narrow
    assert {"77%", "19%", "97%"} <= set(found)
    assert "4%" not in found


def test_a_part_that_no_row_has_is_left_out_of_the_key():
    svg = stacks("S01", None, (1.0, 0.0, 1.0))
    assert "reading KV cache" not in texts(svg)


def test_what_goes_far_beyond_the_whole_is_broken_off():
    white = f'{SVG}path[@fill="#FFFFFF"]'
    assert parse(stacks("a", 1.0, (1.2, 0.0, 0.0))).find(white) is None
    assert parse(stacks("a", 1.0, (9.0, 0.0, 0.0))).find(white) is not None


def reach(label="S01 one", value=30.0, **more):
    fields = {"ends": (24.0, 38.0), "ceiling": 48.0, "core": 41.0, "measured": None, "text": "30.00 (24\u201338)"}
    return Reach(label, value, **(fields | more))


def range_chart(*rows):
    return charts_of_ranges(rows, 10.0, "reading pace, 10 tok/s", "alt")


@pytest.mark.parametrize("label", ["S01 short", LONG, WIDE, MARKUP])
def test_ranges_stay_inside_and_apart(label):
    rows = [
        reach(label, measured=35.0),
        reach(label, 0.01, ends=None, ceiling=None, core=None),
        reach(label, 1e5, ceiling=1e6),
    ]
    svg = range_chart(*rows)
    assert_inside(svg)
    assert_no_overlap(svg)


def test_the_key_names_only_what_is_drawn():
    assert "measured" not in texts(range_chart(reach()))
    assert "measured" in texts(range_chart(reach(measured=30.0)))
    assert "ceiling" not in texts(range_chart(reach(ceiling=None)))


def test_a_bar_has_its_whisker_and_an_upper_bound_its_outline():
    svg = bar_chart([Bar("a", 20.0, "20", ends=(15.0, 30.0)), Bar("b", 40.0, "40, upper bound", outlined=True)])
    assert_inside(svg)
    assert_no_overlap(svg)
    outlined = [r for r in parse(svg).iter(f"{SVG}rect") if r.get("stroke") == STEEL and r.get("fill") == "#FFFFFF"]
    assert len(outlined) == 1
