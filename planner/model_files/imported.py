"""What a model's own files say of it, and how a value of theirs is read: bounded, and refused in one line."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from planner.issues import PlannerError
from planner.units import BITS_PER_BYTE

if TYPE_CHECKING:
    from planner.catalog import Model

# Beyond these no model of this world lies, and loops and products over such figures stay small.
MOST_LAYERS = 10_000
LARGEST = 1_000_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class ImportedModel:
    """A model read from its files: its row, the size of its weights where a file says it, and what to know of both.

    ``model`` is None where the files hold the size alone.
    """

    name: str
    model: Model | None
    weights_gb: float | None = None
    remarks: tuple[str, ...] = ()

    @property
    def bits_per_weight(self) -> float | None:
        """True bits per weight: the file's bits over the model's parameters."""
        if self.model is None or self.weights_gb is None:
            return None
        return self.weights_gb * BITS_PER_BYTE / self.model.params_b

    def row(self) -> dict[str, Any]:
        """The model as a row: every column of the catalogue, then the weights and their bits."""
        described = dataclasses.asdict(self.model) if self.model else {"name": self.name}
        described.pop("aliases", None)
        return described | {"weights_gb": self.weights_gb, "bits_per_weight": self.bits_per_weight}


def whole(values: dict[str, Any], key: str, where: str, default: int | None = None, *, most: int = LARGEST) -> int:
    """A whole number of a file's values, at least 0; the default where it is not there or null.

    Raises PlannerError where it is missing without a default, or no such number.
    """
    value = values.get(key)
    if value is None:
        value = default
    if value is None:
        raise PlannerError(f"{where} has no {key}.")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise PlannerError(f"{where} has a {key} of {value!r:.40}; expected a whole number up to {most:,}.")
    return value
