"""What a package's sheets hold and nothing else: small enough to read fast, and free of what readers stumble over.

openpyxl builds an object for each blank formatted cell and each cell under a merge, and stops at pictures, styles and
extensions that it does not know. Reading scenarios needs values and number formats alone.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import quoteattr

from planner.issues import PlannerError
from planner.workbook.xml_part import in_utf8

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from planner.workbook.package import Package
    from planner.workbook.xml_part import XmlPart

_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006"
_SHEETS: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# Cells of a sheet that are read at once; each costs some 300 bytes of memory.
MOST_CELLS: Final = 2_000_000
_LAST_ROW, _LAST_COLUMN = 1_048_576, 16_384
_ROOT: Final = re.compile(rb"<((?:[\w.-]+:)?)worksheet\b[^<>]*>")
# A document type stands before all elements.
_HEAD: Final = 10_000
_SHARED: Final = re.compile(rb"\st=[\"']s[\"']")
_STYLE: Final = re.compile(rb"\ss=[\"'](\d{1,5})[\"']")
_AREA: Final = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged area, rows and columns from 1."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int


@dataclass(frozen=True, slots=True)
class RawSheet:
    """A worksheet as its part holds it: its cells as one element, its first tag, and its merged areas."""

    name: str
    path: Path
    root: bytes
    prefix: bytes
    data: bytes
    merges: list[Merge]

    def filled(self) -> bytes:
        """The filled cells alone. Raises PlannerError where they are too many."""
        held = _filled(self.data, self.prefix)
        count = held.count(b"<" + self.prefix + b"c ")
        if count > MOST_CELLS:
            raise PlannerError(
                f"{self.path}: sheet '{self.name}' holds {count:,} filled cells; planner reads up to {MOST_CELLS:,}."
            )
        return held

    def part(self, cells: bytes) -> bytes:
        """A sheet of its own that holds these cells."""
        return self.root + cells + b"</" + self.prefix + b"worksheet>"


def raw_sheets(package: Package, names: Collection[str] | None = None) -> dict[str, RawSheet]:
    """The named worksheets (None: all), by name. Raises PlannerError where a part is damaged."""
    found = {}
    for sheet in package.sheets:
        if sheet.kind == "worksheet" and (names is None or sheet.name in names):
            found[sheet.name] = _raw(package, sheet.name, sheet.part)
    return found


def slim(package: Package, parts: Mapping[str, bytes], *, formats: bool = True) -> bytes:
    """A package with these worksheets; the others are there, but empty.

    ``formats`` are the number formats, by which percentages and dates are told from plain numbers. Raises PlannerError
    where a part is damaged.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        overrides, listed, links, highest = "", "", "", 0
        for number, sheet in enumerate((sheet for sheet in package.sheets if sheet.kind == "worksheet"), 1):
            data = parts.get(sheet.name) or b""
            if formats:
                highest = max(highest, _highest_style(data))
            made.writestr(
                f"xl/worksheets/sheet{number}.xml", data or f'<worksheet xmlns="{_MAIN}"><sheetData/></worksheet>'
            )
            overrides += _override(f"worksheets/sheet{number}.xml", "worksheet")
            listed += f'<sheet name={quoteattr(sheet.name)} sheetId="{number}" r:id="rId{number}"/>'
            links += _link(f"rId{number}", "worksheet", f"worksheets/sheet{number}.xml")
        # Thousands of texts that no cell asks for need not be read.
        strings = package.linked("sharedStrings") if any(_SHARED.search(data) for data in parts.values()) else ""
        if strings:
            made.writestr("xl/sharedStrings.xml", shared_strings(package))
            overrides += _override("sharedStrings.xml", "sharedStrings")
            links += _link("rIdStrings", "sharedStrings", "sharedStrings.xml")
        made.writestr("xl/styles.xml", _styles(package if formats else None, highest))
        overrides += _override("styles.xml", "styles") + _override("workbook.xml", "sheet.main")
        links += _link("rIdStyles", "styles", "styles.xml")
        made.writestr("xl/workbook.xml", _workbook(package.workbook, listed))
        made.writestr("xl/_rels/workbook.xml.rels", _links(links))
        made.writestr("_rels/.rels", _links(_link("rId1", "officeDocument", "xl/workbook.xml")))
        made.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>',
        )
    return target.getvalue()


def shared_strings(package: Package) -> bytes:
    """The part of the texts that cells share; nothing where there is none. Raises PlannerError for a document type."""
    part = package.linked("sharedStrings")
    texts = in_utf8(package.read(part)) if part else b""
    if b"<!DOCTYPE" in texts[:_HEAD]:
        raise PlannerError(f"{package.path}: {part} has a document type, which no workbook needs; not read.")
    return texts


def _override(part: str, kind: str) -> str:
    return f'<Override PartName="/xl/{part}" ContentType="{_SHEETS}.{kind}+xml"/>'


def _link(link_id: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{link_id}" Type="{_OFFICE}/relationships/{kind}" Target="{target}"/>'


def _links(inner: str) -> str:
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inner}</Relationships>'
    )


def _workbook(part: XmlPart, listed: str) -> str:
    settings = part.root.child("workbookPr")
    since_1904 = ' date1904="1"' if settings and settings.get("date1904") in {"1", "true"} else ""
    return (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}/relationships"><workbookPr{since_1904}/>'
        f"<sheets>{listed}</sheets></workbook>"
    )


def _highest_style(data: bytes) -> int:
    """The highest style that a cell names; some files name more than they have."""
    return max((int(match[1]) for match in _STYLE.finditer(data)), default=0)


def _styles(package: Package | None, highest: int) -> str:
    """Number formats, by which percentages and dates are told from plain numbers, and no other look."""
    where = package.linked("styles") if package else ""
    formats, cells = "", ""
    if package and where:
        root = package.xml(where).root
        for node in (root.child("numFmts") or root).all("numFmt"):
            if node.get("numFmtId").isdecimal():
                code = quoteattr(node.get("formatCode"))
                formats += f'<numFmt numFmtId="{node.get("numFmtId")}" formatCode={code}/>'
        for node in (root.child("cellXfs") or root).all("xf"):
            number = node.get("numFmtId", "0")
            cells += f'<xf numFmtId="{number if number.isdecimal() else 0}" fontId="0" fillId="0" borderId="0"/>'
    plain = '<xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>'
    cells += plain * (highest + 1 - cells.count("<xf "))
    return (
        f'<styleSheet xmlns="{_MAIN}">{f"<numFmts>{formats}</numFmts>" if formats else ""}<fonts><font/></fonts>'
        "<fills><fill><patternFill/></fill></fills><borders><border/></borders>"
        f"<cellStyleXfs>{plain}</cellStyleXfs><cellXfs>{cells or plain}</cellXfs></styleSheet>"
    )


def _raw(package: Package, name: str, part: str) -> RawSheet:
    data = in_utf8(package.read(part))
    root = _ROOT.search(data)
    if root is None:
        raise PlannerError(f"{package.path} is damaged: the part of its sheet '{name}' is no worksheet.")
    prefix = root[1]
    opened, closed = b"<" + prefix + b"sheetData", b"</" + prefix + b"sheetData>"
    start, end = data.find(opened, root.end()), data.rfind(closed)
    held = b"" if start < 0 or end < 0 else data[start : end + len(closed)]
    return RawSheet(name, package.path, root[0], prefix, held, _merges(data, prefix))


def _filled(data: bytes, prefix: bytes) -> bytes:
    """The rows of a sheet without blank cells and rows, which may be a million."""
    tag = re.escape(prefix)
    blank_cell = rb"<%bc(?:\s[^<>]*)?(?:/>|>\s*(?:<%bv\s*/>|<%bv></%bv>)?\s*</%bc>)" % ((tag,) * 5)
    blank_row = rb"<%brow(?:\s[^<>]*)?(?:/>|>\s*</%brow>)" % (tag, tag)
    data = re.sub(blank_row, b"", re.sub(blank_cell, b"", data))
    # Heights of rows that are no numbers and styles of cells that are none, at which openpyxl stops and Excel does not.
    if b" ht=" in data:
        data = re.sub(rb"(<%brow\b[^<>]*?)\sht=(?:\"[^\"]*\"|'[^']*')" % tag, rb"\1", data)
    return re.sub(rb"(<%bc\b[^<>]*?)\ss=\"\"" % tag, rb"\1", data) if b' s=""' in data else data


def _merges(data: bytes, prefix: bytes) -> list[Merge]:
    found = []
    for match in re.finditer(rb"<%bmergeCell\s[^<>]*?ref\s*=\s*[\"']([^\"']*)[\"']" % re.escape(prefix), data):
        area = _AREA.fullmatch(match[1].decode("ascii", "replace"))
        if area:
            first_column, last_column = _column(area[1]), _column(area[3] or area[1])
            first_row, last_row = int(area[2]), int(area[4] or area[2])
            if first_row <= last_row <= _LAST_ROW and first_column <= last_column <= _LAST_COLUMN:
                found.append(Merge(first_row, first_column, last_row, last_column))
    return found


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
