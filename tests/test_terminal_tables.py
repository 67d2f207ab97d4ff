"""Tables of the terminal: what gives way at each width, and that no figure ever does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.terminal_tables import Gives, TableColumn, console, fitted_widths, print_fitted

COLUMNS = {
    "name": TableColumn("Name", ["n" * 40], Gives.CUT, to_right=False),
    "cost": TableColumn("Cost\nper M", ["24,153,264.31"]),
    "flags": TableColumn("Flags", ["one-two three-four five"], Gives.FOLDED, to_right=False),
}
GIVES_WAY = ("flags", "cost")


@pytest.mark.parametrize(
    ("width", "kept", "widths"),
    [
        (80, None, {"name": 40, "cost": 13, "flags": 23}),
        (79, None, {"name": 40, "cost": 13, "flags": 22}),
        (69, None, {"name": 40, "cost": 13, "flags": 12}),
        (68, None, {"name": 40, "cost": 13}),
        (54, None, {"name": 40}),
        (39, None, {"name": 39}),
        (5, None, {"name": 12}),
        (60, 24, {"name": 31, "cost": 13, "flags": 12}),
        (53, 24, {"name": 24, "cost": 13, "flags": 12}),
        (52, 24, {"name": 37, "cost": 13}),
        (38, 24, {"name": 38}),
    ],
)
def test_names_give_way_then_columns_in_their_order(width, kept, widths):
    assert fitted_widths(COLUMNS, width, GIVES_WAY, kept) == widths


@given(
    st.lists(st.tuples(st.sampled_from(Gives), st.integers(1, 60)), min_size=1, max_size=8),
    st.integers(1, 200),
    st.one_of(st.none(), st.integers(12, 60)),
)
def test_figures_are_whole_and_the_width_is_kept_where_it_can_be(described, width, kept):
    columns = {str(number): TableColumn("", ["x" * size], gives) for number, (gives, size) in enumerate(described)}
    widths = fitted_widths(columns, width, list(columns)[1:], kept)
    figures = {name for name in widths if columns[name].gives is Gives.NOT}
    assert all(widths[name] == columns[name].width for name in figures)
    assert all(widths[name] >= min(12, columns[name].width) for name in widths)
    if sum(widths.values()) + 2 * (len(widths) - 1) > width:
        assert list(widths) == ["0"]


def test_figures_stand_whole_where_even_these_are_too_wide(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    print_fitted(COLUMNS)
    assert capsys.readouterr().out.splitlines()[2].split()[:2] == ["n" * 11 + "…", "24,153,264.31"]


def test_texts_of_two_cells_a_character_are_measured_as_such(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    print_fitted({"name": TableColumn("Name", ["推論" * 10], Gives.CUT), "cost": TableColumn("Cost", ["1,234.56"])})
    assert capsys.readouterr().out.splitlines()[1].endswith("…  1,234.56")


def test_markup_is_text(capsys):
    print_fitted({"name": TableColumn("Name", ["[bold]x[/bold]"], Gives.CUT)})
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_a_pipe_has_a_width_of_its_own(monkeypatch):
    assert console().width == 110
    monkeypatch.setenv("COLUMNS", "70")
    assert console().width == 70
