"""Rows by the million into a sheet that XlsxWriter has authored: its looks and parts, our rows, a format string each.

Cell by cell a million rows take minutes. Here the library writes a row of each look, and all rows are written in them.
"""

from __future__ import annotations

import re
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from planner.headers import column_letters
from planner.workbook.cell_xml import inline_text, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from planner.plan.bulk_columns import Words

MOST_ROWS: Final = 1_048_576
# The fastest level that still packs numbers to a third; the file is half as large again at most.
_LEVEL: Final = 1
_BLANK: Final = "/>"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to write: a list of finished cells for each column, and the number of each row's look."""

    cells: Sequence[Sequence[str]]
    looks: Sequence[int]


def number_cells(values: Any, *, few: bool = False) -> list[str]:
    """Numbers as cells, blank for NaN and what has no end; with ``few`` each distinct one is written once."""
    if few:
        levels, codes = np.unique(values, return_inverse=True)
        cells = np.array(number_cells(levels), dtype=object)
        return cells[codes].tolist()  # type: ignore[no-any-return]
    return [_BLANK if text == "null" else f"><v>{text}</v></c>" for text in written(values.tolist())]


def flag_cells(values: Any) -> list[str]:
    """1 and 0 as TRUE and FALSE, NaN as blank."""
    flags = np.array([_BLANK, ' t="b"><v>0</v></c>', ' t="b"><v>1</v></c>'], dtype=object)
    return flags[np.nan_to_num(values + 1.0).astype(np.int64)].tolist()  # type: ignore[no-any-return]


def text_cells(column: Words) -> list[str]:
    """Texts as cells, each distinct one written once; blank where there is none."""
    cells = [f' t="inlineStr"><is>{inline_text(word)}</is></c>' if word else _BLANK for word in column.words]
    return np.array(cells, dtype=object)[column.codes].tolist()  # type: ignore[no-any-return]


def stream_rows(authored: IO[bytes], target: Path, part: str, samples: Sequence[int], rows: Iterable[Rows]) -> None:
    """Write a workbook again with the sample rows of one sheet replaced by rows of their looks.

    ``samples`` are the numbers of the authored rows, one a look, behind which nothing else stands.
    """
    with zipfile.ZipFile(authored) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for entry in source.infolist():
            if entry.filename != part:
                made.writestr(entry, source.read(entry), compresslevel=6)
        sheet = source.read(part).decode()
        looks = [_styles(sheet, number) for number in samples]
        head, rest = sheet[: sheet.index(f'<row r="{samples[0]}"')], sheet[sheet.index("</sheetData>") :]
        info = zipfile.ZipInfo(part, date_time=source.getinfo(part).date_time)
        info.compress_type = zipfile.ZIP_DEFLATED
        info._compresslevel = _LEVEL  # type: ignore[attr-defined]  # noqa: SLF001  3.13 has a public name for it
        with made.open(info, "w", force_zip64=True) as file, ThreadPoolExecutor(1) as packer:
            # Rows are told where they end only at the end, so no dimension is better than a wrong one.
            file.write(re.sub(r"<dimension [^>]*/>", "", head).encode())
            waiting: Future[Any] | None = None
            for text in _texts(looks, samples[0], rows):
                if waiting is not None:
                    waiting.result()
                # Packing lets other work go on meanwhile.
                waiting = packer.submit(file.write, text.encode())
            if waiting is not None:
                waiting.result()
            file.write(rest.encode())


def _styles(sheet: str, number: int) -> list[str]:
    """The style of each cell of an authored row."""
    row = re.search(rf'<row r="{number}"[^>]*>(.*?)</row>', sheet)
    assert row is not None
    return re.findall(r'<c r="[A-Z]+\d+"( s="\d+")', row[1])


def _texts(looks: Sequence[Sequence[str]], first: int, rows: Iterable[Rows]) -> Iterator[str]:
    forms = [
        '<row r="%d">'
        + "".join(f'<c r="{column_letters(column + 1)}%d"{style}%s' for column, style in enumerate(styles))
        + "</row>"
        for styles in looks
    ]
    start = first
    for part in rows:
        numbers = range(start, start + len(part.looks))
        start += len(part.looks)
        beside = [numbers]
        for cells in part.cells:
            beside += [numbers, cells]  # type: ignore[list-item]
        rows_of_cells = zip(*beside, strict=True)
        yield "".join([forms[look] % row for look, row in zip(part.looks, rows_of_cells, strict=True)])
