"""The formulas with a worked check: each figure of one scenario, recomputable by hand to seven significant digits."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planner.plan.evaluate import FORMULAS, parameters_of
from planner.plan.resolve import TYPED
from planner.plan.scenario import COLUMNS, FIGURES
from planner.report.parts import digits, say
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plan.study import Case

_SIGNS: Final[dict[type[ast.operator], tuple[str, int]]] = {
    ast.Add: (" + ", 1),
    ast.Sub: (" \u2212 ", 1),
    ast.Mult: (" × ", 2),
    ast.Div: (" ÷ ", 2),
}
_ATOM: Final = 3


@dataclass(frozen=True, slots=True)
class Worked:
    """A formula: the figure it gives, its equation, and the worked line of one scenario."""

    figure: str
    equation: str
    meaning: str
    line: str


def worked(case: Case | None) -> tuple[Worked, ...]:
    """Every formula, with the numbers of a case where there is one."""
    return tuple(_worked(name, formula, case) for name, formula in FORMULAS.items())


def _worked(name: str, formula: Callable[..., float], case: Case | None) -> Worked:
    meaning, _, equation = (formula.__doc__ or "").splitlines()[0].rstrip(".").rpartition(": ")
    equation = equation.replace(" x ", " × ").replace(" / ", " ÷ ").replace("eta", "η")
    if "=" not in equation.partition(",")[0]:
        equation = f"= {equation}"
    return Worked(FIGURES[name].label, equation, meaning, _line(name, formula, case) if case else "")


def _line(name: str, formula: Callable[..., float], case: Case) -> str:
    result = case.result
    value = getattr(result, name)
    unit = unit_of(name).symbol
    if value is None:
        return "not computed: " + ", ".join(_missing(formula, case)) + " not given"
    if result.sources.get(name) == TYPED:
        where = case.origin.cells.get(name)
        return f"typed{f' in {where}' if where else ''}: {digits(value)} {unit}"
    known = {**_inputs(case), **{figure: getattr(result, figure) for figure in FIGURES}}
    text = expression(formula, {key: number for key, number in known.items() if number is not None})
    exact = f"{text} = {digits(value)} {unit}".rstrip()
    short = say(name, value)
    return (
        exact if short in {digits(value), f"{digits(value)}.0", f"{digits(value)}.00"} else f"{exact}, shown as {short}"
    )


def _inputs(case: Case) -> dict[str, Any]:
    return {name: getattr(case.result.scenario, name) for name in COLUMNS}


def _missing(formula: Callable[..., float], case: Case) -> list[str]:
    """The labels of what a formula needs and the case does not have."""
    labels = []
    for name in parameters_of(formula):
        value = getattr(case.result, name, None) if name in FIGURES else getattr(case.result.scenario, name, None)
        if value is None:
            labels.append((FIGURES.get(name) or COLUMNS[name]).label.lower())
    return labels


def expression(formula: Callable[..., float], numbers: dict[str, float]) -> str:
    """A formula's own expression with numbers in place of names.

    >>> from planner.formulas.speed import tokens_per_sec
    >>> expression(tokens_per_sec, {"bandwidth_gb_s": 3350.0, "efficiency": 0.85, "weights_gb": 140.0})
    '3,350 × 0.85 ÷ 140'
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(formula)))
    returned = next(node.value for node in ast.walk(tree) if isinstance(node, ast.Return))
    names: dict[str, Any] = getattr(formula, "__globals__", {})
    return _Writer(numbers, names).of(returned)[0]


class _Writer:
    """Writes an expression with the signs of arithmetic as people write them, and no needless brackets."""

    def __init__(self, numbers: dict[str, float], names: dict[str, Any]) -> None:
        self.numbers, self.names = numbers, names

    def of(self, node: ast.expr | None) -> tuple[str, int]:
        match node:
            case ast.Constant(value=int() | float() as number):
                return digits(number), _ATOM
            case ast.Name(id=name):
                return digits(self.numbers[name] if name in self.numbers else self.names[name]), _ATOM
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
                sign, rank = _SIGNS[type(op)]
                # a / (b * c) and a - (b + c) need the brackets that a * (b / c) does not.
                strict = isinstance(op, ast.Div | ast.Sub)
                return self._part(left, rank) + sign + self._part(right, rank + strict), rank
            case ast.Call(func=ast.Name(id=name)) if name in self.numbers:
                return digits(self.numbers[name]), _ATOM
        raise TypeError(f"no worked line for {ast.unparse(node) if node else 'nothing'}")

    def _part(self, node: ast.expr, rank: int) -> str:
        text, own = self.of(node)
        return f"({text})" if own < rank else text
