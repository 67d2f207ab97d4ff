"""From a formula's own Python source to Excel: a LAMBDA's body, or arithmetic on cells.

One translation serves both, with other texts in place of the parameters. Every sub-expression is
parenthesised, since Excel reads ``-2^2`` as 4; ``min``, ``max`` and conditions become IF, since MIN
and AND collapse a range to one value.
"""

from __future__ import annotations

import ast
import inspect
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
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
                return f"INT({self.of(left)}/{self.of(right)})"
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


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(value)
