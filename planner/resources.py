"""Where the files that travel with planner are: templates and sample workbooks, in a checkout and installed alike."""

from __future__ import annotations

from pathlib import Path


def folder(name: str) -> Path:
    """The folder of a kind of file: beside the package in a checkout, inside it once installed."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
