"""Our sheets' looks in a workbook's own style tables: what is there already is used again, the rest is appended."""

from __future__ import annotations

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
# Excel's limit of cell formats in one workbook.
_MOST_FORMATS: Final = 65_490
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
    fonts = _merge(ours, theirs, "fonts", _keyed)
    fills = _merge(ours, theirs, "fills", _keyed)
    borders = _merge(ours, theirs, "borders", _keyed)
    maps = {"numFmtId": formats, "fontId": fonts, "fillId": fills, "borderId": borders}

    def our_key(node: Node) -> object:
        ids = {name: _mapped(table, node.get(name, "0")) for name, table in maps.items()}
        return _format_key(node, ids)

    def their_key(node: Node) -> object:
        return _format_key(node, {name: _number(node.get(name, "0")) for name in maps})

    def write(node: Node) -> bytes:
        ids = {name: str(_mapped(table, node.get(name, "0"))) for name, table in maps.items()}
        attributes = {name: ids.get(name, value) for name, value in node.attributes.items()}
        return theirs.element(node.tag, attributes, "".join(_text(theirs, child) for child in node.children))

    cells = _merge(ours, theirs, "cellXfs", their_key, our_key=our_key, write=write)
    if max(cells.values(), default=0) > _MOST_FORMATS:
        raise PlannerError(f"{theirs.where} holds as many cell formats as Excel allows; remove unused styles.")
    looks = _merge(ours, theirs, "dxfs", _keyed)
    return StyleMap([cells[n] for n in sorted(cells)], [looks[n] for n in sorted(looks)])


def _number(text: str) -> int:
    """An id as written; what is no number is the id of nothing."""
    return int(text) if text.isdecimal() else -1


def _mapped(table: dict[int, int], index: str) -> int:
    return table.get(int(index), int(index))


def _keyed(node: Node) -> object:
    return node.key()


def _format_key(node: Node, ids: dict[str, int]) -> object:
    rest = frozenset(item for item in node.attributes.items() if item[0] not in _FLAGS and item[0] not in ids)
    return (tuple(ids.values()), rest, tuple(child.key() for child in node.children))


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
    known: dict[str, int] = {}
    highest = _FIRST_OWN_FORMAT - 1
    for node in there.children if there else []:
        number = _number(node.get("numFmtId"))
        highest = max(highest, number)
        known.setdefault(node.get("formatCode"), number)
    where: dict[int, int] = {}
    new = b""
    count = len(there.children) if there else 0
    for node in mine.children if mine else []:
        code = node.get("formatCode")
        if code not in known:
            highest += 1
            count += 1
            known[code] = highest
            new += theirs.element("numFmt", {"numFmtId": str(highest), "formatCode": code})
        where[int(node.get("numFmtId"))] = known[code]
    _put(theirs, "numFmts", there, new, count)
    return where


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
