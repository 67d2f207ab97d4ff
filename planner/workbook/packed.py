"""Parts that are packed to a file on the disk as they are written: no more than a portion of them is in memory."""

from __future__ import annotations

import re
import tempfile
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, Protocol

from isal import isal_zlib

from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# The level at which packing costs least beside making the text; a higher one saves a few hundredths of the size.
_LEVEL: Final = 1
_RAW: Final = -15
_MOST_WAITING: Final = 8
_ROW: Final = re.compile(rb'<row r="(\d+)"')
_END: Final = b"</sheetData>"


class Stream(Protocol):
    """A sheet's rows, written as they are asked for."""

    @property
    def last_row(self) -> int:
        """The last row's number, from 1."""

    @property
    def last_column(self) -> int:
        """The last column, from 0."""

    def chunks(self, looks: Sequence[int]) -> Iterator[bytes]:
        """The rows as XML, in portions; ``looks`` says where each cell format stands in the workbook."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A part as a package holds it: deflated, with its checksum and sizes."""

    file: IO[bytes]
    crc: int
    size: int
    packed_size: int

    @classmethod
    def of(cls, portions: Iterable[bytes]) -> Packed:
        """Pack a part portion by portion. Raises PlannerError where the disk takes no more."""
        # A file without a name, gone with its last reader.
        file = tempfile.TemporaryFile()  # noqa: SIM115
        packer = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _RAW)
        crc = size = 0

        def pack(portion: bytes) -> None:
            nonlocal crc, size
            crc = isal_zlib.crc32(portion, crc)
            size += len(portion)
            file.write(packer.compress(portion))

        try:
            # Portions are packed while the next are made; a few may wait, since many come at once.
            with ThreadPoolExecutor(1) as worker:
                packing: deque[Future[None]] = deque()
                for portion in portions:
                    packing.append(worker.submit(pack, portion))
                    if len(packing) > _MOST_WAITING:
                        packing.popleft().result()
                for each in packing:
                    each.result()
            file.write(packer.flush())
        except BaseException as error:
            file.close()
            if not isinstance(error, OSError):
                raise
            raise PlannerError(f"Cannot write the sheets to {tempfile.gettempdir()}: {error}.") from error
        return cls(file, crc, size, file.tell())


def filled(sheet: bytes, stream: Stream, looks: Sequence[int]) -> Iterator[bytes]:
    """A sheet's XML with its rows where they belong: behind those above them, before those below."""
    below = (match.start() for match in _ROW.finditer(sheet) if int(match[1]) > stream.last_row)
    place = next(below, sheet.rfind(_END))
    yield sheet[:place]
    yield from stream.chunks(looks)
    yield sheet[place:]
