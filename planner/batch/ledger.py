"""What a batch remembers between runs: a line of JSON for each workbook that it is through with, and who is at work.

A line is appended in one write. A line that a killed run left half written is not read, so it costs its workbook
another run and nothing else; for the same reason no line waits for the disk: what counts is checked by its hash.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import hashlib
import json
import os
import platform
import time
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from filelock import FileLock, Timeout

from planner.batch import places
from planner.files import TEMPORARY, temporary_start
from planner.issues import PlannerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LEDGER: Final = "planner-batch.jsonl"
LOCK: Final = ".planner-batch.lock"
AT_WORK: Final = ".planner-batch.running.json"
# A store of objects takes no lines appended: there the whole ledger is written anew, this seldom.
_WRITTEN_EVERY_S: Final = 5.0


class Status(StrEnum):
    """What became of a workbook."""

    DONE = "done"
    # What planner says cannot be read or written.
    REFUSED = "refused"
    # A worker that died, too much time or memory, or a fault of planner's own.
    FAILED = "failed"
    # A copy of results that planner wrote and nobody has changed since.
    PASSED = "passed over"


@dataclass(frozen=True, slots=True)
class Output:
    """A file written: its name below the results folder, and the hash of its bytes."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of one workbook: as the ledger keeps it, and as the summary tells it.

    ``key`` is the hash of contents, options and version; ``left_out`` says what of it is missing although it is done;
    ``rows`` hold a value for each of ``columns``; ``issues`` are (severity, cell, what, what to do).
    """

    name: str
    source: str
    status: Status
    key: str = ""
    sha256: str = ""
    sheet: str = ""
    reason: str = ""
    trace: str = ""
    left_out: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    skipped_rows: int = 0
    errors: int = 0
    warnings: int = 0
    issues: tuple[tuple[str, str, str, str], ...] = ()
    best: str = ""
    # In which its amounts are compared, and to which the exchange rates of its rows lead.
    currency: str = ""
    seconds: float = 0.0
    tries: int = 1
    # Of this run's making alone: taken from the ledger as it was.
    kept: bool = field(default=False, compare=False)

    @property
    def whole(self) -> bool:
        """Whether a later run need not do it again: done, and no file of it is missing or elsewhere."""
        return self.status is Status.DONE and not self.left_out

    def as_line(self) -> bytes:
        """The ledger's line for it."""
        found = dataclasses.asdict(self)
        del found["kept"]
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def done_of(line: bytes) -> Done | None:
    """What a line of the ledger says, or None for half a line or one of another make."""
    try:
        found: dict[str, Any] = json.loads(line)
        found["status"] = Status(found["status"])
        found["outputs"] = tuple(Output(**output) for output in found["outputs"])
        for name in ("left_out", "columns"):
            found[name] = tuple(found[name])
        for name in ("rows", "issues"):
            found[name] = tuple(map(tuple, found[name]))
        return Done(**found)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def key_of(sha256: str, settings: Mapping[str, Any]) -> str:
    """The hash of a workbook's contents together with all that its results depend on."""
    text = json.dumps([sha256, settings], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class Ledger:
    """The ledger of a results folder: what it says of each workbook by name, and lines to add."""

    def __init__(self, out: str) -> None:
        self.out = out
        self.place = places.join(out, LEDGER)
        self.known: dict[str, Done] = {}
        self._remote = places.is_url(out)
        self._handle = -1
        self._written_at = 0.0
        data = places.read(self.place) if places.exists(self.place) else b""
        lines = data.splitlines()
        for line in lines:
            done = done_of(line)
            if done is not None:
                self.known[done.name] = done
        if self._remote:
            return
        if len(lines) > 2 * len(self.known) + 2 or (data and not data.endswith(b"\n")):
            places.write(self.place, b"".join(done.as_line() for done in self.known.values()))
        try:
            self._handle = os.open(
                self.place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666
            )
        except OSError as error:
            raise PlannerError(f"Cannot write {self.place}: {error.strerror or error}.") from error

    def holds(self, done: Done, key: str) -> bool:
        """Whether this is done already: with the same contents and options, and its files are there as written."""
        return done.whole and done.key == key and all(self._is_there(output) for output in done.outputs)

    def _is_there(self, output: Output) -> bool:
        return places.sha256_at(places.join(self.out, output.name)) == output.sha256

    def add(self, done: Done) -> None:
        """Remember a workbook. Raises PlannerError where the line cannot be written."""
        self.known[done.name] = done
        if self._remote:
            if time.monotonic() - self._written_at > _WRITTEN_EVERY_S:
                self.flush()
            return
        line = done.as_line()
        try:
            while line:
                line = line[os.write(self._handle, line) :]
        except OSError as error:
            raise PlannerError(f"Cannot write {self.place}: {error.strerror or error}.") from error

    def flush(self) -> None:
        """Have everything added on the disk, or in the store."""
        if self._remote:
            places.write(self.place, b"".join(done.as_line() for done in self.known.values()))
            self._written_at = time.monotonic()
        else:
            with contextlib.suppress(OSError):
                os.fsync(self._handle)

    def close(self) -> None:
        """Flush, and let go of the file."""
        self.flush()
        if not self._remote:
            os.close(self._handle)


@contextlib.contextmanager
def at_work(out: str) -> Iterator[str]:
    """Hold a results folder for this run alone; gives a token that stands in a file there meanwhile.

    The system lets go of the lock of a run that died. Where its file is not shared between hosts, the file that says
    who is at work holds others off. Raises PlannerError where another run is at work.
    """
    remote, sign = places.is_url(out), places.join(out, AT_WORK)
    lock = None if remote else FileLock(places.join(out, LOCK))
    try:
        if lock:
            lock.acquire(timeout=0)
    except Timeout:
        raise PlannerError(f"{_who(sign)} is at work on {out}; wait for it, or name another folder.") from None
    except OSError as error:
        raise PlannerError(f"Cannot write into {out}: {error.strerror or error}.") from None
    token = uuid.uuid4().hex
    try:
        if places.exists(sign) and (remote or _signed(sign).get("host") not in {None, platform.node()}):
            raise PlannerError(
                f"{_who(sign)} is at work on {out}, or died there; wait for it, or delete {sign} if it is over."
            )
        began = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        said = {"pid": os.getpid(), "host": platform.node(), "since": began, "token": token}
        places.write(sign, json.dumps(said).encode())
        if _signed(sign).get("token") != token:
            raise PlannerError(f"{_who(sign)} has just begun to work on {out}; wait for it, or name another folder.")
        try:
            yield token
        finally:
            places.remove(sign)
    finally:
        if lock:
            lock.release()


def is_held(out: str, token: str) -> bool:
    """Whether the run of this token is at work on a folder, seen from here: else it is another folder of that name."""
    return _signed(places.join(out, AT_WORK)).get("token") == token


def _signed(sign: str) -> dict[str, Any]:
    try:
        found = json.loads(places.read(sign))
    except (PlannerError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _who(sign: str) -> str:
    said = _signed(sign)
    if not said:
        return "Another batch"
    return f"Another batch (process {said.get('pid')} on {said.get('host')}, since {said.get('since')})"


def tidy(out: str, names: list[str]) -> None:
    """Remove the temporary files that killed workers left of these files; nobody else writes them now."""
    if places.is_url(out):
        return
    starts: dict[Path, set[str]] = {}
    for name in names:
        path = Path(places.join(out, name))
        starts.setdefault(path.parent, set()).add(temporary_start(path))
    for folder, own in starts.items():
        for left in folder.glob(f".*{TEMPORARY}"):
            if left.name[: left.name.rindex(".", 0, -len(TEMPORARY)) + 1] in own:
                with contextlib.suppress(OSError):
                    left.unlink()
