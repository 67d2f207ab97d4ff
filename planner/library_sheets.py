"""The user's own devices and models: the sheets `Devices` and `Models` of a workbook, every issue at its cell."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from planner.catalog import Device
from planner.cells import is_blank, place_of, understand
from planner.columns import BadValueError, echo
from planner.headers import Headings, find_header, with_units
from planner.issues import Issue, Severity
from planner.library_columns import DEVICE_COLUMNS, MODEL_COLUMNS
from planner.plan.fill import EMPTY_LIBRARY, Library, OwnModel, name_key
from planner.plan.resolve import RELATIONS
from planner.units import BITS_PER_BYTE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planner.headers import Grid, Header

DEVICES: Final = Headings(DEVICE_COLUMNS)
MODELS: Final = Headings(MODEL_COLUMNS)
# The sheets by name, what they hold, and the column without which a row says nothing.
_KINDS: Final[Mapping[str, tuple[Headings, str]]] = MappingProxyType(
    {"devices": (DEVICES, "bandwidth_gb_s"), "models": (MODELS, "params_b")}
)
_MODEL_BITS: Final = (1.0, 64.0)


@dataclass(frozen=True, slots=True)
class OwnRows:
    """What the user's own sheets say: devices and models by name, the sheets read, and every issue."""

    library: Library = EMPTY_LIBRARY
    sheets: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()


def read_library(grids: Iterable[Grid]) -> OwnRows:
    """The devices and models of the sheets of those names, in any case, where they have such headers.

    A row with a bad cell is left out, and every bad cell is an issue.
    """
    devices: list[tuple[Device, str]] = []
    models: list[tuple[OwnModel, str]] = []
    left_out: list[tuple[str, str, str]] = []
    issues: list[Issue] = []
    sheets = []
    for grid in grids:
        header = library_header(grid)
        if header is None:
            issues += _why_not(grid)
            continue
        sheets.append(grid.name)
        reader = _Reader(grid, header, *_KINDS[grid.name.casefold()])
        for row, values in reader.rows():
            where = f"your {grid.name} sheet, row {row}"
            values.setdefault("source", f"your sheet {grid.name}, row {row}")
            if grid.name.casefold() == "devices":
                devices.append((_device(values), where))
            else:
                models.append((_model(values), where))
        kind = grid.name.casefold().removesuffix("s")
        left_out += [(kind, name, where) for name, where in reader.left_out]
        issues += reader.issues
    return OwnRows(Library(tuple(devices), tuple(models), tuple(left_out)), tuple(sheets), tuple(issues))


def is_library_name(name: str) -> bool:
    """Whether a sheet of that name may hold devices or models of the user's own."""
    return name.casefold() in _KINDS


def library_header(grid: Grid) -> Header | None:
    """The header of a sheet of the user's own devices or models; None where the sheet is something else.

    A sheet of scenarios that is called Models names more of a scenario's columns than of a model's.
    """
    if grid.ours or not is_library_name(grid.name):
        return None
    headings, needed = _KINDS[grid.name.casefold()]
    header = find_header(grid, headings)
    if header is None or not {"name", needed} <= set(header.cells):
        return None
    scenarios = find_header(grid)
    return None if scenarios and len(scenarios.cells) > len(header.cells) else header


def _why_not(grid: Grid) -> list[Issue]:
    """What to say of a sheet of the right name that is not read: why, where it looks as if it were meant to be."""
    if grid.ours or not is_library_name(grid.name):
        return []
    headings, needed = _KINDS[grid.name.casefold()]
    header, scenarios = find_header(grid, headings), find_header(grid)
    if header is None or (scenarios and len(scenarios.cells) > len(header.cells)):
        return []
    lacking = [headings.columns[name].label for name in ("name", needed) if name not in header.cells]
    said = f"No column names the {' and the '.join(map(str.lower, lacking))}, so the sheet is not read as your own"
    note = Issue(
        severity=Severity.NOTE,
        code="not-own",
        problem=f"{said} {grid.name.lower()}",
        sheet=grid.name,
        cell=f"A{header.row}",
        row=header.row,
    )
    return [issue for issue in header.issues if issue.field == needed] + [note]


class _Reader:
    """Reads the rows of a sheet of devices or models."""

    def __init__(self, grid: Grid, header: Header, headings: Headings, needed: str) -> None:
        self.grid, self.header, self.headings, self.needed = grid, header, headings, needed
        self.issues: list[Issue] = list(header.issues)
        self.left_out: list[tuple[str, str]] = []
        self.first_at: dict[str, str] = {}

    def rows(self) -> list[tuple[int, dict[str, Any]]]:
        """The good rows, each with its values."""
        below = [number for number in sorted(self.grid.rows) if number > self.header.row]
        if below and (measured := with_units(self.grid, below[0], self.header, self.headings)):
            self.header = measured
            del below[0]
        found = []
        for number in below:
            values: dict[str, Any] = {}
            before = len(self.issues)
            self._read(number, values)
            if len(self.issues) == before or not self._refused(before):
                if values:
                    found.append((number, values))
            elif name := values.get("name"):
                self.left_out.append((name, f"your {self.grid.name} sheet, row {number}"))
                self._say(number, "name", Severity.NOTE, f"{echo(name)} is left out until its row is right")
        return found

    def _refused(self, since: int) -> bool:
        return any(issue.severity is Severity.ERROR for issue in self.issues[since:])

    def _read(self, row: int, values: dict[str, Any]) -> None:
        """The values of a row, and an issue for each that is bad."""
        refused = set()
        for name, head in self.header.cells.items():
            cell = self.grid.rows[row].get(head.column)
            if cell is None or is_blank(cell):
                continue
            try:
                understood = understand(name, self.headings.columns[name], cell, head)
            except BadValueError as bad:
                refused.add(name)
                self._say(row, name, Severity.ERROR, bad.problem, bad.accepted, code=bad.code)
                continue
            if understood.note:
                self._say(row, name, Severity.NOTE, understood.note, code="read-as")
            values[name] = understood.value
        if not values and not refused:
            return
        for name in ("name", self.needed):
            if name not in values and name not in refused:
                column = self.headings.columns[name]
                wanted = column.rule.accepted if name == self.needed else "a name to find the row by"
                self._say(row, name, Severity.ERROR, f"{column.label} is missing", wanted, code="missing")
        self._relate(row, values)
        self._count(row, values)

    def _relate(self, row: int, values: dict[str, Any]) -> None:
        for lesser, greater in RELATIONS:
            low, high = values.get(lesser), values.get(greater)
            if low is not None and high is not None and low > high:
                labels = self.headings.columns
                problem = f"{labels[lesser].label} is {low:,.10g}, above {labels[greater].label} of {high:,.10g}"
                self._say(row, lesser, Severity.ERROR, problem, f"at most {high:,.10g}", code="relation")

    def _count(self, row: int, values: dict[str, Any]) -> None:
        """Refuse a name that stands higher up already."""
        name = values.get("name")
        if name is None:
            return
        key = name_key(name)
        if key in self.first_at:
            label = self.headings.columns["name"].label
            problem = f"{label} is {echo(name)}, which is also at {self.first_at[key]}; that row is used"
            self._say(row, "name", Severity.ERROR, problem, "a name of its own", code="twice")
        self.first_at.setdefault(key, self._cell(row, "name"))

    def _cell(self, row: int, name: str) -> str:
        head = self.header.cells.get(name) or self.header.cells["name"]
        return place_of(self.grid, row, head.column)

    def _say(
        self, row: int, name: str, severity: Severity, problem: str, accepted: str = "", *, code: str = "left-out"
    ) -> None:
        self.issues.append(
            Issue(
                severity=severity,
                code=code,
                field=name,
                problem=problem,
                accepted=accepted,
                sheet=self.grid.name,
                cell=self._cell(row, name),
                row=row,
            )
        )


def _names(values: Mapping[str, Any]) -> tuple[str, ...]:
    listed = str(values.get("aliases", "")).replace("|", ",").replace(";", ",").split(",")
    return tuple(name.strip() for name in listed if name.strip())


def _device(values: Mapping[str, Any]) -> Device:
    """A row as a device; what it leaves blank is not known."""
    reported = values.get("reported_memory_gb")
    return Device(
        name=values["name"],
        vendor=values.get("vendor", ""),
        device_class=values.get("device_class", ""),
        memory_gb=values.get("memory_gb", 0.0),
        reported_memory_gb=reported,
        memory_basis=values.get("memory_basis", "reported" if reported else "marketed"),
        bandwidth_gb_s=values["bandwidth_gb_s"],
        fp16_tflop_s=values.get("fp16_tflop_s"),
        fp8_tflop_s=values.get("fp8_tflop_s"),
        int8_tflop_s=values.get("int8_tflop_s"),
        fp4_tflop_s=values.get("fp4_tflop_s"),
        power_w=values.get("power_w"),
        interconnect_gb_s=values.get("interconnect_gb_s"),
        source=values["source"],
        confidence=values.get("confidence", DEVICE_COLUMNS["confidence"].default),
        aliases=_names(values),
        notes=values.get("notes", ""),
    )


def _model(values: Mapping[str, Any]) -> OwnModel:
    """A row as a model; what it leaves blank is all there is, or not known."""

    def whole(name: str) -> int | None:
        return int(values[name]) if name in values else None

    active = values.get("active_params_b", values["params_b"])
    layers = whole("layers") or 0
    kv_layers = whole("kv_layers")
    kv_layers = layers if kv_layers is None else kv_layers
    full_layers = whole("full_layers")
    size, bits = values.get("weights_gb"), values.get("bits_per_weight")
    if size is not None and bits is None:
        bits = size * BITS_PER_BYTE / values["params_b"]
    elif bits is not None and size is None:
        size = values["params_b"] * bits / BITS_PER_BYTE
    known = bits is not None and _MODEL_BITS[0] <= bits <= _MODEL_BITS[1]
    return OwnModel(
        name=values["name"],
        hf_id=values.get("hf_id", ""),
        params_b=values["params_b"],
        active_params_b=active,
        streamed_params_b=values.get("streamed_params_b", active),
        layers=layers,
        heads=whole("heads") or 0,
        kv_heads=whole("kv_heads") or 0,
        head_dim=whole("head_dim") or 0,
        hidden=whole("hidden") or 0,
        vocab=whole("vocab") or 0,
        max_context_tokens=whole("max_context_tokens"),
        attention=values.get("attention", ""),
        kv_lora_rank=whole("kv_lora_rank"),
        rope_dim=whole("rope_dim"),
        indexer_heads=whole("indexer_heads"),
        indexer_head_dim=whole("indexer_head_dim"),
        indexer_top_tokens=whole("indexer_top_tokens"),
        window_tokens=whole("window_tokens"),
        full_layers=kv_layers if full_layers is None else full_layers,
        kv_layers=kv_layers,
        experts=whole("experts"),
        active_experts=whole("active_experts"),
        native_precision=values.get("native_precision") or (f"{bits:.4g}" if known else ""),
        expert_precision=values.get("expert_precision", ""),
        source=values["source"],
        confidence=values.get("confidence", MODEL_COLUMNS["confidence"].default),
        aliases=_names(values),
        notes=values.get("notes", ""),
        weights_gb=size,
    )
