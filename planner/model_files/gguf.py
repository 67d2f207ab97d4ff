"""A .gguf file: its metadata and the shapes and formats of its tensors, read from the header alone.

Every length in the header is held against the file's size before anything is read or kept, so that a damaged
file costs one line and no memory.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from planner.catalog import Model
from planner.issues import PlannerError
from planner.model_files.imported import LARGEST, MOST_LAYERS, ImportedModel, whole
from planner.units import BITS_PER_BYTE

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_MOST_TENSORS: Final = 1_000_000
_MOST_KEYS: Final = 100_000
_MOST_NAME: Final = 65_535
# Longer texts are templates and licences.
_MOST_TEXT: Final = 1_000
# A vocabulary has fewer; a longer list is only there to keep a reader busy.
_MOST_ELEMENTS: Final = 4_000_000
_MOST_KEPT: Final = 10_000
_MOST_PARTS: Final = 1_000
_MOST_DIMENSIONS: Final = 4
_MOST_PARAMETERS: Final = 10**15

# Metadata types: the struct format of those of a fixed size.
_FIXED: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING: Final = 8
_LIST: Final = 9

# Source: ggml's block formats: weights in a block, bytes of a block.
_FORMATS: Final[dict[int, tuple[str, int, int]]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
}

# llama.cpp knows for these which layers look back a window only; one of so many sees everything.
_WINDOW_PATTERN: Final = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2}
_PART: Final = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_BLOCK: Final = re.compile(r"blk\.(\d{1,6})\.")


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: how many parameters in how many bytes, and its rows."""

    name: str
    parameters: int
    size_bytes: int
    rows: int


@dataclass(slots=True)
class Header:
    """What a .gguf file says before its weights."""

    metadata: dict[str, Any] = field(default_factory=dict)
    tensors: list[Tensor] = field(default_factory=list)
    # Lists that are not kept, such as the vocabulary, by their length.
    lengths: dict[str, int] = field(default_factory=dict)


class _Reader:
    """Reads a header front to back, and refuses what the file cannot hold."""

    def __init__(self, file: BinaryIO, size: int, where: str) -> None:
        self.file, self.left, self.where = file, size, where
        self.elements = _MOST_ELEMENTS

    def damaged(self, why: str) -> PlannerError:
        return PlannerError(f"{self.where} is no whole GGUF file: {why}.")

    def take(self, length: int) -> bytes:
        """So many bytes of the file."""
        self.spend(length)
        data = self.file.read(length)
        if len(data) != length:
            raise self.damaged("it ends in the middle of its header")
        return data

    def skip(self, length: int) -> None:
        """Pass over so many bytes of the file."""
        self.spend(length)
        self.file.seek(length, 1)

    def spend(self, length: int) -> None:
        """Note bytes as read."""
        if length > self.left:
            raise self.damaged("its header says more than the file holds")
        self.left -= length

    def number(self, kind: str) -> Any:
        """A number of a struct format."""
        return struct.unpack("<" + kind, self.take(struct.calcsize("<" + kind)))[0]

    def text(self, most: int) -> str:
        """A string; one longer than what is asked for is passed over."""
        length = self.number("Q")
        if length > most:
            self.skip(length)
            return ""
        return self.take(length).decode("utf-8", errors="replace")

    def value(self, kind: int, key: str, header: Header) -> Any:
        """A metadata value, None where it is a list that is only counted."""
        if kind in _FIXED:
            return self.number(_FIXED[kind])
        if kind == _STRING:
            return self.text(_MOST_TEXT)
        if kind != _LIST:
            raise self.damaged(f"its metadata has a value of type {kind}")
        inner, count = self.number("I"), self.number("Q")
        if count > self.elements:
            raise self.damaged(f"its metadata lists {count:,} values")
        self.elements -= count
        header.lengths[key] = count
        if inner in _FIXED:
            kept = _FIXED[inner]
            if count > _MOST_KEPT:
                self.skip(count * struct.calcsize("<" + kept))
                return None
            return list(struct.unpack(f"<{count}{kept}", self.take(count * struct.calcsize("<" + kept))))
        if inner != _STRING:
            raise self.damaged(f"its metadata lists values of type {inner}")
        for _ in range(count):
            self.skip(self.number("Q"))
        return None

    def tensor(self) -> Tensor:
        """The name, shape and format of a tensor."""
        name = self.text(_MOST_NAME)
        dimensions = self.number("I")
        if not 0 <= dimensions <= _MOST_DIMENSIONS:
            raise self.damaged(f"a tensor has {dimensions:,} dimensions")
        shape = [self.number("Q") for _ in range(dimensions)]
        kind, _ = self.number("I"), self.number("Q")
        parameters = 1
        for length in shape:
            parameters *= length
        if parameters > _MOST_PARAMETERS:
            raise self.damaged(f"a tensor has {parameters:,} parameters")
        if kind not in _FORMATS:
            raise PlannerError(f"{self.where} has tensors of a format that planner does not know, number {kind}.")
        _, weights, size = _FORMATS[kind]
        return Tensor(name, parameters, -(-parameters // weights) * size, shape[-1] if shape else 0)


def read_header(path: Path) -> Header:
    """The header of a .gguf file; the weights are not read.

    Raises PlannerError where the file cannot be read, or is no GGUF file of version 2 or 3.
    """
    header = Header()
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            reader = _Reader(file, size, path.name)
            if size < len(_MAGIC) or reader.take(len(_MAGIC)) != _MAGIC:
                raise PlannerError(f"{path.name} is no GGUF file: it does not begin with GGUF.")
            version = reader.number("I")
            if version not in _VERSIONS:
                # A small version looks like a large one where the bytes stand the other way round.
                big = int.from_bytes(version.to_bytes(4, "little"), "big") in _VERSIONS
                what = "a big-endian GGUF file" if big else f"a GGUF file of version {version:,}"
                raise PlannerError(f"{path.name} is {what}; planner reads little-endian versions 2 and 3.")
            tensors, keys = reader.number("Q"), reader.number("Q")
            if tensors > _MOST_TENSORS or keys > _MOST_KEYS:
                raise reader.damaged(f"it says it has {tensors:,} tensors and {keys:,} metadata keys")
            for _ in range(keys):
                key = reader.text(_MOST_NAME)
                header.metadata[key] = reader.value(reader.number("I"), key, header)
            header.tensors.extend(reader.tensor() for _ in range(tensors))
    except OSError as error:
        raise PlannerError(f"Cannot read {path}: {error.strerror or error}.") from None
    return header


def _parts(path: Path, header: Header) -> Header:
    """The header with the tensors of every part of a split file."""
    count = header.metadata.get("split.count", 1)
    if not isinstance(count, int) or count <= 1:
        return header
    named = _PART.search(path.name)
    if not named or count > _MOST_PARTS:
        raise PlannerError(
            f"{path.name} is a part of {count:,}, and its name does not say which, as in -00001-of-00003."
        )
    whole_header = Header({}, [], {})
    for number in range(1, count + 1):
        part = path.with_name(f"{path.name[: named.start()]}-{number:05d}-of-{named[2]}.gguf")
        if not part.exists():
            raise PlannerError(f"{path.name} is a part of {count:,}, and {part.name} is not beside it.")
        found = header if part == path else read_header(part)
        # What describes the model stands in the first part.
        whole_header.metadata = found.metadata | whole_header.metadata
        whole_header.lengths = found.lengths | whole_header.lengths
        whole_header.tensors.extend(found.tensors)
    return whole_header


class _Metadata:
    """A model's values in a header, by their names behind the architecture's."""

    def __init__(self, header: Header, where: str) -> None:
        self.header, self.where = header, where
        self.architecture = str(header.metadata.get("general.architecture", ""))
        if not self.architecture:
            raise PlannerError(f"{where} does not say of which architecture its model is.")

    def __call__(self, key: str, default: int | None = None, *, most: int = LARGEST) -> int:
        return whole(self.header.metadata, f"{self.architecture}.{key}", self.where, default, most=most)

    def per_layer(self, key: str, layers: int) -> list[int] | None:
        """A value that may be given once for each layer."""
        value = self.header.metadata.get(f"{self.architecture}.{key}")
        if not isinstance(value, list) or len(value) < layers or not all(isinstance(n, int) and n >= 0 for n in value):
            return None
        return [int(n) for n in value[:layers]]


def read_gguf(path: Path) -> ImportedModel:
    """A model from a .gguf file, or from all parts of a split one beside each other.

    Raises PlannerError where the file is damaged, or is no language model's.
    """
    header = _parts(path, read_header(path))
    m = _Metadata(header, path.name)
    layers = m("block_count", most=MOST_LAYERS) - (ahead := m("nextn_predict_layers", 0))
    hidden, heads = m("embedding_length"), _most(m, "attention.head_count", layers)
    if layers <= 0 or not hidden or not heads:
        raise PlannerError(f"{path.name} has no layers, no embedding length or no attention heads.")
    remarks = []
    tensors = [t for t in header.tensors if not t.name.startswith("rope_") and _layer(t) < layers]
    if ahead:
        remarks.append(f"Without its {ahead} multi-token prediction layers.")
    total = sum(t.parameters for t in tensors)
    if not total:
        raise PlannerError(f"{path.name} has no tensors.")
    size = sum(t.size_bytes for t in tensors)
    if path.stat().st_size < size and "split.count" not in header.metadata:
        remarks.append("The file is shorter than its tensors: it is not whole.")
    experts = m("expert_count", 0)
    used = min(m("expert_used_count", 0), experts)
    of_experts = [t for t in tensors if "_exps." in t.name] if experts else []
    expert_parameters = sum(t.parameters for t in of_experts)
    active = total - expert_parameters + (expert_parameters * used // experts if experts else 0)
    embedding = next((t for t in tensors if t.name == "token_embd.weight"), None)
    untied = any(t.name == "output.weight" for t in tensors)
    kv_heads = m.per_layer("attention.head_count_kv", layers) or [m("attention.head_count_kv", heads)] * layers
    caching = _caching(m, layers, kv_heads)
    window, full = _window(m, layers, caching, remarks)
    rank = m("attention.kv_lora_rank", 0)
    key_length = m("attention.key_length", hidden // heads)
    bits, expert_bits = _bits(tensors, of_experts)
    model = Model(
        name=str(header.metadata.get("general.name") or _PART.sub("", path.name).removesuffix(".gguf")),
        hf_id="",
        params_b=total / 1e9,
        active_params_b=active / 1e9,
        streamed_params_b=(active - (embedding.parameters if embedding and untied else 0)) / 1e9,
        layers=layers,
        heads=heads,
        kv_heads=max(kv_heads),
        head_dim=m("attention.key_length_mla", key_length),
        hidden=hidden,
        vocab=embedding.rows if embedding else m("vocab_size", header.lengths.get("tokenizer.ggml.tokens", 0)),
        max_context_tokens=m("context_length", 0) or None,
        attention="MLA" if rank else "MHA" if max(kv_heads) == heads else "GQA",
        kv_lora_rank=rank or None,
        rope_dim=m("rope.dimension_count") if rank else None,
        indexer_heads=None,
        indexer_head_dim=m("attention.indexer.key_length", 0) or None,
        indexer_top_tokens=m("attention.indexer.top_k", 0) or None,
        window_tokens=window or None,
        full_layers=full,
        kv_layers=caching,
        experts=experts or None,
        active_experts=used or None,
        native_precision=bits,
        expert_precision=expert_bits,
        source=path.name,
        confidence="read",
        aliases=(),
        notes="",
    )
    return ImportedModel(model.name, model, size / 1e9, tuple(remarks))


def _layer(tensor: Tensor) -> int:
    found = _BLOCK.match(tensor.name)
    return int(found[1]) if found else -1


def _most(m: _Metadata, key: str, layers: int) -> int:
    return max(m.per_layer(key, layers) or [0]) or m(key)


def _caching(m: _Metadata, layers: int, kv_heads: list[int]) -> int:
    """Layers that hold a KV cache: hybrids give the others no KV heads, or name an interval."""
    every = m("full_attention_interval", 0)
    return layers // every if every else sum(bool(n) for n in kv_heads)


def _window(m: _Metadata, layers: int, caching: int, remarks: list[str]) -> tuple[int, int]:
    """The window of windowed layers, 0 for none, and the layers that see every token."""
    window = m("attention.sliding_window", 0)
    if not window or window >= m("context_length", window + 1):
        return 0, caching
    pattern = m.per_layer("attention.sliding_window_pattern", layers)
    if pattern:
        return window, layers - sum(map(bool, pattern))
    every = _WINDOW_PATTERN.get(m.architecture)
    if every:
        return window, layers // every
    remarks.append(
        f"Some layers look back {window:,} tokens only; the file does not say which, so all count as growing."
    )
    return 0, caching


def _bits(tensors: list[Tensor], of_experts: list[Tensor]) -> tuple[str, str]:
    """True bits per weight of all but the experts, and of the experts."""

    def bits(of: list[Tensor]) -> str:
        return f"{sum(t.size_bytes for t in of) * BITS_PER_BYTE / max(sum(t.parameters for t in of), 1):.4g}"

    if not of_experts:
        return bits(tensors), ""
    names = {t.name for t in of_experts}
    return bits([t for t in tensors if t.name not in names]), bits(of_experts)
