"""Writing a file in one step: what stands at the path is the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# File systems take names of 255 bytes, and the temporary one is longer than the path's own.
_LONGEST_STEM: Final = 40


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file in the path's folder, which takes the path's place once it is whole.

    Raises PlannerError where the folder or the file cannot be written.
    """
    path = path.resolve()
    if path.exists() and not os.access(path, os.W_OK):
        raise PlannerError(f"Cannot write {path}: it is write-protected.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem[:_LONGEST_STEM]}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise PlannerError(f"Cannot write into {path.parent}: {error.strerror or error}.") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        # mkstemp makes the file private; a result is as readable as any file the user makes.
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        denied = "permission denied, or it is open in another program"
        said = denied if isinstance(error, PermissionError) else error.strerror or error
        raise PlannerError(f"Cannot write {path}: {said}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


# Behind the last line of every report: by it planner knows a PDF that it may write over.
PDF_MARK: Final = b"%planner report\n"


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
    return data.endswith(PDF_MARK)
