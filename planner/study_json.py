"""A study as the JSON that scripts read: figures, estimates, memory, money, demand, issues and what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner import __version__

if TYPE_CHECKING:
    from planner.issues import Issue
    from planner.job import Outcome
    from planner.plan.demand_plan import DemandPlan
    from planner.plan.scenario import Result
    from planner.plan.sensitivity import Outlook, Swing
    from planner.plan.study import Case, Study


def _issue_as_json(issue: Issue) -> dict[str, Any]:
    return {
        "severity": str(issue.severity),
        "code": issue.code,
        "where": issue.where,
        "field": issue.field,
        "problem": issue.problem,
        "expected": issue.accepted,
        "advice": issue.advice,
    }


def _estimate_as_json(result: Result) -> dict[str, Any] | None:
    """The estimate with its range and where a step's time goes; None where the core stands alone."""
    from planner.plan.basis import has_estimate, step_parts  # noqa: PLC0415  --help must not load the model

    if not has_estimate(result):
        return None
    return {
        "tokens_per_sec": result.estimated_tokens_per_sec,
        "low_tokens_per_sec": result.low_tokens_per_sec,
        "high_tokens_per_sec": result.high_tokens_per_sec,
        "aggregate_tokens_per_sec": result.estimated_aggregate_tokens_per_sec,
        "response_time_s": result.estimated_response_time_s,
        "requests_per_hour": result.estimated_requests_per_hour,
        "step_ms": {part.name.replace(" ", "_"): part.time_ms for part in step_parts(result)},
        "utilisation": result.utilisation,
        "queue_wait_s": result.queue_wait_s,
        "unstable": None if result.utilisation is None else result.utilisation >= 1,
    }


def _memory_as_json(result: Result) -> dict[str, Any]:
    from planner.plan.basis import fits  # noqa: PLC0415  --help must not load the model

    return {
        "fits": fits(result),
        "weights_gb": result.weights_gb,
        "kv_cache_gb": result.kv_cache_gb,
        "overhead_gb": result.scenario.overhead_gb,
        "needed_gb": result.memory_needed_gb,
        "usable_gb": result.usable_memory_gb,
        "streams_that_fit": result.streams_that_fit,
        "longest_context_tokens": result.longest_context_tokens,
        "devices_needed": result.devices_needed,
    }


def money_as_json(study: Study, case: Case) -> dict[str, Any] | None:
    """A case's money in the currency of comparison, its demand and what moves its cost; None where it has no price."""
    from planner.plan.purse import is_priced  # noqa: PLC0415  --help must not load the model
    from planner.plan.recommend import against_api  # noqa: PLC0415

    result, at = case.result, case.number - 1
    if not is_priced(result.scenario):
        return None
    rate = study.purse.rate(result.scenario)
    return {
        "currency": study.purse.code or None,
        "prices_in": study.purse.own(result.scenario) or None,
        "exchange": rate and {"from": rate.own, "to": rate.to, "rate": rate.rate, "day": rate.day},
        "compared": study.purse.holds(result.scenario),
        "against_api": against_api(result).value,
        **{name: study.purse.amount(result, name) for name in _AMOUNTS},
        **{name: getattr(result, name) for name in ("busy_share", "break_even_m_tokens", "break_even_share")},
        "swings": [_swing(study, case, swing) for swing in study.swings[at]] if at < len(study.swings) else None,
        "outlook": _outlook(study, case, study.outlooks[at]) if at < len(study.outlooks) else None,
    }


_AMOUNTS = (
    "hourly_cost_h",
    "used_cost_h",
    "idle_cost_h",
    "monthly_cost",
    "cost_per_m_tokens",
    "used_cost_per_m_tokens",
    "cost_per_request",
    "api_request_cost",
    "blended_cost_m",
    "api_cost_per_m_output",
    "api_cost_month",
    "saving_cost_month",
)


def _swing(study: Study, case: Case, swing: Swing) -> dict[str, Any]:
    scenario = case.result.scenario
    return {
        "assumption": swing.name,
        "cheap": swing.cheap,
        "dear": swing.dear,
        "cheap_cost_per_m_tokens": study.purse.of(scenario, swing.cheap_cost),
        "dear_cost_per_m_tokens": study.purse.of(scenario, swing.dear_cost),
    }


def _outlook(study: Study, case: Case, outlook: Outlook | None) -> dict[str, Any] | None:
    if outlook is None:
        return None
    costs = {"best": outlook.best_cost, "base": outlook.base_cost, "worst": outlook.worst_cost}
    return {name: study.purse.of(case.result.scenario, cost) for name, cost in costs.items()}


def demand_as_json(study: Study, case: Case) -> dict[str, Any] | None:
    """Twelve months of a case's demand, amounts in the row's own currency; None where it names no requests."""
    at = case.number - 1
    plan: DemandPlan | None = study.demand[at] if at < len(study.demand) else None
    if plan is None:
        return None
    return {
        "currency": study.purse.own(case.result.scenario) or None,
        "months": [
            {
                "first": month.first.isoformat(),
                "requests": month.requests_month,
                "peak_requests_per_hour": month.peak_requests_per_hour,
                "devices": month.devices,
                "paid_devices": month.paid_devices,
                "cost": month.monthly_cost,
                "api_cost": month.api_cost_month,
                "saving": month.saving_cost_month,
                "saved": month.saved_cost,
            }
            for month in plan.months
        ],
        "orders": [
            {"devices": order.devices, "needed": order.needed.isoformat(), "order": order.order.isoformat()}
            for order in plan.orders
        ],
        "pays_back_in_month": plan.paid_back,
    }


def study_as_json(study: Study, outcome: Outcome) -> dict[str, Any]:
    """A study and what was written, as JSON holds it."""
    from planner.plan.scenario import COLUMNS, FIGURES  # noqa: PLC0415  --help must not load the model

    results = [
        {
            "name": case.name,
            "row": case.origin.row,
            "inputs": {name: getattr(case.result.scenario, name) for name in COLUMNS},
            "figures": {name: getattr(case.result, name) for name in FIGURES},
            "estimate": _estimate_as_json(case.result),
            "memory": _memory_as_json(case.result),
            "money": money_as_json(study, case),
            "demand": demand_as_json(study, case),
            "standing": study.recommendation.standings[case.number - 1].value,
            "sources": dict(case.result.sources),
            "not_modelled": list(case.result.not_modelled),
            "flags": [issue.code for issue in case.result.issues],
        }
        for case in study.cases
    ]
    best, steadier = study.recommendation.best, study.recommendation.steadier
    return {
        "planner": __version__,
        "source": {"name": study.source.name, "sha256": study.source.sha256, "sheet": study.source.sheet},
        "results": results,
        "best": {
            "name": best.scenario.name,
            "criterion": study.recommendation.criterion,
            "by_estimate": study.recommendation.by_estimate,
        }
        if best
        else None,
        "best_up_to_batch_32": steadier.scenario.name if steadier else None,
        "compares_unlike_tasks": study.recommendation.mixed,
        "skipped": [{"name": row.name, "row": row.origin.row} for row in study.skipped],
        "issues": [_issue_as_json(issue) for issue in study.issues],
        "written": [str(path) for path in outcome.written],
        "backup": str(outcome.backup) if outcome.backup else None,
        "elsewhere": outcome.elsewhere,
        "no_pdf": outcome.no_pdf,
    }
