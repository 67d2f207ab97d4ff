"""Where the files that travel with planner are: the report's templates and the sample workbook."""

from __future__ import annotations

from pathlib import Path


def folder(name: str) -> Path:
    """The folder of a kind of file: beside the package in a checkout, inside it once installed."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
