"""An XML part edited by byte positions: what is not changed keeps every byte, odd spelling included."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Iterator

RELATIONSHIPS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
# Style tables of years run to tens of megabytes; more than this is no workbook's.
_LARGEST: Final = 100_000_000
_DEEPEST: Final = 200


@dataclass(slots=True)
class Node:
    """An element: its name without prefix, its attributes as written, its text, and the bytes it spans.

    ``start`` to ``inner`` is the start tag, ``inner`` to ``close`` what it holds, ``close`` to ``end`` the end tag;
    an element that is one tag (``<x/>``) has all three at its end.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    inner: int = 0
    close: int = 0
    end: int = 0
    text: str = ""
    children: list[Node] = field(default_factory=list)

    def get(self, name: str, default: str = "") -> str:
        """An attribute by its name as written."""
        return self.attributes.get(name, default)

    def local(self, name: str) -> str:
        """An attribute by its name without prefix, such as the ``id`` of ``r:id``."""
        return next((value for key, value in self.attributes.items() if key.rpartition(":")[2] == name), "")

    def child(self, tag: str) -> Node | None:
        """The first child of this name."""
        return next((node for node in self.children if node.tag == tag), None)

    def all(self, tag: str) -> Iterator[Node]:
        """Every child of this name."""
        return (node for node in self.children if node.tag == tag)

    def key(self) -> tuple[object, ...]:
        """What the element says, however it is written: equal keys mean equal elements."""
        attributes = frozenset(item for item in self.attributes.items() if not item[0].startswith("xmlns"))
        return (self.tag, attributes, self.text.strip(), tuple(child.key() for child in self.children))


class XmlPart:
    """A part's elements and where each stands in its bytes, and the edits asked for so far.

    A part in UTF-16, as Excel for phones wrote it, is taken as if it were in UTF-8, and so written where it changes.
    Raises PlannerError where the part is no XML, has a document type, or is in any other encoding.
    """

    def __init__(self, where: str, data: bytes) -> None:
        data = in_utf8(data)
        self.where, self.data = where, data
        self._edits: list[tuple[int, int, bytes]] = []
        self._appended: dict[int, tuple[Node, list[bytes]]] = {}
        self._stack: list[Node] = []
        self._root: Node | None = None
        if len(data) > _LARGEST:
            raise PlannerError(f"{where} is {len(data) / 1e6:,.0f} MB large, which no workbook needs; not changed.")
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            raise PlannerError(f"{where} is stored in another encoding than UTF-8; not changed.") from None
        try:
            self._parser.Parse(data, True)
        except (expat.ExpatError, LookupError) as error:
            raise PlannerError(f"{where} is damaged: it is no XML ({error}).") from None
        # What the parser's handlers hold of this object would keep the bytes of large parts alive.
        del self._parser

    @property
    def root(self) -> Node:
        """The part's outermost element."""
        if self._root is None:
            raise PlannerError(f"{self.where} is damaged: it is empty.")
        return self._root

    @property
    def prefix(self) -> str:
        """The prefix that the part's elements bear, colon included; mostly none."""
        match = re.match(rb"<([^\s/>:]+:)?", self.data[self.root.start : self.root.start + 200])
        return (match[1] or b"").decode() if match else ""

    @property
    def namespace(self) -> str:
        """The namespace of the outermost element."""
        return self.root.get(f"xmlns:{self.prefix[:-1]}" if self.prefix else "xmlns")

    def prefix_of(self, namespace: str) -> str:
        """The prefix, colon included, that the outermost element declares for a namespace, or nothing."""
        declared = (key for key, value in self.root.attributes.items() if value == namespace and key[:6] == "xmlns:")
        found = next(declared, "")
        return f"{found[6:]}:" if found else ""

    def _doctype(self, *_: object) -> None:
        raise PlannerError(f"{self.where} has a document type, which no workbook needs; not read.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        start = self._parser.CurrentByteIndex
        if len(self._stack) == _DEEPEST:
            raise PlannerError(f"{self.where} is nested {_DEEPEST} deep, which no workbook needs; not read.")
        node = Node(tag.rpartition(":")[2], attributes, start, _after_tag(self.data, start))
        if self._stack:
            self._stack[-1].children.append(node)
        else:
            self._root = node
        self._stack.append(node)

    def _text(self, chunk: str) -> None:
        self._stack[-1].text += chunk

    def _end(self, _: str) -> None:
        node = self._stack.pop()
        # For <x/> the parser gives the place behind the one tag, not that of an end tag.
        if self.data[node.inner - 2 : node.inner] == b"/>":
            node.close = node.end = node.inner
        else:
            node.close = self._parser.CurrentByteIndex
            node.end = _after_tag(self.data, node.close)

    def element(self, tag: str, attributes: dict[str, str], inner: str = "") -> bytes:
        """An element of the part's own namespace, as bytes."""
        written = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
        name = f"{self.prefix}{tag}"
        text = f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"
        # Whatever encoding the part declares, plain characters and references mean the same in it.
        return text.encode("ascii", "xmlcharrefreplace")

    def append(self, node: Node, new: bytes) -> None:
        """Put elements behind the last child of a node."""
        if new:
            self._appended.setdefault(node.start, (node, []))[1].append(new)

    def insert_after(self, node: Node, new: bytes) -> None:
        """Put elements behind a node."""
        self._edits.append((node.end, node.end, new))

    def insert_before(self, node: Node, new: bytes) -> None:
        """Put elements before a node."""
        self._edits.append((node.start, node.start, new))

    def replace(self, node: Node, new: bytes) -> None:
        """Put elements, or nothing, in a node's place."""
        self._edits.append((node.start, node.end, new))

    def set(self, node: Node, name: str, value: str) -> None:
        """Change an attribute that the node has; one that it lacks is left out."""
        tag = self.data[node.start : node.inner]
        found = re.search(rb"\s" + re.escape(name.encode()) + rb"\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
        if found and node.attributes[name] != value:
            self._edits.append((node.start + found.start(1), node.start + found.end(1), quoteattr(value).encode()))

    def written(self) -> bytes:
        """The part's bytes with all edits in them; without edits, the very bytes that were read."""
        pieces, done = [], 0
        edits = self._edits + [self._append_edit(node, b"".join(new)) for node, new in self._appended.values()]
        # Of several insertions at one place the first asked for stands first.
        for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
            pieces += [self.data[done:start], new]
            done = end
        return b"".join([*pieces, self.data[done:]])

    def _append_edit(self, node: Node, new: bytes) -> tuple[int, int, bytes]:
        if node.inner < node.end:
            return (node.close, node.close, new)
        # An element of one tag is opened for what it holds from now on.
        name = re.match(rb"<([^\s/>]+)", self.data[node.start : node.inner])
        tag = name[1] if name else b""
        return (node.end - 2, node.end, b">" + new + b"</" + tag + b">")


_UTF_16: Final = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
_ENCODING: Final = re.compile(r"^(\s*<\?xml[^<>]*?\sencoding\s*=\s*)(\"[^\"]*\"|'[^']*')")


def in_utf8(data: bytes) -> bytes:
    """XML in UTF-8 that was in UTF-16; any other as it is."""
    if data[:2] not in _UTF_16:
        return data
    return _ENCODING.sub(r'\1"UTF-8"', data.decode(_UTF_16[data[:2]], "replace")).encode("utf-8", "replace")


_TAG_END: Final = re.compile(rb"[^\"'>]*(?:\"[^\"]*\"[^\"'>]*|'[^']*'[^\"'>]*)*>")


def _after_tag(data: bytes, index: int) -> int:
    """The place behind the tag that begins here; a quoted attribute may hold a closing bracket."""
    match = _TAG_END.match(data, index)
    return match.end() if match else len(data)
