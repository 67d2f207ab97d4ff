"""What only the package itself tells: parts that a library leaves out."""

from __future__ import annotations

import io
import posixpath
import zipfile
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException, ElementTree

from planner.workbook.layout import MARK, WRITTEN_BY

if TYPE_CHECKING:
    from pathlib import Path

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_RELATIONSHIP: Final = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_WORKBOOK: Final = "xl/workbook.xml"


def empty_texts(data: bytes, sheet: str) -> set[str]:
    """The cells of a sheet whose formula gives an empty text, which openpyxl shows like a formula never worked out.

    Empty where the package is laid out otherwise than Excel and the common libraries lay it out.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        try:
            part = _sheet_part(package, sheet)
            found = set()
            with package.open(part) as stream:
                for _, cell in ElementTree.iterparse(stream):
                    if cell.tag == f"{_MAIN}c":
                        if cell.get("t") == "str" and not cell.findtext(f"{_MAIN}v"):
                            found.add(cell.get("r", ""))
                        cell.clear()
        except (KeyError, StopIteration, ParseError, DefusedXmlException):
            return set()
    return found


def _sheet_part(package: zipfile.ZipFile, sheet: str) -> str:
    root = ElementTree.fromstring(package.read(_WORKBOOK))
    wanted = next(node for node in root.iter(f"{_MAIN}sheet") if node.get("name") == sheet).get(_ID)
    links = ElementTree.fromstring(package.read("xl/_rels/workbook.xml.rels"))
    target = next(link for link in links.iter(_RELATIONSHIP) if link.get("Id") == wanted).get("Target", "")
    return target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join("xl", target))


def made_by_planner(data: bytes) -> bool:
    """Whether planner wrote this workbook, and nobody has put a sheet of their own into it since."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            written = WRITTEN_BY.encode() in package.read("docProps/core.xml")
            sheets = ElementTree.fromstring(package.read(_WORKBOOK))
    except (zipfile.BadZipFile, KeyError, ParseError, DefusedXmlException):
        return False
    ours = sum(node.get("name") == MARK for node in sheets.iter(f"{_MAIN}definedName"))
    # Besides the result sheets it holds the copy of the scenario sheet.
    return written and ours > 0 and sum(1 for _ in sheets.iter(f"{_MAIN}sheet")) <= ours + 1


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, however they are spelt; a file system may not tell capitals apart."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()
