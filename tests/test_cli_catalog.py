"""The catalogue at the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.catalog import devices, find_model, models
from planner.cli import main

CONFIGS = json.loads((Path(__file__).parent / "model_configs.json").read_text("utf-8"))


@pytest.fixture
def run():
    return lambda *args: CliRunner().invoke(main, ["catalog", *[str(a) for a in args]], catch_exceptions=False)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "Mixtral" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CONFIGS["Mixtral-8x7B"]), "utf-8")
    return path


def test_every_device_is_listed(run):
    out = run("devices").stdout
    assert all(device.name in out for device in devices())
    assert "H100 SXM5 80GB" in out
    line = next(line for line in out.splitlines() if line.startswith("H100 SXM5"))
    assert line.split() == ["H100", "SXM5", "80GB", "85.5", "3,350.0", "989.4", "1,978.9", "–", "Data-centre", "HBM"]


def test_every_model_is_listed(run):
    out = run("models").stdout
    assert all(model.name in out for model in models())
    line = next(line for line in out.splitlines() if line.startswith("DeepSeek-V3.2"))
    assert line.split() == ["DeepSeek-V3.2", "671.9", "38.4", "85,888", "163,840", "61", "MLA,", "sparse"]


@pytest.mark.parametrize("kind", ["devices", "models"])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_table_fits_the_terminal_and_cuts_no_figure(run, monkeypatch, kind, width):
    monkeypatch.setenv("COLUMNS", str(width))
    out = run(kind).stdout
    assert max(len(line.rstrip()) for line in out.splitlines()) <= width
    assert ("3,350.0" if kind == "devices" else "516,096") in out


def test_a_narrow_terminal_still_shows_every_figure(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert "516,096" in run("models").stdout


@pytest.mark.parametrize("kind", ["devices", "models"])
def test_json_holds_every_row(run, kind):
    rows = json.loads(run(kind, "--json").stdout)
    assert [row["name"] for row in rows] == [entry.name for entry in (devices() if kind == "devices" else models())]
    assert all(row["source"] and row["confidence"] for row in rows)


def test_one_device_is_shown_whole(run):
    out = run("devices", "h100 sxm").stdout
    for line in (
        "Memory                        85.521 GB",
        "Memory as                     reported",
        "Memory bandwidth              3,350 GB/s",
        "FP16 peak, dense              989.4 TFLOP/s",
        "Power                         700 W",
        "Source                        NVIDIA H100 datasheet",
        "Confidence                    agreed",
    ):
        assert line in out
    assert json.loads(run("devices", "h100 sxm", "--json").stdout)["total_memory_gb"] == 85.521


def test_one_model_is_shown_whole(run):
    out = run("models", "meta-llama/Llama-3.1-70B-Instruct").stdout
    assert "Parameters                    70.5537065 billions" in out
    assert "KV bytes per token, 16 bits   327,680" in out
    assert "Experts" not in out
    assert json.loads(run("models", "gpt-oss-20b", "--json").stdout)["growing_kv_bytes_per_token"] == 24_576


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("devices", "H100"), "H100 leaves open which device: H100 NVL 94GB, H100 PCIe 80GB or H100 SXM5 80GB."),
        (("devices", "mi300"), "No device named mi300; did you mean Instinct MI300X 192GB or Instinct MI350X 288GB?"),
        (("devices", "zzzz"), "No device named zzzz; `planner catalog devices` shows them all."),
        (("models", "gpt-oss"), "No model named gpt-oss; did you mean gpt-oss-20b or gpt-oss-120b?"),
        (("models", "llama 70b"), "llama 70b leaves open which model: Llama-2-70B, Llama-3-70B, Llama-3.1-70B or Llama-3.3-70B."),
        (("models", ""), "No model named ; `planner catalog models` shows them all."),
        (("import", "none.gguf"), "Cannot read none.gguf: No such file or directory."),
    ],
)  # fmt: skip
def test_what_is_not_found_is_one_line(run, args, said):
    done = run(*args)
    assert (done.exit_code, done.stderr, done.stdout) == (2, f"planner: {said}\n", "")


def test_import_shows_a_models_row(run, config):
    out = run("import", config).stdout
    assert "Model                         Mixtral\n" in out
    assert "Parameters                    46.7027927 billions" in out
    assert "KV bytes per token, 16 bits   131,072" in out
    assert out.endswith("Parameters are computed from the config's shapes, text part alone.\n")


def test_import_as_json_and_as_csv_hold_the_same_row(run, config):
    row = json.loads(run("import", config, "--json").stdout)
    assert row["params_b"] == find_model("Mixtral 8x7B").params_b
    assert row["remarks"] == ["Parameters are computed from the config's shapes, text part alone."]
    (pasted,) = csv.DictReader(io.StringIO(run("import", config, "--csv").stdout))
    assert {name: str("" if row[name] is None else row[name]) for name in pasted} == pasted
    assert pasted["weights_gb"] == ""


def test_import_of_an_index_alone(run, tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"metadata": {"total_size": 2000000000}}', "utf-8")
    out = run("import", index).stdout
    assert "Weights in the file           2 GB" in out
    assert out.endswith("No config.json beside it, so the size is all that is known.\n")


def test_import_takes_one_way_to_print(run, config):
    done = run("import", config, "--csv", "--json")
    assert (done.exit_code, done.stderr) == (2, "planner: --json and --csv contradict each other; give one.\n")


@pytest.mark.parametrize("command", ["", "devices", "models", "import"])
def test_help_has_examples(run, command):
    out = run(*command.split(), "--help").stdout
    assert "Examples:" in out
    assert f"planner catalog {command}" in out


def test_the_readme_counts_what_is_there():
    text = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    assert f"{len(devices())} devices and {len(models())} models" in text
