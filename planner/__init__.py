"""planner: the capacity planner for LLM serving that lives in a spreadsheet.

    >>> from planner import Scenario, evaluate
    >>> result = evaluate(Scenario(params_b=70, precision="FP16", bandwidth_gb_s=3350, efficiency=0.85))
    >>> round(result.tokens_per_sec, 2)
    20.34

Names are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from planner.issues import Issue, PlannerError, Severity
    from planner.job import plan_workbook, write_results
    from planner.plan.bulk import evaluate_columns, evaluate_many
    from planner.plan.evaluate import evaluate
    from planner.plan.scenario import Result, Scenario
    from planner.plan.study import Options, Study, study_of
    from planner.report.render import render_report
    from planner.settings import Decision, Settings
    from planner.workbook.read import read_scenarios
    from planner.workbook.results_sheet import Functions

_HOMES = {
    "Decision": "planner.settings",
    "Functions": "planner.workbook.results_sheet",
    "Issue": "planner.issues",
    "Options": "planner.plan.study",
    "PlannerError": "planner.issues",
    "Result": "planner.plan.scenario",
    "Scenario": "planner.plan.scenario",
    "Settings": "planner.settings",
    "Severity": "planner.issues",
    "Study": "planner.plan.study",
    "evaluate": "planner.plan.evaluate",
    "evaluate_columns": "planner.plan.bulk",
    "evaluate_many": "planner.plan.bulk",
    "plan_workbook": "planner.job",
    "read_scenarios": "planner.workbook.read",
    "render_report": "planner.report.render",
    "study_of": "planner.plan.study",
    "write_results": "planner.job",
}

__all__ = [
    "Decision",
    "Functions",
    "Issue",
    "Options",
    "PlannerError",
    "Result",
    "Scenario",
    "Settings",
    "Severity",
    "Study",
    "__version__",
    "evaluate",
    "evaluate_columns",
    "evaluate_many",
    "plan_workbook",
    "read_scenarios",
    "render_report",
    "study_of",
    "write_results",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
