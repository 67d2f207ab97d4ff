"""A sweep from its lists to files: all points to a workbook, to Parquet or to CSV, and the front drawn."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.command import version
from planner.files import refuse_target, replacing
from planner.issues import PlannerError
from planner.plan.bulk_columns import Words
from planner.plan.sweep_columns import FLAGS, WHOLE, sweep_header
from planner.plan.sweep_points import evaluate_sweep
from planner.plan.sweep_view import view_of
from planner.workbook.sweep_sheet import MOST_POINTS, is_our_sweep, write_sweep_workbook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from planner.plan.sweep_points import Sweep, Swept
    from planner.plan.sweep_view import FrontView

SUFFIXES: Final = (".xlsx", ".parquet", ".csv")
# With what a text begins that spreadsheets take for a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_PARQUET_MARK: Final = b"planner.version"
_SVG_MARK: Final = "<!-- planner sweep -->"
# Where Parquet keeps what is said of the file: at its end.
_FOOTER: Final = 1 << 16
# The columns of which every sweep's CSV file has the first, in this order.
_CSV_START: Final = ("model", "prompt_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """What came of a sweep: its counts, its front, and the files written."""

    counts: dict[str, int]
    kept: int
    view: FrontView
    busy_share: float | None
    written: tuple[Path, ...]


def run_sweep(
    sweep: Sweep,
    output: Path,
    chart: Path | None = None,
    progress: Callable[[str, int], None] = lambda _what, _done: None,
    *,
    force: bool = False,
) -> SweepOutcome:
    """Evaluate a sweep and write it; ``progress`` is told what is being done and how many points are done with.

    Raises PlannerError where a file cannot be written, is not planner's and ``force`` is not given, holds fewer rows
    than there are points, or needs a library that is missing.
    """
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise PlannerError(f"{output.name} ends in none of {', '.join(SUFFIXES)}; name a file that does.")
    ours = {".xlsx": is_our_sweep, ".csv": _is_our_csv, ".parquet": _is_our_parquet}[suffix]
    refuse_target(output, suffix, ours, force=force)
    if chart is not None:
        refuse_target(chart, ".svg", lambda data: data.rstrip().endswith(_SVG_MARK.encode()), force=force)
    if suffix == ".parquet":
        _pyarrow()
    if suffix == ".xlsx" and not sweep.only_fitting:
        refuse_too_many(sweep.size)
    swept = evaluate_sweep(sweep, lambda done: progress("Evaluating", done))
    try:
        view = view_of(swept)

        def written(done: int) -> None:
            progress(f"Writing {output.name}", done)

        written(0)
        if suffix == ".xlsx":
            refuse_too_many(swept.kept)
            write_sweep_workbook(output, swept, view, written)
        else:
            (_write_csv if suffix == ".csv" else _write_parquet)(output, swept, written)
        files = [output]
        if chart is not None:
            # The drawing's font measures are the report's, which a sweep without a drawing need not load.
            from planner.report.sweep_chart import front_chart  # noqa: PLC0415

            with replacing(chart) as new:
                new.temporary.write_text(f"{front_chart(view)}\n{_SVG_MARK}\n", "utf-8")
            files.append(chart)
    finally:
        swept.close()
    return SweepOutcome(swept.counts, swept.kept, view, sweep.busy_share, tuple(files))


def refuse_too_many(points: int) -> None:
    """Refuse more points than a sheet has rows.

    Raises PlannerError with what takes them.
    """
    if points > MOST_POINTS:
        raise PlannerError(
            f"A sheet holds {MOST_POINTS:,} points, and the sweep has {points:,}; "
            "write .parquet or .csv, narrow a list, or leave out what does not fit (--only-fitting)."
        )


def listed(name: str, column: Any) -> list[Any]:
    """A column's values one by one: numbers, texts, true and false; None where nothing is."""
    if isinstance(column, Words):
        words = np.array([word or None for word in column.words], dtype=object)
        return words[column.codes].tolist()  # type: ignore[no-any-return]
    values: list[Any] = np.nan_to_num(column).astype(np.int64).tolist() if name in WHOLE else column.tolist()
    if name in FLAGS:
        return [None if value != value else bool(value) for value in values]  # noqa: PLR0124  NaN is unlike itself
    for row in np.flatnonzero(np.isnan(column)).tolist():
        values[row] = None
    return values


def _write_csv(path: Path, swept: Swept, progress: Callable[[int], None]) -> None:
    """Comma-separated values in UTF-8, headed by the fields' names, which end in their units.

    A text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    names = swept.sweep.columns
    with replacing(path) as new, new.temporary.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(names)
        for done, columns in _counted(swept):
            out.writerows(zip(*(_csv_cells(name, columns[name]) for name in names), strict=True))
            progress(done)


def _csv_cells(name: str, column: Any) -> list[Any]:
    if isinstance(column, Words):
        column = Words(column.codes, [f"'{word}" if word.startswith(_FORMULA) else word for word in column.words])
    return listed(name, column)


def _write_parquet(path: Path, swept: Swept, progress: Callable[[int], None]) -> None:
    """Parquet: texts as dictionaries, each field with its header, the file with version and currency."""
    pa, parquet = _pyarrow()
    sweep = swept.sweep

    def kind(name: str, column: Any) -> Any:
        if isinstance(column, Words):
            return pa.dictionary(pa.int32(), pa.string())
        return pa.bool_() if name in FLAGS else pa.int64() if name in WHOLE else pa.float64()

    def array(name: str, column: Any) -> Any:
        if isinstance(column, Words):
            codes = pa.array(column.codes.astype(np.int32), mask=column.codes == 0)
            return pa.DictionaryArray.from_arrays(codes, pa.array(column.words, pa.string()))
        missing = np.isnan(column)
        values = column > 0 if name in FLAGS else np.nan_to_num(column).astype(np.int64) if name in WHOLE else column
        return pa.array(values, mask=missing)

    first = swept.pick(np.zeros(0, np.int64))
    schema = pa.schema(
        [
            pa.field(name, kind(name, first[name]), metadata={"header": sweep_header(name, sweep.currency)})
            for name in sweep.columns
        ],
        metadata={_PARQUET_MARK.decode(): version(), "currency": sweep.currency},
    )
    with replacing(path) as new, parquet.ParquetWriter(new.temporary, schema, compression="zstd") as out:
        for done, columns in _counted(swept):
            arrays = [array(name, columns[name]) for name in sweep.columns]
            out.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            progress(done)


def _counted(swept: Swept) -> Iterator[tuple[int, dict[str, Any]]]:
    """The points with how many there are up to there."""
    done = 0
    for columns in swept.chunks():
        done += len(columns["pareto"])
        yield done, columns


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415  large, and only Parquet needs it
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise PlannerError(
            "Parquet needs pyarrow, which is not installed: pip install 'llm-capacity-planner[parquet]', or write .csv."
        ) from None
    return pa, parquet


def _is_our_csv(data: bytes) -> bool:
    head = data.split(b"\n", 1)[0].decode("utf-8", "replace").strip().split(",")
    return tuple(head[head[:1] == ["name"] :][: len(_CSV_START)]) == _CSV_START and head[-1:] == ["pareto"]


def _is_our_parquet(data: bytes) -> bool:
    return data[:4] == b"PAR1" and _PARQUET_MARK in data[-_FOOTER:]
