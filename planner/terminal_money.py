"""The money of a study in the terminal: what scenarios cost, and how that stands against an API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.terminal import NAME_KEPT, name_column
from planner.terminal_tables import TableColumn, print_fitted

if TYPE_CHECKING:
    from planner.plan.study import Case, Study

_MOST_ROWS = 20
_HEADS = {
    "cost_per_m_tokens": "Cost\nper M",
    "api_cost_per_m_output": "API\nper M",
    "monthly_cost": "Cost\nper month",
    "saving_cost_month": "Saving\nper month",
    "break_even_share": "Breaks even\nfrom",
    "busy_share": "Utili-\nsation",
}
# What gives way first where a line is short: the rest follows from what stays, or is in the workbook.
_GIVES_WAY = ("busy_share", "monthly_cost", "saving_cost_month", "break_even_share", "api_cost_per_m_output")
_VERDICTS = {
    "unknown": "",
    "cheaper": "own",
    "dearer": "API",
    "never": "API, always",
    # What serves nothing is cheaper than nothing.
    "no-fit": "",
}


def print_money(study: Study) -> None:
    """The table of costs, where any scenario has one, in the currency of comparison."""
    from planner.plan.purse import is_priced  # noqa: PLC0415  --help must not load the model
    from planner.plan.recommend import against_api  # noqa: PLC0415

    priced = [case for case in study.cases if is_priced(case.result.scenario)]
    if not priced:
        return
    cases = priced[:_MOST_ROWS]
    columns = {"name": name_column([case.name for case in cases])}
    columns |= {name: TableColumn(head, [_text(study, case, name) for case in cases]) for name, head in _HEADS.items()}
    verdicts = [_VERDICTS[against_api(case.result).value] for case in cases]
    columns["cheaper"] = TableColumn("Cheaper", verdicts, to_right=False)
    # A title would be wrapped to the width of its table.
    click.secho(_title(study), bold=True)
    print_fitted(columns, _GIVES_WAY, NAME_KEPT)
    if len(priced) > _MOST_ROWS:
        click.echo(f"... and {len(priced) - _MOST_ROWS:,} more priced scenarios in the results workbook.")
    click.echo()


def _title(study: Study) -> str:
    code = study.purse.code
    return f"Costs ({code}), a million output tokens" if code else "Costs, a million output tokens"


def _text(study: Study, case: Case, name: str) -> str:
    from planner.columns import as_percent, near_percent, rounded  # noqa: PLC0415  --help must not load the model

    result = case.result
    if name in {"break_even_share", "busy_share"}:
        value = getattr(result, name)
        return "" if value is None else as_percent(value, near_percent(value)) if value <= 1 else "never"
    amount = study.purse.amount(result, name)
    if amount is None:
        own = study.purse.own(result.scenario)
        return f"in {own}" if own and getattr(result, name) is not None else ""
    # Finance writes what is lost in parentheses.
    text = rounded(abs(amount), 0 if name.endswith("month") or name == "monthly_cost" else 2)
    return f"({text})" if amount < 0 else text
