"""Writing a file in one step: what stands at the path is the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# File systems take names of 255 bytes, and the temporary one is longer than the path's own.
_LONGEST_STEM: Final = 40
_TEMPORARY: Final = ".planner-tmp"
# A temporary file that a killed run left behind; a younger one may belong to a run that goes on.
_STALE_AFTER_S: Final = 24 * 3600.0
# How long a file that another program holds open is waited for.
_PATIENCE_S: Final = 2.0
_PAUSE_S: Final = 0.25


@dataclass(slots=True)
class Replacement:
    """A file being written: the temporary one, and the path that it takes the place of."""

    temporary: Path
    path: Path


@contextlib.contextmanager
def replacing(path: Path, *, beside: bool = False) -> Iterator[Replacement]:
    """A temporary file in the path's folder, which takes the path's place once it is whole.

    With ``beside``, a file that another program holds open is waited for, and then written beside it under
    another name; the replacement's ``path`` says where it went.
    Raises PlannerError where the folder or the file cannot be written.
    """
    path = path.resolve()
    if path.exists() and not os.access(path, os.W_OK):
        raise PlannerError(f"Cannot write {path}: it is write-protected.")
    _remove_stale(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem[:_LONGEST_STEM]}.", suffix=_TEMPORARY, dir=path.parent)
    except OSError as error:
        raise PlannerError(f"Cannot write into {path.parent}: {error.strerror or error}.") from error
    os.close(handle)
    new = Replacement(Path(name), path)
    try:
        if beside and _is_open_elsewhere(path):
            new.path = beside_name(path)
        yield new
        with new.temporary.open("rb+") as file:
            os.fsync(file.fileno())
        # mkstemp makes the file private; a result is as readable as any file the user makes.
        if path.exists():
            shutil.copymode(path, new.temporary)
            _keep_owner(path, new.temporary)
        else:
            new.temporary.chmod(0o666 & ~_umask())
        _put(new, beside=beside)
        _sync_folder(path.parent)
    except OSError as error:
        denied = "permission denied, or it is open in another program"
        said = denied if isinstance(error, PermissionError) else error.strerror or error
        raise PlannerError(f"Cannot write {path}: {said}.") from error
    finally:
        new.temporary.unlink(missing_ok=True)


def beside_name(path: Path) -> Path:
    """Where results go while another program holds the file open: a free name, so that nothing is written over.

    >>> beside_name(Path("plan.xlsx")).name
    'plan (planner results).xlsx'
    """
    number = 1
    while (free := path.with_name(f"{path.stem} (planner results{f' {number}' * (number > 1)}){path.suffix}")).exists():
        number += 1
    return free


def lock_files(path: Path) -> list[Path]:
    """The files by which Excel and LibreOffice say that they have a workbook open."""
    owner = path.with_name(f"~${path.name}")
    # Excel leaves out the first two letters of long names.
    short = path.with_name(f"~${path.name[2:]}")
    return [lock for lock in (owner, short, path.with_name(f".~lock.{path.name}#")) if lock.exists()]


def _is_open_elsewhere(path: Path) -> bool:
    """Whether a program holds the file open, after a while of waiting."""
    deadline = time.monotonic() + _PATIENCE_S
    while lock_files(path):
        if time.monotonic() > deadline:
            return True
        time.sleep(_PAUSE_S)
    return False


def _put(new: Replacement, *, beside: bool) -> None:
    """The temporary file to its place; Windows refuses while a program has the old file open."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            new.temporary.replace(new.path)
        except PermissionError:
            if not beside:
                raise
            if time.monotonic() > deadline:
                break
            time.sleep(_PAUSE_S)
        else:
            return
    new.path = beside_name(new.path)
    new.temporary.replace(new.path)


def _sync_folder(folder: Path) -> None:
    """Have the folder's new entry on the disk as well, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_stale(path: Path) -> None:
    """Remove what a run that was killed a day ago or more left behind."""
    with contextlib.suppress(OSError):
        for left in path.parent.iterdir():
            ours = left.name.startswith(f".{path.stem[:_LONGEST_STEM]}.") and left.suffix == _TEMPORARY
            if ours and time.time() - left.stat().st_mtime > _STALE_AFTER_S:
                left.unlink()


def _keep_owner(path: Path, temporary: Path) -> None:
    """Give the new file the old one's owner, where the system has owners and lets us."""
    with contextlib.suppress(OSError, AttributeError):
        was = path.stat()
        os.chown(temporary, was.st_uid, was.st_gid)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def back_up(path: Path) -> Path:
    """A copy of a file beside it, under the first free name such as ``plan.backup.xlsx``.

    Raises PlannerError where it cannot be written.
    """
    data, number, kept = path.read_bytes(), 1, path
    while kept.exists():
        kept = path.with_name(f"{path.stem}.backup{number if number > 1 else ''}{path.suffix}")
        if kept.exists() and kept.stat().st_size == len(data) and kept.read_bytes() == data:
            return kept
        number += 1
    with replacing(kept) as new:
        new.temporary.write_bytes(data)
    with contextlib.suppress(OSError):
        shutil.copystat(path, kept)
    return kept


# A line near the end of every report: by it planner knows a PDF that it may write over.
PDF_MARK: Final = b"%planner report\n"
# What may stand behind that line: where the file's table of objects is.
_PDF_END: Final = 1024


def refuse_target(path: Path, suffix: str, ours: Callable[[bytes], bool], *, force: bool) -> None:
    """Refuse to write over a file that planner did not make.

    Raises PlannerError for another ending, for a folder, and, unless forced, for a file that is not ours.
    """
    if path.suffix.lower() != suffix:
        raise PlannerError(f"{path.name} has another ending than {suffix}; name a {suffix} file.")
    try:
        data = path.read_bytes() if path.exists() else b""
    except IsADirectoryError:
        raise PlannerError(f"{path} is a folder; name a file in it.") from None
    except OSError as error:
        raise PlannerError(f"Cannot write {path}: {error.strerror or error}.") from None
    if data and not force and not ours(data):
        raise PlannerError(f"{path} is there already and is no work of planner's; --force writes over it.")


def is_our_pdf(data: bytes) -> bool:
    """Whether a PDF is a report of planner's."""
    return PDF_MARK in data[-_PDF_END:]
