"""Measured rates predicted, row by row against arithmetic by hand, and files as people have them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.catalog import class_constants, class_range, find_model
from planner.cli import main
from planner.measured import predict, read_measured
from planner.plan.accuracy import Judged, error_table, quantile

approx = pytest.approx

# One row of each kind, as public benchmarks report them.
LLAMACPP = {
    "id": "a", "source": "GPU-Benchmarks-on-LLM-Inference", "engine": "llama.cpp b2824", "hw": "RTX 3080 10GB",
    "hw_class": "nv-consumer", "hw_count": "1", "parallel": "none", "bw_gbs_each": "760.3", "fp16_tflops_each": "119",
    "model": "Llama-3-8B", "kind": "dense", "params_b": "8.03", "active_params_b": "8.03", "precision": "Q4_K_M",
    "weights_gb_total": "4.918", "active_weights_gb": "4.918", "kv_bytes_per_token": "131072", "batch": "1",
    "prompt_len": "512", "output_len": "512", "ctx_mid": "256", "decode_tok_s_stream": "109.57", "flags": "",
}  # fmt: skip
SPLIT = LLAMACPP | {"hw": "RTX 3090 24GB", "hw_count": "4", "parallel": "layer-split4", "bw_gbs_each": "936.2"}
APPLE = LLAMACPP | {
    "engine": "llama.cpp Metal", "hw": "M2 Ultra 76c", "hw_class": "apple", "bw_gbs_each": "800",
    "fp16_tflops_each": "27.2", "model": "Qwen2.5-7B", "params_b": "7.616", "active_params_b": "7.616",
    "precision": "Q8_0", "weights_gb_total": "8.096", "active_weights_gb": "8.096", "kv_bytes_per_token": "57344",
    "batch": "8", "output_len": "32", "ctx_mid": "528", "decode_tok_s_stream": "31.854", "ttft_ms": "2506",
}  # fmt: skip
TENSOR = LLAMACPP | {
    "engine": "trtllm", "hw": "B200 SXM 180GB", "hw_class": "nv-dc-hbm", "hw_count": "4", "parallel": "TP4",
    "bw_gbs_each": "8000", "fp16_tflops_each": "2250", "fp8_tflops_each": "4500", "model": "Llama-3.1-70B",
    "params_b": "70.554", "active_params_b": "70.554", "precision": "fp8", "weights_gb_total": "72.656",
    "active_weights_gb": "72.656", "kv_bytes_per_token": "327680", "batch": "64", "prompt_len": "1024",
    "output_len": "1024", "ctx_mid": "1382", "decode_tok_s_stream": "102.879", "ttft_ms": "343.498",
}  # fmt: skip
MIXTURE = TENSOR | {
    "engine": "vllm 0.18.0", "hw": "H100 SXM 80GB", "bw_gbs_each": "3350", "fp16_tflops_each": "989",
    "fp8_tflops_each": "1979", "model": "gpt-oss-120B", "kind": "moe", "params_b": "116.83", "active_params_b": "5.13",
    "precision": "fp4", "weights_gb_total": "65.253", "active_weights_gb": "4.973", "kv_bytes_per_token": "36864",
    "batch": "32", "decode_tok_s_stream": "62.823", "ttft_ms": "166.262",
}  # fmt: skip
ALL = [LLAMACPP, SPLIT, APPLE, TENSOR, MIXTURE]


def write(path, rows, *, separator=",", start="", columns=None):
    out = io.StringIO()
    columns = columns or list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, columns, delimiter=separator, lineterminator="\n", extrasaction="ignore", restval="")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(start + out.getvalue(), "utf-8")
    return path


@pytest.fixture
def one(tmp_path):
    def predicted(row):
        return predict(read_measured(write(tmp_path / "one.csv", [row])).rows[0])

    return predicted


@pytest.fixture
def run():
    def invoke(*args, **env):
        return CliRunner().invoke(main, ["accuracy", *map(str, args)], catch_exceptions=False, env=env)

    return invoke


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


def test_a_stream_of_llama_cpp_by_hand(one):
    c = class_constants("nv-consumer", "llamacpp")
    model = find_model("Llama-3-8B")
    weights = 4.918 * model.streamed_params_b / model.params_b
    # The mean context of 256 is the row's own, not 512 + 512 / 2.
    cache = 256 * 131072 / 1e9
    step_ms = (weights + cache) / (760.3 * c.fetch_efficiency) * 1e3 + 32 * c.layer_latency_us / 1e3
    found = one(LLAMACPP)
    assert found.base == approx(1e3 / step_ms, rel=1e-9)
    assert found.kind == "dense batch 1"
    spread = class_range("nv-consumer", "dense batch 1")
    assert found.result.low_tokens_per_sec == approx(found.base * spread.low_factor)
    assert found.ceiling_tokens_per_sec == approx(760.3 / weights)


def test_layers_split_read_at_one_devices_bandwidth(one):
    c = class_constants("nv-consumer", "llamacpp")
    model = find_model("Llama-3-8B")
    weights = 4.918 * model.streamed_params_b / model.params_b
    step_ms = (weights + 256 * 131072 / 1e9) / (936.2 * c.fetch_efficiency) * 1e3 + 32 * c.layer_latency_us / 1e3
    found = one(SPLIT)
    assert found.base == approx(1e3 / step_ms, rel=1e-9)
    assert found.kind == "dense batch 1"


def test_streams_whose_arithmetic_follows_the_reads_by_hand(one):
    c = class_constants("apple", "llamacpp")
    model = find_model("Qwen2.5-7B")
    reads_gb = 8.096 * model.streamed_params_b / model.params_b + 8 * 528 * 57344 / 1e9
    step_ms = (
        reads_gb / (800 * c.fetch_efficiency) * 1e3
        + 2 * 7.616 * 7 / (27.2 * c.mfu)
        + 28 * c.layer_latency_us / 1e3
        + 7 * c.stream_overhead_us / 1e3
    )
    found = one(APPLE)
    assert found.base == approx(1e3 / step_ms, rel=1e-9)
    assert found.kind == "dense batched"


def test_tensor_parallel_serving_with_the_stalls_of_prefill_by_hand(one):
    c = class_constants("nv-dc-hbm", "serving")
    model = find_model("Llama-3.1-70B")
    reads_gb = 72.656 * model.streamed_params_b / model.params_b + 64 * 1382 * 327680 / 1e9
    # 8-bit weights compute at the 8-bit peak: 4,500 TFLOP/s each; prefill of 1,024 tokens with 64 heads of 128
    prefill_tflop = 2 * 70.554e9 * 1024 / 1e12 + 2 * 80 * 64 * 128 * 1024 * 1025 / 1e12
    stall_ms = 64 * prefill_tflop / (4500 * 4**0.5 * c.stall_mfu) / 1024 * 1e3
    step_ms = (
        max(reads_gb / (32000 * c.fetch_efficiency) * 1e3, 2 * 70.554 * 64 / (4 * 4500 * c.mfu))
        + 80 * (c.layer_latency_us + c.tensor_layer_latency_us) / 1e3
        + 63 * c.stream_overhead_us / 1e3
        + stall_ms
    )
    found = one(TENSOR)
    assert found.base == approx(1e3 / step_ms, rel=1e-9)
    assert found.kind == "tensor parallel"
    # A rate of decode alone, not of an online benchmark, holds no stalls.
    apart = one(TENSOR | {"ttft_ms": ""})
    assert apart.base == approx(1e3 / (step_ms - stall_ms), rel=1e-9)


def test_a_mixture_reads_the_experts_of_its_batch_by_hand(one):
    c = class_constants("nv-dc-hbm", "serving")
    experts_gb = (65.253 - 4.973) / (1 - 4 / 128)
    weights = 4.973 - experts_gb * 4 / 128 + experts_gb * (1 - (1 - 4 / 128) ** 32)
    # Half of 36 layers see no more than 128 tokens; the column counts those that grow.
    cache = 32 * (1382 + 128) * 36864 / 1e9
    # FP4 has no peak of its own on Hopper: 989 TFLOP/s.
    prefill_tflop = 2 * 5.13e9 * 1024 / 1e12 + 2 * 36 * 64 * 64 * 1024 * 1025 / 1e12
    step_ms = (
        (weights + cache) / (4 * 3350 * c.fetch_efficiency) * 1e3
        + 36 * (c.layer_latency_us + c.moe_layer_latency_us + c.tensor_layer_latency_us) / 1e3
        + 31 * c.stream_overhead_us / 1e3
        + 32 * prefill_tflop / (989 * 4**0.5 * c.moe_stall_mfu) / 1024 * 1e3
    )
    found = one(MIXTURE)
    assert found.base == approx(1e3 / step_ms, rel=1e-9)
    assert found.kind == "moe"
    # One token's read is the ceiling, whatever the batch.
    assert found.ceiling_tokens_per_sec == approx(4 * 3350 / 4.973)


@pytest.mark.parametrize(
    ("change", "peak"),
    [
        ({"precision": "fp8"}, 1979),
        ({"precision": "fp4"}, 989),
        ({"precision": "bf16"}, 989),
        # a mixture in 4 bits on Blackwell comes out at the 8-bit peak, a dense model at twice that
        ({"precision": "fp4", "hw": "B200 SXM 180GB"}, 1979),
        ({"precision": "fp4", "hw": "B200 SXM 180GB", "kind": "dense", "model": "Llama-3.1-70B"}, 3958),
        ({"precision": "fp4", "fp8_tflops_each": ""}, 989),
        # blank, as the catalogue has it
        ({"precision": "bf16", "fp16_tflops_each": "", "fp8_tflops_each": ""}, 989.4),
    ],
)
def test_the_peak_is_the_rows_own(one, change, peak):
    assert one(MIXTURE | change).result.scenario.peak_tflop_s == peak


@pytest.mark.parametrize(
    ("row", "change", "reason"),
    [
        (LLAMACPP, {"decode_tok_s_stream": ""}, "no decode rate"),
        (LLAMACPP, {"flags": "speculative;power-limited 330W"}, "speculative decoding"),
        (LLAMACPP, {"flags": "CPU offload (42 GB model on 24 GB card)"}, "weights exceed the device"),
        (LLAMACPP, {"flags": ";2 threads"}, "thread-limited"),
        (LLAMACPP, {"flags": "PCIe only;llama.cpp row-split (layer split came Jan 2024)"}, "llama.cpp row split"),
        (LLAMACPP, {"flags": "MTP/spec setting not recorded in file"}, ""),
        (LLAMACPP, {"decode_tok_s_stream": "200"}, "above the bandwidth ceiling"),
        (TENSOR, {"hw": "GB200 (per GPU)"}, "rack-scale pool"),
        (TENSOR, {"hw_count": "16", "parallel": "TP16"}, "tensor parallel above the 8 devices"),
        # 1,024 tokens at 102.879 a second take 9.95 s
        (TENSOR, {"ttft_ms": "11000"}, "queued"),
        # one read of the weights takes 2.3 ms and 64 prefills / 1,024 steps at 85 % of the peak 0.6 ms: 345 tok/s
        (TENSOR, {"decode_tok_s_stream": "400", "ttft_ms": "900"}, "above the prefill ceiling"),
        (LLAMACPP, {"hw": "H100 SXM 80GB", "engine": "HF transformers"}, "eager baseline"),
    ],
)
def test_a_row_that_cannot_judge_is_predicted_and_says_why_it_does_not_count(one, row, change, reason):
    found = one(row | change)
    assert found.base > 0
    assert found.left_out.startswith(reason)
    assert bool(found.left_out) == bool(reason)


def test_what_a_row_measured_chooses_nothing_of_its_prediction(one):
    assert one(TENSOR | {"decode_tok_s_stream": "1"}).base == one(TENSOR).base


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights_gb_total": "", "params_b": "", "model": "mystery"}, "Weights are missing"),
        ({"bw_gbs_each": "", "hw": "mystery"}, "Bandwidth is missing"),
        ({"bw_gbs_each": "fast", "hw": "mystery"}, "bw_gbs_each is 'fast'; expected a number above 0"),
        ({"batch": "2.5"}, "Batch is 2.5"),
    ],
)
def test_a_row_that_says_too_little_is_not_predicted_and_says_what_it_lacks(one, change, said):
    found = one(LLAMACPP | change)
    assert found.base is None
    assert said in found.reason


@pytest.mark.parametrize(
    ("blank", "base"),
    [
        # the catalogue's device, model and cache; a size from parameters and bits: 8.03 x 4.85 / 8 = 4.868 GB
        (("bw_gbs_each", "hw_class", "fp16_tflops_each", "kv_bytes_per_token", "kind"), 102.0),
        (("weights_gb_total", "active_weights_gb"), 103.0),
        (("hw_count", "batch", "output_len", "prompt_len"), 102.0),
    ],
)
def test_blank_cells_are_filled_from_the_catalogue(one, blank, base):
    found = one(LLAMACPP | dict.fromkeys(blank, ""))
    assert found.base == approx(base, rel=0.02)
    assert not found.left_out


def test_an_unreadable_cell_that_is_not_needed_leaves_a_prediction_that_does_not_count(one):
    found = one(LLAMACPP | {"kv_bytes_per_token": "1.3e5?"})
    assert found.base == approx(102, rel=0.02)
    assert found.left_out == "kv_bytes_per_token is '1.3e5?'; expected a number above 0"


def test_an_unknown_mixture_is_taken_as_8_of_128_and_says_so(one):
    found = one(MIXTURE | {"model": "mystery 26B.A4B"})
    assert (found.result.scenario.experts, found.result.scenario.active_experts) == (128, 8)
    assert found.remarks == ("experts of mystery 26B.A4B not known, taken as 8 of 128",)
    assert not found.left_out


def test_a_rate_of_all_streams_serves_where_that_of_one_is_blank(one):
    found = one(APPLE | {"decode_tok_s_stream": "", "decode_tok_s_aggregate": "254.83"})
    assert found.setting.measured == approx(254.83 / 8)


def test_errors_by_kind_and_class_by_hand():
    rows = [
        Judged("moe", "apple", 100.0, 90.0, 80.0, 110.0, 200.0),
        Judged("moe", "apple", 100.0, 130.0, 110.0, 140.0, 99.0),
        Judged("dense batch 1", "cpu", 10.0, 11.0, 9.0, 12.0, None),
    ]
    (everything, dense, moe), (apple, cpu) = error_table(rows)
    assert (everything.group, everything.rows, everything.above_ceiling) == ("all", 3, 1)
    assert (everything.median, everything.inside) == (approx(0.1), approx(2 / 3))
    assert (dense.group, moe.group, apple.group, cpu.group) == ("dense batch 1", "moe", "apple", "cpu")
    # errors -10 % and +30 %: median size 20 %, bias +10 %, nine tenths of the way from 10 to 30
    assert (moe.median, moe.bias, moe.p90) == (approx(0.2), approx(0.1), approx(0.28))
    assert error_table([]) == ([], [])
    assert quantile([7.0], 0.9) == 7.0


def test_the_command_keeps_every_column_and_writes_the_terms_beside(run, tmp_path):
    rows = [row | {"mine": f"x, {number}"} for number, row in enumerate(ALL)]
    path = write(tmp_path / "rows.csv", rows)
    done = run(path)
    assert done.exit_code == 0
    assert "5 rows, 5 predicted, 5 counted." in done.stdout
    out = tmp_path / "rows.predicted.csv"
    assert done.stdout.splitlines()[-1] == f"Wrote {out}"
    found = rows_of(out)
    for given, got in zip(rows_of(path), found, strict=True):
        assert list(got)[: len(given)] == list(given)
        assert given.items() <= got.items()
        assert float(got["low"]) < float(got["base"]) < float(got["high"]) <= float(got["ceiling"])
        assert float(got["step_ms"]) == approx(1e3 / float(got["base"]), rel=1e-4)
        parts = [float(got[name] or 0) for name in ("memory_ms", "layers_ms", "streams_ms", "stall_ms")]
        added = float(got["compute_ms"]) if got["engine_group"] == "llamacpp" else 0.0
        assert sum(parts) + added == approx(float(got["step_ms"]), rel=1e-4)
    assert [row["serving_kind"] for row in found][-3:] == ["dense batched", "tensor parallel", "moe"]
    # A second run replaces its own file, and takes its own file as input.
    assert run(path).exit_code == 0
    assert run(out, "-o", tmp_path / "again.csv").exit_code == 0
    assert (tmp_path / "again.csv").read_text("utf-8") == out.read_text("utf-8")


def test_a_row_that_cannot_be_predicted_costs_exit_code_1_and_nothing_else(run, tmp_path):
    path = write(tmp_path / "rows.csv", [LLAMACPP, LLAMACPP | {"bw_gbs_each": "0", "hw": "?"}])
    done = run(path)
    assert done.exit_code == 1
    assert "2 rows, 1 predicted, 1 counted." in done.stdout
    bad = rows_of(tmp_path / "rows.predicted.csv")[1]
    assert bad["base"] == ""
    assert bad["left_out"] == (
        "not predicted: Bandwidth is missing; expected Bandwidth per device (GB/s) and Devices, "
        "or Aggregate bandwidth (GB/s); bw_gbs_each is '0'; expected a number above 0"
    )


def test_json_holds_the_same_table(run, tmp_path):
    path = write(tmp_path / "rows.csv", [*ALL, TENSOR | {"flags": "speculative"}])
    done = run(path, "--json", "-o", tmp_path / "out.csv")
    found = json.loads(done.stdout)
    assert (found["rows"], found["predicted"], found["counted"]) == (6, 6, 5)
    assert found["kinds"][0]["group"] == "all"
    assert found["with_left_out"][0]["rows"] == 6
    assert found["left_out"] == {"speculative decoding": 1}
    assert found["written"] == str(tmp_path / "out.csv")


@pytest.mark.parametrize(("separator", "start"), [(",", "\ufeff"), (";", ""), ("\t", ""), (",", "\n")])
def test_files_as_spreadsheets_save_them(run, tmp_path, separator, start):
    rows = ALL
    if separator == ";":
        rows = [
            {name: value.replace(".", ",") if name[:2] in {"bw", "we"} else value for name, value in row.items()}
            for row in ALL
        ]
    plain = write(tmp_path / "plain.csv", ALL)
    odd = write(tmp_path / "odd.csv", rows, separator=separator, start=start)
    assert run(odd).exit_code == run(plain).exit_code == 0
    bases = [[row["base"] for row in rows_of(tmp_path / f"{name}.predicted.csv")] for name in ("plain", "odd")]
    assert bases[0] == bases[1]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "rows.csv is empty; expected a header and rows of measured rates."),
        (b"\n \n", "rows.csv is empty; expected a header and rows of measured rates."),
        (b"hw,model\n", "rows.csv has a header and no rows."),
        (b"a,b\n1,2\n", "rows.csv has none of the columns bw_gbs_each, hw; expected a header such as"),
        (b"hw,b\n1,2\n", "rows.csv has none of the columns weights_gb_total, params_b, model;"),
        (b"PK\x03\x04rest", "rows.csv is a workbook, not a CSV file; save its sheet as .csv."),
        (b"hw,model\n\x00\x01,2\n", "rows.csv is not a text file; expected a .csv file."),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(run, tmp_path, data, said):
    path = tmp_path / "rows.csv"
    path.write_bytes(data)
    done = run(path)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"planner: {said}")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "rows.predicted.csv").exists()


def test_no_file_a_folder_and_files_of_others_are_refused(run, tmp_path):
    assert "does not exist" in run(tmp_path / "none.csv").stderr
    assert "is a folder" in run(tmp_path).stderr
    path = write(tmp_path / "rows.csv", ALL)
    assert "is the table itself" in run(path, "-o", path).stderr
    other = tmp_path / "other.csv"
    other.write_text("mine\n")
    assert "is no work of planner's" in run(path, "-o", other).stderr
    assert other.read_text() == "mine\n"
    assert run(path, "-o", other, "--force").exit_code == 0


def test_odd_rows_never_raise(run, tmp_path):
    odd = ["", "0", "-1", "nan", "inf", "1e400", "1e-300", "x", "1,5", "999999999999", "'=1'", "é", " "]
    columns = [name for name in LLAMACPP if name != "id"]
    rows = [row | {name: value} for row in (LLAMACPP, MIXTURE) for name in columns for value in odd]
    path = write(tmp_path / "rows.csv", rows)
    path.write_text(path.read_text("utf-8") + "short,row\n" + "long," * 60 + "\n", "utf-8")
    done = run(path)
    assert done.exit_code == 1
    found = rows_of(tmp_path / "rows.predicted.csv")
    assert len(found) == len(rows) + 2
    assert all(row["base"] or row["left_out"] for row in found)


def test_the_tables_fit_a_terminal_of_eighty_characters(run, tmp_path):
    path = write(tmp_path / "rows.csv", [*ALL, TENSOR | {"ttft_ms": "11000"}])
    done = run(path, COLUMNS="80")
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80


FACTS = Path(__file__).parent / "accuracy"


def test_every_measured_fact_has_a_public_source():
    rows = rows_of(FACTS / "measured.csv")
    assert len(rows) == 1962
    addresses = {row["source"]: row["address"] for row in rows_of(FACTS / "sources.csv")}
    assert {row["source"] for row in rows} == set(addresses)
    assert all(address.startswith("https://") for address in addresses.values())


def test_measured_facts_lie_where_the_estimate_says():
    # Every tenth row; the whole table, and rows held out, are `make accuracy`'s.
    found = [predict(row) for row in read_measured(FACTS / "measured.csv").rows[::10]]
    judged = [
        Judged(
            p.kind,
            p.device_class,
            p.setting.measured,
            p.base,
            p.result.low_tokens_per_sec,
            p.result.high_tokens_per_sec,
            p.ceiling_tokens_per_sec,
        )
        for p in found
        if not p.left_out
    ]
    lines = {line.group: line for line in error_table(judged)[0]}
    assert lines["all"].rows > 150
    assert all(line.median < 0.15 and abs(line.bias) < 0.05 for line in lines.values())
    assert 0.8 < lines["all"].inside < 0.97
    assert lines["all"].above_ceiling == 0
