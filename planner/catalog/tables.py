"""The catalogue's tables as they travel with the package: one CSV file each, a dataclass per row."""

from __future__ import annotations

import csv
import dataclasses
from importlib import resources
from typing import Any, Final, TypeVar

Row = TypeVar("Row")

_SEPARATOR: Final = "|"
# A table of scenarios says the same few names over and over; as many looked-up names are kept, and no more.
NAMES_KEPT: Final = 1024


def _cell(kind: str, text: str) -> Any:
    if kind.startswith("tuple"):
        return tuple(text.split(_SEPARATOR)) if text else ()
    if not text and kind.endswith("| None"):
        return None
    number = kind.split(maxsplit=1)[0]
    return int(text) if number == "int" else float(text) if number == "float" else text


def read_table(file: str, row: type[Row]) -> tuple[Row, ...]:
    """Every row of a table in ``planner/data``, its columns being the dataclass's fields by name.

    An empty cell is None where the field allows it; several values of one cell are parted by ``|``.
    """
    text = resources.files("planner").joinpath("data", file).read_text("utf-8")
    # Annotations are postponed, so that a field's type stands as its text.
    kinds = {field.name: str(field.type) for field in dataclasses.fields(row)}  # type: ignore[arg-type]
    return tuple(
        row(**{name: _cell(kind, cells[name]) for name, kind in kinds.items()})
        for cells in csv.DictReader(text.splitlines())
    )
