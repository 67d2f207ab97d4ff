"""Models from files that a user has: a Hugging Face config.json, a .gguf file, a *.safetensors.index.json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from planner.issues import PlannerError
from planner.model_files.config import Config, model_of
from planner.model_files.gguf import read_gguf
from planner.model_files.imported import ImportedModel, whole

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ImportedModel", "read_model_file"]

# The index of a model of a trillion parameters is a tenth of this.
_MOST_BYTES: Final = 100_000_000
_MOST_SIZE: Final = 10**15
_INDEX: Final = ".safetensors.index.json"


def read_model_file(path: Path) -> ImportedModel:
    """A model from a config.json, a .gguf file, a *.safetensors.index.json, or a folder with a config.json.

    A config and an index beside each other are read together: the one has the shapes, the other the size.
    Raises PlannerError where the file is none of these, is damaged, or is of an unknown model type.
    """
    if path.is_dir():
        path /= "config.json"
    if path.name.casefold().endswith(".gguf"):
        return read_gguf(path)
    if path.name.endswith(_INDEX):
        config, index = path.with_name("config.json"), path
    elif path.suffix == ".json":
        config, index = path, path.with_name(f"model{_INDEX}")
    else:
        raise PlannerError(f"{path.name} is no model file; expected a config.json, *.gguf or *{_INDEX}.")
    name = path.resolve().parent.name or path.stem
    described = _read(config) if config.exists() or config == path else None
    size_gb = _size_gb(index) if index.exists() or index == path else None
    if described is None:
        remark = "No config.json beside it, so the size is all that is known."
        return ImportedModel(name, None, size_gb, (remark,))
    stated = described.get("_name_or_path")
    name = stated.rpartition("/")[2] if isinstance(stated, str) and stated.strip("./ ") else name
    model = model_of(Config(described, config.name), name)
    remarks = ["Parameters are computed from the config's shapes, text part alone."]
    if size_gb is not None:
        remarks.append(f"Weights are the total size of {index.name}, all parts of the model included.")
    return ImportedModel(name, model, size_gb, tuple(remarks))


def _size_gb(index: Path) -> float:
    metadata = _read(index).get("metadata")
    if not isinstance(metadata, dict):
        raise PlannerError(f"{index.name} has no metadata with a total_size.")
    # Some writers store the size as a float or as text of digits.
    size = metadata.get("total_size")
    if isinstance(size, float) and size.is_integer():
        metadata = {"total_size": int(size)}
    total = whole(metadata, "total_size", index.name, most=_MOST_SIZE)
    if not total:
        raise PlannerError(f"{index.name} has a total_size of 0.")
    return total / 1e9


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise PlannerError(f"{path.name} has more than {_MOST_BYTES:,} bytes; no such file is that large.")
        values = json.loads(path.read_bytes())
    except OSError as error:
        raise PlannerError(f"Cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise PlannerError(f"{path.name} is no JSON file.") from None
    if not isinstance(values, dict):
        raise PlannerError(f"{path.name} does not hold a JSON object.")
    return values
