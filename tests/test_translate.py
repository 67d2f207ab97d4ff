"""A formula's source as an Excel expression: what it says, that IronCalc computes the same, and what is refused."""

import inspect
import math
import random

import ironcalc
import numpy as np
import pytest
import xlsxwriter

from planner.formulas import memory, speed
from planner.functions import EXCEL_FUNCTIONS
from planner.translate import UntranslatableError, to_array, to_excel

SCALE = 3
NEGATIVE = -5
SMALL = 1e-9
NOT_A_NUMBER = "text"


def constant(a):
    return a * SCALE + NEGATIVE


def small(a):
    return a * SMALL + 0.25


def whole_float(a):
    return a * 1000.0


def minus_power(a):
    return -(a**2)


def power_of_minus(a):
    return (-a) ** 2


def nested_minus(a, b):
    return -(-a - -b)


def left_to_right(a, b, c):
    return a - b - c - (a - (b - c))


def division(a, b, c):
    return a / b / c + a / (b / c)


def power_right_to_left(a):
    return 2**a**0.5


def power_of_fraction(a, b):
    return (1 - a / (a + b)) ** b * a ** (1 / b)


def power_before_division(a, b):
    return (a + b) ** 0.5 / b - a / b**2


def power_of_power(a):
    return (a**0.5) ** 3 - -(a**-1)


def negative_constant_power(a):
    return a * NEGATIVE**2 + 2**NEGATIVE


def least(a, b):
    return min(a, b)


def most(a, b):
    return max(a - b, b - a)


def clamp(a, b):
    return min(max(a, 0), b)


def floor(a):
    return a // 1


def ceiling(a, b):
    return -(-a / b // 1)


def floor_of_sum(a, b):
    return (a + b) // 1 * 2


def condition(a, b):
    return a if a > b else b - a


def conditions(a, b):
    return 1 if a < b else 2 if a == b else 3


def at_least(a, b):
    return a if a >= b else 0


def at_most(a, b):
    return a if a <= b else 0


def differs(a, b):
    return 1 if a != b else 0


def safe_quotient(a, b):
    return a / b if b > 0 else 0


def calls(a, b, c):
    return condition(a, b) * least(c, a) + clamp(b, c)


def swaps(a, b):
    return condition(b, a)


def calls_on_expressions(a, b):
    return constant(a + b) - minus_power(a - b)


ARITHMETIC = [
    constant,
    small,
    whole_float,
    minus_power,
    power_of_minus,
    nested_minus,
    left_to_right,
    division,
    power_right_to_left,
    power_of_fraction,
    power_before_division,
    power_of_power,
    negative_constant_power,
    least,
    most,
    clamp,
    floor,
    ceiling,
    floor_of_sum,
    condition,
    conditions,
    at_least,
    at_most,
    differs,
    safe_quotient,
    calls,
    swaps,
    calls_on_expressions,
]


def bound(formula, texts="ABCDEFGHIJ"):
    return dict(zip(inspect.signature(formula).parameters, texts, strict=False))


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (constant, "((A*3)+-5)"),
        (small, "((A*1e-09)+0.25)"),
        (whole_float, "(A*1000)"),
        (minus_power, "(-(A^2))"),
        (power_of_minus, "((-A)^2)"),
        (nested_minus, "(-((-A)-(-B)))"),
        (left_to_right, "(((A-B)-C)-(A-(B-C)))"),
        (division, "(((A/B)/C)+(A/(B/C)))"),
        (power_right_to_left, "(2^(A^0.5))"),
        (power_of_fraction, "(((1-(A/(A+B)))^B)*(A^(1/B)))"),
        (power_before_division, "((((A+B)^0.5)/B)-(A/(B^2)))"),
        (power_of_power, "(((A^0.5)^3)-(-(A^(-1))))"),
        (least, "IF((A<B),A,B)"),
        (most, "IF(((A-B)>(B-A)),(A-B),(B-A))"),
        (floor, "INT(A/1)"),
        (ceiling, "(-INT(((-A)/B)/1))"),
        (floor_of_sum, "(INT((A+B)/1)*2)"),
        (condition, "IF((A>B),A,(B-A))"),
        (conditions, "IF((A<B),1,IF((A=B),2,3))"),
        (at_least, "IF((A>=B),A,0)"),
        (at_most, "IF((A<=B),A,0)"),
        (differs, "IF((A<>B),1,0)"),
        (swaps, "IF((B>A),B,(A-B))"),
        (speed.tokens_per_sec, "((B*C)/A)"),
        (speed.aggregate_tokens_per_sec, "(((B*C)/A)*D)"),
        (speed.weights_gb, "((A*B)/8)"),
        (speed.inter_token_latency_ms, "(1000/A)"),
        (speed.response_time_s, "((A/B)+(C/D))"),
        (speed.requests_per_hour, "((A*3600)/B)"),
        (speed.bits_per_weight, "A"),
        (memory.devices_to_hold, "(-INT((((-A)/B)/C)/1))"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_sub_expression_is_parenthesised(formula, text):
    assert to_excel(formula, bound(formula)) == text


@pytest.mark.parametrize("function", EXCEL_FUNCTIONS, ids=lambda function: function.name)
def test_every_excel_functions_formula_translates(function):
    text = to_excel(function.formula, bound(function.formula))
    assert text.count("(") == text.count(")")
    # MIN, MAX, AND and OR would collapse a range to one value.
    assert not any(name in text for name in ("MIN(", "MAX(", "AND(", "OR("))


# What has no Excel counterpart.


def two_statements(a):
    b = a + 1
    return b * 2


def no_return(a):
    a + 1


def empty_return(a):  # noqa: ARG001
    return


def loop(a):
    return sum(n for n in range(a))


def modulo(a):
    return a % 3


def whole_division(a, b):
    return a // b


def bit_operation(a):
    return a << 1


def both(a, b):
    return 1 if a and b else 0


def negation(a):
    return 1 if not a else 0


def chained(a, b):
    return 1 if 0 < a < b else 0


def membership(a, b):
    return 1 if a in b else 0


def boolean(a):
    return a if True else 0


def text(a):
    return a if a > "x" else 0


def plus(a):
    return +a


def attribute(a):
    return math.sqrt(a)


def built_in(a):
    return abs(a)


def least_of_three(a, b, c):
    return min(a, b, c)


def keyword(a, b):
    return condition(a, b=b)


def too_few(a):
    return condition(a)


def too_many(a):
    return constant(a, a)


def unknown_name(a):
    return a * nowhere  # noqa: F821


def unknown_function(a):
    return nowhere(a)  # noqa: F821


def text_constant(a):
    return a * NOT_A_NUMBER


def subscript(a):
    return a[0]


def calls_untranslatable(a):
    return modulo(a) + 1


def walrus(a):
    return (b := a) + b


def starred(a):
    return condition(*a)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (two_statements, "two_statements holds more than one return"),
        (no_return, "no_return holds more than one return"),
        (empty_return, "empty_return holds more than one return"),
        (loop, "loop: no Excel counterpart for (n for n in range(a))"),
        (modulo, "modulo: no Excel counterpart for a % 3"),
        (whole_division, "whole_division: no Excel counterpart for a // b"),
        (bit_operation, "bit_operation: no Excel counterpart for a << 1"),
        (both, "both: no Excel counterpart for a and b"),
        (negation, "negation: no Excel counterpart for not a"),
        (chained, "chained: no Excel counterpart for 0 < a < b"),
        (membership, "membership: no Excel counterpart for a in b"),
        (boolean, "boolean: no Excel counterpart for True"),
        (text, "text: no Excel counterpart for 'x'"),
        (plus, "plus: no Excel counterpart for +a"),
        (attribute, "attribute: no Excel counterpart for math.sqrt(a)"),
        (built_in, "built_in: no Excel counterpart for abs(a)"),
        (least_of_three, "least_of_three: no Excel counterpart for min(a, b, c)"),
        (keyword, "keyword: no Excel counterpart for condition(a, b=b)"),
        (too_few, "too_few: no Excel counterpart for condition(a)"),
        (too_many, "too_many: no Excel counterpart for constant(a, a)"),
        (unknown_name, "unknown_name: no Excel counterpart for nowhere"),
        (unknown_function, "unknown_function: no Excel counterpart for nowhere(a)"),
        (text_constant, "text_constant: no Excel counterpart for NOT_A_NUMBER"),
        (subscript, "subscript: no Excel counterpart for a[0]"),
        (calls_untranslatable, "modulo: no Excel counterpart for a % 3"),
        (walrus, "walrus: no Excel counterpart for (b := a)"),
        (starred, "starred: no Excel counterpart for *a"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_excel_cannot_say_is_refused(formula, said):
    with pytest.raises(UntranslatableError) as caught:
        to_excel(formula, bound(formula))
    assert str(caught.value) == said


def test_a_lambda_is_no_plain_function():
    nameless = lambda a: a  # noqa: E731
    with pytest.raises(UntranslatableError, match="<lambda> is not a plain function"):
        to_excel(nameless, {"a": "A"})


def test_a_parameter_that_is_bound_to_nothing_is_refused():
    with pytest.raises(UntranslatableError, match="no Excel counterpart for b"):
        to_excel(least, {"a": "A"})


# Python and IronCalc on random numbers, in one workbook.

ROWS = 40


def draw(rng, parameter):
    if parameter == "utilisation":
        # At and above capacity there is no wait.
        return rng.uniform(0.01, 0.99)
    kind = rng.randrange(4)
    if kind == 0:
        return float(rng.randint(1, 9))
    return round(10 ** rng.uniform(-2, 3), rng.randint(0, 4)) or 1.0


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """For every formula of arithmetic, its rows of arguments and what IronCalc makes of the translation."""
    rng = random.Random(20261129)
    formulas = [*ARITHMETIC, *dict.fromkeys(function.formula for function in EXCEL_FUNCTIONS)]
    path = tmp_path_factory.mktemp("translate") / "arithmetic.xlsx"
    rows = {}
    with xlsxwriter.Workbook(str(path)) as workbook:
        for index, formula in enumerate(formulas):
            sheet = workbook.add_worksheet(f"S{index}")
            parameters = list(inspect.signature(formula).parameters)
            count = len(parameters)
            rows[formula] = [tuple(draw(rng, parameter) for parameter in parameters) for _ in range(ROWS)]
            for row, arguments in enumerate(rows[formula]):
                sheet.write_row(row, 0, arguments)
                cells = [f"{letter}{row + 1}" for letter in "ABCDEFGHIJ"]
                sheet.write_formula(row, count, "=" + to_excel(formula, bound(formula, cells)))
    model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
    model.evaluate()
    return {
        formula: [
            (arguments, model.get_cell_value(index, row + 1, len(arguments) + 1))
            for row, arguments in enumerate(rows[formula])
        ]
        for index, formula in enumerate(formulas)
    }


@pytest.mark.parametrize(
    "formula", [*ARITHMETIC, *dict.fromkeys(function.formula for function in EXCEL_FUNCTIONS)], ids=lambda f: f.__name__
)
def test_the_translation_computes_what_the_formula_computes(formula, computed):
    for arguments, value in computed[formula]:
        assert value == pytest.approx(formula(*arguments), rel=1e-9, abs=1e-9), arguments


@pytest.mark.parametrize(
    "formula", [*ARITHMETIC, *dict.fromkeys(function.formula for function in EXCEL_FUNCTIONS)], ids=lambda f: f.__name__
)
def test_over_arrays_the_formula_computes_what_it_computes_one_by_one(formula, computed):
    rows = [arguments for arguments, _ in computed[formula]]
    found = to_array(formula)(*np.array(rows).T)
    assert found.tolist() == pytest.approx([formula(*arguments) for arguments in rows], rel=1e-12)


def test_arrays_broadcast_as_ranges_do():
    # weights down, bandwidths across
    found = to_array(speed.ceiling_tokens_per_sec)(np.array([[70.0], [140.0]]), np.array([[1400.0, 2800.0]]))
    assert found.tolist() == [[20, 40], [10, 20]]


def test_a_side_that_is_not_chosen_may_fail():
    found = to_array(safe_quotient)(np.array([6.0, 6.0]), np.array([2.0, 0.0]))
    assert found.tolist() == [3, 0]


def test_what_excel_cannot_say_is_refused_for_arrays_too():
    with pytest.raises(UntranslatableError, match="modulo: no Excel counterpart"):
        to_array(modulo)
