"""The money of a study in the terminal: what scenarios cost, and how that stands against an API."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from planner.terminal import cut

if TYPE_CHECKING:
    from planner.plan.study import Case, Study

_MOST_ROWS = 20
_NARROW, _PIPED = 80, 110
_LEAST = 9
# What gives way first where a line is short.
_HEADS = {
    "cost_per_m_tokens": "Cost\nper M",
    "api_cost_per_m_output": "API\nper M",
    "monthly_cost": "Cost\nper month",
    "saving_cost_month": "Saving\nper month",
    "break_even_share": "Breaks even\nfrom",
    "busy_share": "Utili-\nsation",
}
_WIDE = ("monthly_cost", "busy_share")
_CHEAPER = "Cheaper"
_VERDICTS = {
    "unknown": "",
    "cheaper": "own",
    "dearer": "API",
    "never": "API, always",
}


def print_money(study: Study) -> None:
    """The table of costs, where any scenario has one, in the currency of comparison."""
    from rich.console import Console  # noqa: PLC0415  rich is slow to load
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from planner.plan.purse import is_priced  # noqa: PLC0415  --help must not load the model
    from planner.plan.recommend import against_api  # noqa: PLC0415

    cases = [case for case in study.cases if is_priced(case.result.scenario)]
    if not cases:
        return
    on_terminal = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console() if on_terminal else Console(width=_PIPED)
    heads = [name for name in _HEADS if console.width > _NARROW or name not in _WIDE]
    # A title would be wrapped to the width of its table.
    console.print(_title(study), style="bold")
    table = Table(box=None, pad_edge=False, header_style="bold")
    # Names give way, figures never: a cut figure says something else.
    widths = {name: max(_LEAST, *map(len, _HEADS[name].split("\n"))) for name in heads}
    left = console.width - sum(width + 2 for width in widths.values()) - len(_VERDICTS["never"]) - 2
    table.add_column("Scenario", overflow="ellipsis", no_wrap=True, max_width=max(left, _LEAST))
    for name, width in widths.items():
        table.add_column(_HEADS[name], justify="right", no_wrap=True, min_width=width)
    table.add_column(_CHEAPER, no_wrap=True, min_width=len(_VERDICTS["never"]))
    for case in cases[:_MOST_ROWS]:
        texts = [_text(study, case, name) for name in heads]
        table.add_row(Text(cut(case.name)), *texts, _VERDICTS[against_api(case.result).value])
    console.print(table)
    if len(cases) > _MOST_ROWS:
        console.print(f"... and {len(cases) - _MOST_ROWS:,} more priced scenarios in the results workbook.")
    console.print()


def _title(study: Study) -> str:
    code = study.purse.code
    return f"Costs ({code}), a million output tokens" if code else "Costs, a million output tokens"


def _text(study: Study, case: Case, name: str) -> str:
    from planner.columns import as_percent, rounded  # noqa: PLC0415  --help must not load the model

    result = case.result
    if name in {"break_even_share", "busy_share"}:
        value = getattr(result, name)
        return "" if value is None else as_percent(value) if value <= 1 else "never"
    amount = study.purse.amount(result, name)
    if amount is None:
        own = study.purse.own(result.scenario)
        return f"in {own}" if own and getattr(result, name) is not None else ""
    # Finance writes what is lost in parentheses.
    text = rounded(abs(amount), 0 if name.endswith("month") or name == "monthly_cost" else 2)
    return f"({text})" if amount < 0 else text
