"""The user's own devices and models: what is understood, what is said of each bad cell, and what scenarios take."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner

from planner.catalog import Device, Model, find_model
from planner.cli import main
from planner.headers import Cell, Grid
from planner.job import plan_workbook
from planner.library_columns import DEVICE_COLUMNS, MODEL_COLUMNS
from planner.library_sheets import DEVICES, MODELS, read_library
from planner.plan.fill import Library
from planner.table import read_table

CONFIGS = json.loads((Path(__file__).parent / "model_configs.json").read_text("utf-8"))


def grid(name, *rows, **more):
    def cell(value):
        return value if isinstance(value, Cell) else Cell(value)

    return Grid(
        name,
        {
            number: {column: cell(value) for column, value in enumerate(row, 1) if value is not None}
            for number, row in enumerate(rows, 1)
        },
        **more,
    )


def said(read):
    return [str(issue) for issue in read.issues]


def one_device(header, value):
    read = read_library([grid("Devices", ["Device", "Bandwidth (GB/s)", header], ["mine", 1000, value])])
    return read.library.devices[0][0] if read.library.devices else None, said(read)


def one_model(header, value):
    read = read_library([grid("Models", ["Model", "Parameters (billions)", header], ["mine", 7, value])])
    return read.library.models[0][0] if read.library.models else None, said(read)


def test_columns_are_the_catalogues_fields_and_the_size_of_a_file():
    assert list(DEVICE_COLUMNS) == [field.name for field in dataclasses.fields(Device)]
    sizes = ["weights_gb", "bits_per_weight"]
    assert list(MODEL_COLUMNS) == [field.name for field in dataclasses.fields(Model)] + sizes


def test_a_device_needs_a_name_and_a_bandwidth_and_the_rest_is_not_known():
    read = read_library([grid("Devices", ["Device", "Bandwidth"], ["H100 tuned", "3.35 TB/s"])])
    ((device, where),) = read.library.devices
    assert where == "your Devices sheet, row 2"
    assert (device.name, device.bandwidth_gb_s) == ("H100 tuned", 3350.0)
    assert (device.device_class, device.memory_gb, device.total_memory_gb, device.fp16_tflop_s) == ("", 0.0, 0.0, None)
    assert device.class_label == ""
    assert (device.confidence, device.source) == ("yours", "your sheet Devices, row 2")
    assert not read.issues


def test_a_model_needs_a_name_and_parameters_and_the_rest_follows_or_is_not_known():
    heads = ["Model", "Parameters", "Layers"]
    read = read_library([grid("models", heads, ["mine", "70B", 80], ["other", 8.03])])
    model, other = (found for found, _ in read.library.models)
    assert (model.params_b, model.active_params_b, model.streamed_params_b) == (70.0, 70.0, 70.0)
    assert (model.layers, model.kv_layers, model.full_layers, model.kv_heads) == (80, 80, 80, 0)
    assert (model.confidence, model.source) == ("yours", "your sheet models, row 2")
    assert (other.layers, other.kv_layers, other.native_precision, other.weights_gb) == (0, 0, "", None)
    assert [where for _, where in read.library.models] == ["your models sheet, row 2", "your models sheet, row 3"]


@pytest.mark.parametrize(
    ("header", "value", "field", "meant"),
    [
        ("Memory", "80 GiB", "memory_gb", 85.89934592),
        ("Memory (GiB)", 80, "memory_gb", 85.89934592),
        ("VRAM", 80, "memory_gb", 80.0),
        ("reported_memory_gb", 85.5, "reported_memory_gb", 85.5),
        ("Class", "geforce", "device_class", "nv-consumer"),
        ("device_class", "nv-dc-hbm", "device_class", "nv-dc-hbm"),
        ("FP16 peak (PFLOP/s)", 0.9894, "fp16_tflop_s", 989.4),
        ("BF16 TFLOPS", "989.4", "fp16_tflop_s", 989.4),
        ("TDP (kW)", 0.7, "power_w", 700.0),
        ("Power", "700 W", "power_w", 700.0),
        ("NVLink", "900 GB/s", "interconnect_gb_s", 900.0),
        ("Aliases", "big | tuned one", "aliases", ("big", "tuned one")),
        ("Confidence", "measured", "confidence", "measured"),
    ],
)
def test_a_devices_cell_is_understood(header, value, field, meant):
    device, issues = one_device(header, value)
    assert not issues
    found = getattr(device, field)
    assert found == (pytest.approx(meant) if isinstance(meant, float) else meant)


@pytest.mark.parametrize(
    ("header", "value", "field", "meant"),
    [
        ("Active params", "3.6B", "active_params_b", 3.6),
        ("Active parameters (millions)", 600, "active_params_b", 0.6),
        ("num_kv_heads", 8, "kv_heads", 8),
        ("Head dim", "128", "head_dim", 128),
        ("sliding window", "4096 tokens", "window_tokens", 4096),
        ("Precision", "bf16", "native_precision", "BF16"),
        ("native_precision", "4.85", "native_precision", "4.85"),
        ("Expert precision", "mxfp4", "expert_precision", "MXFP4"),
        ("Size (GiB)", 10, "weights_gb", 10.73741824),
    ],
)
def test_a_models_cell_is_understood(header, value, field, meant):
    model, issues = one_model(header, value)
    assert not issues
    assert getattr(model, field) == (pytest.approx(meant) if isinstance(meant, float) else meant)


def test_a_row_of_units_below_the_headers_is_read_as_such():
    heads = ["Device", "Bandwidth", "Memory"]
    read = read_library([grid("Devices", heads, [None, "TB/s", "GiB"], ["mine", 3.35, 80])])
    ((device, where),) = read.library.devices
    assert (device.bandwidth_gb_s, where) == (3350.0, "your Devices sheet, row 3")
    assert device.memory_gb == pytest.approx(85.899, abs=1e-3)
    assert not read.issues


@pytest.mark.parametrize(
    ("header", "value", "message"),
    [
        (
            "Memory (GB)",
            "lots",
            "Devices!C2: Memory is 'lots', not a number; expected a number above 0 (GB).",
        ),
        (
            "Memory (GB)",
            "3,350",
            "Devices!C2: Memory is '3,350', a point or comma that may group thousands or start decimals: it may mean "
            "3.35 or 3,350; expected one plain number (GB).",
        ),
        (
            "Memory (GB)",
            "80 Gb",
            "Devices!C2: Memory is in Gb, bits; expected a number above 0 (GB), bytes.",
        ),
        (
            "Memory (GB)",
            Cell(0.8, percent=True),
            "Devices!C2: Memory is 80%, a percentage; expected a number above 0 (GB).",
        ),
        (
            "Memory (GB)",
            Cell("#N/A", error=True),
            "Devices!C2: Memory is #N/A, an error of the workbook; expected a number above 0.",
        ),
        (
            "Memory (GB)",
            Cell(None, formula="=A1"),
            "Devices!C2: Memory is a formula without a stored value; expected a value; save the workbook in Excel, "
            "type the value, or use --recalculate.",
        ),
    ],
)
def test_a_bad_cell_is_named_and_its_row_left_out(header, value, message):
    device, issues = one_device(header, value)
    assert device is None
    assert issues == [message, "Devices!A2: 'mine' is left out until its row is right."]


def test_a_class_is_one_of_those_with_constants():
    device, issues = one_device("Device class", "abacus")
    assert device is None
    assert issues[0].startswith("Devices!C2: Device class is 'abacus'; expected one of Data-centre HBM, ")


def test_every_bad_cell_is_said_at_once_and_good_rows_count():
    heads = ["Model", "Parameters (billions)", "Layers", "Experts"]
    rows = [["good", 7, 32], ["bad", "many", 32.5, "x"], [None, 7], ["bare"], ["last", 8]]
    read = read_library([grid("Models", heads, *rows)])
    assert [model.name for model, _ in read.library.models] == ["good", "last"]
    assert said(read) == [
        "Models!B3: Parameters is 'many', not a number; expected a number above 0 (billions).",
        "Models!C3: Layers is 32.5; expected a whole number of at least 1.",
        "Models!D3: Experts is 'x', not a number; expected a whole number of at least 1.",
        "Models!A3: 'bad' is left out until its row is right.",
        "Models!A4: Model is missing; expected a name to find the row by.",
        "Models!B5: Parameters is missing; expected a number above 0.",
        "Models!A5: 'bare' is left out until its row is right.",
    ]
    assert read.library.left_out == (
        ("model", "bad", "your Models sheet, row 3"),
        ("model", "bare", "your Models sheet, row 5"),
    )


def test_a_name_twice_is_an_error_at_the_second():
    read = read_library([grid("Devices", ["Device", "Bandwidth"], ["mine", 1000], ["other", 5], [" MINE ", 2000])])
    assert [(device.name, device.bandwidth_gb_s) for device, _ in read.library.devices] == [
        ("mine", 1000.0),
        ("other", 5.0),
    ]
    assert said(read)[0] == (
        "Devices!A4: Device is 'MINE', which is also at A2; that row is used; expected a name of its own."
    )


@pytest.mark.parametrize(
    ("header", "value", "message"),
    [
        (
            "Active parameters",
            8,
            "Models!C2: Active parameters is 8, above Parameters of 7; expected at most 7.",
        ),
        (
            "Streamed parameters",
            7.5,
            "Models!C2: Streamed parameters is 7.5, above Parameters of 7; expected at most 7.",
        ),
    ],
)
def test_a_part_above_its_whole_is_refused(header, value, message):
    model, issues = one_model(header, value)
    assert model is None
    assert issues[0] == message


def test_experts_and_layers_are_held_against_each_other():
    heads = ["Model", "Parameters", "Experts", "Active experts", "KV layers", "Full-attention layers"]
    read = read_library([grid("Models", heads, ["mine", 7, 8, 9, 10, 11])])
    assert said(read)[:2] == [
        "Models!D2: Active experts is 9, above Experts of 8; expected at most 8.",
        "Models!F2: Full-attention layers is 11, above KV layers of 10; expected at most 10.",
    ]


def test_a_header_in_a_wrong_unit_and_a_near_miss_are_said_at_their_cells():
    heads = ["Device", "Bandwidth", "Memory (TB/s)", "Bandwith"]
    read = read_library([grid("Devices", heads, ["mine", 1000, 80, 5])])
    assert len(read.library.devices) == 1
    assert said(read) == [
        "Devices!C1: 'Memory (TB/s)' is in TB/s, which is no unit of Memory; expected Memory (GB).",
        "Devices!D1: 'Bandwith' is no column that planner knows, so it is not read. Did you mean Bandwidth (GB/s)?",
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [["Asset", "Owner"], ["H100", "me"]],
        [["Our list of devices"], ["H100", 5]],
        [],
    ],
)
def test_a_sheet_of_that_name_that_is_something_else_is_left_alone(rows):
    read = read_library([grid("Devices", *rows)])
    assert (read.library, read.issues) == (Library(), ())


def test_a_sheet_that_lacks_the_one_column_it_needs_is_left_alone_with_a_note():
    read = read_library([grid("Devices", ["Device", "Memory (GB)"], ["H100", 80])])
    assert said(read) == [
        "Devices!A1: No column names the bandwidth, so the sheet is not read as your own devices.",
    ]
    wrong = read_library([grid("Devices", ["Device", "Memory", "Bandwidth (Gb/s)"], ["H100", 80, 900])])
    assert said(wrong)[0] == (
        "Devices!C1: 'Bandwidth (Gb/s)' is in Gb/s, which is no unit of Bandwidth; expected Bandwidth (GB/s)."
    )


def test_a_result_sheet_is_never_read():
    assert not read_library([grid("Devices", ["Device", "Bandwidth"], ["x", 5], ours=True)]).library.devices


def test_headers_only_are_no_rows():
    read = read_library([grid("Devices", ["Your own devices"], [], ["Device", "Bandwidth (GB/s)"])])
    assert (read.library, read.issues) == (Library(), ())


def test_every_label_and_alias_names_its_column():
    for headings in (DEVICES, MODELS):
        for name, column in headings.columns.items():
            for text in (column.label, name, headings.header_of(name), *column.aliases):
                rows = [[text, "x", "y"], ["-"]]
                # Beside two columns of another kind a row of headers is found.
                others = [other for other in headings.columns if other != name][:2]
                rows[0][1:] = others
                from planner.headers import find_header

                assert name in find_header(grid("s", *rows), headings).cells, (name, text)


@pytest.mark.parametrize("size", [{"weights_gb": 4.2}, {"bits_per_weight": 4.8}])
def test_a_files_size_gives_the_precision_that_is_not_named(size):
    read = read_library([grid("Models", ["name", "params_b", *size], ["mine", 7, *size.values()])])
    ((model, _),) = read.library.models
    assert model.native_precision == "4.8"
    assert model.weights_gb == pytest.approx(4.2)


# What scenarios take from them.

SCENARIOS = ["Scenario", "Model", "Device", "Precision", "Batch"]


def with_own(rows, *grids, heads=SCENARIOS):
    return read_table([grid("Scenarios", heads, *rows), *grids])


DEVICE = grid("Devices", ["Device", "Bandwidth", "Memory", "Class"], ["H100 tuned", 3000, 80, "Data-centre HBM"])
MODEL = grid(
    "Models",
    ["Model", "Parameters", "Layers", "Heads", "KV heads", "Head dim", "Precision"],
    ["our 13B", 13, 40, 40, 8, 128, "FP8"],
)


def test_scenarios_take_their_blanks_from_the_users_own_rows():
    table = with_own([["a", "our 13b", "h100 TUNED"]], DEVICE, MODEL)
    assert not table.issues
    (entry,) = table.entries
    scenario, sources = entry.resolution.scenario, entry.resolution.sources
    assert (scenario.device_bandwidth_gb_s, scenario.device_memory_gb) == (3000.0, 80.0)
    assert (scenario.params_b, scenario.precision, scenario.kv_layers, scenario.kv_heads) == (13.0, "FP8", 40.0, 8.0)
    assert sources["device_bandwidth_gb_s"] == "your Devices sheet, row 2: H100 tuned"
    assert sources["device_class"] == "your Devices sheet, row 2: H100 tuned"
    assert sources["params_b"] == "your Models sheet, row 2: our 13B"
    assert sources["fetch_efficiency"].startswith("measured: Data-centre HBM, serving (")


def test_an_own_row_wins_over_the_catalogue_and_a_typed_figure_over_both():
    own = grid("Devices", ["Device", "Bandwidth", "Memory"], ["H100 SXM", 3000, 70])
    heads = [*SCENARIOS, "Memory per device (GB)"]
    (entry,) = with_own([["a", "Llama-3.1-8B", "H100 SXM", "FP8", 1, 60]], own, heads=heads).entries
    scenario, sources = entry.resolution.scenario, entry.resolution.sources
    assert (scenario.device_bandwidth_gb_s, scenario.device_memory_gb) == (3000.0, 60.0)
    assert sources["device_memory_gb"] == "typed"
    assert sources["layers"] == "catalogue: Llama-3.1-8B"


def test_a_device_of_no_class_has_the_constants_of_all_classes():
    own = grid("Devices", ["Device", "Bandwidth"], ["mine", 3350])
    (entry,) = with_own([["a", "Llama-3.1-8B", "mine"]], own).entries
    scenario, sources = entry.resolution.scenario, entry.resolution.sources
    assert scenario.device_class is None
    assert sources["fetch_efficiency"].startswith("measured: all classes, serving (")


def test_a_row_left_out_is_not_replaced_by_the_catalogues_behind_ones_back():
    own = grid("Devices", ["Device", "Bandwidth"], ["H100 SXM", "fast"])
    table = with_own([["a", "Llama-3.1-8B", "H100 SXM"]], own)
    assert not table.entries
    assert said(table)[-1] == (
        "Scenarios!C2: Device is 'H100 SXM', left out in your Devices sheet, row 2; expected that row without an error."
    )


def test_an_unknown_name_is_held_against_ones_own_names_first():
    table = with_own([["a", "Llama-3.1-8B", "H100 tunde"]], DEVICE)
    (message,) = said(table)
    assert message.startswith(
        "Scenarios!C2: Device is 'H100 tunde', which neither your Devices sheet nor the catalogue knows "
        "(nearest: H100 tuned, "
    )


def test_an_own_file_size_holds_at_its_own_precision_alone():
    own = grid("Models", ["name", "params_b", "native_precision", "weights_gb"], ["file", 70.55, "Q4_K_M", 42.52])
    rows = [["a", "file", "H100 SXM"], ["b", "file", "H100 SXM", "q4_k_m"], ["c", "file", "H100 SXM", "FP8"]]
    own_size, same, other = (entry.resolution.scenario for entry in with_own(rows, own).entries)
    assert (own_size.weights_gb, own_size.precision) == (42.52, "Q4_K_M")
    assert same.weights_gb == 42.52
    assert other.weights_gb is None


def test_a_sheet_of_scenarios_called_models_is_one_of_scenarios():
    heads = ["Model", "Parameters", "Precision", "Bandwidth per device", "Batch"]
    table = read_table([grid("Models", heads, ["a", 7, "FP16", 1000, 1])])
    assert (table.sheet, len(table.entries), table.issues) == ("Models", 1, ())
    # Another sheet that has a few of the headers does not take its place.
    other = grid("Notes", ["Scenario", "Weights (GB)", "Aggregate bandwidth"], ["b", 1, 2])
    assert read_table([other, grid("Models", heads, ["a", 7, "FP16", 1000, 1])]).sheet == "Models"


def test_a_long_sheet_of_models_is_not_taken_for_the_scenarios():
    models = grid("Models", list(MODEL_COLUMNS), ["mine", None, 7])
    table = read_table(
        [models, grid("Plan", ["Scenario", "Model", "Precision", "Bandwidth each"], ["a", "mine", "FP8", 900])]
    )
    assert (table.sheet, table.entries[0].resolution.scenario.params_b) == ("Plan", 7.0)


@pytest.fixture
def book(tmp_path):
    """A workbook of scenarios with a Models sheet into which the printed row of an import is pasted."""
    config = tmp_path / "Mixtral" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps(CONFIGS["Mixtral-8x7B"]), "utf-8")
    printed = CliRunner().invoke(main, ["catalog", "import", str(config), "--csv"], catch_exceptions=False).stdout
    workbook = openpyxl.Workbook()
    scenarios, models = workbook.active, workbook.create_sheet("Models")
    scenarios.title = "Scenarios"
    scenarios.append(["Scenario", "Model", "Device", "Prompt", "Output"])
    for row in csv.reader(io.StringIO(printed)):
        models.append([float(cell) if cell.replace(".", "", 1).isdigit() else cell for cell in row])
    models["A2"] = "pasted"
    scenarios.append(["pasted", "pasted", "H100 SXM", 2000, 500])
    scenarios.append(["known", "Mixtral-8x7B", "H100 SXM", 2000, 500])
    path = tmp_path / "plan.xlsx"
    workbook.save(path)
    return path


def test_the_row_that_import_prints_pastes_in_as_it_is(book):
    study = plan_workbook(book)
    pasted, known = (case.result for case in study.cases)
    assert not [issue for issue in study.issues if issue.sheet == "Models"]
    assert pasted.sources["params_b"] == "your Models sheet, row 2: pasted"
    assert known.sources["params_b"] == f"catalogue: {find_model('Mixtral-8x7B').name}"
    assert pasted.estimated_tokens_per_sec == pytest.approx(known.estimated_tokens_per_sec, rel=1e-9)
    assert pasted.kv_bytes_per_token == known.kv_bytes_per_token == 131072


def test_check_names_the_bad_cells_of_the_own_sheets(book):
    workbook = openpyxl.load_workbook(book)
    workbook.create_sheet("Devices").append(["Device", "Bandwidth (GB/s)"])
    workbook["Devices"].append(["mine", "fast"])
    workbook.save(book)
    done = CliRunner().invoke(main, ["check", str(book)])
    assert done.exit_code == 1
    assert "Devices!B2: Bandwidth is 'fast', not a number; expected a number above 0 (GB/s)." in done.output


def test_issues_of_the_own_sheets_stand_before_those_of_the_scenarios(book):
    workbook = openpyxl.load_workbook(book)
    for row in (["Device", "Bandwidth (GB/s)"], ["x", 1], ["y", 1], ["z", 1], ["mine", "fast"]):
        (workbook["Devices"] if "Devices" in workbook.sheetnames else workbook.create_sheet("Devices")).append(row)
    workbook["Scenarios"]["C2"] = "H100"
    workbook.save(book)
    sheets = [issue.sheet for issue in plan_workbook(book).issues]
    assert sheets.index("Scenarios") == sheets.count("Devices") == 2
