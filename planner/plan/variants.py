"""The same scenarios otherwise: at other precisions, at other batch sizes, and as a speed table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.columns import BadValueError, Typed, read_value
from planner.formulas import memory, speed
from planner.issues import PlannerError
from planner.plan.evaluate import result_of
from planner.plan.fill import refilled
from planner.plan.limits import READING_PACE_TOKENS_PER_SEC, USABLE_MEMORY_SHARE
from planner.plan.scenario import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner.plan.scenario import Result

DEFAULT_PRECISIONS: Final = ("FP16", "INT8", "INT4")
DEFAULT_BATCHES: Final = (1, 2, 4, 8, 16, 32, 64, 128)
TABLE_LIMIT: Final = 12
_MOST_BATCHES: Final = 32


def read_precisions(names: Iterable[str]) -> tuple[str, ...]:
    """Precision names as typed, in their known spelling.

    Raises PlannerError where one is unknown.
    """
    found = tuple(dict.fromkeys(_read_option("precision", name, "--precisions") for name in names))
    if not found:
        raise PlannerError("--precisions names none; expected at least one, such as fp16,int8.")
    return found


def read_batches(sizes: Iterable[str | float]) -> tuple[int, ...]:
    """Batch sizes as typed, in rising order.

    Raises PlannerError where one is not a whole number of at least 1.
    """
    found = sorted({int(_read_option("batch", size, "--batches")) for size in sizes})
    if not found:
        raise PlannerError("--batches names none; expected at least one, such as 1,8,32.")
    if len(found) > _MOST_BATCHES:
        raise PlannerError(f"{len(found)} batch sizes asked for; expected at most {_MOST_BATCHES}.")
    return tuple(found)


def _read_option(name: str, value: str | float, option: str) -> Any:
    try:
        return read_value(name, COLUMNS[name], Typed(value)).value
    except BadValueError as bad:
        raise PlannerError(f"{option}: {bad.problem}; expected {bad.accepted}.") from bad


def at_precision(result: Result, precision: str) -> Result | None:
    """The same scenario with its weights at another precision; None where its own precision is not known."""
    if result.weights_gb is None or result.weight_bits is None:
        return None
    to_bits = catalog.precision_bits(precision)
    own = result.scenario
    if own.expert_precision and own.params_b:
        # A mixed file has no one precision to scale from; at one precision for all it is parameters x bits.
        weights = speed.weights_gb(own.params_b, to_bits)
    else:
        weights = speed.requantized_weights_gb(result.weights_gb, result.weight_bits, to_bits)
    active = own.active_weights_gb
    return otherwise(
        result,
        precision=precision,
        weights_gb=weights,
        active_weights_gb=None if active is None else active * weights / result.weights_gb,
        expert_precision=None,
    )


def at_batch(result: Result, batch: float) -> Result:
    """The same scenario with another batch."""
    return otherwise(result, batch=float(batch))


def otherwise(result: Result, sources: Mapping[str, str] | None = None, **changes: Any) -> Result:
    """The same scenario with some inputs otherwise, and with the measured constants that hold then.

    ``sources`` are where inputs come from then, where a change is of another source.
    """
    sources = {**result.sources, **(sources or {})}
    return result_of(refilled(result.scenario, sources, **changes), sources)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the speed table: weights, and what they are."""

    weights_gb: float
    label: str


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of the speed table: the bandwidth, what it is, and the memory of one device where known."""

    bandwidth_gb_s: float
    label: str
    memory_gb: float | None = None
    devices: float = 1


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of the speed table; ``devices_needed`` is how many such columns hold the weights, if known."""

    tokens_per_sec: float
    devices_needed: float | None

    @property
    def fits(self) -> bool | None:
        """Whether the weights fit what the column stands for, None where its memory is not known."""
        return None if self.devices_needed is None else self.devices_needed <= 1

    @property
    def slow(self) -> bool:
        """Whether even the ceiling is below reading pace."""
        return self.tokens_per_sec < READING_PACE_TOKENS_PER_SEC


@dataclass(frozen=True, slots=True)
class SpeedTable:
    """Per-stream ceilings, weights down and bandwidths across, with what had to be left out."""

    rows: tuple[TableRow, ...]
    columns: tuple[TableColumn, ...]
    left_out: int = 0

    def cell(self, row: TableRow, column: TableColumn) -> TableCell:
        """The ceiling of one pair, and whether it fits."""
        rate = speed.ceiling_tokens_per_sec(row.weights_gb, column.bandwidth_gb_s)
        if column.memory_gb is None:
            return TableCell(rate, None)
        total = column.memory_gb * column.devices
        return TableCell(rate, memory.devices_to_hold(row.weights_gb, total, USABLE_MEMORY_SHARE))


# Known devices and sizes that give a scenario's own figures something to stand against.
_STANDARD_ROWS: Final = (
    TableRow(14.0, "7B at FP16"),
    TableRow(35.0, "70B at INT4"),
    TableRow(70.0, "70B at INT8"),
    TableRow(140.0, "70B at FP16"),
)
_STANDARD_COLUMNS: Final = (
    TableColumn(1008.0, "RTX 4090", 24.0),
    TableColumn(2039.0, "A100 80GB SXM", 80.0),
    TableColumn(3350.0, "H100 SXM", 80.0),
)


def speed_table(results: Sequence[Result], limit: int = TABLE_LIMIT) -> SpeedTable:
    """The speed table of the scenarios' weights and bandwidths beside the standard ones, up to a limit each way."""
    rows = {row.weights_gb: row for row in _STANDARD_ROWS}
    columns = list(_STANDARD_COLUMNS)
    # Thousands of scenarios share the same few, each told by the first that has it.
    first: dict[float | None, Result] = {}
    for result in results:
        first.setdefault(result.weights_gb, result)
    for row in map(_row_of, first.values()):
        rows.setdefault(row.weights_gb, row)
    for column in dict.fromkeys(map(_told_of, results)):
        _add_column(columns, _column_of(*column))
    kept_rows = sorted(list(rows.values())[:limit], key=lambda row: row.weights_gb)
    kept_columns = sorted(columns[:limit], key=lambda column: (column.bandwidth_gb_s, column.devices))
    left_out = len(rows) - len(kept_rows) + len(columns) - len(kept_columns)
    return SpeedTable(tuple(kept_rows), tuple(kept_columns), left_out)


def _add_column(columns: list[TableColumn], new: TableColumn) -> None:
    """Add a column unless it stands there: the same bandwidth from as many devices, of the same memory where known."""
    for index, old in enumerate(columns):
        if (old.bandwidth_gb_s, old.devices) == (new.bandwidth_gb_s, new.devices):
            if new.memory_gb in {None, old.memory_gb}:
                return
            if old.memory_gb is None:
                columns[index] = new
                return
    columns.append(new)


def _row_of(result: Result) -> TableRow:
    scenario = result.scenario
    size = scenario.model or (f"{scenario.params_b:g}B" if scenario.params_b else "")
    parts = [size, f"at {scenario.precision}" if scenario.precision else ""]
    return TableRow(
        float(f"{result.weights_gb or 0.0:.12g}"), " ".join(part for part in parts if part) or scenario.name
    )


def _told_of(result: Result) -> tuple[float, float, float | None, float | None]:
    """What a column is told by: its bandwidth, how many devices, what each has of bandwidth and memory."""
    scenario = result.scenario
    devices, each = scenario.devices or 1.0, scenario.device_bandwidth_gb_s
    return (result.bandwidth_gb_s or 0.0, devices, each, scenario.device_memory_gb)


def _column_of(total: float, devices: float, each: float | None, memory_gb: float | None) -> TableColumn:
    label = f"{devices:g} x {each:,.10g} GB/s" if each else f"{total:,.10g} GB/s in all"
    return TableColumn(total, label, memory_gb, devices)
