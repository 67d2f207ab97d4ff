"""Puts functions into a workbook of the user's: its workbook part gains names, every other part stays as it is."""

from __future__ import annotations

import contextlib
import io
import posixpath
import re
import shutil
import zipfile
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from planner.files import replacing
from planner.functions import NAME_COMMENT, lambdas
from planner.guards import NUMBER_NAME
from planner.issues import PlannerError
from planner.workbook.package import same_file
from planner.workbook.read import checked_bytes

if TYPE_CHECKING:
    from pathlib import Path

# In a workbook part the names stand behind these and before all else, in this order.
_TABLE_NAME: Final = re.compile(rb'\bdisplayName="([^"]*)"')
_BEFORE_NAMES: Final = ("sheets", "functionGroups", "externalReferences")


@dataclass(frozen=True, slots=True)
class Embedded:
    """What came of embedding: names added, brought up to date, and kept since they are the user's own.

    ``shadowed`` are functions that a name of the user's stands before on one sheet.
    """

    added: tuple[str, ...]
    updated: tuple[str, ...]
    kept: tuple[str, ...]
    shadowed: tuple[str, ...] = ()
    backup: Path | None = None


@dataclass(slots=True)
class _Name:
    """A name of the workbook part: its text, whether it is scoped to a sheet, whether we wrote it, and its bytes."""

    name: str
    local: bool
    ours: bool
    start: int
    end: int = 0
    text: str = ""


class _Part:
    """The workbook part as far as names go: where they stand, which there are, and the prefix of its elements.

    Read by an event parser for the byte at which each tag begins, so that names can be put in without
    writing anything else anew.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data
        self.prefix = ""
        self.insert_at = 0
        self.wrapped = False
        self.self_closing: tuple[int, int] | None = None
        self.names: list[_Name] = []
        self._stack: list[str] = []
        self._starts: list[int] = []
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        try:
            self._parser.Parse(data, True)
            data.decode("utf-8")
        except expat.ExpatError as error:
            raise PlannerError(f"{path} is damaged: its workbook part is no XML ({error}).") from None
        except UnicodeDecodeError:
            raise PlannerError(
                f"{path} stores its workbook part in another encoding than UTF-8; not changed."
            ) from None

    def _doctype(self, *_: object) -> None:
        raise PlannerError(
            f"{self.path} has a document type in its workbook part, which no workbook needs; not changed."
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        prefix, _, local = tag.rpartition(":")
        self._stack.append(local)
        self._starts.append(self._parser.CurrentByteIndex)
        if len(self._stack) == 1:
            self.prefix = f"{prefix}:" if prefix else ""
        if self._in_name():
            ours = attributes.get("comment") == NAME_COMMENT or attributes.get("vbProcedure") in {"1", "true"}
            here = self._parser.CurrentByteIndex
            self.names.append(_Name(attributes.get("name", ""), "localSheetId" in attributes, ours, here))

    def _text(self, chunk: str) -> None:
        if self._in_name():
            self.names[-1].text += chunk

    def _in_name(self) -> bool:
        return self._stack[1:] == ["definedNames", "definedName"]

    def _end(self, _: str) -> None:
        start = self._starts.pop()
        opened = _after_tag(self.data, start)
        # For <x/> the parser gives the place behind the one tag, not that of an end tag.
        alone = self.data[:opened].endswith(b"/>")
        closed = opened if alone else _after_tag(self.data, self._parser.CurrentByteIndex)
        if self._in_name():
            self.names[-1].end = closed
        local = self._stack.pop()
        if len(self._stack) != 1:
            return
        if local in _BEFORE_NAMES:
            self.insert_at = closed
        elif local == "definedNames":
            self.wrapped, self.insert_at = True, self._parser.CurrentByteIndex
            self.self_closing = (start, closed) if alone else None


def embed_functions(path: Path, output: Path | None = None, *, backup: bool = True, force: bool = False) -> Embedded:
    """Put every function into a workbook as a LAMBDA name; in place unless an output is named.

    A name of the user's own is never changed. Every part but the workbook part stays byte for byte.
    Raises PlannerError where the file is no workbook, is signed, has our helper's name for something else, or
    cannot be written; and where the output is there already, unless forced, or has another ending.
    """
    data = checked_bytes(path)
    if output is not None and not same_file(output, path):
        if output.suffix.lower() != path.suffix.lower():
            raise PlannerError(f"{output.name} has another ending than {path.name}, and Excel would not open it.")
        if output.exists() and not force:
            raise PlannerError(f"{output} is there already; --force writes over it.")
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        if any(name.startswith("_xmlsignatures/") for name in package.namelist()):
            raise PlannerError(
                f"{path} is digitally signed, and a change would break the signature; use an unsigned copy."
            )
        where = _workbook_part(path, package)
        before = package.read(where)
        after, outcome = _with_names(path, before, _table_names(package))
        kept = None
        target = output or path
        if after != before or not same_file(target, path):
            if backup and same_file(target, path):
                kept = _backup(path)
            _write(path, package, {where: after}, target)
    return replace(outcome, backup=kept)


def _write(path: Path, package: zipfile.ZipFile, changed: dict[str, bytes], target: Path) -> None:
    """The package with these parts changed and all others as they are."""
    with replacing(target) as temporary, zipfile.ZipFile(temporary, "w") as written:
        for entry in package.infolist():
            try:
                data = changed.get(entry.filename) or package.read(entry)
            except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError):
                raise PlannerError(f"{path} is damaged: its part {entry.filename} cannot be read.") from None
            written.writestr(entry, data)


def _backup(path: Path) -> Path:
    kept = path.with_name(f"{path.stem}.backup{path.suffix}")
    number = 2
    while kept.exists():
        kept = path.with_name(f"{path.stem}.backup{number}{path.suffix}")
        number += 1
    try:
        shutil.copy2(path, kept)
    except OSError as error:
        raise PlannerError(f"Cannot write the backup {kept}: {error.strerror or error}.") from error
    return kept


def _workbook_part(path: Path, package: zipfile.ZipFile) -> str:
    """The workbook part's name, from the package's own relationships."""
    found: list[str] = []

    def start(_: str, attributes: dict[str, str]) -> None:
        if attributes.get("Type", "").endswith("/officeDocument"):
            found.append(posixpath.normpath(attributes["Target"].lstrip("/")))

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    try:
        parser.Parse(package.read("_rels/.rels"), True)
        package.getinfo(found[0])
    except (KeyError, IndexError, expat.ExpatError):
        raise PlannerError(f"{path} names no workbook part; it is damaged, or no workbook.") from None
    return found[0]


def _after_tag(data: bytes, index: int) -> int:
    """The place behind the tag that begins here; a quoted attribute may hold a closing bracket."""
    quote = b""
    for place in range(index, len(data)):
        byte = data[place : place + 1]
        if quote:
            quote = b"" if byte == quote else quote
        elif byte in {b'"', b"'"}:
            quote = byte
        elif byte == b">":
            return place + 1
    return len(data)


def _table_names(package: zipfile.ZipFile) -> set[str]:
    """The names of the workbook's tables, which Excel lets no other name share."""
    found: set[str] = set()
    for entry in package.namelist():
        if entry.startswith("xl/tables/"):
            with contextlib.suppress(zipfile.BadZipFile, zlib.error, RuntimeError):
                found |= {
                    name.decode("utf-8", "replace").casefold() for name in _TABLE_NAME.findall(package.read(entry))
                }
    return found


def _with_names(path: Path, data: bytes, tables: set[str]) -> tuple[bytes, Embedded]:
    part = _Part(path, data)
    there = {name.name.casefold(): name for name in part.names if not name.local}
    added: list[str] = []
    updated: list[str] = []
    kept: list[str] = []
    edits: list[tuple[int, int, bytes]] = []
    new = b""
    for name, text in lambdas().items():
        old = there.get(name.casefold())
        element = _element(part.prefix, name, text)
        if name.casefold() in tables:
            kept.append(name)
        elif old is None:
            added.append(name)
            new += element
        elif old.text == text:
            continue
        elif old.ours:
            updated.append(name)
            edits.append((old.start, old.end, element))
        elif name == NUMBER_NAME:
            raise PlannerError(f"{path} has {name} as a name of its own, on which all functions lean; rename it.")
        else:
            kept.append(name)
    if new:
        start, end = part.self_closing or (part.insert_at, part.insert_at)
        if part.self_closing or not part.wrapped:
            tag = f"{part.prefix}definedNames".encode()
            new = b"<" + tag + b">" + new + b"</" + tag + b">"
        edits.append((start, end, new))
    for start, end, replacement in sorted(edits, reverse=True):
        data = data[:start] + replacement + data[end:]
    local = {name.name.casefold() for name in part.names if name.local}
    shadowed = [name for name in lambdas() if name.casefold() in local]
    return data, Embedded(_visible(added), _visible(updated), _visible(kept), _visible(shadowed))


def _visible(names: list[str]) -> tuple[str, ...]:
    """The names that people call; the helper that these call is nobody's to count."""
    return tuple(name for name in names if name != NUMBER_NAME)


def _element(prefix: str, name: str, text: str) -> bytes:
    hidden = ' hidden="1"' if name == NUMBER_NAME else ""
    tag = f"{prefix}definedName"
    mark = f'comment={quoteattr(NAME_COMMENT)} vbProcedure="1"'
    return f"<{tag} name={quoteattr(name)}{hidden} {mark}>{escape(text)}</{tag}>".encode()
