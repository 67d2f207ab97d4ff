"""Files by path or by URL: plain paths are this system's own, a path with a protocol goes through fsspec."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Any, Final

from planner.files import replacing
from planner.issues import PlannerError

_PROTOCOL: Final = "://"
_LOCAL: Final = "file://"


def is_url(place: str) -> bool:
    """Whether a place is reached through fsspec: it has a protocol, and not that of this system's files.

    >>> is_url("s3://team/plans/a.xlsx"), is_url("plans/a.xlsx"), is_url("file:///plans/a.xlsx")
    (True, False, False)
    """
    return _PROTOCOL in place and not place.startswith(_LOCAL)


def plain(place: str) -> str:
    """A place as the other functions here take it: without the protocol of this system's files."""
    return place.removeprefix(_LOCAL)


def system_of(place: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it.

    Raises PlannerError where fsspec, or what it needs for this protocol, is not installed, or the place is not reached.
    """
    try:
        fsspec = importlib.import_module("fsspec.core")
    except ImportError:
        raise PlannerError(
            f"{place} is a URL, and fsspec is not installed here; pip install 'llm-capacity-planner[dask]'."
        ) from None
    try:
        system, path = fsspec.url_to_fs(place)
    except Exception as error:  # each file system raises its own kinds; the user needs the place's name.
        raise PlannerError(f"{place} cannot be reached: {_one_line(error)}.") from error
    return system, path


def join(folder: str, name: str) -> str:
    """A name within a folder, slashes between its parts."""
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else str(Path(folder, *name.split("/")))


def exists(place: str) -> bool:
    """Whether a file stands there."""
    if not is_url(place):
        return Path(place).is_file()
    system, path = system_of(place)
    return bool(system.isfile(path))


def read(place: str) -> bytes:
    """A file's bytes. Raises PlannerError where they cannot be read."""
    try:
        if not is_url(place):
            return Path(place).read_bytes()
        system, path = system_of(place)
        return bytes(system.cat_file(path))
    except FileNotFoundError:
        raise PlannerError(f"No such file: {place}.") from None
    except PlannerError:
        raise
    except Exception as error:  # as above
        raise PlannerError(f"{place} cannot be read: {_one_line(error)}.") from error


def write(place: str, data: bytes) -> None:
    """Write a file whole or not at all. Raises PlannerError where it cannot be written.

    An object store shows an object once it is whole; elsewhere a URL is written beside and moved to its place.
    """
    if not is_url(place):
        with replacing(Path(place)) as new:
            new.temporary.write_bytes(data)
        return
    system, path = system_of(place)
    beside = f"{path}.planner-tmp"
    try:
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
        system.pipe_file(beside, data)
        system.mv(beside, path)
    except Exception as error:  # as above
        raise PlannerError(f"Cannot write {place}: {_one_line(error)}.") from error


def remove(place: str) -> None:
    """Remove a file, if it is there."""
    if not is_url(place):
        Path(place).unlink(missing_ok=True)
    elif exists(place):
        system, path = system_of(place)
        system.rm(path)


def make_folder(place: str) -> None:
    """Have a folder. Raises PlannerError where it cannot be made."""
    try:
        if is_url(place):
            system, path = system_of(place)
            system.makedirs(path, exist_ok=True)
        else:
            Path(place).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise PlannerError(f"{place} is a file; name a folder for the results.") from None
    except OSError as error:
        raise PlannerError(f"The folder {place} cannot be made: {error.strerror or error}.") from None


def sha256_at(place: str) -> str:
    """The hash of a file's bytes, or an empty text where it cannot be read."""
    try:
        return hashlib.sha256(read(place)).hexdigest()
    except PlannerError:
        return ""


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
