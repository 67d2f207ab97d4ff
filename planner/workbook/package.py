"""An .xlsx or .xlsm package: what kind of file it is, its parts, and how they refer to one another."""

from __future__ import annotations

import collections
import io
import posixpath
import re
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from planner.issues import PlannerError
from planner.workbook.layout import MARK
from planner.workbook.xml_part import XmlPart

if TYPE_CHECKING:
    from collections.abc import Iterator

_OLE: Final = b"\xd0\xcf\x11\xe0"
_ZIP: Final = b"PK"
_LARGEST_UNPACKED: Final = 2_000_000_000
_HIGHEST_RATIO: Final = 200
_RATIO_MATTERS_FROM: Final = 150_000_000
_MOST_ENTRIES: Final = 20_000
_ENCRYPTED: Final = 0x1
_PORTION: Final = 1 << 22
_STRICT: Final = "http://purl.oclc.org/ooxml/"
HOW_TO_CONVERT: Final = "open it in Excel or LibreOffice and save it as .xlsx"
CONTENT_TYPES: Final = "[Content_Types].xml"
# What a damaged entry raises when it is unpacked.
_DAMAGE: Final = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, OverflowError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class Link:
    """A relationship: its id, what kind it is (the last word of its type), and the part it leads to."""

    id: str
    kind: str
    target: str
    external: bool = False


@dataclass(frozen=True)
class Package:
    """A workbook's package as read: its path, its bytes, and its entries by the name of their part."""

    path: Path
    data: bytes
    entries: dict[str, zipfile.ZipInfo] = field(repr=False)

    @cached_property
    def _zip(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(io.BytesIO(self.data))

    @property
    def listed(self) -> list[zipfile.ZipInfo]:
        """Every entry in the package's order, folders included."""
        return self._zip.infolist()

    def __contains__(self, part: str) -> bool:
        return part.casefold() in self.entries

    @property
    def parts(self) -> list[str]:
        """Every part's name as the package spells it, in the package's order."""
        return [part_name(entry.filename) for entry in self.entries.values()]

    def read(self, part: str) -> bytes:
        """A part's bytes; its name may differ in capitals. Raises PlannerError where it is missing or damaged."""
        entry = self._entry(part)
        try:
            return self._zip.read(entry)
        except _DAMAGE:
            raise PlannerError(f"{self.path} is damaged: its part {part} cannot be read.") from None

    def head(self, part: str, size: int = 65_536) -> bytes:
        """A part's first bytes. Raises PlannerError where it is missing or damaged."""
        return b"".join(self._portions(part, size, size))

    def _portions(self, part: str, most: int | None, size: int) -> Iterator[bytes]:
        """A part's bytes in portions, up to as many as are asked for."""
        entry = self._entry(part)
        try:
            with self._zip.open(entry) as stream:
                left = entry.file_size if most is None else most
                while left > 0 and (portion := stream.read(min(size, left))):
                    left -= len(portion)
                    yield portion
                if most is None:
                    # The checksum is compared at the end of the part.
                    stream.read(1)
        except _DAMAGE:
            raise PlannerError(f"{self.path} is damaged: its part {part} cannot be read.") from None

    def _entry(self, part: str) -> zipfile.ZipInfo:
        entry = self.entries.get(part.casefold())
        if entry is None:
            raise PlannerError(f"{self.path} is damaged: its part {part} is missing.")
        if entry.flag_bits & _ENCRYPTED:
            raise PlannerError(f"{self.path} is password-protected; remove the password.")
        return entry

    def xml(self, part: str) -> XmlPart:
        """A part's elements. Raises PlannerError where it is missing, damaged or no XML."""
        return XmlPart(f"{self.path}: {part}", self.read(part))

    def links(self, part: str = "") -> list[Link]:
        """The relationships of a part, or of the package itself, in their order."""
        where = links_part(part)
        if where not in self:
            return []
        found = []
        for node in self.xml(where).root.all("Relationship"):
            external = node.get("TargetMode") == "External"
            target = node.get("Target") if external else _resolved(part, node.get("Target"))
            found.append(Link(node.get("Id"), node.get("Type").rpartition("/")[2], target, external))
        return found

    @cached_property
    def workbook_part(self) -> str:
        """The workbook part's name. Raises PlannerError where the package names none."""
        found = next((link.target for link in self.links() if link.kind == "officeDocument"), "")
        if found not in self:
            raise PlannerError(f"{self.path} names no workbook part; it is damaged, or no workbook.")
        return found

    @cached_property
    def workbook(self) -> XmlPart:
        """The workbook part. Raises PlannerError for Strict Open XML, which Excel's own format is not."""
        part = self.xml(self.workbook_part)
        if part.namespace.startswith(_STRICT):
            raise PlannerError(f"{self.path} is a Strict Open XML workbook; save it as plain .xlsx (Excel Workbook).")
        if part.root.tag != "workbook":
            raise PlannerError(f"{self.path} is no workbook; its main part is a {part.root.tag}.")
        return part

    @cached_property
    def sheets(self) -> tuple[PackageSheet, ...]:
        """The workbook's sheets in their order."""
        listed = self.workbook.root.child("sheets")
        links = {link.id: link for link in self.links(self.workbook_part)}
        found = []
        for node in listed.all("sheet") if listed else ():
            link = links.get(node.local("id"))
            if not node.local("id"):
                # Some programs list sheets of kinds that they have no part for; Excel leaves them out.
                found.append(PackageSheet(node.get("name"), "", ""))
                continue
            if link is None or link.target not in self:
                raise PlannerError(f"{self.path} is damaged: its sheet '{node.get('name')}' is missing.")
            found.append(PackageSheet(node.get("name"), link.target, link.kind, _whole(node.get("sheetId")) or 0))
        if not found:
            raise PlannerError(f"{self.path} has no sheets; {HOW_TO_CONVERT}.")
        return tuple(found)

    def linked(self, kind: str) -> str:
        """The part that the workbook links to under a kind, such as ``styles``; nothing where there is none."""
        return next(
            (link.target for link in self.links(self.workbook_part) if link.kind == kind and link.target in self), ""
        )

    @cached_property
    def names(self) -> tuple[DefinedName, ...]:
        """The workbook's defined names."""
        listed = self.workbook.root.child("definedNames")
        return tuple(
            DefinedName(
                node.get("name"),
                node.text,
                _whole(node.get("localSheetId")),
                node.get("comment"),
                procedure=node.get("vbProcedure") in {"1", "true"},
            )
            for node in (listed.all("definedName") if listed else ())
        )

    def verify(self) -> None:
        """Unpack every part once. Raises PlannerError, naming the part, where one is damaged."""
        for part in self.parts:
            # Large sheets in portions, so that they are not in memory as a whole.
            collections.deque(self._portions(part, None, _PORTION), maxlen=0)


@dataclass(frozen=True, slots=True)
class PackageSheet:
    """A sheet: its name, its part, its kind (``worksheet``, ``chartsheet``, ``dialogsheet``, macro sheets), its id."""

    name: str
    part: str
    kind: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class DefinedName:
    """A defined name: its text, and the index of the sheet that it is scoped to, if any."""

    name: str
    text: str
    sheet: int | None = None
    comment: str = ""
    procedure: bool = False


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def marked_sheets(package: Package) -> dict[str, int]:
    """The sheets that bear planner's mark: which of its sheets each is, and its place.

    A copy that Excel made of such a sheet bears the mark as well, and stands before it as often as behind it. It is
    told by its name, ``Results (2)``, or, where people have given names, by its id, which is higher.
    """

    def likely(index: int, mark: str) -> tuple[bool, bool, int, int]:
        sheet = package.sheets[index]
        ours = re.fullmatch(re.escape(mark) + r"( \(planner( \d+)?\))?", sheet.name.casefold())
        return (not ours, bool(re.search(r" \(\d+\)$", sheet.name)), sheet.number, index)

    found: dict[str, int] = {}
    for index, mark in sorted(marks(package), key=lambda marked: likely(*marked)):
        found.setdefault(mark, index)
    return found


def marks(package: Package) -> list[tuple[int, str]]:
    """Every sheet that bears planner's mark, by its place, and which of its sheets it is.

    A mark says by a reference which sheet it belongs to, since some programs put names on other sheets: they leave out
    chart sheets as they count, or take a sheet away and let the names of those behind it stand.
    """
    places = {sheet.name.casefold(): index for index, sheet in enumerate(package.sheets)}
    worksheets = [index for index, sheet in enumerate(package.sheets) if sheet.kind == "worksheet"]
    read = [
        (name.sheet, places.get(referred_sheet(name.text)), name.text.split('"')[1])
        for name in package.names
        if name.name == MARK and name.sheet is not None and name.text.count('"') > 1
    ]
    # A reference to no sheet at all is one that a program let stand when it renamed the sheet.
    moved = [(at, home) for at, home, _ in read if home not in {None, at}]
    counted = any(at < len(worksheets) and worksheets[at] == home for at, home in moved)
    found: list[tuple[int | None, str]]
    if counted or len(moved) > 1:
        found = [(home, mark) for _, home, mark in read]
    else:
        # One alone may as well be a sheet renamed like that, and another given its name: neither is taken for ours.
        found = [(at, mark) for at, home, mark in read if (at, home) not in moved]
    return sorted({(at, mark) for at, mark in found if at is not None and at in worksheets})


_REFERENCE: Final = re.compile(r"(?:'((?:[^']|'')+)'|([^\s'\"(),!$]+))!")


def referred_sheet(text: str) -> str:
    """The sheet that a name's first reference leads to, in small letters.

    >>> referred_sheet("'Bob''s'!$1:$1"), referred_sheet("1.2")
    ("bob's", '')
    """
    match = _REFERENCE.search(re.sub(r'"[^"]*"', '""', text))
    return (match[1] or match[2]).replace("''", "'").casefold() if match else ""


def open_package(path: Path) -> Package:
    """A workbook's package, once it is known to be an .xlsx or .xlsm of a sane size.

    Raises PlannerError, with the cure, where it is not.
    """
    path = Path(path)
    return package_of(_bytes_of(path), path)


def package_of(data: bytes, path: Path) -> Package:
    """The package that these bytes are; ``path`` names it in messages.

    Raises PlannerError, with the cure, where they are no .xlsx or .xlsm package of a sane size.
    """
    if data[:4] == _OLE:
        old = path.suffix.lower() == ".xls" and "EncryptedPackage".encode("utf-16-le") not in data
        what = "an old .xls workbook" if old else "password-protected, or an old .xls workbook"
        raise PlannerError(f"{path} is {what}; remove the password, or {HOW_TO_CONVERT}.")
    if data[:2] != _ZIP:
        kind = "empty" if not data else "not an Excel workbook (perhaps a text or .csv file)"
        raise PlannerError(f"{path} is {kind}; {HOW_TO_CONVERT}.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            listed = package.infolist()
    except _DAMAGE:
        raise PlannerError(f"{path} is damaged: the package is cut short or broken. Use an intact copy.") from None
    unpacked = sum(entry.file_size for entry in listed)
    if unpacked > _LARGEST_UNPACKED or (unpacked > _RATIO_MATTERS_FROM and unpacked > _HIGHEST_RATIO * len(data)):
        raise PlannerError(
            f"{path} would unpack to {unpacked / 1e9:.1f} GB, which no scenario workbook needs; not read."
        )
    if len(listed) > _MOST_ENTRIES:
        raise PlannerError(f"{path} holds {len(listed):,} parts, which no scenario workbook needs; not read.")
    entries = {part_name(entry.filename).casefold(): entry for entry in listed if not entry.is_dir()}
    if len(entries) < sum(not entry.is_dir() for entry in listed):
        raise PlannerError(f"{path} is damaged: it holds a part twice. Use an intact copy.")
    if "xl/workbook.bin" in entries:
        raise PlannerError(f"{path} is a binary .xlsb workbook; {HOW_TO_CONVERT}.")
    if "content.xml" in entries:
        raise PlannerError(f"{path} is an OpenDocument file; {HOW_TO_CONVERT}.")
    if CONTENT_TYPES.casefold() not in entries:
        raise PlannerError(f"{path} is a zip file but no workbook; {HOW_TO_CONVERT}.")
    return Package(path, data, entries)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        hint = "; `planner new FILE.xlsx` writes a starter" if path.suffix in {".xlsx", ".xlsm"} else ""
        raise PlannerError(f"No such file: {path}{hint}.") from None
    except IsADirectoryError:
        raise PlannerError(f"{path} is a folder; name a workbook in it.") from None
    except PermissionError:
        raise PlannerError(f"{path} may not be read: permission denied, or it is open elsewhere.") from None
    except OSError as error:
        raise PlannerError(f"{path} cannot be read: {error.strerror or error}.") from None


def part_name(entry: str) -> str:
    """An entry's part name: some writers begin it with a slash, or use the other kind."""
    return entry.replace("\\", "/").lstrip("/")


def links_part(part: str) -> str:
    """Where a part's relationships stand.

    >>> links_part("xl/workbook.xml"), links_part("")
    ('xl/_rels/workbook.xml.rels', '_rels/.rels')
    """
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def _resolved(part: str, target: str) -> str:
    """The part that a relationship's target leads to, from the part that holds it."""
    target = target.replace("\\", "/")
    absolute = target if target.startswith("/") else posixpath.join("/", posixpath.dirname(part), target)
    resolved = posixpath.normpath(absolute).lstrip("/")
    # Names of parts are written with escapes in relationships, and as they are in the zip directory.
    return unquote(resolved) if "%" in resolved else resolved


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, however they are spelt; a file system may not tell capitals apart."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()
