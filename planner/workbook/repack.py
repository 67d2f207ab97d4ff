"""Writing a package anew with some parts changed, added or dropped; all others are copied as they are packed."""

from __future__ import annotations

import copy
import zipfile
from typing import IO, TYPE_CHECKING, Final

from planner.issues import PlannerError
from planner.workbook.package import part_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from planner.workbook.package import Package

_SIZES_FOLLOW: Final = 0x8
_LOCAL_HEADER: Final = 30
# A fixed time for every part that we write, so that a run that changes nothing gives the same bytes.
_TIME: Final = (1980, 1, 1, 0, 0, 0)


def write_package(
    package: Package, target: IO[bytes], changed: Mapping[str, bytes], dropped: Collection[str] = ()
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
                made.writestr(_entry(entry.filename), left.pop(key)[1])
            elif key not in gone:
                made.copy(package, entry)
        for part, data in left.values():
            made.writestr(_entry(part), data)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


class _Writer(zipfile.ZipFile):
    """A zip writer that copies entries of another package without unpacking them: as fast as copying the file."""

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
        stream = self.fp
        if stream is None:  # pragma: no cover  the writer is open for as long as it is used
            return
        new.header_offset = stream.tell()
        stream.write(new.FileHeader())
        stream.write(data[start : start + entry.compress_size])
        self.filelist.append(new)
        self.NameToInfo[new.filename] = new
        self.start_dir = stream.tell()
        self._didModify = True
