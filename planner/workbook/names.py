"""A workbook's defined names: ours put in, brought up to date, and those of the user left alone.

Also puts the functions into a workbook of the user's, where nothing but the names changes.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from planner.files import back_up, replacing
from planner.functions import NAME_COMMENT, lambdas
from planner.guards import NUMBER_NAME
from planner.issues import PlannerError
from planner.workbook.package import open_package, same_file
from planner.workbook.repack import write_package
from planner.workbook.xml_part import in_utf8

if TYPE_CHECKING:
    from pathlib import Path

    from planner.workbook.package import Package
    from planner.workbook.xml_part import Node, XmlPart

_TABLE_NAME: Final = re.compile(rb"\bdisplayName\s*=\s*(\"|')(.*?)\1")
# In a workbook part the names stand behind these and before all else.
_BEFORE_NAMES: Final = frozenset(
    {"fileVersion", "fileSharing", "workbookPr", "workbookProtection", "bookViews", "sheets", "functionGroups"}
    | {"externalReferences", "AlternateContent"}
)


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
class NameTable:
    """The names of a workbook part, and those to be put there."""

    part: XmlPart
    there: dict[tuple[str, str], Node] = field(default_factory=dict)
    new: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        listed = self.part.root.child("definedNames")
        for node in listed.all("definedName") if listed else ():
            self.there[node.get("name").casefold(), node.get("localSheetId")] = node

    def find(self, name: str, sheet: str = "") -> Node | None:
        """The name as it stands there, workbook-wide or scoped to the sheet of this index."""
        return self.there.get((name.casefold(), sheet))

    def put(self, name: str, text: str, attributes: dict[str, str] | None = None) -> None:
        """Put a name there, in the place of one that has its scope; one that says the same is left as it is."""
        attributes = {"name": name, **(attributes or {})}
        old = self.find(name, attributes.get("localSheetId", ""))
        if old is None:
            self.new.append(self.part.element("definedName", attributes, escape(text)))
        elif old.text != text or any(old.get(key) != value for key, value in attributes.items()):
            self.part.replace(old, self.part.element("definedName", old.attributes | attributes, escape(text)))

    def drop(self, name: str, sheet: str = "") -> None:
        """Take a name away."""
        old = self.find(name, sheet)
        if old is not None:
            self.part.replace(old, b"")

    def finish(self) -> None:
        """Write the new names behind those that are there."""
        new = b"".join(self.new)
        root = self.part.root
        listed = root.child("definedNames")
        if listed is not None:
            self.part.append(listed, new)
        elif new:
            made = self.part.element("definedNames", {}, "\0").replace(b"\0", new)
            before = [node for node in root.children if node.tag in _BEFORE_NAMES]
            self.part.insert_after(before[-1], made)


def embed_functions(path: Path, output: Path | None = None, *, backup: bool = True, force: bool = False) -> Embedded:
    """Put every function into a workbook as a LAMBDA name; in place unless an output is named.

    A name of the user's own is never changed. Every part but the workbook part stays byte for byte.
    Raises PlannerError where the file is no workbook, is signed, has our helper's name for something else, or
    cannot be written; and where the output is there already, unless forced, or has another ending.
    """
    package = open_package(path)
    if output is not None and not same_file(output, path):
        if output.suffix.lower() != path.suffix.lower():
            raise PlannerError(f"{output.name} has another ending than {path.name}, and Excel would not open it.")
        if output.exists() and not force:
            raise PlannerError(f"{output} is there already; --force writes over it.")
    refuse_signed(package)
    package.verify()
    part = package.xml(package.workbook_part)
    names = NameTable(part)
    outcome = put_functions(names, package)
    names.finish()
    kept = None
    target = output or path
    if part.written() != part.data or not same_file(target, path):
        made = io.BytesIO()
        write_package(package, made, {package.workbook_part: part.written()})
        if backup and same_file(target, path):
            kept = back_up(path)
        with replacing(target) as new:
            new.temporary.write_bytes(made.getvalue())
    return replace(outcome, backup=kept)


def refuse_signed(package: Package) -> None:
    """Refuse to change a digitally signed package. Raises PlannerError."""
    if any(part.startswith("_xmlsignatures/") for part in package.entries):
        raise PlannerError(
            f"{package.path} is digitally signed, and a change would break the signature; use an unsigned copy."
        )


def table_names(package: Package) -> set[str]:
    """The names of the workbook's tables, which Excel lets no other name share."""
    parts: set[str] = set()
    for sheet in package.sheets:
        # Relationships that are damaged lead to no table.
        with contextlib.suppress(PlannerError):
            parts |= {link.target for link in package.links(sheet.part) if link.kind == "table"}
    return {
        name.decode("utf-8", "replace").casefold()
        for part in parts
        if part in package
        for _, name in _TABLE_NAME.findall(in_utf8(package.read(part)))
    }


def put_functions(names: NameTable, package: Package) -> Embedded:
    """Every function as a LAMBDA name among the names; a name or table of the user's own is never changed.

    Raises PlannerError where the helper that all functions lean on is a name of the user's.
    """
    tables = table_names(package)
    added, updated, kept = [], [], []
    for name, text in lambdas().items():
        old = names.find(name)
        if name.casefold() in tables:
            kept.append(name)
        elif old is None:
            added.append(name)
            names.put(name, text, _attributes(name))
        elif old.text == text:
            continue
        elif old.get("comment") == NAME_COMMENT or old.get("vbProcedure") in {"1", "true"}:
            updated.append(name)
            names.put(name, text, _attributes(name))
        elif name == NUMBER_NAME:
            raise PlannerError(
                f"{package.path} has {name} as a name of its own, on which all functions lean; rename it."
            )
        else:
            kept.append(name)
    local = {name for name, sheet in names.there if sheet}
    shadowed = [name for name in lambdas() if name.casefold() in local]
    return Embedded(_visible(added), _visible(updated), _visible(kept), _visible(shadowed))


def _visible(names: list[str]) -> tuple[str, ...]:
    """The names that people call; the helper that these call is nobody's to count."""
    return tuple(name for name in names if name != NUMBER_NAME)


def _attributes(name: str) -> dict[str, str]:
    hidden = {"hidden": "1"} if name == NUMBER_NAME else {}
    return hidden | {"comment": NAME_COMMENT, "vbProcedure": "1"}
