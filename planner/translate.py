"""From a formula's own Python source to Excel (a LAMBDA's body, or arithmetic on cells) and to arrays.

One translation serves both forms in Excel, with other texts in place of the parameters. Every sub-expression is
parenthesised, since Excel reads ``-2^2`` as 4; ``min``, ``max`` and conditions become IF, since MIN
and AND collapse a range to one value.
"""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=", ast.NotEq: "<>"}


class UntranslatableError(TypeError):
    """A formula holds something that has no Excel counterpart."""


@cache
def _expression(formula: Callable[..., float]) -> ast.expr:
    """The one expression that a formula returns."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(formula)))
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        raise UntranslatableError(f"{formula.__name__} is not a plain function")
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        raise UntranslatableError(f"{formula.__name__} holds more than one return")
    return body[0].value


def to_excel(formula: Callable[..., float], bind: Mapping[str, str]) -> str:
    """A formula as an Excel expression, with the bound texts in place of its parameters.

    Raises UntranslatableError where the formula holds more than one expression of arithmetic,
    comparisons, conditions, ``min``, ``max`` and calls of other formulas.

    >>> from planner.formulas.speed import tokens_per_sec
    >>> to_excel(tokens_per_sec, {"weights_gb": "F5", "bandwidth_gb_s": "J5", "efficiency": "K5"})
    '((J5*K5)/F5)'
    """
    return _Translator(formula, bind).of(_expression(formula))


class _Translator:
    def __init__(self, formula: Callable[..., float], bind: Mapping[str, str]) -> None:
        self.formula, self.bind = formula, bind
        self.names: dict[str, Any] = getattr(formula, "__globals__", {})

    def of(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool()):
                raise self.refuse(node)
            case ast.Constant(value=int() | float() as number):
                return _number(number)
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.of(operand)})"
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=ast.Constant(value=1)):
                # By any other divisor Python and INT part at exact multiples: 1 // 0.1 is 9, INT(1/0.1) is 10.
                return f"INT({self.of(left)}/1)"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return f"({self.of(left)}{_BINARY[type(op)]}{self.of(right)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return f"({self.of(left)}{_COMPARE[type(op)]}{self.of(right)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"IF({self.of(test)},{self.of(body)},{self.of(orelse)})"
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(node, name, [self.of(arg) for arg in args])
            case _:
                raise self.refuse(node)

    def name(self, node: ast.expr, name: str) -> str:
        if name in self.bind:
            return self.bind[name]
        value = self.names.get(name)
        if isinstance(value, int | float):
            return _number(value)
        raise self.refuse(node)

    def call(self, node: ast.expr, name: str, args: list[str]) -> str:
        if name in {"min", "max"} and len(args) == 2:  # noqa: PLR2004  two arguments are what IF can choose between
            a, b = args
            return f"IF(({a}{'<' if name == 'min' else '>'}{b}),{a},{b})"
        inner = self.names.get(name)
        if not inspect.isfunction(inner):
            raise self.refuse(node)
        parameters = list(inspect.signature(inner).parameters)
        if len(parameters) != len(args):
            raise self.refuse(node)
        return to_excel(inner, dict(zip(parameters, args, strict=True)))

    def refuse(self, node: ast.expr) -> UntranslatableError:
        return UntranslatableError(f"{self.formula.__name__}: no Excel counterpart for {ast.unparse(node)}")


@cache
def to_array(formula: Callable[..., float]) -> Callable[..., Any]:
    """A formula over numpy arrays, whose shapes broadcast: conditions choose element by element.

    Raises UntranslatableError as :func:`to_excel` does.

    >>> from planner.formulas.speed import ceiling_tokens_per_sec
    >>> import numpy as np
    >>> to_array(ceiling_tokens_per_sec)(np.array([[70.0], [140.0]]), np.array([[1400.0, 2800.0]])).tolist()
    [[20.0, 40.0], [10.0, 20.0]]
    """
    expression = _expression(formula)
    parameters = list(inspect.signature(formula).parameters)
    # Once as text, so that what cannot be translated is refused before the first call.
    to_excel(formula, {name: name for name in parameters})

    def over_arrays(*values: Any) -> Any:
        return _Arrays(formula, dict(zip(parameters, values, strict=True))).of(expression)

    return over_arrays


_OPERATE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class _Arrays:
    """A formula's expression worked out over arrays; it has passed :class:`_Translator`, so every node is known."""

    def __init__(self, formula: Callable[..., float], values: dict[str, Any]) -> None:
        self.names: dict[str, Any] = getattr(formula, "__globals__", {})
        self.values = values

    def of(self, node: ast.expr) -> Any:
        import numpy as np  # noqa: PLC0415  a tenth of a second that only a call should pay

        match node:
            case ast.Constant(value=number):
                return number
            case ast.Name(id=name):
                return self.values[name] if name in self.values else self.names[name]
            case ast.UnaryOp(operand=operand):
                return -self.of(operand)
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                return _OPERATE[type(op)](self.of(left), self.of(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.of(test)
                # Both sides are worked out for every element; what fails in a side that is not chosen is nobody's.
                with np.errstate(all="ignore"):
                    return np.where(chosen, self.of(body), self.of(orelse))
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[a, b]):
                return (np.minimum if name == "min" else np.maximum)(self.of(a), self.of(b))
            case ast.Call(func=ast.Name(id=name), args=args):
                return to_array(self.names[name])(*(self.of(arg) for arg in args))
        raise AssertionError(ast.dump(node))


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(value)
