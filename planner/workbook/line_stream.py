"""The lines of a long list as XML, written one after another as they are asked for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from planner.headers import column_letters
from planner.workbook.cell_xml import content, escaped, height_attributes, kind_of, stored
from planner.workbook.layout import line_height, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planner.workbook.layout import Lines, Style

# Lines written at once.
_CHUNK: Final = 4096


class LineStream:
    """A sheet's lines, in the form that cells written one by one have."""

    def __init__(self, lines: Lines, look: Callable[[Style], int]) -> None:
        self.lines = lines
        self.looks = [look(style) for style in lines.styles]
        self.linked = look(lines.linked)
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
        starts = [(f'<c r="{column_letters(at + 1)}', f'" s="{looks[look]}"') for at, look in enumerate(self.looks)]
        linked = f'" s="{looks[self.linked]}"'
        for first in range(0, self.lines.count, _CHUNK):
            rows = range(first, min(first + _CHUNK, self.lines.count))
            yield "".join([self._row(at, starts, linked) for at in rows]).encode()

    def _row(self, at: int, starts: Sequence[tuple[str, str]], linked: str) -> str:
        row = self.lines.first + at + 1
        cells, most = "", 1
        for (start, look), (value, formula), width in zip(starts, self.lines.line(at), self.wrapped, strict=True):
            if formula:
                called = escaped(formula.removeprefix("="))
                cells += f"{start}{row}{linked}{kind_of(value)}><f>{called}</f><v>{stored(value)}</v></c>"
                continue
            cells += f"{start}{row}{look}{_content(value)}"
            # A text of one line, as most are, needs no counting.
            if width and isinstance(value, str) and len(value) > width // 2:
                most = max(most, lines_of(value, width))
        return f'<row r="{row}"{height_attributes(line_height(most) if most > 1 else None)}>{cells}</row>'


@lru_cache(maxsize=4096)
def _content(value: Any) -> str:
    return content(value)
