"""A table of measured rates as a CSV file holds it: cells by column, and what a cell means as a number."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# What a row may say; further columns are kept and not read.
COLUMNS: Final = (
    "id", "source", "date", "engine", "hw", "hw_class", "hw_count", "parallel", "bw_gbs_each", "bw_gbs_effective",
    "fp16_tflops_each", "fp8_tflops_each", "model", "kind", "params_b", "active_params_b", "precision",
    "weights_gb_total", "weights_src", "active_weights_gb", "kv_bytes_per_token", "batch", "prompt_len", "output_len",
    "ctx_mid", "decode_tok_s_stream", "decode_tok_s_aggregate", "prefill_tok_s", "ttft_ms", "itl_ms", "grade", "flags",
)  # fmt: skip
# Without one of each pair no row can be predicted.
_NEEDED: Final = (("bw_gbs_each", "hw"), ("weights_gb_total", "params_b", "model"))
_SEPARATORS: Final = ",;\t|"
_BLANK: Final = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "none", "null", "unknown", "?"})
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d+,\d+")
_LARGEST_CELL: Final = 1_000_000
_ENCODINGS: Final = ("utf-8-sig", "cp1252")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class MeasuredRow:
    """One row's cells by column, and what could not be read of them so far."""

    cells: Mapping[str, str]
    decimal_comma: bool = False
    problems: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        """A cell's text without blanks around it, empty where the column is not there."""
        return " ".join(self.cells.get(name, "").split())

    def number(self, name: str, *, zero: bool = False) -> float | None:
        """A cell's number above 0 (or 0), None where it is blank or cannot be read: that is noted as a problem."""
        text = self.text(name)
        if text.casefold() in _BLANK:
            return None
        plain = text.replace(",", ".") if self.decimal_comma and _DECIMAL_COMMA.fullmatch(text) else text
        try:
            value = float(plain)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and (value > 0 or (zero and value == 0)):
            return value
        wanted = "of at least 0" if zero else "above 0"
        problem = f"{name} is '{text[:_LONGEST_SHOWN]}'; expected a number {wanted}"
        if problem not in self.problems:
            self.problems.append(problem)
        return None


_LONGEST_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A file's header and lines as they stand, and its rows by the columns that are known."""

    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    rows: tuple[MeasuredRow, ...]
    missing: tuple[str, ...]


def read_measured(path: Path) -> MeasuredTable:
    """Every row of a CSV file: commas, semicolons or tabs, with or without a byte-order mark.

    Raises PlannerError where there is no such file, where it is no such table, or where it is empty.
    """
    lines, separator = _lines(_text(path), path.name)
    header = tuple(" ".join(cell.split()) for cell in lines[0])
    known = {_key(name): position for position, name in reversed(tuple(enumerate(header)))}
    columns = {name: known[name] for name in COLUMNS if name in known}
    for needed in _NEEDED:
        if not columns.keys() & set(needed):
            raise PlannerError(
                f"{path.name} has none of the columns {', '.join(needed)}; expected a header such as "
                "hw, hw_class, bw_gbs_each, model, kind, weights_gb_total, batch, decode_tok_s_stream."
            )
    rows = []
    for cells in lines[1:]:
        row = MeasuredRow(
            {name: cells[position] for name, position in columns.items() if position < len(cells)}, separator == ";"
        )
        if len(cells) > len(header):
            row.problems.append(f"the row has {len(cells)} cells under {len(header)} headers")
        rows.append(row)
    if not rows:
        raise PlannerError(f"{path.name} has a header and no rows.")
    missing = tuple(name for name in COLUMNS if name not in columns)
    return MeasuredTable(header, tuple(map(tuple, lines[1:])), tuple(rows), missing)


def _key(name: str) -> str:
    return "_".join(name.casefold().split())


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise PlannerError(f"{path} does not exist.") from None
    except IsADirectoryError:
        raise PlannerError(f"{path} is a folder; name a .csv file in it.") from None
    except OSError as error:
        raise PlannerError(f"Cannot read {path}: {error.strerror or error}.") from None
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise PlannerError(f"{path.name} is a workbook, not a CSV file; save its sheet as .csv.")
    if data.startswith(_UTF16):
        return data.decode("utf-16", errors="replace")
    if b"\x00" in data:
        raise PlannerError(f"{path.name} is not a text file; expected a .csv file.")
    for encoding in _ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def _lines(text: str, name: str) -> tuple[list[Sequence[str]], str]:
    """The lines that hold anything, and what parts their cells."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise PlannerError(f"{name} is empty; expected a header and rows of measured rates.")
    separator = max(_SEPARATORS, key=first.count)
    before = csv.field_size_limit(_LARGEST_CELL)
    try:
        lines = [cells for cells in csv.reader(io.StringIO(text), delimiter=separator) if any(map(str.strip, cells))]
    except csv.Error as error:
        raise PlannerError(f"{name} is not a readable CSV file: {error}.") from None
    finally:
        csv.field_size_limit(before)
    return list(lines), separator


def written(table: MeasuredTable, columns: Sequence[str], values: Sequence[Sequence[str]]) -> str:
    """The table as CSV text, every column of its own kept, with these columns behind them.

    Where the table is the outcome of an earlier run, its predictions give way.
    """
    own = len(table.header) - len(columns)
    width = own if table.header[own:] == tuple(columns) else len(table.header)
    kept = range(width)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(table.header[position] for position in kept), *columns])
    for cells, found in zip(table.lines, values, strict=True):
        writer.writerow([*(cells[p] if p < len(cells) else "" for p in kept), *found])
    return out.getvalue()
