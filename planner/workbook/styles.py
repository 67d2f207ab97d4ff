"""Our sheets' looks in a workbook's own style tables: what is there already is used again, the rest is appended."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.workbook.xml_part import Node, XmlPart

# The tables of a styles part in the order in which they must stand.
_ORDER: Final = (
    "numFmts",
    "fonts",
    "fills",
    "borders",
    "cellStyleXfs",
    "cellXfs",
    "cellStyles",
    "dxfs",
    "tableStyles",
    "colors",
    "extLst",
)
# Ids below are the formats that every program brings along.
_FIRST_OWN_FORMAT: Final = 164
# Those that mean the same in every language; programs turn formats of this text into these as they save.
_BUILT_IN: Final = {"General": 0, "0": 1, "0.00": 2, "#,##0": 3, "#,##0.00": 4, "0%": 9, "0.00%": 10}
# Excel's limit of cell formats in one workbook.
_MOST_FORMATS: Final = 65_490
_LOOKS: Final = ("fonts", "fills", "borders")
_SWITCHES: Final = frozenset({"b", "i", "strike", "outline", "shadow", "condense", "extend"})
# What an element means that leaves an attribute out.
_UNSAID: Final = dict.fromkeys(_SWITCHES, ("val", "1")) | {"u": ("val", "single")}
_NO_FILL: Final = ("patternType", "none")
# Whether a format's part applies follows from the part itself, and programs fill these in as they please.
_FLAGS: Final = frozenset(
    {"applyNumberFormat", "applyFont", "applyFill", "applyBorder", "applyAlignment", "applyProtection", "xfId"}
    | {"quotePrefix", "pivotButton"}
)


@dataclass(frozen=True, slots=True)
class StyleMap:
    """Where our cell formats and conditional looks stand in the workbook's tables."""

    cells: Sequence[int]
    conditional: Sequence[int]


def merge_styles(ours: XmlPart, theirs: XmlPart) -> StyleMap:
    """Append what the workbook lacks of our styles to its tables, and say where each of ours stands.

    A look that is there already is used again, so that a second run adds nothing.
    Raises PlannerError where the workbook holds as many formats as Excel allows.
    """
    formats = _merge_formats(ours, theirs)
    maps = {"numFmtId": formats} | {f"{table[:-1]}Id": _merge(ours, theirs, table, _look) for table in _LOOKS}
    same = {"numFmtId": _same_formats(theirs)} | {f"{table[:-1]}Id": _same(theirs, table) for table in _LOOKS}
    named = theirs.root.child("cellStyleXfs")

    def our_key(node: Node) -> object:
        return _format_key(node, {name: _mapped(table, node.get(name, "0")) for name, table in maps.items()})

    def their_key(node: Node) -> object:
        ids = {name: _number(node.get(name, "0")) for name in same}
        return _format_key(node, {name: same[name].get(number, number) for name, number in ids.items()})

    def write(node: Node) -> bytes:
        ids = {name: str(_mapped(table, node.get(name, "0"))) for name, table in maps.items()}
        attributes = {name: ids.get(name, value) for name, value in node.attributes.items()}
        if named is None or not named.children:
            # Without named styles there is none to lean on.
            attributes.pop("xfId", None)
        return theirs.element(node.tag, attributes, "".join(_text(theirs, child) for child in node.children))

    cells = _merge(ours, theirs, "cellXfs", their_key, our_key=our_key, write=write)
    if max(cells.values(), default=0) > _MOST_FORMATS:
        raise PlannerError(f"{theirs.where} holds as many cell formats as Excel allows; remove unused styles.")
    looks = _merge(ours, theirs, "dxfs", _look)
    return StyleMap([cells[n] for n in sorted(cells)], [looks[n] for n in sorted(looks)])


def _number(text: str) -> int:
    """An id as written; what is no number is the id of nothing."""
    return int(text) if text.isdecimal() else -1


def _mapped(table: dict[int, int], index: str) -> int:
    return table.get(int(index), int(index))


def _look(node: Node) -> object:
    """What a font, fill, border or conditional look comes to, in whatever order and fullness a program writes it."""
    attributes = {name: value for name, value in node.attributes.items() if not name.startswith("xmlns")}
    if node.tag in _UNSAID:
        attributes = dict([_UNSAID[node.tag]]) | attributes
    if node.tag == "patternFill" and not node.children:
        attributes = dict([_NO_FILL]) | attributes
    if node.tag in _SWITCHES and attributes["val"] in {"true", "on"}:
        attributes["val"] = "1"
    return (node.tag, frozenset(attributes.items()), frozenset(_look(child) for child in node.children))


def _same(theirs: XmlPart, table: str) -> dict[int, int]:
    """The first place of each look in a table, which may hold it several times."""
    there = theirs.root.child(table)
    first: dict[object, int] = {}
    return {index: first.setdefault(_look(node), index) for index, node in enumerate(there.children if there else [])}


def _format_key(node: Node, ids: dict[str, int]) -> object:
    rest = frozenset(item for item in node.attributes.items() if item[0] not in _FLAGS and item[0] not in ids)
    return (tuple(ids.values()), rest, frozenset(_look(child) for child in node.children))


def _text(part: XmlPart, node: Node) -> str:
    """An element written anew with the prefix of another part."""
    inner = "".join(_text(part, child) for child in node.children)
    return part.element(node.tag, node.attributes, inner).decode()


def _merge(
    ours: XmlPart,
    theirs: XmlPart,
    table: str,
    their_key: Callable[[Node], object],
    *,
    our_key: Callable[[Node], object] | None = None,
    write: Callable[[Node], bytes] | None = None,
) -> dict[int, int]:
    """Append to a table what it lacks of ours; gives the place of each of ours in it."""
    mine, there = ours.root.child(table), theirs.root.child(table)
    children = there.children if there else []
    known: dict[object, int] = {}
    for index, node in enumerate(children):
        known.setdefault(their_key(node), index)
    where: dict[int, int] = {}
    new = b""
    count = len(children)
    for index, node in enumerate(mine.children if mine else []):
        key = (our_key or their_key)(node)
        if key not in known:
            known[key] = count
            count += 1
            new += write(node) if write else _text(theirs, node).encode("ascii", "xmlcharrefreplace")
        where[index] = known[key]
    _put(theirs, table, there, new, count)
    return where


def _merge_formats(ours: XmlPart, theirs: XmlPart) -> dict[int, int]:
    """Number formats, which have ids of their own; gives our ids' new ones."""
    mine, there = ours.root.child("numFmts"), theirs.root.child("numFmts")
    known = dict(_BUILT_IN)
    for node in there.children if there else []:
        if node.get("numFmtId").isdecimal():
            known.setdefault(node.get("formatCode"), int(node.get("numFmtId")))
    taken = _format_ids(theirs.root)
    free = (number for number in itertools.count(_FIRST_OWN_FORMAT) if number not in taken)
    where: dict[int, int] = {}
    new = b""
    count = len(there.children) if there else 0
    for node in mine.children if mine else []:
        code = node.get("formatCode")
        if code not in known:
            count += 1
            known[code] = next(free)
            new += theirs.element("numFmt", {"numFmtId": str(known[code]), "formatCode": code})
        where[int(node.get("numFmtId"))] = known[code]
    _put(theirs, "numFmts", there, new, count)
    return where


def _same_formats(theirs: XmlPart) -> dict[int, int]:
    """The first id of each number format, which several ids may stand for."""
    there = theirs.root.child("numFmts")
    first = dict(_BUILT_IN)
    return {
        (number := _number(node.get("numFmtId"))): first.setdefault(node.get("formatCode"), number)
        for node in (there.children if there else [])
    }


def _format_ids(node: Node) -> set[int]:
    """Every id of a number format that stands in a styles part, those of conditional looks included."""
    found, waiting = set(), [node]
    while waiting:
        node = waiting.pop()
        found.add(_number(node.get("numFmtId")))
        waiting += node.children
    return found


def _put(theirs: XmlPart, table: str, there: Node | None, new: bytes, count: int) -> None:
    """New entries into a table, its count with them; a table that is missing is made where it belongs."""
    if not new:
        return
    if there is not None:
        theirs.append(there, new)
        theirs.set(there, "count", str(count))
        return
    made = theirs.element(table, {"count": str(count)}, "\0").replace(b"\0", new)
    later = _ORDER[_ORDER.index(table) + 1 :]
    following = next((node for node in theirs.root.children if node.tag in later), None)
    if following is not None:
        theirs.insert_before(following, made)
    else:
        theirs.append(theirs.root, made)
