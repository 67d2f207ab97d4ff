"""Which workbooks a batch is asked for: folders, globs and lists to sources, each with its name below the results."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from planner.batch import places
from planner.batch.ledger import LEDGER
from planner.issues import PlannerError
from planner.workbook.merge import Copy, copy_at
from planner.workbook.package import package_of
from planner.workbook.write import is_our_workbook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What a folder is searched for; those that planner does not read are refused with their cure, not passed over.
ENDINGS: Final = frozenset({".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"})
_MAGIC: Final = re.compile(r"[*?\[]")
_OURS: Final = re.compile(r"(\.results(\.backup\d*)?| \(planner results( \d+)?\))$", re.IGNORECASE)
_BACKUP: Final = re.compile(r"\.backup\d*$", re.IGNORECASE)
SUMMARY: Final = "summary"


@dataclass(frozen=True, slots=True)
class Found:
    """A workbook to run: where it is, and its name and its report's below the results, slashes between the parts."""

    source: str
    name: str
    report: str


@dataclass(frozen=True, slots=True)
class Said:
    """A place and what is said of it: why it is passed over, or what is wrong with it."""

    source: str
    why: str


@dataclass(slots=True)
class Scan:
    """What a search comes to: workbooks to run, files passed over with the reason, and what is not there."""

    found: list[Found] = field(default_factory=list)
    passed: list[Said] = field(default_factory=list)
    missing: list[Said] = field(default_factory=list)


def read_list(path: str) -> list[str]:
    """The lines of a list of workbooks, blank ones and those that begin with # left out; ``-`` is standard input.

    Raises PlannerError where the list cannot be read.
    """
    try:
        text = sys.stdin.read() if path == "-" else places.read(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PlannerError(f"{path} is no list of paths: it is not text in UTF-8.") from None
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def scan(asked: Iterable[str], out: str) -> Scan:
    """The workbooks of folders (with their sub-folders), globs, lists (``@list.txt``) and single paths.

    A workbook keeps its sub-folder below the folder or the glob's fixed part that led to it. Where two would then
    have one name, all keep their folders from the deepest folder that they have in common.
    A workbook named twice runs once.
    """
    scanned, names = Scan(), {}
    for one in _unlisted(asked):
        for source, base in _sources(places.plain(one), out, scanned):
            real = source if places.is_url(source) else os.path.realpath(source)
            if real not in names:
                names[real] = (source, _below(base, source))
    for real, (source, _) in list(names.items()):
        if why := _passed_over(source):
            scanned.passed.append(Said(source, why))
            del names[real]
    given = [name.casefold() for _, name in names.values()]
    if len(set(given)) < len(given):
        below = _below_common([source for source, _ in names.values()])
        names = {real: (source, below[source]) for real, (source, _) in names.items()}
    pairs = sorted(names.values(), key=lambda pair: pair[1])
    scanned.found = [Found(source, name, report) for (source, name), report in zip(pairs, _reports(pairs), strict=True)]
    scanned.passed.sort(key=lambda said: said.source)
    return scanned


def _reports(pairs: list[tuple[str, str]]) -> Iterator[str]:
    """Each workbook's report; plan.xlsm keeps its ending in it where plan.xlsx stands beside it."""
    stems = Counter(PurePosixPath(name).with_suffix("").as_posix().casefold() for _, name in pairs)
    for _, name in pairs:
        stem, suffix = PurePosixPath(name).with_suffix("").as_posix(), PurePosixPath(name).suffix
        shared = stems[stem.casefold()] > 1 and suffix.lower() != ".xlsx"
        yield f"{name if shared else stem}.report.pdf"


def _unlisted(asked: Iterable[str]) -> Iterator[str]:
    for one in asked:
        if one.startswith("@"):
            yield from read_list(one[1:])
        else:
            yield one


def _sources(one: str, out: str, scanned: Scan) -> Iterator[tuple[str, str]]:
    """Each file that an argument stands for, with the folder below which it keeps its name."""
    if places.is_url(one):
        yield from _remote(one, out, scanned)
        return
    path = Path(one)
    if path.is_dir():
        yield from ((file, one) for file in _walked(path, Path(out), scanned))
    elif path.exists() or not _MAGIC.search(one):
        if path.exists():
            yield one, str(path.parent)
        else:
            scanned.missing.append(Said(one, f"No such file or folder: {one}."))
    else:
        matches = sorted(glob.glob(one, recursive=True))  # noqa: PTH207  it may be absolute
        if not matches:
            scanned.missing.append(Said(one, f"Nothing matches {one}."))
        fixed = _fixed_part(one)
        for match in matches:
            if Path(match).is_dir():
                yield from ((file, fixed) for file in _walked(Path(match), Path(out), scanned))
            elif Path(match).suffix.lower() in ENDINGS or match.endswith("#"):
                yield match, fixed


def _walked(folder: Path, out: Path, scanned: Scan) -> Iterator[str]:
    """The workbooks below a folder, in order; hidden folders, and the results of batches, are not entered."""

    def unread(error: OSError) -> None:
        scanned.missing.append(Said(str(error.filename), f"{error.filename} cannot be read: {error.strerror}."))

    for where, folders, files in os.walk(folder, onerror=unread):
        here = Path(where)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not (here / name / LEDGER).exists() and not _same(here / name, out)
        )
        for name in sorted(files):
            lock = name.startswith((".~lock.", "~$"))
            if lock or (Path(name).suffix.lower() in ENDINGS and not name.startswith(".")):
                yield str(here / name)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _remote(one: str, out: str, scanned: Scan) -> Iterator[tuple[str, str]]:
    system, path = places.system_of(one)
    if system.isdir(path):
        listed, base = system.find(path), path
    elif _MAGIC.search(path):
        listed, base = system.glob(path), _fixed_part(path)
    elif system.isfile(path):
        listed, base = [path], path.rpartition("/")[0]
    else:
        listed, base = [], ""
    if not listed:
        scanned.missing.append(Said(one, f"No workbook at {one}."))
    inside = places.system_of(out)[1].rstrip("/") + "/" if places.is_url(out) else None
    for file in sorted(listed):
        hidden = any(part.startswith(".") and not part.startswith(".~lock.") for part in file.split("/"))
        if (inside and file.startswith(inside)) or hidden:
            continue
        if Path(file).suffix.lower() in ENDINGS or file.endswith("#"):
            yield system.unstrip_protocol(file), system.unstrip_protocol(base)


def _fixed_part(pattern: str) -> str:
    """The folder of a glob before its first part with a wildcard.

    >>> _fixed_part("plans/2026/*/q?.xlsx"), _fixed_part("*.xlsx")
    ('plans/2026', '.')
    """
    pattern, fixed = pattern.replace(os.sep, "/"), []
    for part in pattern.split("/")[:-1]:
        if _MAGIC.search(part):
            break
        fixed.append(part)
    return "/".join(fixed) or ("/" if pattern.startswith("/") else ".")


def _below(base: str, source: str) -> str:
    """A source's name below a folder, slashes between its parts."""
    if places.is_url(source):
        return source.removeprefix(base.rstrip("/") + "/")
    return Path(os.path.relpath(source, base)).as_posix()


def _below_common(sources: list[str]) -> dict[str, str]:
    """Each source's name below the deepest folder that holds all; names of other drives and protocols keep those."""
    full = {
        source: source.replace("://", "/") if places.is_url(source) else Path(source).resolve().as_posix()
        for source in sources
    }
    parts = {source: [part.replace(":", "") for part in path.split("/") if part] for source, path in full.items()}
    # Of lists it compares the parts.
    common = len(os.path.commonprefix([path[:-1] for path in parts.values()]))  # noqa: RUF071
    return {source: "/".join(path[common:]) for source, path in parts.items()}


def _passed_over(source: str) -> str:
    """Why a file is no workbook to run, or nothing."""
    folder, name = os.path.split(source)
    if name.startswith("~$") or (name.startswith(".~lock.") and name.endswith("#")):
        return "a lock file: a program has the workbook open, or crashed with it"
    stem, suffix = Path(name).stem, Path(name).suffix
    if suffix.lower() not in {".xlsx", ".xlsm"}:
        return ""
    if _OURS.search(stem) and _is_ours(source):
        return "results that planner wrote"
    if _BACKUP.search(stem) and places.exists(places.join(folder or ".", _BACKUP.sub("", stem) + suffix)):
        return "a backup of the workbook beside it"
    if stem.casefold() == SUMMARY and places.exists(places.join(folder or ".", LEDGER)) and _is_ours(source):
        return "the summary of a batch"
    return ""


def _is_ours(source: str) -> bool:
    """Whether planner wrote a workbook, whatever was typed into it since."""
    try:
        data = places.read(source)
        return is_our_workbook(data) or copy_at(package_of(data, Path(source))) is not Copy.FOREIGN
    except PlannerError:
        return False
