"""The Cost sheet: what tokens and requests cost, what an API charges for the same, and where both cost the same."""

from __future__ import annotations

import dataclasses
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from planner.formulas import api_cost
from planner.plan.basis import fits, has_estimate, is_counted
from planner.plan.recommend import AgainstApi, against_api
from planner.plan.scenario import COLUMNS, FIGURES, header_of
from planner.plan.study import FIXES_LIMIT, LARGE
from planner.rules import Money
from planner.workbook.cost_charts import LINES, CostCharts
from planner.workbook.estimate_sheets import ESTIMATE_COLUMNS, MEMORY_COLUMNS
from planner.workbook.layout import (
    AMBER_PALE,
    BLUE,
    GREY,
    LINE,
    NAVY,
    RUST,
    RUST_PALE,
    CellOut,
    Rule,
    Sheet,
    Style,
    address,
    on_sheet,
)
from planner.workbook.money_looks import (
    SIGNED,
    amount_format,
    compared_word,
    is_converted,
    price_format,
    shared_word,
)
from planner.workbook.results_sheet import HEAD_TEXT
from planner.workbook.row_sheet import ROW, Given, Made, Part, Repeat, RowSheet, Said, Setting
from planner.workbook.table_sheets import LEDE, TITLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner.plan.purse import Purse
    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study
    from planner.workbook.results_sheet import Writing
    from planner.workbook.row_shapes import RowShapes

CHEAPER: Final = "cheaper than the API"
DEARER: Final = "API cheaper at this utilisation"
NEVER: Final = "never on this hardware"
NO_API: Final = "API not compared"
NO_USE: Final = "no utilisation"
NO_PRICE: Final = "no price"
NO_FIT: Final = "does not fit"
NO_RATE: Final = "no exchange rate"
ESTIMATE: Final = "estimate"
BOUND: Final = "upper bound"


def verdict_of(result: Result) -> str:
    """How a scenario's cost stands, in words: against its API, or what is missing to tell."""
    if result.cost_per_m_tokens is None:
        return NO_PRICE if result.hourly_cost_h is None or result.busy_share is not None else NO_USE
    if fits(result) is False:
        return NO_FIT
    if result.api_cost_per_m_output is None:
        return NO_API
    return _STANDINGS[against_api(result)]


_STANDINGS: Final = {AgainstApi.CHEAPER: CHEAPER, AgainstApi.DEARER: DEARER, AgainstApi.NEVER: NEVER}


def _verdict(sheet: RowSheet, case: Case, row: int, _: Mapping[str, Any]) -> tuple[Any, str]:
    own, api, share, hour, busy = (
        sheet.at(name, row)
        for name in ("cost_per_m_tokens", "api_cost_per_m_output", "break_even_share", "hourly_cost_h", "busy_share")
    )
    against = f'IF({own}<={api},"{CHEAPER}",IF(ISNUMBER({share}),IF({share}>1,"{NEVER}","{DEARER}"),"{NEVER}"))'
    against = f'IF(ISNUMBER({api}),{against},"{NO_API}")'
    if is_counted(case.result):
        memory = on_sheet(sheet.writing.names["Memory"], address(row, MEMORY_COLUMNS["fits"]))
        against = f'IF({memory}="no","{NO_FIT}",{against})'
    lacking = f'IF(AND(ISNUMBER({hour}),NOT(ISNUMBER({busy}))),"{NO_USE}","{NO_PRICE}")'
    return verdict_of(case.result), f"=IF(ISNUMBER({own}),{against},{lacking})"


def basis_of(case: Case) -> str | None:
    """What the rate that a scenario's costs rest on is; None where it has none."""
    if case.result.fleet_tokens_per_sec is None:
        return None
    return ESTIMATE if has_estimate(case.result) else BOUND


def _basis(_: RowSheet, case: Case, *__: Any) -> tuple[Any, str]:
    return basis_of(case), ""


def _currency(sheet: RowSheet, case: Case, *_: Any) -> tuple[Any, str]:
    return sheet.study.purse.own(case.result.scenario) or None, ""


def _told(purse: Purse, figure: str, case: Case) -> float | str | None:
    """A figure in the currency of comparison, or why it is not told there."""
    if getattr(case.result, figure) is None:
        return None
    return purse.amount(case.result, figure) if purse.holds(case.result.scenario) else NO_RATE


def _converted(figure: str, sheet: RowSheet, case: Case, row: int, _: Mapping[str, Any]) -> tuple[Any, str]:
    """A figure in the currency of comparison: by its rate, as it is where it is in that currency, else why not."""
    purse, scenario = sheet.study.purse, case.result.scenario
    converted, there = _told(purse, figure, case), sheet.at(figure, row)
    if converted is None or isinstance(converted, str):
        return converted, ""
    if purse.rate(scenario) is None:
        return converted, f'=IF({there}="","",{there})'
    bind = {"cost": there, "exchange_rate": sheet.at("exchange_rate", row)}
    return converted, sheet.writing.formula(api_cost.converted_cost, bind, converted)


def _columns_converted(study: Study) -> tuple[Part, ...]:
    if not is_converted(study):
        return ()
    word = compared_word(study)

    def told(name: str, label: str) -> Said:
        values = [study.purse.amount(case.result, name) for case in study.cases]
        return Said(
            f"converted_{name}",
            f"{label} ({word})",
            align="right",
            shown=amount_format(name, values),
            value=partial(_told, study.purse, name),
            note=f"In {word}, at the rate and of the day beside it; blank rows have no cost.",
            cell=partial(_converted, name),
        )

    return (
        Part(
            f"Converted to {word}",
            (
                Given("exchange_rate", f"Rate ({word} for one of the row's)"),
                Setting("exchange_day"),
                told("cost_per_m_tokens", "Cost per M output"),
                told("api_cost_per_m_output", "API per M output"),
                told("monthly_cost", "Cost per month"),
            ),
        ),
    )


def cost_parts(study: Study) -> tuple[Part, ...]:
    """The columns of a study's Cost sheet: the answer first, what it rests on and was typed last."""
    currency = (Said("own_currency", "Currency", align="center", cell=_currency),)
    return (
        Part(
            "The answer, all replicas",
            (
                *(currency if len(study.currencies) > 1 else ()),
                Made("cost_per_m_tokens"),
                Made("api_cost_per_m_output"),
                Said("verdict", "Verdict", 30.0, cell=_verdict, value=lambda case: verdict_of(case.result),
                     note="Own hardware against the API at the row's utilisation and mix of tokens."),
            ),
        ),
        *_columns_converted(study),
        Part(
            "A month",
            (
                Made("monthly_capacity_m_tokens"), Made("full_capacity_m_tokens"), Made("monthly_cost"),
                Made("api_cost_month"), Made("saving_cost_month"), Made("break_even_m_tokens"),
                Made("break_even_share"),
            ),
        ),
        Part("Cost of an hour, line by line", tuple(Made(name) for name in LINES)),
        Part(
            "An hour together",
            (
                Made("hourly_cost_h"), Made("used_cost_h"), Made("idle_cost_h"),
                Made("used_cost_per_m_tokens", "Per M output, used alone"),
            ),
        ),
        Part(
            "A request",
            (
                Made("cost_per_request"), Made("api_request_cost"), Made("prefill_share"),
                Made("cost_per_m_input_tokens"), Made("cost_per_m_generated_tokens"), Made("blended_cost_m"),
                Made("cache_saving_cost"), Made("cache_saved_s"),
            ),
        ),
        Part(
            "What it rests on",
            (
                Made("busy_share"), Given("hours_per_month"), Made("fleet_devices"), Made("fleet_tokens_per_sec"),
                Said("basis", "Basis of the rate (at the run)", 14.0, cell=_basis, value=basis_of,
                     note="Estimate, or the core's upper bound, so that a token really costs more."),
                Made("fleet_requests_per_hour"), Made("requests_month"),
            ),
        ),
        Part(
            "Prices as typed, hardware",
            (
                Made("device_cost_h"), Given("instance_cost_h"), Given("instance_devices"), Given("device_capex_cost"),
                Given("device_residual_cost"), Given("useful_life_years"), Made("capex_cost", "Purchase, all devices"),
                Made("residual_cost", "Residual, all devices"), Given("device_power_w"), Given("pue"),
                Given("tariff_cost_kwh"), Given("device_hosting_cost_month"), Given("device_licence_cost_month"),
                Given("device_support_cost_month"), Given("staff_cost_month"),
            ),
        ),
        Part(
            "Prices as typed, API",
            (
                Given("api"), Given("input_cost_m"), Given("cached_cost_m"), Given("cache_write_cost_m"),
                Given("output_cost_m"), Given("cache_write_tokens"),
            ),
        ),
        Part("Where prices are from", (Given("price_source"), Setting("price_day"))),
        Part("Chosen at the run", (Setting("device"), Setting("model"))),
        Part(
            "As on Results",
            tuple(
                Repeat(name)
                for name in (
                    "devices", "aggregate_tokens_per_sec", "requests_per_hour", "prompt_tokens", "output_tokens",
                    "prefill_tokens_per_sec", "time_to_first_token_s", "response_time_s",
                )
            ),
        ),
        Part(
            "As on Estimate",
            tuple(
                Repeat(name, sheet="Estimate")
                for name in (
                    "estimated_aggregate_tokens_per_sec", "estimated_requests_per_hour", "estimated_response_time_s",
                    "prefill_s", "stall_ms", "step_time_ms", "speculative_step_ms", "cached_tokens", "replicas",
                    "offered_requests_per_hour", "active_params_b", "heads", "layers", "head_dim", "peak_tflop_s",
                    "prefill_mfu",
                )
            ),
        ),
    )  # fmt: skip


def is_amount(name: str) -> bool:
    """Whether a field or figure is an amount of money."""
    column = FIGURES.get(name) or COLUMNS.get(name)
    return column is not None and isinstance(column.rule, Money)


def _formats(study: Study, parts: Iterable[Part], shapes: RowShapes | None) -> dict[str, str]:
    """The number formats of amounts, by what the study holds."""
    found = {}
    for spec in (spec for part in parts for spec in part.columns if is_amount(spec.name)):
        if shapes:
            values = shapes.amounts(spec.name)
        else:
            get = attrgetter(spec.name)
            values = [get(case.result if spec.name in FIGURES else case.result.scenario) for case in study.cases]
        typed = spec.name in COLUMNS
        found[spec.name] = price_format(values) if typed else amount_format(spec.name, values)
    return found | {"saving_cost_month": SIGNED}


def cost_rows(study: Study, writing: Writing) -> RowSheet:
    """The Cost sheet's rows, for other sheets to refer to."""
    left_out = 0
    if not study.is_priced and len(study.cases) > LARGE:
        # Without a price there are devices and requests to tell, which demand is planned from, as far as it is.
        left_out = len(study.cases) - FIXES_LIMIT
        study = study.first(FIXES_LIMIT)
        writing = dataclasses.replace(writing, shapes=None)
    parts = cost_parts(study)
    return RowSheet(
        study,
        writing,
        "Cost",
        parts,
        "Cost: what a million output tokens and a request cost here, and by an API",
        (f"The first {FIXES_LIMIT} scenarios; {left_out:,} more are left out. " if left_out else "") + _lede(study),
        {"Memory": MEMORY_COLUMNS, "Estimate": ESTIMATE_COLUMNS},
        money=shared_word(study),
        formats=_formats(study, parts, writing.shapes),
    )


_LONGEST_NAME: Final = 40


def short_name(case: Case) -> str:
    """A scenario's name as a chart's title holds it: short, and without what no page can hold."""
    name = "".join(filter(str.isprintable, case.name))
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}\u2026"


def has_rows(study: Study) -> bool:
    """Whether the Cost sheet has rows: of costs, or of what a demand is met with."""
    return study.is_priced or any(case.result.requests_month is not None for case in study.cases)


_HARDWARE: Final = ("device_cost_h", "instance_cost_h", "device_capex_cost")


def _lede(study: Study) -> str:
    codes = study.currencies
    if not codes:
        *first, last = map(header_of, _HARDWARE)
        money = (
            f"No row has a price: add {', '.join(first)} or {last} to the scenario sheet, with "
            f"{header_of('busy_share')}, and run planner again."
        )
    elif len(codes) > 1:
        money = f"Amounts are in each row's own currency, compared in {study.purse.code or 'none'}, and never summed."
    else:
        money = f"Amounts in {codes[0]}." if codes[0] else "No currency is named; amounts are in one alone."
    return (
        f"{money} All that is paid for, busy or not, over the output at the row's utilisation; 'used' counts busy "
        "hours alone. API: each kind of token at its own price, prompts included. Break-even: the output of a month "
        "at which both cost the same. Figures follow your edits of the scenario sheet; what was blank at the run "
        "counts from the next one on. Charts stand below the table."
    )


def cost_sheet(study: Study, writing: Writing) -> Sheet:
    """What each scenario costs, the answer first, every line behind it live; what to type where none has a price."""
    if not has_rows(study):
        return unpriced(
            writing,
            "Cost",
            "Cost: no row has a price yet",
            "Add columns of these headers to the scenario sheet, fill them, and run planner again. One of the first "
            "three prices the hardware; without a utilisation no token has a cost.",
            (
                *_HARDWARE, "useful_life_years", "busy_share", "currency", "input_cost_m", "output_cost_m",
            ),
        )  # fmt: skip
    rows = cost_rows(study, writing)
    charted = CostCharts(rows)
    return rows.describe(_rules(rows), list(charted.cells()), charted.charts(), charted.heights())


def unpriced(writing: Writing, kind: str, title: str, lede: str, fields: Iterable[str]) -> Sheet:
    """A sheet that has nothing to show, with the columns that would give it something."""
    cells = [
        CellOut(0, 0, title, style=TITLE),
        CellOut(1, 0, lede, style=LEDE),
        CellOut(3, 0, "Column", style=HEAD_TEXT),
        CellOut(3, 1, "What it is", style=HEAD_TEXT),
    ]
    for row, name in enumerate(fields, ROW):
        cells.append(CellOut(row, 0, header_of(name), style=Style(bold=True, bottom=LINE, colour=NAVY)))
        cells.append(CellOut(row, 1, COLUMNS[name].help, style=Style(bottom=LINE, colour=GREY)))
    return Sheet(
        name=writing.names[kind],
        cells=cells,
        widths={0: 40.0, 1: 100.0},
        freeze=(ROW, 0),
        repeat_rows=(ROW - 1, ROW - 1),
        gridlines=False,
        mark=kind.casefold(),
        tab=BLUE,
    )


def _rules(sheet: RowSheet) -> list[Rule]:
    def cell(name: str) -> str:
        return sheet.at(name, fix_column=True)

    verdict, saving, share, own = (
        cell(name) for name in ("verdict", "saving_cost_month", "break_even_share", "cost_per_m_tokens")
    )
    bad = f'OR({verdict}="{NEVER}",{verdict}="{NO_FIT}")'
    return [
        *(Rule(sheet.area(name), bad, RUST_PALE, RUST, bold=True) for name in ("verdict", "break_even_share")),
        Rule(sheet.area("verdict"), f'{verdict}="{DEARER}"', AMBER_PALE),
        Rule(sheet.area("verdict"), f'{verdict}="{CHEAPER}"', "", BLUE, bold=True),
        Rule(sheet.area("saving_cost_month"), f"AND(ISNUMBER({saving}),{saving}<0)", "", RUST),
        Rule(sheet.area("break_even_share"), f"AND(ISNUMBER({share}),{share}>1)", RUST_PALE, RUST, bold=True),
        Rule(sheet.area("basis"), f'AND({cell("basis")}="{BOUND}",ISNUMBER({own}))', AMBER_PALE),
    ]
