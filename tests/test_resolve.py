import pytest

from planner.issues import Severity
from planner.plan.resolve import DEFAULT, TYPED, resolve
from planner.plan.scenario import COLUMNS, CORE_COLUMNS, Scenario

FULL = {"params_b": 70, "precision": "FP16", "bandwidth_gb_s": 3350}


def problems(resolution):
    return [(issue.code, issue.field, issue.problem) for issue in resolution.issues]


def test_blank_fields_take_their_defaults_and_the_record_says_so():
    resolution = resolve(Scenario(**FULL))
    scenario, sources = resolution.scenario, resolution.sources
    assert (scenario.devices, scenario.batch, scenario.efficiency) == (1, 1, 1)
    defaults = {name for name in CORE_COLUMNS if sources.get(name) == DEFAULT}
    assert defaults == {"devices", "batch", "efficiency"}
    assert {name for name, source in sources.items() if source == TYPED} == set(FULL)
    assert resolution.ok
    assert resolution.issues == ()


def test_typed_fields_win_over_defaults():
    resolution = resolve(Scenario(**FULL, devices=2, batch=8, efficiency=0.85, name="x", notes="y"))
    assert DEFAULT not in {resolution.sources.get(name) for name in CORE_COLUMNS}
    assert (resolution.scenario.devices, resolution.scenario.batch, resolution.scenario.efficiency) == (2, 8, 0.85)


def test_values_are_understood_as_in_a_cell():
    scenario = resolve(
        Scenario(
            params_b="70B",
            precision="fp8",
            device_bandwidth_gb_s="3.35 TB/s",
            devices="2x",
            efficiency="85 %",
            batch="8",
            prompt_tokens="2,000 tokens",
            occupancy=60,
        )
    ).scenario
    assert (scenario.params_b, scenario.precision, scenario.device_bandwidth_gb_s) == (70, "FP8", 3350)
    assert (scenario.devices, scenario.efficiency, scenario.batch) == (2, 0.85, 8)
    assert (scenario.prompt_tokens, scenario.occupancy) == (2000, 0.6)


def test_a_completed_scenario_stays_as_it_is():
    once = resolve(Scenario(**FULL, efficiency="85%", name="  worked example ")).scenario
    assert resolve(once).scenario == once


def test_empty_texts_are_blank():
    resolution = resolve(Scenario(**FULL, efficiency="", name="", model=""))
    assert resolution.scenario.efficiency == 1
    assert (resolution.scenario.name, resolution.scenario.model, resolution.scenario.notes) == ("", "", "")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["weights_gb", "device_bandwidth_gb_s"]),
        ({"params_b": 70}, ["precision", "device_bandwidth_gb_s"]),
        ({"precision": "FP16"}, ["weights_gb", "device_bandwidth_gb_s"]),
        ({"params_b": 70, "precision": "FP16"}, ["device_bandwidth_gb_s"]),
        ({"weights_gb": 140}, ["device_bandwidth_gb_s"]),
        ({"bandwidth_gb_s": 3350}, ["weights_gb"]),
        ({"device_bandwidth_gb_s": 3350}, ["weights_gb"]),
        ({"weights_gb": 140, "bandwidth_gb_s": 3350}, []),
        ({"weights_gb": 140, "device_bandwidth_gb_s": 3350}, []),
        ({"devices": 2, "batch": 8}, ["weights_gb", "device_bandwidth_gb_s"]),
    ],
)
def test_every_missing_input_is_named_at_once(given, expected):
    resolution = resolve(Scenario(**given))
    assert [issue.field for issue in resolution.issues] == expected
    assert all(issue.code == "missing" for issue in resolution.issues)
    assert resolution.ok == (not expected)


def test_what_is_missing_is_said_with_the_headers_to_fill():
    said = [str(issue) for issue in resolve(Scenario(params_b=7)).issues]
    assert said == [
        (
            "Precision is blank, so 7 billion parameters have no size; expected a precision such as FP16, FP8, INT4, "
            "Q4_K_M, or bits per weight from 1 to 64, or a size in Weights (GB)."
        ),
        "Bandwidth is missing; expected Bandwidth per device (GB/s) and Devices, or Aggregate bandwidth (GB/s).",
    ]
    assert str(resolve(Scenario(bandwidth_gb_s=1)).issues[0]) == (
        "Weights are missing; expected Weights (GB), or Parameters (billions) and Precision."
    )


def test_all_refused_values_are_said_in_one_pass_and_not_called_missing():
    resolution = resolve(
        Scenario(params_b="many", precision="FP17", bandwidth_gb_s=-1, devices=0, efficiency=1.2, batch=True)
    )
    assert [issue.field for issue in resolution.issues] == [
        "params_b",
        "precision",
        "devices",
        "bandwidth_gb_s",
        "efficiency",
        "batch",
    ]
    assert all(issue.severity is Severity.ERROR for issue in resolution.issues)
    assert not resolution.ok


def test_fields_refused_before_are_not_called_missing():
    assert resolve(Scenario(), frozenset({"params_b", "bandwidth_gb_s"})).issues == ()
    assert [issue.field for issue in resolve(Scenario(), frozenset({"precision"})).issues] == ["device_bandwidth_gb_s"]


@pytest.mark.parametrize(
    ("each", "devices", "total", "agrees"),
    [
        (3350, 2, 6700, True),
        (3350, None, 3350, True),
        # within half a percent: data sheets round
        (3350, 2, 6700 / 1.005, True),
        (1000, 1, 1005, True),
        # 5.0 of 995 is above half a percent, 5.0 of 1,005 below
        (1000, 1, 995, False),
        (3350, 2, 3350, False),
        (3350, None, 6700, False),
        (3350, 1, 6700, False),
    ],
)
def test_per_device_and_aggregate_bandwidth_must_agree(each, devices, total, agrees):
    resolution = resolve(
        Scenario(weights_gb=140, device_bandwidth_gb_s=each, devices=devices, bandwidth_gb_s=total, precision="FP16")
    )
    assert [issue.code for issue in resolution.issues] == ([] if agrees else ["contradiction"])


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        (3, "Aggregate bandwidth is 6,700 GB/s, but 3,350 GB/s x 3 devices is 10,050 GB/s"),
        (None, "Aggregate bandwidth is 6,700 GB/s, but 3,350 GB/s x 1 device (the count is blank) is 3,350 GB/s"),
    ],
)
def test_a_contradiction_shows_both_figures(devices, said):
    resolution = resolve(Scenario(weights_gb=140, device_bandwidth_gb_s=3350, devices=devices, bandwidth_gb_s=6700))
    assert problems(resolution) == [("contradiction", "bandwidth_gb_s", said)]
    assert resolution.issues[0].accepted == "two figures that agree, or one of them blank"


@pytest.mark.parametrize("refused", ["devices", "device_bandwidth_gb_s", "bandwidth_gb_s"])
def test_a_refused_figure_contradicts_nothing(refused):
    # A count that was refused is not a blank count of 1: there is nothing to compare yet.
    given = {"weights_gb": 140, "device_bandwidth_gb_s": 3350, "devices": 2, "bandwidth_gb_s": 6700}
    assert [issue.field for issue in resolve(Scenario(**{**given, refused: "two"})).issues] == [refused]
    assert resolve(Scenario(**{**given, refused: None, "devices": None}), frozenset({refused})).issues == ()


def test_the_given_scenario_is_not_changed():
    given = Scenario(**FULL, efficiency="85%")
    resolve(given)
    assert given.efficiency == "85%"
    assert given.batch is None


def test_sources_name_only_columns():
    assert set(resolve(Scenario(**FULL)).sources) <= set(COLUMNS)
