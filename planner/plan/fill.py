"""Fills a scenario's blanks: from its device and model by name, then from what was measured on its class of device."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from planner import catalog
from planner.catalog import Device, Model
from planner.formulas import experts
from planner.issues import Issue, Severity
from planner.plan.scenario import Scenario, header_of
from planner.units import BITS_PER_BYTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping

CATALOGUE: Final = "catalogue"
MEASURED: Final = "measured"
FROM_PARAMETERS: Final = "from the parameters"
FROM_EFFICIENCY: Final = "the typed efficiency"
# What a row can do with in place of a name.
_INSTEAD: Final = {
    "device": header_of("device_bandwidth_gb_s"),
    "model": f"{header_of('params_b')} and {header_of('precision')}",
}
# With one of these a scenario has a cost.
PRICES: Final = ("device_cost_h", "instance_cost_h", "device_capex_cost")
_ALL_LAYERS: Final = "every layer"
_MOST_NAMED: Final = 8
# Layers by the active parameters (billions), a fit through the catalogue's models, within a quarter of most.
_LAYERS_DENSE: Final = (20.3, 0.30)
_LAYERS_MIXTURE: Final = (24.3, 0.27)


def usual_layers(active_params_b: float, *, mixture: bool) -> float:
    """Layers that models of that many active parameters (billions) have, where the model is not known.

    >>> usual_layers(8.03, mixture=False), usual_layers(3.3, mixture=True)
    (38.0, 34.0)
    """
    return _layers(active_params_b, 1.0, *(_LAYERS_MIXTURE if mixture else _LAYERS_DENSE))


def _layers(active_params_b: float, least: float, factor: float, power: float) -> float:
    return max((factor * active_params_b**power + 0.5) // 1, least)  # type: ignore[no-any-return]  # a power of floats


@dataclass(frozen=True, slots=True)
class OwnModel(Model):
    """A model of the user's own: of which the size may be known, and 0 stands for a dimension that is not."""

    weights_gb: float | None = None


def name_key(name: str) -> str:
    """A name of the user's own as it is compared: small letters, blanks as one.

    >>> name_key(" H100  tuned")
    'h100 tuned'
    """
    return " ".join(name.casefold().split())


@dataclass(frozen=True, slots=True)
class Library:
    """Where names are looked up: the user's own devices and models, each with where it stands, then the catalogue.

    ``left_out`` are rows of the user's that hold an error: kind, name and where.
    """

    devices: tuple[tuple[Device, str], ...] = ()
    models: tuple[tuple[Model, str], ...] = ()
    left_out: tuple[tuple[str, str, str], ...] = ()

    def find_device(self, name: str) -> list[tuple[Device, str]]:
        """Every device that a name may mean, with where it stands."""
        own = [found for found in self.devices if name_key(name) in _keys(found[0])]
        return own[:1] or [(device, CATALOGUE) for device in catalog.devices_named(name)]

    def find_model(self, name: str) -> list[tuple[Model, str]]:
        """Every model that a name may mean, with where it stands."""
        own = [found for found in self.models if name_key(name) in _keys(found[0])]
        return own[:1] or [(model, CATALOGUE) for model in catalog.models_named(name)]

    def nearest_devices(self, name: str) -> list[str]:
        """Names that look like one that nobody knows, the user's own first."""
        return _nearest(name, [device.name for device, _ in self.devices], catalog.nearest_devices(name))

    def nearest_models(self, name: str) -> list[str]:
        """Names that look like one that nobody knows, the user's own first."""
        return _nearest(name, [model.name for model, _ in self.models], catalog.nearest_models(name))

    def where_left_out(self, kind: str, name: str) -> str:
        """Where a row of that name stands that holds an error, or nothing."""
        return next((at for of, named, at in self.left_out if (of, name_key(named)) == (kind, name_key(name))), "")


def _keys(found: Device | Model) -> set[str]:
    own = (found.name, *found.aliases, found.hf_id if isinstance(found, Model) else "")
    return {name_key(name) for name in own if name}


def _nearest(name: str, own: list[str], known: list[str]) -> list[str]:
    keys = {name_key(one): one for one in own}
    close = [keys[key] for key in difflib.get_close_matches(name_key(name), keys)]
    return list(dict.fromkeys([*close, *known]))[:_MOST_NAMED]


EMPTY_LIBRARY: Final = Library()


class Filling:
    """A scenario's values and their sources while blanks are filled; what is there is never changed.

    Sizes and counts may be columns of many scenarios that are alike otherwise, see :mod:`planner.plan.bulk_fill`: so
    it asks whether a number is there, not whether it is true.
    """

    def __init__(self, values: MutableMapping[str, Any], sources: MutableMapping[str, str], library: Library) -> None:
        self.values, self.sources, self.library = values, sources, library
        self.issues: list[Issue] = []

    def put(self, source: str, **found: Any) -> None:
        """Fill those of these fields that are blank."""
        for name, value in found.items():
            held = self.values.get(name)
            if value is not None and (held is None or (isinstance(held, str) and not held)):
                self.values[name] = value
                self.sources[name] = source

    def work(self, formula: Callable[..., float], *arguments: Any) -> Any:
        """A formula of values that are there; bulk has another way to work it out."""
        return formula(*arguments)

    def from_names(self) -> None:
        """From the device and the model that the scenario names."""
        library = self.library
        device = self._named("device", library.find_device, library.nearest_devices, self._has_bandwidth())
        model = self._named("model", library.find_model, library.nearest_models, self._has_size())
        if model:
            self._from_model(*model)
        if device:
            self._from_device(*device)

    def _has_bandwidth(self) -> bool:
        return self.values["bandwidth_gb_s"] is not None or self.values["device_bandwidth_gb_s"] is not None

    def _has_size(self) -> bool:
        return self.values["weights_gb"] is not None or self.values["params_b"] is not None

    def _named(
        self, field: str, find: Callable[[str], list[Any]], nearest: Callable[[str], list[str]], complete: bool
    ) -> Any:
        name = self.values[field]
        if not name:
            return None
        found = find(name)
        out_at = self.library.where_left_out(field, name)
        # A row of the user's own that holds an error is not replaced by the catalogue's behind their back.
        if len(found) == 1 and (found[0][1] != CATALOGUE or not out_at):
            return found[0]
        label = field.capitalize()
        wanted = f"one {field} by its name, as `planner catalog {field}s` lists them, or {_INSTEAD[field]}"
        if out_at:
            problem, wanted = f"{label} is '{name}', left out in {out_at}", "that row without an error"
        elif found:
            problem = f"{label} is '{name}', which may be {_either(one[0].name for one in found)}"
        else:
            close = nearest(name)
            hint = f" (nearest: {_either(close)})" if close else ""
            own = self.library.devices if field == "device" else self.library.models
            who = f"neither your {label}s sheet nor the catalogue knows" if own else "the catalogue does not know"
            problem = f"{label} is '{name}', which {who}{hint}"
        if complete and field == "model" and not found and not out_at:
            # Models go by any name, and a row that has its size needs none that the catalogue knows.
            return None
        if complete:
            severity, accepted, problem = Severity.NOTE, "", f"{problem}; nothing is filled from it"
            advice = "Right that row" if out_at else f"Name {wanted}"
        else:
            severity, accepted, advice = Severity.ERROR, wanted, ""
        self.issues.append(
            Issue(
                severity=severity,
                code=f"{field}-unknown",
                field=field,
                problem=problem,
                accepted=accepted,
                advice=advice,
            )
        )
        return None

    def _from_device(self, device: Device, where: str) -> None:
        source = f"{where}: {device.name}"
        if self.values["bandwidth_gb_s"] is None:
            self.put(source, device_bandwidth_gb_s=device.bandwidth_gb_s)
        self.put(
            source,
            device_memory_gb=device.total_memory_gb or None,
            device_class=device.device_class or None,
            peak_tflop_s=_peak(device, self.values["precision"], mixture=self.values["experts"] is not None),
        )
        if any(self.values[name] is not None for name in PRICES):
            self.put(source, device_power_w=device.power_w)

    def _from_model(self, model: Model, where: str) -> None:
        source = f"{where}: {model.name}"
        values = self.values
        native = values["precision"] in {None, ""} and values["weights_gb"] is None
        typed_params = values["params_b"] is not None
        # What the catalogue says of shares holds for a rounded count of parameters as well.
        scale = values["params_b"] / model.params_b if typed_params else 1.0
        self.put(source, params_b=model.params_b, active_params_b=model.active_params_b * scale)
        self.put(source, streamed_params_b=model.streamed_params_b * scale)
        if model.experts is not None:
            self.put(source, experts=float(model.experts), active_experts=float(model.active_experts or 1))
        self.put(
            source, layers=_known(model.layers), heads=_known(model.heads), kv_heads=_known(model.kv_heads),
            head_dim=_known(model.head_dim), kv_layers=_known(model.kv_layers),
        )  # fmt: skip
        if model.window_tokens is not None and model.full_layers < model.kv_layers:
            self.put(source, full_layers=float(model.full_layers), window_tokens=float(model.window_tokens))
        if model.layers and not model.kv_layers:
            self.put(f"{source}, which keeps no cache", kv_bytes_per_token=0.0)
        if model.kv_lora_rank:
            # The keys of an indexer lie beside the latent as the rotary elements do.
            beside = f"{source}, with its indexer's keys" if model.indexer_head_dim else source
            self.put(source, kv_lora_rank=float(model.kv_lora_rank))
            self.put(beside, rope_dim=float((model.rope_dim or 0) + (model.indexer_head_dim or 0)))
        if native:
            named = catalog.precision_in(values["model"])
            if named is not None:
                self.put("the model's name", precision=named.name)
            else:
                self.put(
                    source, precision=model.native_precision or None, expert_precision=model.expert_precision or None
                )
        if isinstance(model, OwnModel) and not typed_params and _same_precision(values["precision"], model):
            self.put(source, weights_gb=model.weights_gb)
        mixed = values["expert_precision"] and values["precision"] and values["weights_gb"] is None
        if mixed and values["experts"] is not None and values["active_experts"] is not None:
            size = self.work(
                experts.moe_weights_gb,
                values["params_b"],
                values["active_params_b"],
                values["experts"],
                values["active_experts"],
                catalog.precision_bits(values["precision"]),
                catalog.precision_bits(values["expert_precision"]),
            )
            self.put(f"{source}, experts at {values['expert_precision']}", weights_gb=size)

    def from_class(self) -> None:
        """From what was measured on the scenario's class of device under its engine."""
        values = self.values
        if values["active_params_b"] is None:
            self.put(FROM_PARAMETERS, active_params_b=values["params_b"])
            bits = catalog.precision_bits(values["precision"]) if values["precision"] else None
            if values["weights_gb"] is not None and bits:
                self.put(FROM_PARAMETERS, active_params_b=values["weights_gb"] * BITS_PER_BYTE / bits)
        mixture = values["experts"] is not None and values["active_experts"] is not None
        if values["active_params_b"] is not None:
            least = 1.0 if values["kv_layers"] is None else values["kv_layers"]
            fit = _LAYERS_MIXTURE if mixture else _LAYERS_DENSE
            self.put(FROM_PARAMETERS, layers=self.work(_layers, values["active_params_b"], least, *fit))
        if values["kv_lora_rank"] or (values["kv_heads"] and values["head_dim"]):
            self.put(_ALL_LAYERS, kv_layers=values["layers"])
        klass = values["device_class"]
        group = catalog.engine_group(values["engine"]) if values["engine"] else catalog.usual_engine_group(klass or "")
        tensor = (values["devices"] or 1) > 1 and values["split"] != "layers"
        if klass is None and self.sources.get("efficiency") == "typed":
            # Whoever types an efficiency without naming a device gets just that, with no range about it.
            self.put(FROM_EFFICIENCY, fetch_efficiency=values["efficiency"])
            self.put(
                "default", stream_overhead_us=0.0, mfu=1.0, prefill_mfu=None, arithmetic="overlaps", prefill_on="apart"
            )
            return
        found = catalog.class_constants(klass or "any", group)
        counted = f"{found.rows} rows, {found.configurations} configurations"
        where = catalog.DEVICE_CLASSES.get(klass or "", "all classes")
        source = f"{MEASURED}: {where}, {group} ({counted}; {found.basis})"
        kind = (
            "moe"
            if mixture
            else "tensor parallel"
            if tensor
            else "dense batched"
            if (values["batch"] or 1) > 1
            else "dense batch 1"
        )
        spread = catalog.class_range(klass or "any", kind)
        self.put(
            source,
            fetch_efficiency=found.fetch_efficiency,
            layer_latency_us=found.layer_latency_us
            + (found.moe_layer_latency_us if mixture else 0.0)
            + (found.tensor_layer_latency_us if tensor else 0.0),
            stream_overhead_us=found.stream_overhead_us,
            mfu=found.mfu,
            arithmetic="added" if found.adds_compute else "overlaps",
            stall_mfu=found.moe_stall_mfu if mixture else found.stall_mfu,
            prefill_mfu=catalog.prefill_mfu(klass or "any", group, "moe" if mixture else "dense"),
            prefill_on="shared" if group == "serving" and (values["batch"] or 1) > 1 else "apart",
            low_factor=spread.low_factor,
            high_factor=spread.high_factor,
        )


def _known(count: int) -> float | None:
    return float(count) if count else None


def _same_precision(precision: str | None, model: Model) -> bool:
    """Whether a precision is the one that a model's file is at."""
    if not precision or not model.native_precision:
        return False
    return catalog.precision_bits(precision) == catalog.precision_bits(model.native_precision)


def _either(names: Iterable[str]) -> str:
    listed = list(names)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def _peak(device: Device, precision: str | None, *, mixture: bool) -> float | None:
    """The dense peak at which a model computes on a device."""
    peak = device.peak_tflop_s(precision or "FP16")
    # Measured mixtures in 4 bits come out at the 8-bit peak: the constants hold with that.
    four_bits = peak is not None and peak == device.fp4_tflop_s
    return device.peak_tflop_s("FP8") if mixture and four_bits else peak


def refilled(scenario: Scenario, sources: Mapping[str, str], **changes: Any) -> Scenario:
    """A completed scenario with some inputs otherwise, and with the measured constants that hold for it now."""
    values = dict(zip(_ALL, _values_in(scenario), strict=True)) | changes
    measured = [name for name, source in sources.items() if source.startswith(MEASURED)]
    if measured:
        found = values | dict.fromkeys(measured)
        Filling(found, dict(sources), EMPTY_LIBRARY).from_class()
        values |= {name: found[name] for name in measured}
    peak_of = sources.get("peak_tflop_s", "").removeprefix(f"{CATALOGUE}: ")
    device = catalog.find_device(peak_of) if peak_of else None
    if device and sources["peak_tflop_s"].startswith(CATALOGUE):
        # Another precision may be computed in at another peak.
        values["peak_tflop_s"] = _peak(device, values["precision"], mixture=values["experts"] is not None)
    return Scenario(**values)


_ALL: Final = tuple(field.name for field in dataclasses.fields(Scenario))
_values_in: Final = attrgetter(*_ALL)
