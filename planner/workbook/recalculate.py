"""A workbook's own formulas worked out anew by LibreOffice, in a copy; the workbook itself is not touched."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.issues import PlannerError
from planner.workbook.package import package_of

if TYPE_CHECKING:
    from planner.workbook.package import Package

_LONGEST_S: Final = 180
# Always: by default LibreOffice keeps the values that another program stored.
_SETTINGS: Final = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse">
<value>3</value></prop></item>
</oor:items>
"""


def libreoffice() -> str:
    """LibreOffice's command. Raises PlannerError where it is not at hand."""
    for name in ("soffice", "libreoffice"):
        found = shutil.which(name)
        if found:
            return found
    for place in (
        "/Applications/LibreOffice.app/Contents/MacOS/soffice",
        r"C:\Program Files\LibreOffice\program\soffice.exe",
    ):
        if Path(place).exists():
            return place
    raise PlannerError(
        "--recalculate needs LibreOffice, and no soffice command is at hand; install it, or recalculate "
        "and save the workbook in Excel."
    )


def recalculated(package: Package) -> Package:
    """The workbook with every formula worked out, as a package to read values from.

    Raises PlannerError where LibreOffice is not at hand, takes too long, or cannot read the workbook.
    """
    command = libreoffice()
    with tempfile.TemporaryDirectory(prefix="planner-") as folder:
        home, source = Path(folder) / "home", Path(folder) / f"workbook{package.path.suffix or '.xlsx'}"
        (home / "user").mkdir(parents=True)
        (home / "user" / "registrymodifications.xcu").write_text(_SETTINGS, "utf-8")
        source.write_bytes(package.data)
        made = Path(folder) / "out" / "workbook.xlsx"
        words = [command, f"-env:UserInstallation={home.as_uri()}", "--headless", "--norestore", "--convert-to", "xlsx"]
        try:
            words += ["--outdir", str(made.parent), str(source)]
            # The command is LibreOffice's own, the arguments are ours.
            subprocess.run(words, capture_output=True, timeout=_LONGEST_S, check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            raise PlannerError(f"LibreOffice took more than {_LONGEST_S} s over {package.path}.") from None
        except OSError as error:
            raise PlannerError(f"LibreOffice cannot be run: {error.strerror or error}.") from None
        if not made.exists():
            raise PlannerError(f"LibreOffice could not read {package.path}, so its formulas stay as they are.")
        return package_of(made.read_bytes(), package.path)
