"""The starter workbook: headers with notes and drop-downs, example rows, a legend, and what the columns mean."""

from __future__ import annotations

import datetime as dt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner import catalog, units
from planner.columns import Column, PrecisionName, Ratio, Text, header
from planner.plan.scenario import COLUMNS, CORE_COLUMNS, Scenario
from planner.workbook.head import HEAD, HEAD_OPTIONAL, HEADER_ROW, ROWS_OFFERED, default_shown, note_of
from planner.workbook.layout import BLUE, GREY, LINE, NAVY, CellOut, Choice, Sheet, Style, wrapped_heights
from planner.workbook.own_sheets import own_sheets
from planner.workbook.results_sheet import Functions
from planner.workbook.table_sheets import LEDE, TITLE
from planner.workbook.write import write_workbook

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_FIRST: Final = ("name", "model", "device", "engine")
# The columns that a starter has; the others are for those who know that they need them.
STARTER: Final[Mapping[str, Column]] = MappingProxyType(
    {name: COLUMNS[name] for name in _FIRST}
    | {name: column for name, column in COLUMNS.items() if (name in CORE_COLUMNS or column.common) and name != "notes"}
    | {"notes": COLUMNS["notes"]}
)
# Written into the file in place of the time of day, so that the same scenarios give the same bytes.
_MADE: Final = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

_HBM: Final[dict[str, Any]] = {"device_bandwidth_gb_s": 3350.0, "device_memory_gb": 80.0}
_CHAT: Final[dict[str, Any]] = {"prompt_tokens": 2000.0, "output_tokens": 500.0, "prefill_tokens_per_sec": 9000.0}
_RENTED: Final[dict[str, Any]] = {
    "currency": "USD",
    "busy_share": 0.5,
    "price_source": "Illustrative; type your own quotes",
    "price_day": "2026-11-02",
}
_H100: Final = _RENTED | {"device_cost_h": 2.5}
_API_70B: Final[dict[str, Any]] = {"input_cost_m": 0.9, "output_cost_m": 0.9}
_API_8B: Final[dict[str, Any]] = {"input_cost_m": 0.2, "output_cost_m": 0.2}
_WORKED: Final[dict[str, Any]] = {
    "model": "70B dense",
    "params_b": 70.0,
    "devices": 2.0,
    "device_memory_gb": 80.0,
    "efficiency": 0.85,
    "batch": 8.0,
}

EXAMPLE: Final = Scenario(
    name="Chat 70B at FP16 on two H100 SXM",
    precision="FP16",
    **_WORKED | _HBM | _CHAT,
    notes="An example; type over it",
)

SAMPLE: Final = (
    Scenario(
        name="Worked example, 70B at FP16",
        precision="FP16",
        bandwidth_gb_s=3350.0,
        **_WORKED | _CHAT | _H100 | _API_70B,
        notes="3,350 GB/s over both devices together: 20.34 tok/s",
    ),
    Scenario(
        name="Worked example at INT8",
        precision="INT8",
        bandwidth_gb_s=3350.0,
        **_WORKED | _CHAT | _H100 | _API_70B,
        notes="Half the bytes, twice the rate",
    ),
    Scenario(
        name="Worked example at INT4",
        precision="INT4",
        bandwidth_gb_s=3350.0,
        **_WORKED | _CHAT | _H100 | _API_70B,
        notes="A quarter of the bytes, four times the rate",
    ),
    Scenario(
        name="70B at FP16 on two H100 SXM",
        precision="FP16",
        **_WORKED
        | _CHAT
        | _H100
        | _API_70B
        | {"device_memory_gb": None, "model": "Llama-3.1-70B", "device": "H100 SXM", "engine": "vLLM"},
        notes="3,350 GB/s for each of two devices: twice the worked example",
    ),
    Scenario(
        name="8B at Q4_K_M on one RTX 4090",
        model="Llama-3.1-8B",
        device="RTX 4090",
        engine="llama.cpp",
        params_b=8.03,
        precision="Q4_K_M",
        weights_gb=4.918,
        device_bandwidth_gb_s=1008.0,
        devices=1.0,
        device_memory_gb=24.0,
        efficiency=0.75,
        batch=1.0,
        prompt_tokens=2000.0,
        output_tokens=500.0,
        prefill_tokens_per_sec=5000.0,
        measured_tokens_per_sec=128.0,
        **_RENTED | _API_8B | {"device_cost_h": 0.4},
        notes="A file of known size wins over parameters x bits",
    ),
    Scenario(
        name="70B at Q4_K_M on a desktop's DDR5",
        model="Llama-3.1-70B",
        engine="llama.cpp",
        params_b=70.55,
        precision="Q4_K_M",
        weights_gb=42.52,
        device_bandwidth_gb_s=89.6,
        devices=1.0,
        device_memory_gb=64.0,
        efficiency=0.6,
        batch=1.0,
        prompt_tokens=2000.0,
        output_tokens=500.0,
        prefill_tokens_per_sec=40.0,
        notes="Two memory channels: slower than reading",
    ),
    Scenario(
        name="8B at FP8 on one H100 SXM, batch 64",
        model="Llama-3.1-8B",
        device="H100 SXM",
        engine="vLLM",
        offered_requests_per_hour=30000.0,
        params_b=8.03,
        precision="FP8",
        **_HBM | _H100 | _API_8B | {"busy_share": None},
        devices=1.0,
        efficiency=0.65,
        batch=64.0,
        prompt_tokens=1000.0,
        output_tokens=300.0,
        prefill_tokens_per_sec=40000.0,
        occupancy=0.45,
        notes="Above a batch of 32 the linear model overstates",
    ),
    Scenario(
        name="70B at INT8 on two A100 80GB, ceiling only",
        model="70B dense",
        params_b=70.0,
        precision="INT8",
        device_bandwidth_gb_s=2039.0,
        devices=2.0,
        device_memory_gb=80.0,
        **_RENTED | {"device_cost_h": 1.5},
        notes="No efficiency and no prefill rate: decode ceilings alone",
    ),
    Scenario(
        name="gpt-oss-120b on one H100 SXM, from names alone",
        model="gpt-oss-120b",
        device="H100 SXM",
        engine="vLLM",
        batch=8.0,
        prompt_tokens=2000.0,
        output_tokens=500.0,
        requests_month=400_000.0,
        **_H100 | {"input_cost_m": 0.25, "output_cost_m": 0.69},
        notes="A mixture of experts: the catalogue fills size, bandwidth and memory; plan on the estimate",
    ),
)

_REQUIRED: Final = frozenset(
    {"name", "params_b", "precision", "device_bandwidth_gb_s", "devices", "efficiency", "batch"}
)


def write_starter(path: Path, scenarios: Sequence[Scenario] = (EXAMPLE,)) -> None:
    """Write a starter workbook with these scenarios as its rows.

    Raises PlannerError where the file cannot be written.
    """
    sheets = [
        _scenarios_sheet(scenarios),
        *own_sheets(),
        _columns_sheet(),
        _precisions_sheet(),
    ]
    write_workbook(path, sheets, Functions.NONE, active="Scenarios", made=_MADE)


def _scenarios_sheet(scenarios: Sequence[Scenario]) -> Sheet:
    last = HEADER_ROW + ROWS_OFFERED
    index = {name: column for column, name in enumerate(STARTER)}

    def choice(name: str, values: tuple[str, ...]) -> Choice:
        column = COLUMNS[name]
        area = (HEADER_ROW + 1, index[name], last, index[name])
        return Choice(area=area, values=values, title=column.label[:32], message=column.help[:255])

    return Sheet(
        name="Scenarios",
        cells=_scenario_cells(scenarios),
        widths={index[name]: _width(name) for name in STARTER},
        freeze=(HEADER_ROW + 1, 1),
        notes={(HEADER_ROW, index[name]): note_of(name, column) for name, column in STARTER.items()},
        heights={HEADER_ROW: 48.0},
        choices=(
            choice("device", ("H100 SXM", "H200", "B200", "A100 SXM 80GB", "MI300X", "L40S", "RTX 4090", "DGX Spark")),
            choice("engine", ("vLLM", "SGLang", "TensorRT-LLM", "llama.cpp", "ExLlama", "MLX")),
            choice("kv_precision", ("FP16", "FP8", "INT8")),
            choice("precision", tuple(precision.name for precision in catalog.precisions())),
            choice("devices", ("1", "2", "4", "8", "16")),
            choice("batch", ("1", "2", "4", "8", "16", "32", "64", "128")),
        ),
        repeat_rows=(HEADER_ROW, HEADER_ROW),
        tab=NAVY,
    )


def _width(name: str) -> float:
    return {"name": 40.0, "model": 18.0, "device": 18.0, "notes": 52.0}.get(name, 12.5)


def _scenario_cells(scenarios: Sequence[Scenario]) -> Iterator[CellOut]:
    yield CellOut(0, 0, "Scenarios for planner", style=TITLE)
    yield CellOut(
        1,
        0,
        "One row a scenario. Type over the rows below, add your own, then run: planner run FILE.xlsx. "
        "The sheet Columns says what each column means and takes; Devices and Models take rows of your own; "
        "Report sets the PDF.",
        style=LEDE,
    )
    yield CellOut(
        2,
        0,
        "Legend: dark header = the usual inputs; light header = optional; blue figures = typed by you.",
        style=LEDE,
    )
    for column, (name, declared) in enumerate(STARTER.items()):
        yield CellOut(HEADER_ROW, column, header(name, declared), style=HEAD if name in _REQUIRED else HEAD_OPTIONAL)
    for row, scenario in enumerate(scenarios, HEADER_ROW + 1):
        for column, (name, declared) in enumerate(STARTER.items()):
            value: Any = getattr(scenario, name)
            yield CellOut(row, column, None if value == "" else value, style=_typed_style(declared, value))


def _typed_style(column: Column, value: Any) -> Style:
    """A typed cell: in blue, with as many digits as were typed, whole numbers grouped."""
    if isinstance(column.rule, Ratio):
        return Style(number_format="0%", colour=BLUE, bottom=LINE)
    if isinstance(column.rule, Text | PrecisionName):
        centred = isinstance(column.rule, PrecisionName)
        return Style(colour=BLUE, bottom=LINE, align="center" if centred else "left", indent=0 if centred else 1)
    whole = value is not None and float(value).is_integer()
    return Style(number_format="#,##0" if whole else "General", colour=BLUE, bottom=LINE)


_COLUMN_HEADS: Final = (
    "Column",
    "Unit",
    "Accepted values",
    "If left blank",
    "What it is",
    "Other headers that are understood",
)


def column_rows() -> list[tuple[str, ...]]:
    """The table of columns, as the starter workbook and the README print it."""
    rows: list[tuple[str, ...]] = []
    for name, column in COLUMNS.items():
        blank = "" if column.default is None else default_shown(column.default)
        rows.append(
            (
                column.label,
                units.unit_of(name).symbol,
                column.rule.accepted,
                blank,
                column.help,
                ", ".join(column.aliases),
            )
        )
    return rows


_CELL_EXAMPLES: Final = (
    ("85%  ·  0.85  ·  85  ·  85 %", "efficiency 0.85"),
    ("70B  ·  70 billion  ·  70", "70 billion parameters"),
    ("3.35 TB/s  ·  3,350 GB/s  ·  3350", "3,350 GB/s"),
    ("80 GB  ·  80 GiB", "80 GB, and 85.9 GB: GiB is 1,024 x 1,024 x 1,024 bytes"),
    ("fp8  ·  FP8  ·  8 bits  ·  Q4_K_M  ·  4.85", "a precision by name, or bits per weight"),
    ("3.350 or 3,350 as text, without a unit", "not guessed: planner shows both readings and asks"),
    ("20-30  ·  128k  ·  8x7B", "not guessed: a range, an unclear factor, two numbers"),
)


_COLUMN_WIDTHS: Final = {0: 24.0, 1: 11.0, 2: 46.0, 3: 14.0, 4: 70.0, 5: 70.0}


def _columns_sheet() -> Sheet:
    cells = list(_column_cells())
    return Sheet(
        name="Columns",
        cells=cells,
        widths=_COLUMN_WIDTHS,
        heights=wrapped_heights(cells, _COLUMN_WIDTHS),
        freeze=(1, 1),
        repeat_rows=(0, 0),
        tab=GREY,
    )


def _column_cells() -> Iterator[CellOut]:
    wrapped = Style(wrap=True, bottom=LINE, top_aligned=True)
    for column, head in enumerate(_COLUMN_HEADS):
        yield CellOut(0, column, head, style=Style(bold=True, colour="#FFFFFF", fill=NAVY))
    row = 0
    for row, values in enumerate(column_rows(), 1):
        for column, text in enumerate(values):
            yield CellOut(row, column, text, style=Style(wrap=True, bottom=LINE, top_aligned=True, bold=column == 0))
    row += 2
    yield CellOut(row, 0, "What a cell may hold", style=Style(bold=True, colour=NAVY, size=12))
    for offset, (typed, meant) in enumerate(_CELL_EXAMPLES, 1):
        yield CellOut(row + offset, 2, typed, style=wrapped)
        yield CellOut(row + offset, 4, meant, style=wrapped)


def _precisions_sheet() -> Sheet:
    cells = [
        CellOut(0, column, head, style=Style(bold=True, colour="#FFFFFF", fill=NAVY))
        for column, head in enumerate(("Precision", "Bits per weight", "Other names", "Source"))
    ]
    for row, precision in enumerate(catalog.precisions(), 1):
        values = (precision.name, precision.bits, ", ".join(precision.aliases), precision.source)
        cells += [
            CellOut(row, column, value, style=Style(bottom=LINE, align="center" if column == 1 else ""))
            for column, value in enumerate(values)
        ]
    return Sheet(name="Precisions", cells=cells, widths={0: 14.0, 1: 16.0, 2: 46.0, 3: 70.0}, freeze=(1, 0), tab=GREY)
