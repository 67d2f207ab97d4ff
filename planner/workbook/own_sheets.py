"""Empty tables for a user's own devices, models and report settings, as the starter workbook has them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from planner import catalog
from planner.columns import header
from planner.library_columns import DEVICE_COLUMNS, MODEL_COLUMNS
from planner.settings import settings
from planner.settings_sheet import SHEET as SETTINGS_SHEET
from planner.workbook.head import HEAD, HEAD_OPTIONAL, HEADER_ROW, ROWS_OFFERED, note_of
from planner.workbook.layout import BLUE, GREY, LINE, CellOut, Choice, Sheet, Style, wrapped_heights
from planner.workbook.table_sheets import LEDE, TITLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.columns import Column

# What a row of one's own may look like; it stands in the notes of the headers, so that nobody plans on it.
_DEVICE_EXAMPLE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "name": "H100 tuned",
        "device_class": "Data-centre HBM",
        "memory_gb": "80 GiB",
        "bandwidth_gb_s": "3.2 TB/s",
        "fp16_tflop_s": "989",
        "source": "our measurement of May",
    }
)
_MODEL_EXAMPLE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "name": "our 13B",
        "params_b": "13.0",
        "layers": "40",
        "heads": "40",
        "kv_heads": "8",
        "head_dim": "128",
        "native_precision": "BF16",
        "weights_gb": "26.1",
    }
)
_OWN_LEDE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Devices": "One row a device of your own; scenarios that name it take their blanks from it before all else.",
        "Models": "One row a model of your own: by hand, or as `planner catalog import FILE --csv` prints it.",
    }
)
_REQUIRED: Final = (
    "The dark headers are required, all else is optional; point at a header for its meaning and an example."
)


def own_sheets() -> list[Sheet]:
    """The empty sheets `Devices`, `Models` and `Report` of the starter workbook."""
    return [
        _own_sheet("Devices", DEVICE_COLUMNS, _DEVICE_EXAMPLE),
        _own_sheet("Models", MODEL_COLUMNS, _MODEL_EXAMPLE),
        _report_sheet(),
    ]


_REPORT_LEDE: Final = (
    "What stands in column B goes on the PDF report; all of it is optional. Decision, Introduction and Notes may take "
    "several rows: insert rows with the same word in column A."
)
_REPORT_HEADS: Final = ("Setting", "Value", "Owner", "By", "What it is", "Accepted values")
_REPORT_WIDTHS: Final = {0: 16.0, 1: 52.0, 2: 20.0, 3: 13.0, 4: 62.0, 5: 46.0}
_TYPED: Final = Style(colour=BLUE, bottom=LINE, wrap=True, top_aligned=True)
_SAID: Final = Style(bottom=LINE, wrap=True, top_aligned=True)


def _report_sheet() -> Sheet:
    """Every setting of the report, without a value."""
    cells = [
        CellOut(0, 0, "The report's settings", style=TITLE),
        CellOut(1, 0, _REPORT_LEDE, style=LEDE),
        *(CellOut(HEADER_ROW, column, head, style=HEAD_OPTIONAL) for column, head in enumerate(_REPORT_HEADS)),
    ]
    choices = []
    for row, setting in enumerate(settings().values(), HEADER_ROW + 1):
        cells.append(CellOut(row, 0, setting.label, style=Style(bold=True, bottom=LINE, top_aligned=True)))
        cells += [CellOut(row, column, None, style=_TYPED) for column in (1, 2, 3)]
        cells += [
            CellOut(row, column, text, style=_SAID) for column, text in ((4, setting.help), (5, setting.accepted))
        ]
        if setting.words:
            choices.append(
                Choice(area=(row, 1, row, 1), values=setting.words, title=setting.label, message=setting.help)
            )
    return Sheet(
        name=SETTINGS_SHEET,
        cells=cells,
        widths=_REPORT_WIDTHS,
        heights=wrapped_heights(cells, _REPORT_WIDTHS),
        freeze=(HEADER_ROW + 1, 1),
        choices=choices,
        repeat_rows=(HEADER_ROW, HEADER_ROW),
        tab=GREY,
    )


def _own_sheet(name: str, columns: Mapping[str, Column], example: Mapping[str, str]) -> Sheet:
    """An empty table for rows of the user's own, with a line on what it is for."""
    needed = {"name", "bandwidth_gb_s", "params_b"}
    # What an example shows comes first, then the rest in the catalogue's order.
    shown = {key: columns[key] for key in (*example, *(key for key in columns if key not in example))}
    cells = [
        CellOut(0, 0, f"Your own {name.lower()}", style=TITLE),
        CellOut(1, 0, _OWN_LEDE[name], style=LEDE),
        CellOut(2, 0, _REQUIRED, style=LEDE),
        *(
            CellOut(HEADER_ROW, column, header(key, declared), style=HEAD if key in needed else HEAD_OPTIONAL)
            for column, (key, declared) in enumerate(shown.items())
        ),
    ]
    notes = {
        (HEADER_ROW, column): note_of(key, declared) + (f" Example: {example[key]}." if key in example else "")
        for column, (key, declared) in enumerate(shown.items())
    }
    last = HEADER_ROW + ROWS_OFFERED
    return Sheet(
        name=name,
        cells=cells,
        widths={column: 24.0 if key in {"name", "source", "notes"} else 14.0 for column, key in enumerate(shown)},
        freeze=(HEADER_ROW + 1, 1),
        notes=notes,
        heights={HEADER_ROW: 48.0},
        choices=[
            Choice(
                area=(HEADER_ROW + 1, column, last, column),
                values=tuple(catalog.DEVICE_CLASSES.values()),
                title=declared.label,
                message=declared.help[:255],
            )
            for column, (key, declared) in enumerate(shown.items())
            if key == "device_class"
        ],
        repeat_rows=(HEADER_ROW, HEADER_ROW),
        tab=GREY,
    )
