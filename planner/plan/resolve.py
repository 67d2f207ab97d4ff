"""Completes a scenario: each field from what was typed, else from its default, with a record of which."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner.columns import BadValueError, Text, Typed, read_value
from planner.issues import Issue, Severity
from planner.plan.fill import EMPTY_LIBRARY, Filling, Library
from planner.plan.prices import price_issues
from planner.plan.scenario import COLUMNS, Scenario, header_of
from planner.units import SLACK

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPED: Final = "typed"
DEFAULT: Final = "default"
# Per-device figures come from datasheets rounded to three digits, so a smaller gap is no contradiction.
SAME_WITHIN: Final = 0.005


# Figures of which the first is a part of the second, so that no equation holds where it is more.
RELATIONS: Final = (
    ("active_params_b", "params_b"),
    ("streamed_params_b", "params_b"),
    ("active_weights_gb", "weights_gb"),
    ("active_experts", "experts"),
    ("kv_heads", "heads"),
    ("kv_layers", "layers"),
    ("full_layers", "kv_layers"),
    ("cached_tokens", "prompt_tokens"),
    ("low_factor", "high_factor"),
)
# What a device or model that nobody knows would have filled, so that it is not called missing as well.
_NEEDS: Final = {"device": "device_bandwidth_gb_s", "model": "weights_gb"}


@dataclass(frozen=True, slots=True)
class Resolution:
    """A completed scenario, where each of its fields came from, and what stands against evaluating it."""

    scenario: Scenario
    sources: Mapping[str, str]
    issues: tuple[Issue, ...]

    @property
    def ok(self) -> bool:
        """Whether the scenario can be evaluated."""
        return not any(issue.severity is Severity.ERROR for issue in self.issues)


def resolve(scenario: Scenario, refused: frozenset[str] = frozenset(), library: Library = EMPTY_LIBRARY) -> Resolution:
    """Complete a scenario and say what is wrong with it, all at once.

    A field is what was typed, else what the user's own device or model of that name has, else what the catalogue's
    has, else what was measured on its class of device, else its column's default.

    Values are checked by their column's rule, so ``efficiency="85%"`` or ``precision="fp8"`` are
    understood here as they are in a cell. Fields in ``refused`` held a value that was refused
    already: they are not called missing.
    """
    issues: list[Issue] = []
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for (name, column, blank), given in zip(BLANKS, _values_in(scenario), strict=True):
        if given is None or given == "":
            values[name] = blank
            if column.default is not None:
                sources[name] = DEFAULT
            continue
        sources[name] = TYPED
        try:
            values[name] = read_value(name, column, Typed(given)).value
        except BadValueError as bad:
            values[name] = None
            issues.append(_error(bad.code, name, bad.problem, bad.accepted))
    refused |= {issue.field for issue in issues}
    filling = Filling(values, sources, library)
    filling.from_names()
    filling.from_class()
    issues += filling.issues
    unnamed = {_NEEDS[issue.field] for issue in filling.issues if issue.severity is Severity.ERROR}
    refused |= unnamed
    complete = Scenario(**values)
    issues += _missing(complete, refused)
    if not refused & {"device_bandwidth_gb_s", "devices", "bandwidth_gb_s"}:
        issues += _contradiction(complete, sources)
    issues += _relations(complete, sources)
    issues += price_issues(complete)
    return Resolution(complete, MappingProxyType(sources), tuple(issues))


# What each column holds where nothing was typed.
BLANKS: Final = tuple(
    (name, column, "" if column.default is None and type(column.rule) is Text else column.default)
    for name, column in COLUMNS.items()
)
_values_in: Final = attrgetter(*COLUMNS)


def _missing(scenario: Scenario, refused: frozenset[str]) -> list[Issue]:
    """What the asked results need and the row does not have."""
    issues = []
    if scenario.weights_gb is None and not refused & {"weights_gb", "params_b", "precision"}:
        if scenario.params_b is None:
            issues.append(
                _error(
                    "missing",
                    "weights_gb",
                    "Weights are missing",
                    f"{header_of('weights_gb')}, or {header_of('params_b')} and {header_of('precision')}",
                )
            )
        elif scenario.precision is None:
            issues.append(
                _error(
                    "missing",
                    "precision",
                    f"Precision is blank, so {scenario.params_b:g} billion parameters have no size",
                    f"{COLUMNS['precision'].rule.accepted}, or a size in {header_of('weights_gb')}",
                )
            )
    given = scenario.bandwidth_gb_s is not None or scenario.device_bandwidth_gb_s is not None
    if not given and not refused & {"bandwidth_gb_s", "device_bandwidth_gb_s"}:
        issues.append(
            _error(
                "missing",
                "device_bandwidth_gb_s",
                "Bandwidth is missing",
                f"{header_of('device_bandwidth_gb_s')} and {header_of('devices')}, or {header_of('bandwidth_gb_s')}",
            )
        )
    return issues


def _contradiction(scenario: Scenario, sources: Mapping[str, str]) -> list[Issue]:
    each, devices, total = scenario.device_bandwidth_gb_s, scenario.devices, scenario.bandwidth_gb_s
    if each is None or devices is None or total is None or abs(each * devices - total) <= SAME_WITHIN * total:
        return []
    blank = " (the count is blank)" if sources.get("devices") == DEFAULT else ""
    counted = f"{devices:g} device{'' if devices == 1 else 's'}{blank}"
    product = f"{each * devices:,.10g} GB/s"
    return [
        _error(
            "contradiction",
            "bandwidth_gb_s",
            f"Aggregate bandwidth is {total:,.10g} GB/s, but {each:,.10g} GB/s x {counted} is {product}",
            "two figures that agree, or one of them blank",
        )
    ]


def _relations(scenario: Scenario, sources: Mapping[str, str]) -> list[Issue]:
    """Parts that are more than their whole, each said of what was typed."""
    issues = []
    for lesser, greater in RELATIONS:
        low, high = getattr(scenario, lesser), getattr(scenario, greater)
        typed = [name for name in (lesser, greater) if sources.get(name) == TYPED]
        if low is None or high is None or not typed or low <= high * (1 + SLACK):
            continue
        field = typed[0]
        (first, value), (other, limit) = ((lesser, low), (greater, high))[:: 1 if field == lesser else -1]
        what, least = ("above", "at most") if field == lesser else ("below", "at least")
        source = sources.get(other, TYPED)
        from_where = "" if source == TYPED else f" ({source})"
        problem = f"{header_of(first)} is {value:,.10g}, {what} {header_of(other)} of {limit:,.10g}{from_where}"
        issues.append(_error("relation", field, problem, f"{least} {limit:,.10g}"))
    return issues


def _error(code: str, name: str, problem: str, accepted: str) -> Issue:
    return Issue(severity=Severity.ERROR, code=code, field=name, problem=problem, accepted=accepted)
