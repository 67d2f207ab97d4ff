"""Rows written by patterns and lists written line by line are what XlsxWriter writes cell by cell."""

from __future__ import annotations

import gc
import random
import zlib
from dataclasses import replace
from xml.etree import ElementTree as ET

import openpyxl
import pytest

from planner import Scenario, study_of
from planner.job import Job, run, write_results
from planner.plan.study import LARGE
from planner.workbook import cell_xml, large, line_stream, row_stream, sheets, write
from planner.workbook.package import open_package
from planner.workbook.packed import Packed
from planner.workbook.read import read_workbook
from planner.workbook.results_sheet import Functions
from planner.workbook.row_shapes import RowShapes
from planner.workbook.sheets import result_sheets
from planner.workbook.starter import write_starter

BASE = Scenario(
    name="S", device="H100 SXM", model="Llama-3.1-70B", precision="FP8", prompt_tokens=2000, output_tokens=500
)


MANY = 40
RENTED = {"device_cost_h": 2.5, "busy_share": 0.6, "currency": "USD"}
OWNED = {
    "device_capex_cost": 30_000.0,
    "device_residual_cost": 3_000.0,
    "useful_life_years": 4.0,
    "device_power_w": 700.0,
    "tariff_cost_kwh": 0.12,
    "pue": 1.3,
    "busy_share": 0.5,
    "currency": "USD",
}
API = {"api": "Hosted", "input_cost_m": 0.5, "output_cost_m": 1.5}
MONEY = (
    RENTED,
    {**RENTED, "busy_share": None},
    {**RENTED, "busy_share": None, "offered_requests_per_hour": 500.0},
    {**RENTED, "busy_share": None, "offered_requests_per_hour": 1e7},
    {**RENTED, **API, "cached_tokens": 500.0, "cached_cost_m": 0.05, "cache_write_cost_m": 0.6},
    {**RENTED, **API, "cached_tokens": 500.0, "cache_write_tokens": 300.0, "split": "layers"},
    {**RENTED, **API, "input_cost_m": 0.0, "output_cost_m": 0.0},
    {**RENTED, "price_source": "a quote", "price_day": "2026-10-01", "staff_cost_month": 9000.0},
    {"instance_cost_h": 30.0, "instance_devices": 8.0, "busy_share": 0.4, "currency": "USD"},
    OWNED,
    {**OWNED, **API, "device_hosting_cost_month": 50.0, "device_licence_cost_month": 20.0},
    {**OWNED, "device_power_w": None, "tariff_cost_kwh": None, "device_support_cost_month": 9.0},
    {**OWNED, "currency": "EUR", "exchange_rate": 1.1, "exchange_day": "2026-10-01"},
    {**RENTED, **API, "currency": "EUR", "exchange_rate": 1.1, "exchange_day": "2026-10-01"},
    {**RENTED, **API, "currency": "EUR"},
    {**RENTED, "currency": "GBP", "exchange_rate": 1.3},
    {**RENTED, "currency": None},
    {**API, "currency": "USD"},
    {**API, "currency": "EUR", "busy_share": 0.3},
    {**RENTED, "target_tokens_per_sec": 30.0, "target_response_s": 20.0},
    {"requests_month": 1e6},
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Patterns for fewer scenarios than would pay for them."""
    monkeypatch.setattr(sheets, "PATTERNED_FROM", MANY)


def scenarios(count):
    """Scenarios of many kinds: named and typed, dense and of experts, loaded and idle, with odd texts among them."""
    dice = random.Random(7)
    names = [
        "plain",
        "=HYPERLINK(1)",
        'a "quoted" & <odd> one',
        "_x0041_ escape",
        "50% of it",
        "\u5bb9\u91cf",
        "# hash",
        "x" * 300,
    ]
    kinds = [
        Scenario(weights_gb=140.5, bandwidth_gb_s=3350, efficiency=0.85),
        replace(BASE, prefill_tokens_per_sec=9000, efficiency=0.7),
        *(
            replace(
                BASE,
                device=dice.choice(["H100 SXM", "A100 SXM4 80GB", "RTX 4090"]),
                model=model,
                precision=dice.choice(["FP16", "FP8", "INT4"]),
                devices=dice.choice([1.0, 2.0, 4.0]),
                offered_requests_per_hour=dice.choice([None, 100.0, 5e4]),
                engine=dice.choice([None, "vLLM"]),
                notes=dice.choice(["", "a note that is long enough to be wrapped in its cell " * 3]),
            )
            for model in ("Llama-3.1-70B", "Llama-3.1-8B", "Mixtral-8x7B-v0.1", "gpt-oss-20b") * 2
        ),
    ]
    return [
        replace(dice.choice(kinds), name=f"{dice.choice(names)} {number}", batch=float(dice.choice([2, 8, 64])))
        for number in range(count)
    ]


def priced(money=MONEY):
    """Each kind of money with and without an estimate, twice: with numbers of its own in the same columns."""
    bases = [replace(BASE, prefill_tokens_per_sec=9000, batch=8.0), Scenario(weights_gb=140.5, bandwidth_gb_s=3350)]
    return [
        replace(base, name=f"{kind} {turn}", devices=2.0 * turn, **{name: _times(value, turn) for name, value in given})
        for base in bases
        for kind, given in enumerate(each.items() for each in money)
        for turn in (1, 2)
    ]


def _times(value, turn):
    """A number that is another one in the second turn."""
    return value / turn if isinstance(value, float) and value >= 2 else value


MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def looks_of(package):
    """What each cell format of a workbook looks like, whatever its number."""
    root = ET.fromstring(package.read(package.linked("styles")))
    plain = lambda node: ET.tostring(node).decode()  # noqa: E731
    parts = {kind: list(map(plain, root.find(MAIN + kind) or ())) for kind in ("fonts", "fills", "borders")}
    codes = {node.get("numFmtId"): node.get("formatCode") for node in root.iter(MAIN + "numFmt")}
    return [
        (
            codes.get(xf.get("numFmtId"), xf.get("numFmtId")),
            *(parts[f"{part}s"][int(xf.get(f"{part}Id"))] for part in ("font", "fill", "border")),
            *map(plain, xf),
        )
        for xf in root.find(MAIN + "cellXfs")
    ]


def held(path):
    """Every row and cell of every sheet: its height, what it holds, what it stores, how it looks."""
    package = open_package(path)
    looks, found = looks_of(package), {}
    strings = package.linked("sharedStrings")
    texts = ["".join(node.itertext()) for node in ET.fromstring(package.read(strings))] if strings else []
    for sheet in package.sheets:
        for row in ET.fromstring(package.read(sheet.part)).find(MAIN + "sheetData"):
            found[sheet.name, row.get("r")] = (row.get("ht"), row.get("customHeight"))
            for cell in row:
                kind, value = cell.get("t", "n"), cell.findtext(MAIN + "v")
                if kind in {"s", "inlineStr"}:
                    value = texts[int(value)] if kind == "s" else "".join(cell.find(MAIN + "is").itertext())
                    kind = "text"
                look = looks[int(cell.get("s", 0))]
                found[sheet.name, cell.get("r")] = (kind, cell.findtext(MAIN + "f"), value, look)
    return found


def assert_same(one, other):
    first, second = held(one), held(other)
    differing = [at for at in first.keys() | second.keys() if not alike(first.get(at), second.get(at))]
    assert not differing, (len(differing), differing[0], first.get(differing[0]), second.get(differing[0]))


def alike(one, other):
    """Equal, stored numbers to the sixteen digits that files hold."""
    if one == other or one is None or other is None or len(one) != 4 or len(other) != 4:
        return one == other
    return one[:2] == other[:2] and one[3] == other[3] and float(one[2]) == pytest.approx(float(other[2]), rel=1e-15)


@pytest.fixture(scope="module")
def study():
    return study_of(scenarios(MANY))


def patterned(study, functions, path, *, streamed):
    write.write_workbook(
        path, result_sheets(study, functions, linked=False, patterned=streamed), functions, active="Results"
    )


@pytest.mark.parametrize("functions", list(Functions))
def test_sheets_written_by_patterns_are_those_written_cell_by_cell(study, functions, tmp_path):
    one, other = tmp_path / "one.xlsx", tmp_path / "other.xlsx"
    described = result_sheets(study, functions, linked=False, patterned=True)
    assert [sheet.name for sheet in described if sheet.rows] == ["Results", "Estimate", "Memory", "Cost", "Checks"]
    patterned(study, functions, one, streamed=True)
    patterned(study, functions, other, streamed=False)
    assert_same(one, other)


@pytest.mark.parametrize("functions", list(Functions))
@pytest.mark.parametrize("money", [MONEY, MONEY[:12]], ids=["several currencies", "dollars"])
def test_amounts_written_by_patterns_are_those_written_cell_by_cell(money, functions, tmp_path, monkeypatch):
    # A pattern for every shape, even where only one row has it.
    monkeypatch.setattr(row_stream, "_FEWEST", 1)
    monkeypatch.setattr(sheets, "PATTERNED_FROM", 1)
    study = study_of(priced(money))
    assert not any(entry.severity == "error" for entry in study.issues)
    ways = [tmp_path / "one.xlsx", tmp_path / "other.xlsx"]
    large_sheets = {"Results", "Estimate", "Memory", "Cost", "Checks"}
    for path, by_patterns in zip(ways, (True, False), strict=True):
        described = [
            sheet
            for sheet in result_sheets(study, functions, linked=False, patterned=by_patterns)
            if sheet.name in large_sheets
        ]
        assert {sheet.name for sheet in described if sheet.rows} == (large_sheets if by_patterns else set())
        write.write_workbook(path, described, functions, active="Results")
    assert_same(*ways)
    shapes = RowShapes(study)
    # Fewer shapes than rows: some rows are written by the pattern of another.
    assert len(set(shapes.of({}).tolist())) < len(study.cases) * 0.7


def test_rows_merged_into_a_workbook_are_those_written_cell_by_cell(tmp_path, monkeypatch, validate):
    source = tmp_path / "plan.xlsx"
    write_starter(source, [*scenarios(MANY - 20), *priced()[::4]])
    one, other = tmp_path / "one.xlsx", tmp_path / "other.xlsx"
    run(Job(source=source, output=one, pdf=None))
    monkeypatch.setattr(sheets, "PATTERNED_FROM", 10**9)
    run(Job(source=source, output=other, pdf=None))
    assert_same(one, other)
    assert validate(one) == []


def test_a_second_table_in_other_columns_is_not_written_by_the_patterns_of_the_first(tmp_path, monkeypatch):
    source = tmp_path / "plan.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "Scenarios"
    heads = ["Scenario", "Parameters (billions)", "Precision", "Bandwidth per device (GB/s)", "Devices", "Efficiency"]
    for shift in ([], [None, None]):
        book.active.append([*shift, *heads])
        for number in range(MANY // 2):
            book.active.append([*shift, f"S{len(shift)} {number}", 70 + number, "FP16", 3350, 1, 0.85])
    book.save(source)
    one, other = tmp_path / "one.xlsx", tmp_path / "other.xlsx"
    run(Job(source=source, output=one, pdf=None))
    monkeypatch.setattr(sheets, "PATTERNED_FROM", 10**9)
    run(Job(source=source, output=other, pdf=None))
    assert_same(one, other)
    cells = held(one)
    # Each links to its own column: the parameters of the first table stand in B, those of the second in D.
    formulas = [formula for (sheet, _), (_, formula, *_) in cells.items() if sheet == "Results" and formula]
    assert any("Scenarios!B3" in formula for formula in formulas)
    assert any("Scenarios!D34" in formula for formula in formulas)


def test_results_written_beside_the_scenarios_are_patterned_too(study, tmp_path):
    path = tmp_path / "results.xlsx"
    write_results(study, path)
    assert len(open_package(path).sheets) == len(sheets.SHEET_NAMES)
    assert openpyxl.load_workbook(path)["Results"].max_row > MANY


def test_variants_and_sources_of_a_large_study_are_not_repeated_for_every_row():
    many = study_of([replace(BASE, name=f"S{number}", batch=float(1 + number % 8)) for number in range(LARGE + 1)])
    described = {sheet.name: list(sheet.cells) for sheet in result_sheets(many, patterned=True)}
    said = [cell.value for cell in described["Precision"] if isinstance(cell.value, str) and "left out" in cell.value]
    assert said == ["The first 200 scenarios; 801 more are left out."]
    filled = [
        cell.value for cell in described["Estimate"] if isinstance(cell.value, str) and "filled alike" in cell.value
    ]
    assert filled
    assert sum(int(text.split(" and ")[1].split()[0].replace(",", "")) + 1 for text in filled) == LARGE + 1


def test_a_table_read_in_columns_is_the_one_read_row_by_row(tmp_path, monkeypatch):
    source = tmp_path / "plan.xlsx"
    write_starter(source, scenarios(340))
    book = openpyxl.load_workbook(source)
    sheet = book["Scenarios"]
    dice = random.Random(3)
    first = next(row for row in range(1, 20) if sheet.cell(row, 1).value == "Scenario") + 1
    bad = ["seven", "#N/A", "3,350", -1, True, "=1+1", 0, "85 %", 1e400, None, "12 GB/s"]
    for _ in range(120):
        cell = sheet.cell(dice.randrange(first, sheet.max_row), dice.randrange(1, sheet.max_column))
        cell.value = dice.choice(bad)
        if cell.value == "#N/A":
            cell.data_type = "e"
    book.save(source)
    in_columns = read_workbook(source).table()
    monkeypatch.setattr("planner.table._IN_COLUMNS_FROM", 10**9)
    monkeypatch.setattr(large, "LARGE_FROM", 10**9)
    by_row = read_workbook(source).table()
    assert [str(issue) for issue in in_columns.issues] == [str(issue) for issue in by_row.issues]
    assert sum(issue.severity == "error" for issue in by_row.issues) > 30
    assert len(by_row.entries) > 200
    assert [entry.resolution.sources for entry in in_columns.entries] == [e.resolution.sources for e in by_row.entries]
    for one, other in zip(in_columns.scenarios, by_row.scenarios, strict=True):
        assert one == other
    assert in_columns.skipped == by_row.skipped


def test_many_rows_without_a_price_leave_the_cost_sheet_to_what_demand_is_planned_from():
    many = [replace(BASE, name=f"S{number}", offered_requests_per_hour=900.0) for number in range(LARGE + 1)]
    described = {sheet.name: sheet for sheet in result_sheets(study_of(many), patterned=True)}
    assert described["Results"].rows
    assert not described["Cost"].rows
    cells = list(described["Cost"].cells)
    assert max(cell.row for cell in cells) < 300
    assert any("The first 200 scenarios; 801 more are left out." in str(cell.value) for cell in cells)
    priced_too = [*many, replace(BASE, name="one", device_cost_h=2.5)]
    described = {sheet.name: sheet for sheet in result_sheets(study_of(priced_too), patterned=True)}
    assert described["Cost"].rows
    assert len(described["Cost"].rows.cases) == LARGE + 2


def test_rows_in_small_portions_and_without_kept_texts_are_the_same(study, tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("one.xlsx", "two.xlsx", "three.xlsx")]
    patterned(study, Functions.EMBEDDED, paths[0], streamed=False)
    monkeypatch.setattr(row_stream, "_CHUNK", 7)
    monkeypatch.setattr(row_stream, "_FEW", 0)
    monkeypatch.setattr(line_stream, "_CHUNK", 5)
    monkeypatch.setattr(line_stream, "_MOST_KNOWN", 2)
    patterned(study, Functions.EMBEDDED, paths[1], streamed=True)
    monkeypatch.setattr(row_stream, "_FEW", 10**6)
    monkeypatch.setattr(row_stream, "_MOST_KEPT", 2)
    patterned(study, Functions.EMBEDDED, paths[2], streamed=True)
    assert_same(paths[0], paths[1])
    assert_same(paths[0], paths[2])


NUMBERS = [0.1 + 0.2, 100.0, -0.0, 1e16, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 2 / 3, 123456789.125]


def test_numbers_written_at_once_are_those_that_they_were():
    written = cell_xml.written(NUMBERS)
    assert list(map(float, written)) == NUMBERS
    # As short as Python's own, but for the sign and noughts of an exponent.
    assert [text.replace("e+", "e").replace("e-0", "e-") for text in map(repr, NUMBERS)] == written


def test_a_large_part_that_cannot_be_made_leaves_no_file_open():
    def portions():
        yield b"first"
        raise KeyError("second")

    with pytest.raises(KeyError, match="second"):
        Packed.of(portions())
    # Warnings are errors here, that of a file which nobody closed among them.
    gc.collect()


def test_a_packed_part_is_what_was_given():
    portions = [bytes([at % 251]) * (at * 997 % 60_000) for at in range(40)]
    packed = Packed.of(portions)
    with packed.file:
        packed.file.seek(0)
        data = zlib.decompress(packed.file.read(), -15)
    assert data == b"".join(portions)
    assert (packed.crc, packed.size) == (zlib.crc32(data), len(data))
