"""The tables of the README that come from the code. `python tests/readme.py` writes them in."""

from __future__ import annotations

import re
from pathlib import Path

from planner import units
from planner.columns import Text
from planner.functions import EXCEL_FUNCTIONS
from planner.plan.scenario import COLUMNS
from planner.settings import option_of, settings
from planner.workbook.starter import STARTER

README = Path(__file__).parent.parent / "README.md"


def columns(*, common: bool) -> str:
    lines = ["| column | unit | accepted | what it is |", "|---|---|---|---|"]
    for name, column in (STARTER if common else COLUMNS).items():
        if not common and name in STARTER:
            continue
        accepted = "text" if type(column.rule) is Text else column.rule.accepted
        lines.append(f"| {column.label} | {units.unit_of(name).symbol} | {accepted} | {column.help} |")
    return "\n".join(lines)


def functions() -> str:
    lines = ["| function | what it gives |", "|---|---|"]
    lines += [f"| `{function.signature}` | {function.summary} |" for function in EXCEL_FUNCTIONS]
    return "\n".join(lines)


def report_settings() -> str:
    lines = ["| setting | option | accepted | what it is |", "|---|---|---|---|"]
    lines += [
        f"| {setting.label} | `{option_of(name)}` | {setting.accepted} | {setting.help.replace('|', '&#124;')} |"
        for name, setting in settings().items()
    ]
    return "\n".join(lines)


TABLES = (
    ("settings", report_settings()),
    ("columns", columns(common=True)),
    ("further columns", columns(common=False)),
    ("functions", functions()),
)


def filled(text: str) -> str:
    for name, table in TABLES:
        pattern = rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)"
        text = re.sub(pattern, lambda match, table=table: f"{match[1]}{table}\n{match[2]}", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    README.write_text(filled(README.read_text("utf-8")), "utf-8")
