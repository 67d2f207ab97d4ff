"""The lines of a long list as XML, written one after another as they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planner.headers import column_letters
from planner.workbook.cell_xml import content, escaped, height_attributes, kind_of, stored
from planner.workbook.layout import line_height, lines_of_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.workbook.layout import Lines, Style

# Lines written at once.
_CHUNK: Final = 4096
# Texts of a column that are kept, as those of a few kinds are.
_MOST_KNOWN: Final = 2048


class LineStream:
    """A sheet's lines, in the form that cells written one by one have."""

    def __init__(self, lines: Lines, look: Callable[[Style], int]) -> None:
        self.lines = lines
        self.looks = [look(style) for style in lines.styles]
        self.linked = look(lines.linked)
        letters = [column_letters(at + 1) for at in range(len(self.looks))]
        # What stands between the row's numbers.
        self.pieces = ['<row r="', '"%s>' + f'<c r="{letters[0]}', *(f'%s<c r="{letter}' for letter in letters[1:])]
        self.pieces.append("%s</row>")
        self.wrapped = [lines.widths[column] if style.wrap else 0.0 for column, style in enumerate(lines.styles)]

    @property
    def last_row(self) -> int:
        """The last row's number, from 1."""
        return self.lines.first + self.lines.count

    @property
    def last_column(self) -> int:
        """The last column, from 0."""
        return len(self.looks) - 1

    def chunks(self, looks: Sequence[int]) -> Iterator[bytes]:
        """The rows as XML, in portions; ``looks`` says where each cell format stands in the workbook."""
        tails = [_Tails(f'" s="{looks[look]}"', f'" s="{looks[self.linked]}"') for look in self.looks]
        for first in range(0, self.lines.count, _CHUNK):
            rows = range(first, min(first + _CHUNK, self.lines.count))
            columns, links = self.lines.values(rows), self.lines.links(rows)
            heights = self._heights(columns, links)
            cells = [
                tail.of(column, links.get(at)) for at, (tail, column) in enumerate(zip(tails, columns, strict=True))
            ]
            made = zip(rows, zip(heights, *cells, strict=True), strict=True)
            yield "".join([str(self.lines.first + at + 1).join(self.pieces) % values for at, values in made]).encode()

    def _heights(self, columns: Sequence[Sequence[Any]], links: Mapping[int, Sequence[str]]) -> list[str]:
        """Each row's height, as the longest of its wrapped texts needs it."""
        most = [1] * len(columns[0])
        for at, (column, width) in enumerate(zip(columns, self.wrapped, strict=True)):
            if not width:
                continue
            lengths = [len(value or "") for value in column]
            if at in links:
                lengths = [0 if link else length for length, link in zip(lengths, links[at], strict=True)]
            if lines_of_length(max(lengths), width) > 1:
                # Texts differ more than their lengths.
                counts = {length: lines_of_length(length, width) for length in set(lengths)}
                most = list(map(max, most, map(counts.__getitem__, lengths)))
        heights = {count: height_attributes(line_height(count) if count > 1 else None) for count in set(most)}
        return list(map(heights.__getitem__, most))


class _Tails:
    """What follows the row's number in each cell of a column: its look and what it holds."""

    def __init__(self, look: str, linked: str) -> None:
        self.look, self.linked = look, linked
        self.known: dict[str | None, str] | None = {}

    def of(self, column: Sequence[Any], links: Sequence[str] | None) -> list[str]:
        """The tails of some rows on end."""
        if links is not None:
            return [
                self._linked(value, link) if link else self.look + content(value)
                for value, link in zip(column, links, strict=True)
            ]
        if self.known is None:
            return [self.look + content(value) for value in column]
        known = self.known
        for value in set(column) - known.keys():
            known[value] = self.look + content(value)
        if len(known) > _MOST_KNOWN:
            # Texts that differ from row to row are not worth keeping.
            self.known = None
        return list(map(known.__getitem__, column))

    def _linked(self, value: Any, formula: str) -> str:
        called = escaped(formula.removeprefix("="))
        return f"{self.linked}{kind_of(value)}><f>{called}</f><v>{stored(value)}</v></c>"
