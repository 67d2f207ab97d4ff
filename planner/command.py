"""The program as its users name it: a command as this system's command line takes it, and the version."""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def quoted(words: Sequence[str]) -> str:
    """Words as this system's command line takes them."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def version() -> str:
    """The version; looked up and not imported, since the package's front names every floor above."""
    return str(importlib.import_module("planner").__version__)
