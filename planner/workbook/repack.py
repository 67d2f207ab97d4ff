"""Writing a package anew with some parts changed, added or dropped; all others are copied as they are packed."""

from __future__ import annotations

import copy
import shutil
import zipfile
from typing import IO, TYPE_CHECKING, Final

from planner.issues import PlannerError
from planner.workbook.package import part_name
from planner.workbook.packed import Packed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from planner.workbook.package import Package

_SIZES_FOLLOW: Final = 0x8
_LOCAL_HEADER: Final = 30
_PORTION: Final = 1 << 20
# A fixed time for every part that we write, so that a run that changes nothing gives the same bytes.
_TIME: Final = (1980, 1, 1, 0, 0, 0)


def write_package(
    package: Package, target: IO[bytes], changed: Mapping[str, bytes | Packed], dropped: Collection[str] = ()
) -> None:
    """Write the package: changed parts in their place, new ones behind all others, the rest byte for byte.

    Raises PlannerError where the package's own directory leads astray.
    """
    left = {part.casefold(): (part, data) for part, data in changed.items()}
    gone = {part.casefold() for part in dropped}
    with _Writer(target, "w", zipfile.ZIP_DEFLATED) as made:
        for entry in package.listed:
            key = part_name(entry.filename).casefold()
            if key in left:
                made.put(entry.filename, left.pop(key)[1])
            elif key not in gone:
                made.copy(package, entry)
        for part, data in left.values():
            made.put(part, data)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


class _Writer(zipfile.ZipFile):
    """A zip writer that copies entries of another package without unpacking them: as fast as copying the file."""

    def put(self, part: str, data: bytes | Packed) -> None:
        """A part of ours, which may be packed already; its file is done with then."""
        if not isinstance(data, Packed):
            self.writestr(_entry(part), data)
            return
        new = _entry(part)
        new.CRC, new.file_size, new.compress_size = data.crc, data.size, data.packed_size
        stream = self._begin(new)
        with data.file:
            data.file.seek(0)
            shutil.copyfileobj(data.file, stream, _PORTION)
        self._end(new)

    def _begin(self, new: zipfile.ZipInfo) -> IO[bytes]:
        stream = self.fp
        if stream is None:  # pragma: no cover  the writer is open for as long as it is used
            raise PlannerError("The package is closed.")
        new.header_offset = stream.tell()
        stream.write(new.FileHeader())
        return stream

    def _end(self, new: zipfile.ZipInfo) -> None:
        self.filelist.append(new)
        self.NameToInfo[new.filename] = new
        self.start_dir = self.fp.tell() if self.fp else 0
        self._didModify = True

    def copy(self, package: Package, entry: zipfile.ZipInfo) -> None:
        data = package.data
        header = data[entry.header_offset : entry.header_offset + _LOCAL_HEADER]
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise PlannerError(f"{package.path} is damaged: its part {entry.filename} cannot be read.")
        # The local header's own lengths: its extra field often differs from the directory's.
        skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        start = entry.header_offset + _LOCAL_HEADER + skip
        new = copy.copy(entry)
        # The sizes stand in the header from now on, not behind the data.
        new.flag_bits &= ~_SIZES_FOLLOW
        new.extra = b""
        self._begin(new).write(data[start : start + entry.compress_size])
        self._end(new)
