"""The fit of the estimate's constants to measured rates: few parameters, robust, drawn towards what is usual.

The terms of each row (what it reads, computes, stalls) are the product's own; here they are put together over all
rows at once, as its step time does for one, so that the constants can be varied.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

# An engine group's latencies where it has none of its own.
LATENCY_GROUP = {
    "serving": "serving",
    "compiled": "compiled",
    "llamacpp": "llamacpp",
    "neuron": "neuron",
    "other": "llamacpp",
}
NO_NVLINK = ("nv-dc-gddr", "amd-consumer", "nv-consumer", "nv-workstation")
# Efficiencies are drawn towards this, by this much, as logarithms are spread.
USUAL_EFFICIENCY, EFFICIENCY_SPREAD, PULL = 0.80, 0.20, 0.1
# A source weighs this power less than its rows: as good where the source is known, better where it is not.
SOURCE_POWER = 0.25
# Errors beyond this weigh by their size, not its square.
HUBER = 0.05
START = {
    "eta": 0.7,
    "layer": 50,
    "moe_layer": 40,
    "tensor_layer": 20,
    "stream": 30,
    "mfu": 0.4,
    "stall_mfu": 0.6,
    "moe_stall_mfu": 0.4,
}
BOUNDS = {
    "eta": (0.1, 0.95), "layer": (1, 600), "moe_layer": (1, 600), "tensor_layer": (0.1, 400), "stream": (0.1, 5000),
    "mfu": (0.05, 1), "stall_mfu": (0.1, 1), "moe_stall_mfu": (0.1, 1),
}  # fmt: skip


def tensor_group(device_class: str, group: str) -> str:
    """Whose tensor-parallel latency holds: that of PCIe, of compiled engines, or none beside the layer's own."""
    if device_class in NO_NVLINK:
        return "pcie"
    return "compiled" if group == "compiled" else "none"


def stream_group(group: str) -> str:
    return {"llamacpp": "llamacpp", "other": "llamacpp", "neuron": "neuron"}.get(group, "gpu")


def moe_group(group: str) -> str:
    return "llamacpp" if group in {"llamacpp", "other"} else "serving"


@dataclass
class Rows:
    """The rows that count, as arrays: terms, groups, what was measured."""

    predictions: list
    sources: np.ndarray
    configurations: np.ndarray
    classes: np.ndarray = field(init=False)
    groups: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        scenarios = [p.result.scenario for p in self.predictions]
        results = [p.result for p in self.predictions]
        self.classes = np.array([s.device_class for s in scenarios])
        self.groups = np.array([p.setting.engine_group for p in self.predictions])
        self.kinds = np.array([p.kind for p in self.predictions])
        self.measured = np.array([p.setting.measured for p in self.predictions])
        self.ceilings = np.array([p.ceiling_tokens_per_sec for p in self.predictions])
        self.read_s = np.array([(r.weights_read_gb + (r.kv_read_gb or 0.0)) / r.read_bandwidth_gb_s for r in results])
        at_once = np.array([s.devices if s.split == "tensor" else 1.0 for s in scenarios])
        peak = np.array([s.peak_tflop_s or np.inf for s in scenarios])
        self.batch = np.array([s.batch for s in scenarios])
        self.added = np.isin(self.groups, ["llamacpp", "other"])
        streams = np.where(self.added, self.batch - 1, self.batch)
        self.compute_s = 2e-3 * np.array([s.active_params_b for s in scenarios]) * streams / (peak * at_once)
        self.layers = np.array([s.layers for s in scenarios])
        self.moe = np.array([p.setting.is_mixture for p in self.predictions])
        self.tensor = at_once > 1
        shared = np.array([s.prefill_on == "shared" for s in scenarios])
        flop = np.array([r.prefill_tflop or 0.0 for r in results])
        output = np.array([s.output_tokens for s in scenarios])
        self.stall_s = shared * self.batch * flop / (peak * np.sqrt(at_once)) / output
        # A configuration weighs the root of its rows.
        counts = Counter(self.configurations)
        self.weights = np.array([counts[c] ** -0.5 for c in self.configurations])
        # One source of many rows must not decide for the others what their engines and hosts are like.
        of_source = {s: self.weights[self.sources == s].sum() for s in set(self.sources)}
        self.fit_weights = self.weights * np.array([of_source[s] ** -SOURCE_POWER for s in self.sources])
        self.fit_weights *= self.weights.sum() / self.fit_weights.sum()
        self.cells = sorted(set(zip(self.classes, self.groups, strict=True)))
        self._index()

    def _index(self) -> None:
        self.names = [("eta", *cell) for cell in self.cells]
        self.names += [("layer", g) for g in ("llamacpp", "compiled", "serving", "neuron")]
        self.names += [("moe_layer", g) for g in ("llamacpp", "serving")]
        self.names += [("tensor_layer", g) for g in ("compiled", "pcie")]
        self.names += [("stream", g) for g in ("gpu", "llamacpp", "neuron")]
        self.names += [("mfu",), ("stall_mfu",), ("moe_stall_mfu",)]
        at = {name: i for i, name in enumerate(self.names)}
        none = len(self.names)  # the place of a latency that is zero
        pairs = list(zip(self.classes, self.groups, strict=True))
        self.at_eta = np.array([at["eta", c, g] for c, g in pairs])
        self.at_layer = np.array([at["layer", LATENCY_GROUP[g]] for g in self.groups])
        self.at_moe = np.array([at["moe_layer", moe_group(g)] for g in self.groups])
        self.at_tensor = np.array([at.get(("tensor_layer", tensor_group(c, g)), none) for c, g in pairs])
        self.at_stream = np.array([at["stream", stream_group(g)] for g in self.groups])
        self.at_stall = np.where(self.moe, at["moe_stall_mfu",], at["stall_mfu",])
        self.at_mfu = at["mfu",]

    def step_s(self, logs: np.ndarray) -> np.ndarray:
        """The step time of every row at these constants, given as logarithms."""
        v = np.append(np.exp(logs), 0.0)
        reads = self.read_s / v[self.at_eta]
        computing = self.compute_s / v[self.at_mfu]
        core = np.where(self.added, reads + computing, np.maximum(reads, computing))
        latency_us = v[self.at_layer] + self.moe * v[self.at_moe] + self.tensor * v[self.at_tensor]
        streams_us = (self.batch - 1) * v[self.at_stream]
        return core + (self.layers * latency_us + streams_us) / 1e6 + self.stall_s / v[self.at_stall]

    def errors(self, logs: np.ndarray) -> np.ndarray:
        """log(predicted / measured) of every row."""
        return -np.log(self.step_s(logs)) - np.log(self.measured)


def configuration(cells: dict[str, str]) -> str:
    """What stays the same while batch and lengths vary."""
    engine = re.sub(r"\s+b\d+.*", "", cells["engine"])
    return "|".join([cells["hw"], cells["model"], cells["precision"], engine, cells["parallel"]])


def fit(rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """The constants, as logarithms, that lie best by the chosen rows: damped least squares within bounds."""
    low = np.log([BOUNDS[name[0]][0] for name in rows.names])
    high = np.log([BOUNDS[name[0]][1] for name in rows.names])
    x = np.log([START[name[0]] for name in rows.names])
    root = np.sqrt(rows.fit_weights[chosen])
    cells = len(rows.cells)

    def residuals(x: np.ndarray) -> np.ndarray:
        e = rows.errors(x)[chosen]
        robust = np.sign(e) * HUBER * np.sqrt(2 * (np.sqrt(1 + (e / HUBER) ** 2) - 1))
        return np.concatenate([robust * root, PULL * (x[:cells] - np.log(USUAL_EFFICIENCY)) / EFFICIENCY_SPREAD])

    r, damping = residuals(x), 1e-3
    for _ in range(200):
        jacobian = np.empty((len(r), len(x)))
        for i in range(len(x)):
            moved = x.copy()
            moved[i] += 1e-6 if x[i] + 1e-6 <= high[i] else -1e-6
            jacobian[:, i] = (residuals(moved) - r) / (moved[i] - x[i])
        gradient = jacobian.T @ r
        # What presses against its bound stays there for this step.
        free = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
        normal = jacobian[:, free].T @ jacobian[:, free]
        for _ in range(30):
            step = np.zeros(len(x))
            step[free] = -np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-9), gradient[free])
            tried = np.clip(x + step, low, high)
            new = residuals(tried)
            if new @ new < r @ r:
                break
            damping *= 4
        else:
            return x
        gain = 1 - (new @ new) / (r @ r)
        x, r, damping = tried, new, max(damping / 6, 1e-9)
        if gain < 1e-9:
            return x
    return x


def weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    order = np.argsort(values)
    places = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(share * weights.sum(), places, values[order]))
