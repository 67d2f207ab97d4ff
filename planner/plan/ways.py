"""A way to make a figure: its formula, what it takes, and when it is taken."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

Formula = Callable[..., float]
Known = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to make a figure: a formula, and the field or number of each parameter that is not named as its field."""

    formula: Formula
    bind: Mapping[str, str | float] = field(default_factory=lambda: MappingProxyType({}))
    when: Callable[[Known], Any] | None = None
    # What each parameter takes, in order, worked out once: a thousand scenarios ask.
    taken: tuple[str | float, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Note what the formula takes."""
        object.__setattr__(self, "taken", tuple(map(self.takes, parameters_of(self.formula))))

    def takes(self, parameter: str) -> str | float:
        """The field that a parameter takes, or its number."""
        return self.bind.get(parameter, parameter)


@cache
def parameters_of(formula: Formula) -> tuple[str, ...]:
    """The names of a formula's parameters, in order."""
    return tuple(inspect.signature(formula).parameters)


# Conditions hold for one scenario's values, where None is not known, and element by element for columns of many, where
# NaN is not known either. So they join answers by & and |, and compare rather than ask for truth.


def is_not(holds: Any) -> Any:
    """Whether something does not hold."""
    return holds ^ True


def is_there(known: Known, name: str) -> Any:
    """Whether a number is known."""
    value = known.get(name)
    return value is not None and value > -math.inf


def is_above_zero(known: Known, name: str) -> Any:
    """Whether a number is known and above 0."""
    value = known.get(name)
    return value is not None and value > 0
