"""Sweeps: what may be asked, the points as single scenarios are, the front among those that can be deployed."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
import tempfile

import numpy as np
import openpyxl
import pytest

from planner import Scenario, catalog, evaluate, read_scenarios, sweep
from planner.issues import PlannerError
from planner.plan.basis import fits, has_range
from planner.plan.bulk_columns import Words
from planner.plan.fill import Library
from planner.plan.resolve import resolve
from planner.plan.scenario import COLUMNS, FIGURES
from planner.plan.sweep import sweep_of
from planner.plan.sweep_columns import ALL_COLUMNS, REMARKS, sweep_header
from planner.plan.sweep_points import CHUNK, evaluate_sweep, joined_columns
from planner.plan.sweep_view import view_of

MANY = {
    "devices": "all", "models": "all", "precisions": "native,fp8,q4_k_m,3.5", "batches": "1..256x4",
    "contexts": "200+50,3000..200000x8+1000", "counts": "1,2,3,8", "engines": "vLLM,llama.cpp", "kv_precisions": "FP16,FP8",
}  # fmt: skip
PRICES = {"H100 SXM": 2.5, "H200 SXM": "3.10"}
SMALL = ("H100 SXM,H200 SXM,A100 SXM4 80GB", "llama-3.1-70b,qwen3-32b", "native,fp8", "1..256x2", "2000..64000x4+500")


def number(value):
    return math.nan if value is None else float(value)


def typed_of(columns, row, names):
    """The inputs of one point as a scenario of its own would have them."""
    held = {name: columns[name] for name in names}
    return {
        name: (column.words[column.codes[row]] or None) if isinstance(column, Words) else float(column[row])
        for name, column in held.items()
        if not (isinstance(column, Words) and not column.codes[row])
    }


def test_a_point_is_what_its_scenario_is_alone():
    asked = sweep_of(**MANY, limit=10**9, utilisation="35%", currency="USD", prices=PRICES)
    dice = np.random.default_rng(7)
    seen = set()
    for start in dice.integers(0, asked.size - 1, 180).tolist():
        typed = asked.grid.columns(start, start + 1)
        found = asked.points(start, start + 1)
        device = typed["device"].words[typed["device"].codes[0]]
        money = {"device_cost_h": asked.prices.get(device), "busy_share": 0.35}
        scenario = Scenario(**typed_of(typed, 0, typed), **money)
        try:
            result = evaluate(scenario)
        except PlannerError:
            assert found["remark"].words[found["remark"].codes[0]] == "cannot be evaluated"
            continue
        for name in found:
            if name in FIGURES:
                expected = number(getattr(result, name))
                assert found[name][0] == pytest.approx(expected, rel=1e-12, nan_ok=True), (name, scenario)
            elif name in COLUMNS:
                held = getattr(result.scenario, name)
                value = found[name].words[found[name].codes[0]] if isinstance(found[name], Words) else found[name][0]
                assert value == (held or "" if isinstance(held, str) or held is None else held), (name, scenario)
        assert found["fits"][0] == pytest.approx(number(fits(result)), nan_ok=True)
        remark = found["remark"].words[found["remark"].codes[0]]
        seen.add(remark)
        too_long = any(issue.code == "context-long" for issue in result.issues)
        assert too_long or remark != "context beyond the model's longest"
        assert not too_long or remark
        assert has_range(result) or remark
    assert {"", "attention heads do not divide over the devices", "context beyond the model's longest"} <= seen


def beaten(rate, against, other_rate, other_against):
    """Whether a point is beaten, where the lower figure is the better one."""
    return other_rate >= rate and other_against <= against and (other_rate > rate or other_against < against)


@pytest.mark.parametrize("held", ["task", "model", "all"])
@pytest.mark.parametrize("priced", [True, False])
def test_the_front_is_the_points_that_may_be_deployed_and_that_none_beats(held, priced):
    money = {"prices": PRICES, "utilisation": 0.4, "currency": "EUR"} if priced else {}
    found = sweep(*SMALL, "1,2,3,4", front=held, **money)
    rate = found["estimated_tokens_per_sec"]
    against = found["cost_per_m_tokens"] if priced else -found["device_tokens_per_sec"]
    good = (found["remark"] == "") & (found["fits"] != 0) & ~np.isnan(against)
    task = {"task": ("model", "prompt_tokens", "output_tokens"), "model": ("model",), "all": ()}[held]
    keys = [tuple(found[name][row] for name in task) for row in range(len(rate))]
    rows = np.flatnonzero(good).tolist()
    expected = [
        row in set(rows)
        and not any(keys[row] == keys[other] and beaten(rate[row], against[row], rate[other], against[other]) for other in rows)
        for row in range(len(rate))
    ]  # fmt: skip
    assert (found["pareto"] == 1).tolist() == expected
    assert 0 < sum(expected) < len(rows)


def test_what_cannot_be_deployed_is_marked_and_on_no_front():
    found = sweep(
        "RTX 4090,H100 SXM", "llama-3.1-70b", "native,int4", "1,8", "2000+500,200000+500", "1,3,8", front="all"
    )
    assert set(found["remark"]) == {
        "", "attention heads do not divide over the devices", "context beyond the model's longest"
    }  # fmt: skip
    assert set(found["fits"]) == {0.0, 1.0}
    assert not found["pareto"][(found["remark"] != "") | (found["fits"] == 0)].any()
    assert (found["memory_needed_gb"] > found["usable_memory_gb"])[found["fits"] == 0].all()
    assert found["pareto"].any()


def test_points_by_layers_are_bound_by_layers_and_not_by_heads():
    found = sweep("RTX 4090", "llama-3.1-8b", "int4", 4, "100+100", "3,40", fixed={"split": "layers"})
    assert found["remark"].tolist() == ["", "more devices than layers"]
    found = sweep("RTX 4090", "llama-3.1-8b", "int4", 4, "100+100", "64", fixed={"split": "tensor"})
    assert found["remark"].tolist() == ["more devices than attention heads"]


def test_what_cannot_be_evaluated_is_marked_and_has_no_figures():
    found = sweep("H100 SXM", "llama-3.1-8b", "fp8", 1, "10+10", fixed={"active_params_b": 1e5})
    assert found["remark"].tolist() == ["cannot be evaluated"]
    assert np.isnan([found["tokens_per_sec"][0], found["estimated_tokens_per_sec"][0], found["fits"][0]]).all()
    assert found["pareto"].tolist() == [0]


def test_prices_may_be_for_devices_that_are_not_swept_and_only_priced_points_are_on_the_front():
    found = sweep("H100 SXM,A100 SXM4 80GB", "llama-3.1-8b", "fp8", "1..8x2", "100+100",
                  prices={"h100 sxm": 2.0, "RTX 4090": 0.5}, utilisation=1, currency="USD")  # fmt: skip
    priced = found["device"] == "H100 SXM5 80GB"
    assert np.isnan(found["cost_per_m_tokens"][~priced]).all()
    assert not found["pareto"][~priced].any()
    assert (found["device_cost_h"][priced] == 2.0).all()
    # 2.0 an hour x 1e6 / (aggregate x 3,600 x 1).
    assert found["cost_per_m_tokens"][priced] == pytest.approx(
        2e6 / (found["estimated_aggregate_tokens_per_sec"][priced] * 3600), rel=1e-12
    )


def test_half_the_utilisation_is_twice_the_cost():
    cheap, dear = (
        sweep(*SMALL, "1,2", prices=PRICES, utilisation=share, currency="USD")["cost_per_m_tokens"] for share in (1, 0.5)
    )  # fmt: skip
    assert dear == pytest.approx(2 * cheap, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "Nothing is given for devices, models, contexts, batches; a sweep needs at least one entry of each."),
        ({"front": "best"}, "Front is 'best'; expected one of task, model, all."),
        ({"devices": "H100 SXN", "batches": "0", "contexts": "7"},
         "Context is '7'; expected prompt and output in tokens, such as 2000+500. No device is named H100 SXN, did you mean "
         "H100 NVL 94GB, H100 PCIe 80GB or H100 SXM5 80GB? Batch is 0; expected a whole number of at least 1."),
        ({"prices": {"H100 SXM": 2}},
         "Prices are given without utilisation, the share of the paid hours that is busy; a cost at full load all year is "
         "nobody's cost. Give one, such as 40%."),
        ({"prices": {"H100 SXM": 2}, "utilisation": 0.4},
         "Prices are given without their currency; name it, such as USD."),
        ({"utilisation": 0.4}, "Utilisation is given without a price; it says what share of a paid hour is busy."),
        ({"prices": {"H100 SXM": 0, "H200 SXM": "x", "zzz": 1}, "utilisation": "140%", "currency": "USD"},
         "Price of H100 SXM is 0 money/h; expected a number above 0 (money/h). Price of H200 SXM is 'x', not a number; expected a number "
         "above 0 (money/h). No device is named zzz; `planner catalog devices` shows them all. Utilisation is '140%'; expected a "
         "ratio above 0 to 1, or 10 to 100 for percent."),
        ({"prices": {"H100 SXM": 2, "h100-sxm5-80gb": 3}, "utilisation": 1, "currency": "USD"},
         "H100 SXM5 80GB has two prices, 2 and 3; give one."),
        ({"prices": {"H100*": 2}, "utilisation": 1, "currency": "USD"},
         "A price for H100* is for 3 devices; name one."),
        ({"fixed": {"usable share": 0.9, "zzz": 1}},
         "No input is called usable share; did you mean usable_share? No input is called zzz; expected a field of a "
         "scenario, such as usable_share."),
        ({"fixed": {"batch": 3}, "batches": 4}, "Batch is both swept and set for all points; give one."),
        ({"fixed": {"usable_share": "x"}},
         "Usable memory is 'x'; expected a ratio above 0 to 1, or 10 to 100 for percent."),
        ({"devices": "H100 SXM,H200 SXM", "models": "llama-3.1-8b", "batches": "1..600", "contexts": "1..1000+10"},
         "The sweep has 1,200,000 points (1,000 contexts x 2 devices x 600 batches), above the limit of 1,000,000; narrow "
         "a list, or raise the limit."),
    ],
)  # fmt: skip
def test_what_is_refused(asked, said):
    with pytest.raises(PlannerError) as refused:
        sweep_of(**{"limit": 1_000_000} | asked)
    assert str(refused.value) == said


def workbook(path, rows, *more):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Scenarios"
    for row in rows:
        sheet.append(row)
    for title, listed in more:
        extra = book.create_sheet(title)
        for row in listed:
            extra.append(row)
    book.save(path)
    return path


HEAD = ("Scenario", "Model", "Precision", "Device", "Devices", "Batch", "Prompt (tokens)", "Output (tokens)")


def test_a_workbooks_scenarios_are_swept_with_what_they_say(tmp_path):
    path = workbook(
        tmp_path / "s.xlsx",
        [HEAD, ("A", "llama-3.1-8b", "FP8", "H100 SXM", 1, 4, 2000, 500), ("B", "qwen3-32b", "BF16", "H100 SXM", 2, 8, 900, 100)],
    )  # fmt: skip
    table = read_scenarios(path)
    base = [entry.resolution for entry in table.entries]
    found = sweep(batches="1,16", base=base, precisions=(), library=table.library)
    assert found["name"].tolist() == ["A", "A", "B", "B"]
    assert found["batch"].tolist() == [1, 16, 1, 16]
    for row, (model, precision, devices, prompt, output) in enumerate(
        [("llama-3.1-8b", "FP8", 1, 2000, 500)] * 2 + [("qwen3-32b", "BF16", 2, 900, 100)] * 2
    ):
        alone = evaluate(
            Scenario(model=model, precision=precision, device="H100 SXM", devices=devices, batch=found["batch"][row],
                     prompt_tokens=prompt, output_tokens=output)
        )  # fmt: skip
        assert found["estimated_tokens_per_sec"][row] == pytest.approx(alone.estimated_tokens_per_sec, rel=1e-12)
    # Each scenario is a task of its own.
    assert found["pareto"].tolist() == [1, 1, 1, 1]
    swapped = sweep("H200 SXM", base=base, precisions=())
    assert swapped["device"].tolist() == ["H200 SXM 141GB"] * 2
    assert (
        swapped["usable_memory_gb"].tolist()
        != sweep(batches="4", base=base, precisions=())["usable_memory_gb"].tolist()
    )


PRICED = (*HEAD, "Price per device-hour", "Purchase per device", "Useful life (years)", "Utilisation", "Currency")


def priced_book(path, *rows):
    load = ("llama-3.1-8b", "FP8", "H100 SXM", 1, 4, 2000, 500)
    return read_scenarios(workbook(path, [PRICED, *((name, *load, *money) for name, *money in rows)]))


def test_scenarios_bring_their_own_prices(tmp_path):
    table = priced_book(
        tmp_path / "s.xlsx", ("Rented", 2.5, None, None, 0.4, "EUR"), ("Owned", None, 30_000, 4, 0.3, "EUR"),
        ("Free", None, None, None, None, None),
    )  # fmt: skip
    base = [entry.resolution for entry in table.entries]
    assert len(base) == 3
    asked = sweep_of(batches="4,16", precisions=(), base=base)
    assert (asked.currency, asked.priced, asked.against) == ("EUR", True, "cost_per_m_tokens")
    found = sweep(batches="4,16", precisions=(), base=base)
    for row, cost in enumerate(found["cost_per_m_tokens"].tolist()):
        alone = evaluate(dataclasses.replace(table.scenarios[row // 2], batch=4)) if row % 2 == 0 else None
        if alone is not None:
            assert cost == pytest.approx(number(alone.cost_per_m_tokens), rel=1e-12, nan_ok=True)
    assert found["pareto"].tolist() == [1, 1, 1, 1, 0, 0]
    swept = evaluate_sweep(asked)
    said = view_of(swept).sentences
    swept.close()
    assert said[1].endswith("prompts included, with each scenario's own utilisation, in EUR.")
    # Prices that are given hold for all, and other devices have none of the row's.
    given = sweep(batches="4", precisions=(), base=base, prices={"H100 SXM": 2}, utilisation=0.5, currency="USD")
    assert given["device_cost_h"].tolist() == [2, 2, 2]
    assert np.ptp(given["cost_per_m_tokens"]) == 0
    assert not sweep_of("H200 SXM", precisions=(), base=base).priced


def test_scenarios_in_two_currencies_are_refused(tmp_path):
    table = priced_book(tmp_path / "s.xlsx", ("A", 2.5, None, None, 0.4, "EUR"), ("B", 2.5, None, None, 0.4, "USD"))
    with pytest.raises(PlannerError, match="Scenarios are priced in EUR and in USD; a sweep needs one currency"):
        sweep_of(batches="1", precisions=(), base=[entry.resolution for entry in table.entries])


def test_a_scenario_without_an_estimate_is_on_no_front(tmp_path):
    rows = [
        ("Scenario", "Parameters (B)", "Precision", "Bandwidth per device (GB/s)", "Batch"),
        ("Bare", 70, "FP8", 3350, 1),
    ]
    base = [entry.resolution for entry in read_scenarios(workbook(tmp_path / "s.xlsx", rows)).entries]
    found = sweep(batches="1,2", base=base, precisions=())
    assert found["remark"].tolist() == ["no estimate with a range"] * 2
    assert found["tokens_per_sec"].round(2).tolist() == [47.86, 47.86]
    assert found["pareto"].tolist() == [0, 0]


def test_the_users_own_devices_and_models_come_first():
    own = dataclasses.replace(catalog.find_device("H100 SXM"), name="Our card", bandwidth_gb_s=1000.0)
    library = Library(devices=((own, "Devices!A2"),), models=())
    found = sweep("our card,H100 SXM", "llama-3.1-8b", "fp8", 1, "100+100", library=library,
                  prices={"Our card": 1.5}, utilisation=1, currency="USD")  # fmt: skip
    assert found["device"].tolist() == ["Our card", "H100 SXM5 80GB"]
    assert found["device_cost_h"].tolist()[0] == 1.5
    assert found["tokens_per_sec"][0] < found["tokens_per_sec"][1] / 3


def swept_of(*lists, **options):
    return evaluate_sweep(sweep_of(*lists, **options))


def test_more_points_than_are_evaluated_together_are_as_in_one():
    asked = sweep_of("H100 SXM,H200 SXM", "llama-3.1-70b", "fp8", "1..250", "1000..16000:100+500", "1")
    assert CHUNK < asked.size < 2 * CHUNK
    done = []
    swept = evaluate_sweep(asked, done.append)
    assert done == [CHUNK, asked.size]
    whole = joined_columns(list(swept.chunks()))
    parts = joined_columns(list(swept.chunks(1000)))
    single = asked.points(0, asked.size)
    for name, column in single.items():
        for other in (whole[name], parts[name]):
            same = np.array_equal(column.texts(), other.texts()) if isinstance(column, Words) else (
                np.array_equal(column, other, equal_nan=True)
            )  # fmt: skip
            assert same, name
    assert np.flatnonzero(whole["pareto"]).tolist() == swept.front.tolist()
    picked = swept.pick(np.array([0, CHUNK - 1, CHUNK, asked.size - 1]))
    assert picked["batch"].tolist() == whole["batch"][[0, CHUNK - 1, CHUNK, asked.size - 1]].tolist()
    swept.close()


def test_only_fitting_leaves_out_the_rest():
    lists = ("RTX 4090,H100 SXM", "llama-3.1-70b", "native,int4", "1,8", "2000+500,200000+500", "1,3,8")
    swept = swept_of(*lists, only_fitting=True)
    kept = joined_columns(list(swept.chunks()))
    assert len(kept["pareto"]) == swept.kept == swept.counts["sensible"] < swept.sweep.size
    assert not kept["remark"].codes.any()
    assert (kept["fits"] != 0).all()
    found = sweep(*lists)
    assert kept["pareto"].sum() == found["pareto"].sum()
    swept.close()


def test_the_counts_add_up():
    swept = swept_of(
        "RTX 4090,H100 SXM", "llama-3.1-70b", "native,int4", "1,8", "2000+500,200000+500", "1,3,8",
        prices={"H100 SXM": 2}, utilisation=0.5, currency="USD",
    )  # fmt: skip
    counts = swept.counts
    assert counts["points"] == 48
    assert counts["sensible"] + counts["misfits"] + sum(counts[remark] for remark in REMARKS[1:]) == 48
    kept = joined_columns(list(swept.chunks()))
    sensible = (kept["remark"].codes == 0) & (kept["fits"] != 0)
    assert counts["unpriced"] == (sensible & np.isnan(kept["cost_per_m_tokens"])).sum() > 0
    said = view_of(swept).sentences
    assert said[0].startswith(f"48 points, {counts['sensible']} deployable (do not fit in memory: ")
    assert said[1] == (
        "Cost is all that is paid for the devices for a million output tokens, prompts included, with 50% of the paid hours "
        "busy, in USD."
    )
    assert said[2] == f"{counts['unpriced']} points without a price, on no front."
    swept.close()


@pytest.mark.parametrize(
    ("held", "labels"),
    [
        ("task", ["Qwen3-32B, 2,000+500", "Qwen3-32B, 8,000+500", "Llama-3.1-70B, 2,000+500", "Llama-3.1-70B, 8,000+500"]),
        ("model", ["Qwen3-32B", "Llama-3.1-70B"]),
        ("all", ["All points"]),
    ],
)  # fmt: skip
def test_the_front_is_shown_task_by_task_from_the_fastest_on(held, labels):
    swept = swept_of("H100 SXM,H200 SXM", "qwen3-32b,llama-3.1-70b", "fp8", "1..64x2", "2000+500,8000+500", front=held)
    view = view_of(swept)
    assert [task.label for task in view.tasks] == labels
    assert view.tasks[0].start == 0
    assert view.tasks[-1].stop == len(view) == len(swept.front)
    for task in view.tasks:
        rates = view.columns["estimated_tokens_per_sec"][task.start : task.stop]
        assert (np.diff(rates) <= 0).all()
        # What is slower earns more, else it were beaten.
        assert (np.diff(view.columns["device_tokens_per_sec"][task.start : task.stop]) >= 0).all()
    # All points are few enough to be drawn, and those of the front are drawn once.
    assert len(view.others[0]) + len(view) == swept.counts["sensible"]
    swept.close()


def test_no_room_for_the_points_is_said():
    code = (
        "import resource, sys\n"
        "from planner import PlannerError, sweep\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n    sweep('H100 SXM', 'llama-3.1-8b', 'fp8', 1, '10+10')\n"
        "except PlannerError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("No room for the sweep's points in ")
    assert "File too large" in done.stdout
    assert done.stderr == ""


def test_headers_name_the_currency():
    assert sweep_header("cost_per_m_tokens", "EUR") == "Cost per M output (EUR/M tokens)"
    assert sweep_header("device_cost_h", "EUR") == "Price per device-hour (EUR/h)"
    assert sweep_header("device_cost_h") == "Price per device-hour (money/h)"
    headers = [sweep_header(name) for name in ALL_COLUMNS]
    assert len(set(headers)) == len(headers)


def test_the_temporary_file_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sweep("H100 SXM", "llama-3.1-8b", "fp8", 1, "10+10")
    assert list(tmp_path.iterdir()) == []


def test_prices_name_their_currency_by_a_sign_and_win_over_a_list():
    asked = sweep_of(
        *SMALL, "1,2", prices={"H100 SXM": "$2.50"}, listed={"h100-sxm5-80gb": 9, "H200 SXM": 3}, utilisation=0.5
    )
    assert asked.currency == "USD"
    assert dict(asked.prices) == {"H100 SXM5 80GB": 2.5, "H200 SXM 141GB": 3.0}
    assert sweep_of(*SMALL, "1,2", prices={"H100 SXM": 2}, utilisation=1, currency="eur").currency == "EUR"


@pytest.mark.parametrize(
    ("money", "said"),
    [
        (
            {"prices": {"H100 SXM": 2}, "currency": "bananas"},
            "Currency is 'bananas'; expected a currency's code such as USD, EUR or JPY.",
        ),
        (
            {"prices": {"H100 SXM": "$2"}, "currency": "EUR"},
            "Prices are in EUR and in USD; a sweep needs one currency.",
        ),
        ({"prices": {"H100 SXM": "\u00a52"}}, "Price of H100 SXM is in JPY or CNY; expected the currency's code."),
    ],
)
def test_a_currency_that_is_none_or_two_is_refused(money, said):
    with pytest.raises(PlannerError) as refused:
        sweep_of(*SMALL, "1,2", utilisation=0.5, **money)
    assert str(refused.value).startswith(said)


def test_scenarios_prices_are_not_relabelled():
    base = [
        resolve(Scenario(device="H100 SXM", model="Llama-3.1-8B", device_cost_h=2.5, busy_share=0.5, currency="USD"))
    ]
    with pytest.raises(PlannerError) as refused:
        sweep_of(batches="1,2", precisions=(), base=base, currency="EUR")
    assert str(refused.value) == "Scenarios are priced in USD, and EUR is asked for; a sweep converts nothing."
    assert sweep_of(batches="1,2", precisions=(), base=base, currency="usd").currency == "USD"
