"""Accelerators and CPUs: memory, bandwidth and dense peaks of one device, each with its source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner.catalog import names
from planner.catalog.precisions import find_precision
from planner.catalog.tables import NAMES_KEPT, read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Devices of one class achieve a like share of their bandwidth, so what is measured on one holds for the class.
DEVICE_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "nv-dc-hbm": "Data-centre HBM",
        "nv-dc-gddr": "Data-centre GDDR",
        "nv-workstation": "RTX workstation",
        "nv-consumer": "GeForce",
        "unified-lpddr": "Unified memory",
        "amd-dc-hbm": "Instinct",
        "amd-consumer": "Radeon",
        "gaudi": "Gaudi",
        "intel-gpu": "Intel GPU",
        "tpu": "TPU",
        "aws-neuron": "AWS Neuron",
        "apple": "Apple silicon",
        "cpu": "CPU",
    }
)


@dataclass(frozen=True, slots=True)
class Device:
    """One device: GB are 1e9 bytes, peaks are dense, None is not known.

    ``memory_gb`` is the figure that the device is sold with, ``reported_memory_gb`` what it reports to software:
    makers' GB are often GiB. ``memory_basis`` says which of them ``total_memory_gb`` is: reported, marketed, or
    a build choice, where the size is of a common configuration. ``interconnect_gb_s`` is to the other devices, both
    directions together. ``confidence`` is agreed (the maker's figures, found alike in independent catalogues),
    vendor (the maker's alone), derived (by the arithmetic in ``source``) or secondary (no maker's figures).
    """

    name: str
    vendor: str
    device_class: str
    memory_gb: float
    reported_memory_gb: float | None
    memory_basis: str
    bandwidth_gb_s: float
    fp16_tflop_s: float | None
    fp8_tflop_s: float | None
    int8_tflop_s: float | None
    fp4_tflop_s: float | None
    power_w: float | None
    interconnect_gb_s: float | None
    source: str
    confidence: str
    aliases: tuple[str, ...]
    notes: str

    @property
    def class_label(self) -> str:
        """The device's class in words."""
        return DEVICE_CLASSES.get(self.device_class, "")

    @property
    def total_memory_gb(self) -> float:
        """Memory as the device reports it where that is known, else as it is sold.

        >>> find_device("H100 SXM").total_memory_gb, find_device("Gaudi 3").total_memory_gb
        (85.521, 128.0)
        """
        return self.memory_gb if self.reported_memory_gb is None else self.reported_memory_gb

    def peak_tflop_s(self, precision: str | float = "FP16") -> float | None:
        """The dense peak at which weights of a precision are computed with, None where it is not known.

        FP8, INT8 and FP4 (NVFP4 and MXFP4 too) have a peak of their own where the device has one that beats its FP16
        peak. All else is taken as a format of the weights alone, which are computed with in 16 bits: INT4, AWQ, GPTQ,
        GGUF, FP6, and a bare number of bits, which names no format. For FP32 no peak is kept. An engine that keeps
        16-bit activations computes in 16 bits whatever the weights are; then ask for FP16.

        >>> h100 = find_device("H100 SXM")
        >>> h100.peak_tflop_s("FP8"), h100.peak_tflop_s("Q4_K_M"), h100.peak_tflop_s(4.5)
        (1978.9, 989.4, 989.4)
        """
        known = find_precision(precision) if isinstance(precision, str) else None
        name = known.name if known else ""
        if name == "FP32":
            return None
        own = {
            "FP8": self.fp8_tflop_s,
            "INT8": self.int8_tflop_s,
            "FP4": self.fp4_tflop_s,
            "NVFP4": self.fp4_tflop_s,
            "MXFP4": self.fp4_tflop_s,
        }.get(name)
        # Blackwell Ultra kept a trace of INT8: nobody would compute in it.
        return max((peak for peak in (own, self.fp16_tflop_s) if peak is not None), default=None)


@cache
def devices() -> tuple[Device, ...]:
    """Every device planner knows, in the order of its table: by class."""
    return read_table("accelerators.csv", Device)


_MEMORY: Final = re.compile(r"(?<![a-z0-9.])(\d+)\s*(?:gib|gb|g)\b")
_MEMORY_WORD: Final = re.compile(r"\d+gb")
# Words that may be left out of a name, or added to it, without meaning another device.
_NOISE: Final = frozenset({"gpu", "google", "aws", "mac", "studio", "mini", "macbook"})
_MAKERS: Final = _NOISE | {
    "nvidia",
    "amd",
    "intel",
    "apple",
    "geforce",
    "tesla",
    "instinct",
    "radeon",
    "rtx",
    "gtx",
    "rx",
}


def _words(name: str) -> tuple[str, ...]:
    text = name.casefold().replace("pci-e", "pcie")
    # The socket's generation follows from the device's.
    text = re.sub(r"sxm\d", "sxm", text)
    text = re.sub(r"\b([rg]tx|rx)(?=a?\d)", r"\1 ", text)
    return names.words(_MEMORY.sub(r"\1gb", text))


def _key(words: Iterable[str], *, memory: bool = True) -> str:
    return "".join(word for word in words if word not in _MAKERS and (memory or not _MEMORY_WORD.fullmatch(word)))


@cache
def _entries() -> tuple[names.Entry, ...]:
    found = []
    for device in devices():
        spelled = [_words(name) for name in (device.name, *device.aliases)]
        # Whoever leaves the memory out means any size of it; what a device is also called is meant as it stands.
        keys = {_key(spelled[0], memory=False), *map(_key, spelled)}
        # Makers are known by all their words: 'nvidia geforce' are two of one device.
        words = tuple(frozenset(one) | {device.vendor.casefold()} for one in spelled)
        found.append(names.Entry(device.name, frozenset(keys), words))
    return tuple(found)


@lru_cache(maxsize=NAMES_KEPT)
def devices_named(name: str) -> tuple[Device, ...]:
    """Every device that a name may mean: none, the one, or all between which it leaves open.

    >>> [device.name for device in devices_named("A100 SXM")]
    ['A100 SXM4 40GB', 'A100 SXM4 80GB']
    """
    words = _words(name)
    # A model number tells devices apart; a family such as 'Jetson' has members that no table lists.
    numbered = any(any(c.isdigit() for c in word) for word in _telling(words))
    found = set(names.named(_key(words), frozenset(words) - _NOISE if numbered else frozenset(), _entries()))
    return tuple(device for device in devices() if device.name in found)


def find_device(name: str) -> Device | None:
    """The device that a name means, or None where it means none or leaves several open.

    >>> find_device("nvidia h100 sxm 80gb").name, find_device("rtx4090").name, find_device("H100")
    ('H100 SXM5 80GB', 'GeForce RTX 4090 24GB', None)
    """
    found = devices_named(name)
    return found[0] if len(found) == 1 else None


def nearest_devices(name: str) -> list[str]:
    """The devices that a name leaves open, else up to eight whose names look most like it.

    >>> nearest_devices("H100")
    ['H100 NVL 94GB', 'H100 PCIe 80GB', 'H100 SXM5 80GB']
    """
    return list(_nearest(name))


@lru_cache(maxsize=NAMES_KEPT)
def _nearest(name: str) -> tuple[str, ...]:
    found = [device.name for device in devices_named(name)]
    words = _words(name)
    return tuple(found[: names.MOST_SUGGESTIONS] or names.nearest(_key(words), _telling(words), _entries()))


def _telling(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in words if word not in _MAKERS and not _MEMORY_WORD.fullmatch(word))
