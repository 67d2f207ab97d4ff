"""Result sheets into the user's own workbook: grafted into its package, every other part as it was."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
import zlib
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.issues import PlannerError
from planner.workbook.layout import MARK
from planner.workbook.names import NameTable, put_functions, refuse_signed
from planner.workbook.package import (
    CONTENT_TYPES,
    Package,
    links_part,
    marked_sheets,
    marks,
    package_of,
    referred_sheet,
)
from planner.workbook.packed import Packed, filled
from planner.workbook.results_sheet import Functions
from planner.workbook.styles import StyleMap, merge_styles
from planner.workbook.xml_part import RELATIONSHIPS, XmlPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from planner.workbook.packed import Stream
    from planner.workbook.xml_part import Node

# A hidden name that tells a merged copy, which a later run may write over, from the user's own workbook.
COPY_MARK: Final = "_planner_copy"
# Names that a result sheet brings along: they are ours to replace on our sheets.
_SHEET_NAMES: Final = (MARK, "_xlnm.Print_Titles", "_xlnm._FilterDatabase")
# Excel takes no higher number of a sheet.
_HIGHEST_SHEET_ID: Final = 65_534
# What people put on a sheet and other sheets refer to by name.
_REFERRED_TO: Final = {
    "table": "a table",
    "pivotTable": "a pivot table",
    "slicer": "a slicer",
    "timeline": "a timeline",
}
_LINKS: Final = "application/vnd.openxmlformats-package.relationships+xml"
_STYLES: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"


@dataclass
class Merged:
    """What a merge comes to: the parts that change or come new, and those that go."""

    changed: dict[str, bytes | Packed] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    # Parts that are new, with their content types.
    types: dict[str, str] = field(default_factory=dict)


def refuse_unmergeable(package: Package) -> None:
    """Refuse a package that no sheet can be put into without harm. Raises PlannerError, with the cure.

    Every part is unpacked once, so that a damaged file is never passed on as a good one.
    """
    refuse_signed(package)
    protection = package.workbook.root.child("workbookProtection")
    if protection is not None and protection.get("lockStructure") in {"1", "true"}:
        raise PlannerError(
            f"{package.path} has a protected structure, which takes no new sheets; unprotect it in Excel "
            "(Review, Protect Workbook)."
        )
    if any("/revisions/" in f"/{part}" for part in package.entries):
        raise PlannerError(
            f"{package.path} is a shared workbook with a record of changes; end the sharing in Excel and save it."
        )
    for index in marked_sheets(package).values():
        sheet = package.sheets[index]
        held = [_REFERRED_TO[link.kind] for link in package.links(sheet.part) if link.kind in _REFERRED_TO]
        if held:
            raise PlannerError(
                f"{package.path} has {held[0]} on its sheet '{sheet.name}', which planner would replace; move it to "
                f"a sheet of your own{', or turn it into a range' if held[0] == 'a table' else ''}."
            )
    package.verify()


def merge(
    package: Package,
    fresh: Package,
    functions: Functions,
    *,
    is_copy: bool,
    streams: Mapping[str, Stream] | None = None,
) -> Merged:
    """Graft the sheets of a fresh workbook into a package: those that bear a mark replace the sheet of that mark.

    ``is_copy`` stamps the result as a copy of the user's workbook; ``streams`` are the rows of large sheets, by name.
    Raises PlannerError where the package is damaged or full.
    """
    return _Merge(package, fresh, streams or {}).merged(functions, is_copy=is_copy)


class _Merge:
    def __init__(self, package: Package, fresh: Package, streams: Mapping[str, Stream]) -> None:
        self.package, self.fresh, self.streams = package, fresh, streams
        self.book = package.xml(package.workbook_part)
        self.links = package.xml(links_part(package.workbook_part))
        self.types = package.xml(CONTENT_TYPES)
        self.names = NameTable(self.book)
        self.out = Merged()
        self.ours = marked_sheets(package)
        self.used = {part.casefold() for part in package.parts} | _led_to(package)
        self.link_ids = {node.get("Id") for node in self.links.root.children}
        listed = self.book.root.child("sheets")
        numbers = [node.get("sheetId") for node in listed.children] if listed else []
        self.listed_any = False
        self.sheet_ids = {int(number) for number in numbers if number.isdecimal()}

    def merged(self, functions: Functions, *, is_copy: bool) -> Merged:
        brought = {index: mark for mark, index in marked_sheets(self.fresh).items()}
        replaced = {mark: self.ours[mark] for mark in brought.values() if mark in self.ours}
        self._drop_parts_of(replaced.values())
        if replaced:
            self._drop_linked("calcChain")
        styles = self._styles()
        strings = _strings(self.fresh)
        count, placed = len(self.package.sheets), set()
        for index, sheet in enumerate(self.fresh.sheets):
            mark = brought.get(index, "")
            where = replaced.get(mark)
            if where is None:
                part = self._free(sheet.part)
                self._list_sheet(sheet.name, part)
                at, count, was = count, count + 1, b""
            else:
                at, part = where, self.package.sheets[where].part
                was = self.package.head(part)
            self._put_names(index, at)
            placed.add(at)
            data = _grafted(self.fresh.read(sheet.part), styles, strings, was)
            stream = self.streams.get(sheet.name)
            self._put_part(sheet.part, part, Packed.of(filled(data, stream, styles.cells)) if stream else data)
        self._drop_stray_names(placed)
        if functions is Functions.EMBEDDED:
            put_functions(self.names, self.package)
        self._write_types()
        self._keep(links_part(self.package.workbook_part), self.links)
        if is_copy:
            self.names.put(COPY_MARK, f'"{self._fingerprint()}"', {"hidden": "1"})
        else:
            self.names.drop(COPY_MARK)
        self.names.finish()
        self._keep(self.package.workbook_part, self.book)
        return self.out

    def _keep(self, part: str, edited: XmlPart) -> None:
        data = edited.written()
        if data != edited.data:
            # A part that came out as no XML is a fault of ours, which must end here and not in the user's file.
            self.out.changed[part] = XmlPart(part, data).data

    def _styles(self) -> StyleMap:
        where = self.fresh.linked("styles")
        ours = self.fresh.xml(where)
        there = self.package.linked("styles")
        if there:
            theirs = self.package.xml(there)
            found = merge_styles(ours, theirs)
            self._keep(there, theirs)
            return found
        # Under any other name than this one openpyxl does not find it.
        part, theirs = "xl/styles.xml", self.fresh.xml(where)
        found = merge_styles(ours, theirs)
        for link in self.package.links(self.package.workbook_part):
            if link.kind == "styles":
                # The part that it leads to is missing, and what it led to is ours from now on.
                self.links.replace(self._link_node(link.id), b"")
        self.out.changed[part], self.out.types[part] = theirs.written(), _STYLES
        self._link("styles", part)
        return found

    def _free(self, like: str) -> str:
        """The first free part name of a kind: ``xl/charts/chart7.xml`` where six stand already."""
        stem, extension = posixpath.splitext(like)
        stem = stem.rstrip("0123456789")
        number = 1
        # A part that is missing may have left its relationships behind.
        while self.used & {
            f"{stem}{number}{extension}".casefold(),
            links_part(f"{stem}{number}{extension}").casefold(),
        }:
            number += 1
        part = f"{stem}{number}{extension}"
        self.used.add(part.casefold())
        return part

    def _drop_parts_of(self, sheets: Iterable[int]) -> None:
        """Drop what only the sheets to be replaced lead to: their drawings, charts and notes."""
        ours = {self.package.sheets[index].part.casefold() for index in sheets}
        if not ours:
            return
        kept = self._reached([self.package.workbook_part], through=lambda part: part.casefold() not in ours)
        theirs = self._reached([self.package.sheets[index].part for index in sheets], through=lambda _: True)
        for part in theirs - kept - ours:
            self._drop(part)
        for part in ours:
            if links_part(part) in self.package:
                self.out.dropped.add(links_part(part))

    def _reached(self, start: list[str], through: Callable[[str], bool]) -> set[str]:
        reached: set[str] = set()
        waiting = list(start)
        while waiting:
            part = waiting.pop()
            if part.casefold() in reached:
                continue
            reached.add(part.casefold())
            if through(part):
                waiting += [link.target for link in self.package.links(part) if not link.external]
        return reached

    def _drop(self, part: str) -> None:
        self.out.dropped |= {part.casefold(), links_part(part).casefold()}
        self.used -= {part.casefold(), links_part(part).casefold()}

    def _drop_linked(self, kind: str) -> None:
        part = self.package.linked(kind)
        for link in self.package.links(self.package.workbook_part):
            if part and link.kind == kind:
                self._drop(part)
                self.links.replace(self._link_node(link.id), b"")

    def _link_node(self, link_id: str) -> Node:
        return next(node for node in self.links.root.all("Relationship") if node.get("Id") == link_id)

    def _link(self, kind: str, part: str) -> str:
        """A new relationship of the workbook; gives its id."""
        number = len(self.link_ids) + 1
        while f"rId{number}" in self.link_ids:
            number += 1
        self.link_ids.add(f"rId{number}")
        target = posixpath.relpath(part, posixpath.dirname(self.package.workbook_part) or ".")
        attributes = {"Id": f"rId{number}", "Type": f"{RELATIONSHIPS}/{kind}", "Target": target}
        self.links.append(self.links.root, self.links.element("Relationship", attributes))
        return f"rId{number}"

    def _list_sheet(self, name: str, part: str) -> None:
        listed = self.book.root.child("sheets")
        if listed is None:  # pragma: no cover  reading the sheets has refused such a workbook
            raise PlannerError(f"{self.package.path} lists no sheets.")
        views = self.book.root.child("bookViews")
        if (views is None or not views.children) and not self.listed_any:
            # Our sheets' views refer to the workbook's first view, which a bare workbook lacks.
            view = self.book.element("workbookView", {})
            if views is None:
                self.book.insert_before(listed, self.book.element("bookViews", {}, view.decode()))
            else:
                self.book.append(views, view)
        self.listed_any = True
        highest = max(self.sheet_ids, default=0)
        number = highest + 1 if highest < _HIGHEST_SHEET_ID else min({*range(1, _HIGHEST_SHEET_ID)} - self.sheet_ids)
        self.sheet_ids.add(number)
        prefix = self.book.prefix_of(RELATIONSHIPS)
        declared = {} if prefix else {"xmlns:r": RELATIONSHIPS}
        attributes = {"name": name, "sheetId": str(number), **declared}
        attributes[f"{prefix or 'r:'}id"] = self._link("worksheet", part)
        self.book.append(listed, self.book.element("sheet", attributes))

    def _put_names(self, ours: int, theirs: int) -> None:
        """The names of one of our sheets, scoped to the place that it has in the user's workbook."""
        brought = {name.name: name for name in self.fresh.names if name.sheet == ours}
        for name in _SHEET_NAMES:
            if name in brought:
                hidden = {} if name == "_xlnm.Print_Titles" else {"hidden": "1"}
                self.names.put(name, brought[name].text, {"localSheetId": str(theirs), **hidden})
            else:
                self.names.drop(name, str(theirs))

    def _drop_stray_names(self, placed: set[int]) -> None:
        """Drop names of our sheets that another program has put on sheets of the user's."""
        ours = {at for at, _ in marks(self.package)}
        our_names = {self.package.sheets[at].name.casefold() for at in ours}
        for name in self.package.names:
            astray = name.sheet is not None and name.sheet not in placed | ours
            if astray and name.name in _SHEET_NAMES and referred_sheet(name.text) in our_names:
                self.names.drop(name.name, str(name.sheet))

    def _put_part(self, source: str, part: str, data: bytes | Packed) -> None:
        """One of our parts under its new name, and all that it leads to."""
        self.out.changed[part] = data
        self.out.types[part] = content_type(self.fresh, source)
        where = links_part(source)
        if where not in self.fresh:
            return
        edited = self.fresh.xml(where)
        for node, link in zip(edited.root.all("Relationship"), self.fresh.links(source), strict=True):
            if link.external:
                continue
            new = self._free(link.target)
            edited.set(node, "Target", posixpath.relpath(new, posixpath.dirname(part)))
            self._put_part(link.target, new, self.fresh.read(link.target))
        self.out.changed[links_part(part)] = edited.written()
        self.out.types[links_part(part)] = _LINKS

    def _fingerprint(self) -> str:
        stays = {part: entry.CRC for part, entry in self.package.entries.items() if part not in self.out.dropped}
        stays |= {
            part.casefold(): data.crc if isinstance(data, Packed) else zlib.crc32(data)
            for part, data in self.out.changed.items()
        }
        return _fingerprint(stays, self.package.workbook_part)

    def _write_types(self) -> None:
        """Content types: of parts that come new, and no longer of those that go."""
        stays = {part.casefold() for part in self.out.changed}
        kinds = {part.casefold(): kind for part, kind in self.out.types.items()}
        known: set[str] = set()
        for node in self.types.root.all("Override"):
            part = node.get("PartName").lstrip("/").casefold()
            if part in self.out.dropped - stays:
                self.types.replace(node, b"")
                continue
            known.add(part)
            # Types of parts that are gone may have been left behind.
            if part in kinds:
                self.types.set(node, "ContentType", kinds[part])
        defaults = {
            node.get("Extension").casefold(): node.get("ContentType") for node in self.types.root.all("Default")
        }
        for part, kind in self.out.types.items():
            extension = part.rpartition(".")[2].casefold()
            if part.casefold() in known or defaults.get(extension) == kind:
                continue
            attributes = {"PartName": f"/{part}", "ContentType": kind}
            self.types.append(self.types.root, self.types.element("Override", attributes))
        self._keep(CONTENT_TYPES, self.types)
        self.out.dropped -= stays


def _led_to(package: Package) -> set[str]:
    """The parts that any part leads to, whether they are there or missing."""
    found: set[str] = set()
    for part in package.parts:
        # Relationships that nothing needs may be damaged.
        with contextlib.suppress(PlannerError):
            found |= {link.target.casefold() for link in package.links(part) if not link.external}
    return found


def _fingerprint(checksums: dict[str, int], workbook_part: str) -> str:
    """What a package holds besides its workbook part, which bears the fingerprint itself."""
    listed = sorted((part, crc) for part, crc in checksums.items() if part != workbook_part.casefold())
    return hashlib.sha256(repr(listed).encode()).hexdigest()


class Copy(Enum):
    """What stands where a merged copy is to go."""

    OURS = "a copy that planner wrote, as it wrote it"
    EDITED = "a copy that planner wrote and somebody has changed since"
    FOREIGN = "no copy of planner's"


def copy_at(package: Package) -> Copy:
    """Whether a workbook is a merged copy that planner wrote, and still as it wrote it."""
    stamp = next((name.text for name in package.names if name.name == COPY_MARK), None)
    if stamp is None:
        return Copy.FOREIGN
    checksums = {part: entry.CRC for part, entry in package.entries.items()}
    same = stamp == f'"{_fingerprint(checksums, package.workbook_part)}"'
    return Copy.OURS if same else Copy.EDITED


def is_our_copy(data: bytes) -> bool:
    """Whether these bytes are a merged copy that planner wrote, as it wrote it."""
    try:
        return copy_at(package_of(data, Path())) is Copy.OURS
    except PlannerError:
        return False


def content_type(package: Package, part: str) -> str:
    """A part's content type, by its own entry or by its ending."""
    root = package.xml(CONTENT_TYPES).root
    own = (n for n in root.all("Override") if n.get("PartName").lstrip("/").casefold() == part.casefold())
    extension = part.rpartition(".")[2].casefold()
    by_ending = (n for n in root.all("Default") if n.get("Extension").casefold() == extension)
    node: Node | None = next(own, None) or next(by_ending, None)
    return node.get("ContentType") if node else ""


def _strings(package: Package) -> list[bytes]:
    """What each shared string holds, as it stands in the file."""
    where = package.linked("sharedStrings")
    if not where:
        return []
    part = package.xml(where)
    return [part.data[node.inner : node.close] for node in part.root.all("si")]


_CELL: Final = re.compile(
    rb'<c r="([A-Z]+\d+)"(?: s="(\d+)")?( t="\w+")?>(?:<v>(\d+)</v></c>)?|<c r="([A-Z]+\d+)" s="(\d+)"/>'
)
_STYLED: Final = re.compile(rb'(<(?:row|col) [^>]*?\b(?:s|style)=")(\d+)(")')
_LOOK: Final = re.compile(rb'(<cfRule [^>]*?\bdxfId=")(\d+)(")')
_SELECTED: Final = b' tabSelected="1"'
_CODE_NAME: Final = re.compile(rb"<(?:[\w.-]+:)?sheetPr\b[^<>]*?(\scodeName=(?:\"[^\"<>]*\"|'[^'<>]*'))")


def _grafted(data: bytes, styles: StyleMap, strings: list[bytes], was: bytes) -> bytes:
    """A sheet of ours with its looks and texts independent of the tables of the workbook that it came from."""

    def cell(match: re.Match[bytes]) -> bytes:
        at, look, kind, index, blank, blank_look = match.groups()
        if blank:
            return b'<c r="%b" s="%d"/>' % (blank, styles.cells[int(blank_look)])
        style = b' s="%d"' % styles.cells[int(look)] if look else b""
        if kind == b' t="s"' and index is not None:
            return b'<c r="%b"%b t="inlineStr"><is>%b</is></c>' % (at, style, strings[int(index)])
        end = b"<v>%b</v></c>" % index if index is not None else b""
        return b'<c r="%b"%b%b>%b' % (at, style, kind or b"", end)

    def styled(match: re.Match[bytes]) -> bytes:
        return match[1] + b"%d" % styles.cells[int(match[2])] + match[3]

    def look(match: re.Match[bytes]) -> bytes:
        return match[1] + b"%d" % styles.conditional[int(match[2])] + match[3]

    data = _CELL.sub(cell, data)
    data = _LOOK.sub(look, _STYLED.sub(styled, data))
    code_name = _CODE_NAME.search(was)
    if code_name:
        # By it a macro project knows the sheet's module; without it every run would leave one more module behind.
        data = data.replace(b"<sheetPr", b"<sheetPr" + code_name[1], 1)
    # A second selected sheet would take part in every edit of the first.
    return data if _SELECTED in was else data.replace(_SELECTED, b"")
