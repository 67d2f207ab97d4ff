"""Workbooks with all that people put into them, for tests that see whether it is all still there afterwards."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path  # noqa: TC003

import xlsxwriter

HEADERS = [
    "Scenario", "Parameters (billions)", "Precision", "Bandwidth per device (GB/s)", "Devices", "Efficiency", "Batch",
    "Prompt (tokens)", "Output (tokens)", "Prefill rate (tok/s)",
]  # fmt: skip
ROWS = [
    ["Worked example", 70, "FP16", 3350, 1, 0.85, 8, 2000, 500, 9000],
    ["INT4", 70, "INT4", 3350, 1, 0.85, 8, 2000, 500, 9000],
]


def png() -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
        + chunk(b"IEND", b"")
    )


def rich_workbook(path: Path, rows=ROWS) -> Path:
    """Charts, a chart sheet, sparklines, pictures, shapes, conditional formats, validations, notes, tables, names,
    dynamic arrays, rich text, controls, macros (for .xlsm), custom properties."""
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Scenarios")
    sheet.write_row(0, 0, HEADERS, book.add_format({"bold": True, "bg_color": "#DDEEFF"}))
    for number, row in enumerate(rows, 1):
        sheet.write_row(number, 0, row)
    sheet.data_validation(1, 2, 50, 2, {"validate": "list", "source": "=Lists!$A$1:$A$3"})
    sheet.conditional_format("D2:D50", {"type": "data_bar", "data_bar_2010": True, "bar_solid": True})
    sheet.write_comment("A2", "a note")
    data = book.add_worksheet("Data & more")
    data.write_column("A2", [1, 2, 3])
    data.write_column("B2", [5, 3, 4])
    data.add_table(
        "A1:B5",
        {"name": "Sales", "total_row": True, "columns": [{"header": "x"}, {"header": "y", "total_function": "sum"}]},
    )
    data.add_sparkline("D2", {"range": "'Data & more'!B2:B4", "markers": True})
    data.conditional_format("B2:B4", {"type": "icon_set", "icon_style": "3_arrows"})
    data.conditional_format(
        "A2:A4", {"type": "cell", "criteria": ">", "value": 1, "format": book.add_format({"bold": True})}
    )
    data.insert_textbox("F2", "words in a box")
    data.insert_image("H2", "dot.png", {"image_data": io.BytesIO(png())})
    data.insert_button("J2", {"caption": "Press"})
    data.insert_checkbox("K2", True)
    data.write_rich_string("A9", book.add_format({"italic": True}), "rich", " text")
    data.write_dynamic_array_formula("L2:L4", "=SORT(A2:A4)", None, 1)
    data.write_formula("M2", "=Results!R2*2", None, 0)
    chart = book.add_chart({"type": "column"})
    chart.add_series({"values": "='Data & more'!$B$2:$B$4", "trendline": {"type": "linear"}})
    data.insert_chart("F9", chart)
    alone = book.add_chartsheet("A chart alone")
    single = book.add_chart({"type": "line"})
    single.add_series({"values": "='Data & more'!$A$2:$A$4"})
    alone.set_chart(single)
    lists = book.add_worksheet("Lists")
    lists.write_column("A1", ["FP16", "INT8", "INT4"])
    lists.very_hidden()
    book.define_name("growth", "=1.2")
    book.define_name("'Data & more'!local", "='Data & more'!$A$2")
    book.set_custom_property("Department", "Finance")
    book.set_calc_mode("manual")
    data.activate()
    book.close()
    return path


def with_parts(path: Path, changes: dict[str, bytes | None], source: Path | None = None) -> Path:
    """A package with parts changed, added, or (None) left out."""
    with zipfile.ZipFile(source or path) as package:
        kept = [(entry, package.read(entry)) for entry in package.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for entry, data in kept:
            new = changes.get(entry.filename, data)
            if new is not None:
                package.writestr(entry, new)
        for name in changes.keys() - {entry.filename for entry, _ in kept}:
            if changes[name] is not None:
                package.writestr(name, changes[name])
    return path


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {entry.filename: package.read(entry) for entry in package.infolist()}


def replaced(path: Path, part: str, *pairs: tuple[bytes, bytes]) -> Path:
    """A package with texts in one part replaced; each must be there."""
    data = parts_of(path)[part]
    for old, new in pairs:
        assert old in data, (part, old)
        data = data.replace(old, new)
    return with_parts(path, {part: data})
