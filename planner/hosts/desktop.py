"""The functions as xlwings UDFs: the module that Excel imports on Windows.

The add-in's setting 'UDF Modules' names it, and xlwings calls its functions from the cells. Where there
is no Excel, xlwings' decorators do nothing and this is plain Python.
"""

from __future__ import annotations

import inspect
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import xlwings

from planner.columns import PrecisionName, header
from planner.for_excel import for_excel
from planner.functions import BY_NAME, EXCEL_FUNCTIONS
from planner.hosts.com import as_typed
from planner.plan.scenario import COLUMNS, FIGURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.functions import Argument, ExcelFunction

CATEGORY: Final = "planner"
# Excel shows no more of a function's or an argument's help.
LONGEST_HELP: Final = 255


def udfs(func: Callable[..., Any], arg: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """One UDF for each entry of the list, declared to Excel by xlwings' decorators ``func`` and ``arg``."""
    return {function.name: _udf(function, func, arg) for function in EXCEL_FUNCTIONS}


def _udf(function: ExcelFunction, func: Callable[..., Any], arg: Callable[..., Any]) -> Callable[..., Any]:
    call = for_excel(function)

    def udf(*given: Any) -> Any:
        return call(*map(_as_typed, given))

    udf.__name__ = udf.__qualname__ = function.name
    udf.__doc__ = help_text(function.summary)
    # xlwings takes an annotation as a conversion to carry out.
    udf.__annotations__ = {}
    udf.__signature__ = inspect.Signature([_parameter(a) for a in function.arguments])  # type: ignore[attr-defined]
    declared: Callable[..., Any] = udf
    for argument, parameter in zip(function.arguments, function.parameters, strict=True):
        # Two dimensions keep a column a column. An error must stay one: by default it would arrive as
        # an empty cell, and an empty efficiency counts as 1.
        option = arg(vba_name(argument), doc=argument_help(argument, parameter), ndim=2, err_to_str=True)
        declared = option(declared)
    # Last, since each of the others sets the category back to xlwings' own.
    wrapped: Callable[..., Any] = func(category=CATEGORY)(declared)
    return wrapped


def _parameter(argument: Argument) -> inspect.Parameter:
    default = None if argument.optional else inspect.Parameter.empty
    return inspect.Parameter(vba_name(argument), inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def vba_name(argument: Argument) -> str:
    """An argument's name in VBA, as in a LAMBDA: one that is also a function's name gets a trailing underscore.

    VBA knows no case and spells a name one way in a whole project, so that an argument ``weights_gb``
    would turn the function into ``weights_gb`` in every cell.
    """
    return f"{argument.name}_" if argument.name.upper() in BY_NAME else argument.name


def argument_help(argument: Argument, parameter: str) -> str:
    """What the function wizard says of an argument: what it is, its unit, accepted values, default.

    >>> argument_help(BY_NAME["AGGREGATE_TOKENS_PER_SEC"].arguments[3], "batch")
    'Batch: a number above 0; 1 if left out. Streams decoded together.'
    """
    column = COLUMNS.get(argument.name) or COLUMNS.get(parameter) or FIGURES.get(parameter)
    label = argument.name.replace("_", " ").capitalize()
    if column:
        label = column.label if isinstance(argument.rule, PrecisionName) else header(parameter, column)
    left_out = f"; {argument.default:g} if left out" if argument.default is not None else ""
    first_sentence = f" {column.help.split('. ')[0].removesuffix('.')}." if column and column.help else ""
    return help_text(f"{label}: {argument.rule.accepted}{left_out}.{first_sentence}")


def help_text(text: str) -> str:
    """A help text as far as Excel shows it."""
    return text if len(text) <= LONGEST_HELP else text[: LONGEST_HELP - 1] + "…"


def _as_typed(given: Any) -> Any:
    """Rows of cells as xlwings hands them over; None where the argument was left out."""
    if not isinstance(given, list) or {float, str, type(None)}.issuperset(map(type, chain.from_iterable(given))):
        return given
    return [[as_typed(cell) for cell in row] for row in given]


# xlwings looks for functions among a module's names.
globals().update(udfs(xlwings.func, xlwings.arg))
