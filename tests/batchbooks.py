"""Folders of small workbooks for the tests of batches: good ones, bad ones of each kind, and one that waits."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import time
import zipfile
from pathlib import Path

import openpyxl

OLE = bytes.fromhex("D0CF11E0A1B11AE1") + b"\0" * 600
HEADERS = [
    "Scenario",
    "Weights (GB)",
    "Bandwidth per device (GB/s)",
    "Efficiency",
    "Batch",
    "Prompt (tokens)",
    "Output (tokens)",
]
HEADERS += ["Prefill rate (tok/s)"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}


def book(*batches, weights: object = 140) -> bytes:
    """A workbook with a scenario for each batch size."""
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Scenarios"
    sheet.append(HEADERS)
    for batch in batches:
        sheet.append([f"Batch {batch}", weights, 3350, 0.85, batch, 2000, 500, 9000])
    data = io.BytesIO()
    workbook.save(data)
    return data.getvalue()


def zipped(**parts: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as package:
        for name, text in parts.items():
            package.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return data.getvalue()


def fill(folder: Path, *names: str) -> Path:
    """Good workbooks of these names, each with two scenarios of its own."""
    for number, name in enumerate(names, 1):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(book(number, number + 16))
    return folder


def no_scenarios() -> bytes:
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "nothing of the kind"
    data = io.BytesIO()
    workbook.save(data)
    return data.getvalue()


# Each kind of bad workbook: its name, its bytes, what is said of it.
BAD = (
    ("cut.xlsx", book(1)[:2000], "cut.xlsx is damaged: the package is cut short or broken. Use an intact copy."),
    ("empty.xlsx", b"", "empty.xlsx is empty; open it in Excel or LibreOffice and save it as .xlsx."),
    (
        "locked.xlsx",
        OLE,
        "locked.xlsx is password-protected, or an old .xls workbook; remove the password, or open it in Excel or "
        "LibreOffice and save it as .xlsx.",
    ),
    (
        "none.xlsx",
        no_scenarios(),
        "none.xlsx: No sheet has a row of headers that planner knows, such as Scenario, Parameters (billions), "
        "Precision, Bandwidth per device (GB/s). `planner new FILE.xlsx` writes a starter.",
    ),
    (
        "old.xls",
        OLE,
        "old.xls is an old .xls workbook; remove the password, or open it in Excel or LibreOffice and save it as .xlsx.",
    ),
    (
        "open.ods",
        zipped(content_dot_xml="<a/>"),
        "open.ods is an OpenDocument file; open it in Excel or LibreOffice and save it as .xlsx.",
    ),
    (
        "binary.xlsb",
        zipped(xl__workbook_dot_bin="x"),
        "binary.xlsb is a binary .xlsb workbook; open it in Excel or LibreOffice and save it as .xlsx.",
    ),
    (
        "text.xlsx",
        b"Scenario,Weights\n",
        "text.xlsx is not an Excel workbook (perhaps a text or .csv file); open it in Excel or LibreOffice and save it "
        "as .xlsx.",
    ),
)


class Waiting:
    """A workbook that a worker waits for: a pipe that nobody feeds, until it is let go as a plain file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._handle = -1

    def wait_for_a_reader(self, seconds: float = 60) -> None:
        """Return once a worker has it open, and keep it waiting."""
        deadline = time.monotonic() + seconds
        while self._handle < 0:
            try:
                self._handle = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def reader(self, pids, seconds: float = 20) -> int:
        """Which of these processes has it open; its own opening ends a moment after ours."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for pid in pids:
                for handle in Path(f"/proc/{pid}/fd").glob("*"):
                    with contextlib.suppress(OSError):
                        if handle.readlink() == self.path:
                            return pid
            time.sleep(0.01)
        self.let_go()
        raise AssertionError(f"none of {pids} reads {self.path}")

    def become(self, data: bytes) -> None:
        """Put a plain workbook in its place, for whoever opens it from now on."""
        plain = self.path.with_suffix(".plain")
        plain.write_bytes(data)
        plain.replace(self.path)

    def let_go(self, data: bytes = b"") -> None:
        """Give the one who waits these bytes and no more."""
        if self._handle >= 0:
            if data:
                os.write(self._handle, data)
            os.close(self._handle)
            self._handle = -1


def results(out: Path) -> dict[str, bytes]:
    """The results workbooks of a folder, by name."""
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*.results.xls?"))}
