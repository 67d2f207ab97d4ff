"""What a terminal shows of money: whole figures at every width and in every currency, and whose they are."""

from __future__ import annotations

import dataclasses
import re

import pytest

from planner.columns import rounded
from planner.plan.recommend import AgainstApi
from planner.plan.scenario import Scenario
from planner.plan.study import study_of
from planner.terminal_money import _VERDICTS, print_money

USD = Scenario(
    name="8B at FP8 on one H100 SXM, which is leased",
    model="Llama-3.1-8B",
    device="H100 SXM",
    precision="FP8",
    batch=8,
    prompt_tokens=2000,
    output_tokens=500,
    device_cost_h=2.5,
    busy_share=0.5,
    input_cost_m=0.5,
    output_cost_m=1.5,
    currency="USD",
)
# An hour at what it costs in rupiah beside an API that is cheaper, and beside one that is dearer: a loss and a saving.
IDR = dataclasses.replace(
    USD, name="The same in rupiah", device_cost_h=41_000, input_cost_m=800, output_cost_m=2_400, currency="IDR"
)
DEAR_API = {"input_cost_m": 90_000, "output_cost_m": 270_000}
CASES = {
    "USD": [USD, dataclasses.replace(USD, name="Busier", busy_share=0.95)],
    "IDR": [IDR, dataclasses.replace(IDR, name="Against a dear API", **DEAR_API)],
}


def printed(capsys, study):
    print_money(study)
    return capsys.readouterr().out.splitlines()


@pytest.fixture(params=["60", "80", "100", "110", None], ids=lambda width: width or "piped")
def width(request, monkeypatch):
    if request.param:
        monkeypatch.setenv("COLUMNS", request.param)
    return int(request.param or 110)


@pytest.mark.parametrize("code", CASES)
def test_figures_are_whole_at_every_width(capsys, width, code):
    study = study_of(CASES[code])
    title, *lines = printed(capsys, study)
    assert title == f"Costs ({code}), a million output tokens"
    assert max(map(len, lines)) <= width
    for case, line in zip(study.cases, lines[2:4], strict=True):
        name, _, figures = line.partition("  ")
        assert name.removesuffix("…") in case.name
        assert "…" not in figures
        # What stands at every width, at its own precision.
        assert rounded(case.result.cost_per_m_tokens, 2) in figures.split()
        assert rounded(case.result.api_cost_per_m_output, 2) in figures.split()
    shown = set(re.findall(r"[\d,.]*\d", " ".join(line.partition("  ")[2] for line in lines[2:4])))
    figures = ("cost_per_m_tokens", "api_cost_per_m_output", "monthly_cost", "saving_cost_month")
    known = {
        rounded(abs(getattr(case.result, name)), 0 if "month" in name else 2)
        for case in study.cases
        for name in figures
    }
    assert {text for text in shown if "," in text or "." in text} <= known


@pytest.mark.parametrize("code", CASES)
def test_a_wide_terminal_leaves_no_column_out(capsys, monkeypatch, code):
    monkeypatch.setenv("COLUMNS", "160")
    _, heads, *_ = printed(capsys, study_of(CASES[code]))
    assert heads.split() == ["Cost", "API", "Cost", "Saving", "Breaks", "even", "Utili-"]


def test_columns_go_in_a_given_order(capsys, monkeypatch):
    seen = []
    for width in range(140, 40, -1):
        monkeypatch.setenv("COLUMNS", str(width))
        _, heads, *_ = printed(capsys, study_of(CASES["IDR"]))
        if re.split(r"\s{2,}", heads.strip()) not in seen:
            seen.append(re.split(r"\s{2,}", heads.strip()))
    assert seen == [
        ["Cost", "API", "Cost", "Saving", "Breaks even", "Utili-"],
        ["Cost", "API", "Cost", "Saving", "Breaks even"],
        ["Cost", "API", "Saving", "Breaks even"],
        ["Cost", "API", "Breaks even"],
        ["Cost", "API"],
        ["Cost"],
    ]


def test_a_loss_stands_in_parentheses(capsys):
    study = study_of(CASES["IDR"])
    loss, saving = (case.result.saving_cost_month for case in study.cases)
    assert loss < 0 < saving
    lines = printed(capsys, study)
    assert f"({rounded(-loss, 0)})" in lines[3].split()
    assert rounded(saving, 0) in lines[4].split()


def test_another_currency_without_a_rate_is_named_and_not_converted(capsys):
    lines = printed(capsys, study_of([USD, dataclasses.replace(USD, name="Leased in Berlin", currency="EUR")]))
    line = next(line for line in lines if line.startswith("Leased in Berlin"))
    assert line.count("in EUR") == 4
    assert rounded(study_of([USD]).cases[0].result.cost_per_m_tokens, 2) not in line


def test_where_nothing_has_a_price_nothing_is_printed(capsys):
    unpriced = dataclasses.replace(USD, device_cost_h=None, input_cost_m=None, output_cost_m=None, currency=None)
    assert printed(capsys, study_of([unpriced])) == []


def test_many_are_counted(capsys):
    lines = printed(capsys, study_of([dataclasses.replace(USD, name=str(number)) for number in range(23)]))
    assert lines[-2:] == ["... and 3 more priced scenarios in the results workbook.", ""]
    assert sum(line[:1].isdigit() for line in lines) == 20


def test_what_does_not_fit_is_shown_without_a_verdict(capsys):
    study = study_of([dataclasses.replace(USD, name="named", model="DeepSeek-V3")])
    print_money(study)
    out = capsys.readouterr().out
    assert " own" not in out
    assert "named" in out
    # Every way to stand has its word.
    assert set(_VERDICTS) == {stands.value for stands in AgainstApi}
