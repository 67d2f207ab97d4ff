"""The formulas with a worked check: each figure of one scenario, recomputable by hand to seven significant digits."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import operator
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planner.formulas import demand
from planner.plan.evaluate import FORMULAS, known_of
from planner.plan.money_recipes import MONEY
from planner.plan.recipes import RECIPES, arguments_of, way_of
from planner.plan.resolve import TYPED
from planner.plan.scenario import COLUMNS, FIGURES
from planner.plan.ways import Way, parameters_of
from planner.report import money
from planner.report.numbers import in_text
from planner.report.parts import digits, say, says_all
from planner.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from planner.plan.study import Case

_SIGNS: Final[dict[type[ast.operator], tuple[str, int]]] = {
    ast.Add: (" + ", 1),
    ast.Sub: (" \u2212 ", 1),
    ast.Mult: (" × ", 2),
    ast.Div: (" ÷ ", 2),
}
_POWER: Final = 3
_ATOM: Final = 4


@dataclass(frozen=True, slots=True)
class Worked:
    """A formula: the figure it gives, its equation, and the worked line of one scenario."""

    figure: str
    equation: str
    meaning: str
    line: str


def worked(case: Case | None) -> tuple[Worked, ...]:
    """Every formula of the core, with the numbers of a case where there is one."""
    return tuple(_worked(name, formula, case) for name, formula in FORMULAS.items())


def worked_estimate(case: Case) -> tuple[Worked, ...]:
    """Every formula that the estimate, the memory and the queue of a case come from, with its numbers."""
    return _recipes(case, [name for name in RECIPES if name not in MONEY])


def worked_money(case: Case, code: str) -> tuple[Worked, ...]:
    """Every formula of money of a case, with its numbers, in its own currency."""
    return tuple(
        dataclasses.replace(line, line=line.line.replace(" money", f" {code}") if code else line.line)
        for line in _recipes(case, list(MONEY))
    )


def worked_plan(case: Case) -> tuple[Worked, ...]:
    """The formulas of demand with the numbers of a case's first month; none without a demand."""
    result, scenario = case.result, case.result.scenario
    if result.requests_month is None or not result.fleet_requests_per_hour:
        return ()
    numbers = {
        "requests_month": result.requests_month,
        "hours_per_month": scenario.hours_per_month or 0.0,
        "peak_to_average": scenario.peak_to_average or 1.0,
        "headroom": scenario.headroom or 0.0,
        "devices": scenario.devices or 1.0,
        "requests_per_hour": result.fleet_requests_per_hour / (scenario.replicas or 1.0),
        "growth_share_month": scenario.growth_share_month or 0.0,
    }
    peak = demand.peak_requests_per_hour(*(numbers[n] for n in parameters_of(demand.peak_requests_per_hour)))
    numbers["offered_requests_per_hour"] = peak
    bought = demand.devices_for_load(*(numbers[n] for n in parameters_of(demand.devices_for_load)))
    following = demand.next_requests_month(*(numbers[n] for n in parameters_of(demand.next_requests_month)))
    steps = (
        ("Peak of the first month", demand.peak_requests_per_hour, peak, "per hour"),
        ("Devices of the first month", demand.devices_for_load, bought, ""),
        ("Requests of the second month", demand.next_requests_month, following, ""),
    )
    return tuple(
        Worked(label, *_equation_of(formula), f"{expression(formula, numbers)} = {digits(value)} {unit}".rstrip())
        for label, formula, value, unit in steps
    )


def _recipes(case: Case, names: Sequence[str]) -> tuple[Worked, ...]:
    result = case.result
    known = known_of(result.scenario) | {name: getattr(result, name) for name in FIGURES}
    found = []
    for name in names:
        value = known[name]
        way = None if value is None or result.sources.get(name) else way_of(name, known)
        if way is None:
            continue
        text = _recipe(way, known)
        # What a figure is on its own needs no line, nor does a cost of nothing.
        if text != digits(value) and (value or name not in MONEY):
            found.append(Worked(FIGURES[name].label, *_equation_of(way.formula), _said(text, name, value)))
    return tuple(found)


def _recipe(way: Way, known: Mapping[str, Any]) -> str:
    numbers = dict(zip(parameters_of(way.formula), arguments_of(way, known), strict=True))
    # A part that a way leaves out is not written either.
    fixed = frozenset(name for name in numbers if not isinstance(way.takes(name), str))
    return _Writer(way.formula, numbers, fixed, inline=True).whole()


def _worked(name: str, formula: Callable[..., float], case: Case | None) -> Worked:
    return Worked(FIGURES[name].label, *_equation_of(formula), _line(name, formula, case) if case else "")


def _equation_of(formula: Callable[..., float]) -> tuple[str, str]:
    """A formula's equation and what it gives, as its documentation has them."""
    meaning, _, equation = (formula.__doc__ or "").splitlines()[0].rstrip(".").rpartition(": ")
    equation = equation.replace(" x ", " × ").replace(" / ", " ÷ ").replace("eta", "η").replace(" - ", " \u2212 ")
    if "=" not in equation.partition(",")[0]:
        equation = f"= {equation}"
    return in_text(equation), meaning


def _line(name: str, formula: Callable[..., float], case: Case) -> str:
    result = case.result
    value = getattr(result, name)
    unit = unit_of(name).symbol
    if value is None:
        return "not computed: " + ", ".join(_missing(formula, case)) + " not given"
    source = result.sources.get(name)
    if source == TYPED:
        where = case.origin.cells.get(name)
        return f"typed{f' in {where}' if where else ''}: {digits(value)} {unit}"
    if source:
        return f"{source}: {digits(value)} {unit}"
    known = {**_inputs(case), **{figure: getattr(result, figure) for figure in FIGURES}}
    return _said(expression(formula, {key: number for key, number in known.items() if number is not None}), name, value)


def _said(text: str, name: str, value: float) -> str:
    """A worked line: the expression, its value, and how the value is shown elsewhere where that differs."""
    exact = f"{text} = {digits(value)} {unit_of(name).symbol}".rstrip()
    return exact if says_all(name, value) else f"{exact}, shown as {_shown(name, value)}"


def _shown(name: str, value: float) -> str:
    return money.percent(value) if name == "break_even_share" else say(name, value)


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
    return _Writer(formula, numbers).whole()


@cache
def _returned(formula: Callable[..., float]) -> ast.expr:
    """What a formula returns, as its source has it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(formula)))
    found = next(node.value for node in ast.walk(tree) if isinstance(node, ast.Return))
    if found is None:
        raise TypeError(f"{formula.__name__} returns nothing")
    return found


class _Written(NamedTuple):
    """An expression in writing, how tightly it binds, its value, and whether it is a number that a way fixed."""

    text: str
    rank: int
    value: float
    fixed: bool = False


class _Writer:
    """Writes an expression with the signs of arithmetic as people write them, and no needless brackets.

    A condition is written as the side that holds; ``inline`` writes a call of another formula as what it returns, and
    otherwise a call whose figure is among the numbers as that number. ``;`` parts the sides of min and max, since
    commas group thousands.
    """

    def __init__(
        self,
        formula: Callable[..., float],
        numbers: Mapping[str, Any],
        fixed: frozenset[str] = frozenset(),
        *,
        inline: bool = False,
    ) -> None:
        self.formula, self.inline = formula, inline
        self.globals: dict[str, Any] = getattr(formula, "__globals__", {})
        self.written = {
            name: value
            if isinstance(value, _Written)
            else _Written(digits(value), _ATOM if value >= 0 else 1, value, name in fixed)
            for name, value in numbers.items()
            if isinstance(value, int | float | _Written)
        }

    def whole(self) -> str:
        """The formula's expression."""
        return self.of(_returned(self.formula)).text

    def of(self, node: ast.expr) -> _Written:
        """An expression in writing."""
        match node:
            case ast.Constant(value=int() | float() as number):
                return _Written(digits(number), _ATOM, number)
            case ast.Name(id=name):
                return self.written.get(name) or _Written(digits(self.globals[name]), _ATOM, self.globals[name])
            case ast.BinOp(left=left, right=ast.BinOp(left=ast.Constant(value=1), right=ast.Name(id="SLACK"))):
                # The hair that keeps binary fractions from missing decimal ones; no pocket calculator has it.
                return self.of(left)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(self.of(left), op, self.of(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.of(operand)
                return _Written(f"\u2212{_part(inner, 2)}", 2, -inner.value)
            case ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=body, orelse=orelse):
                holds = _COMPARED[type(op)](self.of(left).value, self.of(right).value)
                return self.of(body if holds else orelse)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=args):
                return self._extreme(name, [self.of(arg) for arg in args])
            case ast.Call(func=ast.Name(id=name), args=args):
                if not self.inline and name in self.written:
                    return self.written[name]
                called = self.globals[name]
                given = dict(zip(parameters_of(called), (self.of(arg) for arg in args), strict=True))
                return _Writer(called, given, inline=True).of(_returned(called))
        raise TypeError(f"no worked line for {ast.unparse(node)}")

    @staticmethod
    def _extreme(name: str, sides: list[_Written]) -> _Written:
        value = (min if name == "min" else max)(side.value for side in sides)
        if any(side.fixed and side.value == 0 for side in sides):
            return next(side for side in sides if side.value == value)
        return _Written(f"{name}({'; '.join(side.text for side in sides)})", _ATOM, value)

    @staticmethod
    def _binary(left: _Written, op: ast.operator, right: _Written) -> _Written:
        match op:
            case ast.FloorDiv():
                inner = left.text if right.text == "1" else f"{_part(left, 2)} ÷ {_part(right, 3)}"
                return _Written(f"floor({inner})", _ATOM, left.value // right.value)
            case ast.Pow():
                text = f"{_part(left, _ATOM)}^{_part(right, _ATOM)}"
                return _Written(text, _POWER, left.value**right.value)
        sign, rank = _SIGNS[type(op)]
        value = _COMPUTED[type(op)](left.value, right.value)
        if (kept := _without_fixed(left, op, right, value)) is not None:
            return kept
        # a / (b * c) and a - (b + c) need the brackets that a * (b / c) does not.
        strict = isinstance(op, ast.Div | ast.Sub)
        return _Written(_part(left, rank) + sign + _part(right, rank + strict), rank, value)


_COMPUTED: Final[dict[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARED: Final[dict[type[ast.cmpop], Callable[[float, float], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _without_fixed(left: _Written, op: ast.operator, right: _Written, value: float) -> _Written | None:
    """What is left where a way fixed one side so that it changes nothing: x + 0, x * 1, 0 * x."""
    nothing = 0 if isinstance(op, ast.Add | ast.Sub) else 1
    if right.fixed and right.value == nothing:
        return left
    if left.fixed and left.value == nothing and isinstance(op, ast.Add | ast.Mult):
        return right
    is_zero = isinstance(op, ast.Mult | ast.Div) and any(side.fixed and side.value == 0 for side in (left, right))
    return _Written("0", _ATOM, value, fixed=True) if is_zero else None


def _part(written: _Written, rank: int) -> str:
    return f"({written.text})" if written.rank < rank else written.text
