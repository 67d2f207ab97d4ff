"""The one wrapper of every Excel function: what a host passes in, and what the cells then show.

A host (a UDF, the command line) hands over scalars, rows or tables as Excel holds them and gets back a
scalar or a table. Shapes broadcast as Excel's do; a bad cell gives a short text in that cell only.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from planner import guards
from planner.functions import REFUSAL
from planner.translate import to_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from planner.functions import Argument, ExcelFunction

EMPTY: Final = ""
_EXCEL_DIGITS: Final = 15


def for_excel(function: ExcelFunction) -> Callable[..., Any]:
    """The function as a host calls it: positional arguments as Excel passes them, None for an empty or omitted one.

    Returns a number, a text that says what is wrong, or an empty text; a table of these, as a list of
    rows, where an argument is a range of more than one cell.

    >>> from planner.functions import BY_NAME
    >>> call = for_excel(BY_NAME["CEILING_TOKENS_PER_SEC"])
    >>> call(140, [[1400, 2800]])
    [[10.0, 20.0]]
    >>> call(-140, 3350)
    'weights_gb is -140; expected a number above 0'
    """
    formula = to_array(function.formula)
    ways = dict(function.spread)

    def call(*given: Any) -> Any:
        tables = [_table(value) for value in given]
        tables += [[[None]]] * (len(function.arguments) - len(tables))
        tables = [_lie(table, ways.get(a.name)) for a, table in zip(function.arguments, tables, strict=True)]
        return _answer(function, formula, tables)

    call.__name__ = function.name
    call.__doc__ = function.summary
    return call


def _table(value: Any) -> Sequence[Sequence[Any]]:
    """An argument as rows of cells: a scalar is one cell, a flat list one row."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return [[value]]
    return value if value and isinstance(value[0], list | tuple) else [value]


def _lie(table: Sequence[Sequence[Any]], way: str | None) -> Sequence[Sequence[Any]]:
    """A range laid down a column or along a row, whatever way it lies."""
    if way is None:
        return table
    cells = list(chain.from_iterable(table))
    return [cells] if way == "across" else [[cell] for cell in cells]


def _answer(function: ExcelFunction, formula: Callable[..., Any], tables: list[Sequence[Sequence[Any]]]) -> Any:
    import numpy as np  # noqa: PLC0415  a tenth of a second that only a call should pay

    read = [_Read(argument, table) for argument, table in zip(function.arguments, tables, strict=True)]
    rows, columns = (max(item.values.shape[axis] for item in read) for axis in (0, 1))
    shape = (rows, columns)
    with np.errstate(all="ignore"):
        numbers = np.broadcast_to(formula(*(item.spread(item.values, shape, np.nan) for item in read)), shape)
    shown = numbers.astype(object)
    # The first argument that is wrong speaks, and an empty required one before it, as in the LAMBDA.
    for item in reversed(read):
        if item.refused:
            said = item.spread(item.said(), shape, item.outside)
            shown = np.where(said != None, said, shown)  # noqa: E711  element by element
        elif not item.fits(shape):
            said = item.spread(np.full(item.values.shape, None, dtype=object), shape, item.outside)
            shown = np.where(said != None, said, shown)  # noqa: E711
    for item in read:
        if item.empty.any():
            shown = np.where(item.spread(item.empty, shape, fill=False), EMPTY, shown)
    table: list[list[Any]] = shown.tolist()
    return table[0][0] if shape == (1, 1) else table


class _Read:
    """One argument read: its numbers, which cells are empty, and what is wrong with which."""

    def __init__(self, argument: Argument, table: Sequence[Sequence[Any]]) -> None:
        import numpy as np  # noqa: PLC0415  loaded by the caller already

        self.argument = argument
        # Put into words once: a range may hold thousands of bad cells.
        self.accepted = argument.rule.accepted
        width = max((len(row) for row in table), default=0)
        if len({len(row) for row in table}) > 1 or not width:
            table = [[*row, *[None] * (width - len(row))] for row in table] if width else [[None]]
        kinds = set(map(type, chain.from_iterable(table)))
        self.given = table
        self.refused: dict[tuple[int, int], str] = {}
        if kinds <= {float, int}:
            self.values = np.array(table, dtype=float)
            self.empty = np.zeros(self.values.shape, dtype=bool)
        else:
            self._read_cells(table)
        self.values = guards.meant(argument.rule, self.values)
        good = guards.accepts(argument.rule, self.values) | self.empty
        for row, column in np.argwhere(~good).tolist():
            if (row, column) not in self.refused:
                self.refused[row, column] = refusal(argument, self.given[row][column], self.accepted)

    def _read_cells(self, table: Sequence[Sequence[Any]]) -> None:
        import numpy as np  # noqa: PLC0415  loaded by the caller already

        default, rule = self.argument.default, self.argument.rule
        known: dict[str, float | None] = {}
        values, empty = [], []
        for r, row in enumerate(table):
            for c, cell in enumerate(row):
                number: float | None = None
                blank = cell is None or cell == ""
                if blank:
                    number = default
                elif type(cell) is str:
                    if cell not in known:
                        known[cell] = guards.number_of(rule, cell)
                    number = known[cell]
                elif isinstance(cell, int | float) and not isinstance(cell, bool):
                    number = float(cell)
                if number is None and not blank:
                    self.refused[r, c] = refusal(self.argument, cell, self.accepted)
                values.append(np.nan if number is None else number)
                empty.append(blank and default is None)
        shape = (len(table), len(table[0]))
        self.values = np.array(values, dtype=float).reshape(shape)
        self.empty = np.array(empty).reshape(shape)

    @property
    def outside(self) -> str:
        """What a cell shows to which this range does not reach."""
        return f"{self.argument.name} has no value here; expected ranges of one shape"

    def fits(self, shape: tuple[int, int]) -> bool:
        """Whether the range reaches every cell of the answer."""
        return all(have in {1, want} for have, want in zip(self.values.shape, shape, strict=True))

    def said(self) -> np.ndarray:
        """What is wrong, cell by cell."""
        import numpy as np  # noqa: PLC0415  loaded by the caller already

        found = np.full(self.values.shape, None, dtype=object)
        for place, text in self.refused.items():
            found[place] = text
        return found

    def spread(self, values: np.ndarray, shape: tuple[int, int], fill: Any) -> np.ndarray:
        """Values over the whole answer: one row or column repeats, a shorter range leaves the rest to ``fill``."""
        import numpy as np  # noqa: PLC0415  loaded by the caller already

        if self.fits(shape):
            return np.broadcast_to(values, shape)
        whole = np.full(shape, fill, dtype=values.dtype)
        rows = shape[0] if values.shape[0] == 1 else values.shape[0]
        columns = shape[1] if values.shape[1] == 1 else values.shape[1]
        whole[:rows, :columns] = np.broadcast_to(values, (rows, columns))
        return whole


def refusal(argument: Argument, given: Any, accepted: str = "") -> str:
    """What a cell shows for a bad argument: its name, its value, what is accepted (worked out, unless it is at hand).

    >>> from planner.functions import BY_NAME
    >>> refusal(BY_NAME["TOKENS_PER_SEC"].arguments[0], -1.0)
    'weights_gb is -1; expected a number above 0'
    """
    shown = str(given)
    if REFUSAL in shown:
        return shown
    if isinstance(given, bool):
        shown = shown.upper()
    elif isinstance(given, int | float):
        shown = f"{given:.{_EXCEL_DIGITS}G}"
    return f"{argument.name} is {shown}{REFUSAL}{accepted or argument.rule.accepted}"
