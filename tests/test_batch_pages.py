"""The summary report of a batch: it answers as each workbook's own report does, in one currency, for whom it is."""

import dataclasses
import datetime as dt

import openpyxl
import pypdf
import pytest
from PIL import Image

from planner.batch.ledger import Done, Status
from planner.batch.pages import TEMPLATE, pages_of
from planner.batch.rows import lines
from planner.batch.run import run_batch
from planner.batch.work import BatchOptions
from planner.job import plan_workbook
from planner.plan.scenario import header_of
from planner.report.model import About, report_of
from planner.report.numbers import written_as
from planner.report.render import PdfUnavailableError, load_weasyprint, render_pages
from planner.settings import Settings, overridden, settings

MADE = dt.datetime(2026, 11, 29, 9, 0, tzinfo=dt.UTC)
CORE = {
    "params_b": 70,
    "precision": "INT8",
    "device_bandwidth_gb_s": 3350,
    "devices": 2,
    "device_memory_gb": 80,
    "efficiency": 0.85,
    "batch": 16,
    "prompt_tokens": 2000,
    "output_tokens": 500,
    "prefill_tokens_per_sec": 9000,
}
API = {"input_cost_m": 0.8, "cached_cost_m": 0.2, "output_cost_m": 3.2}
PRICED = {**CORE, **API, "currency": "USD", "device_cost_h": 3.2, "busy_share": 0.45}
OWNED = {"device_cost_h": None, "device_capex_cost": 42_000, "useful_life_years": 4, "staff_cost_month": 2500}
DEMAND = {"requests_month": 8e6, "growth_share_month": 0.04, "peak_to_average": 2, "headroom": 0.1, "one_off_cost": 2e4}
NAMED = {"model": "Llama-3.1-8B", "device": "H100 SXM", "precision": "FP8", "engine": "vLLM", "devices": 1, "batch": 16}
NAMED |= {
    "prompt_tokens": 2000,
    "output_tokens": 500,
    "busy_share": 0.4,
    "currency": "EUR",
    "device_cost_h": 2.5,
    **API,
}
EUROS = {"currency": "EUR", "exchange_rate": 1.1, "exchange_day": "2026-11-02"}

CHEAP_API = {"input_cost_m": 0.1, "cached_cost_m": 0.05, "output_cost_m": 0.3}
FREE_API = {"input_cost_m": 0, "cached_cost_m": 0, "output_cost_m": 0, "api": "Own"}
FOR_TWO = PRICED | {"precision": "INT4", "devices": 1, "batch": 8}
OFTEN = PRICED | DEMAND | {"device_cost_h": 2, "lead_time_weeks": 6, "first_month": "2027-01-15"}
TOO_LARGE = PRICED | {"precision": "FP16", "devices": 1}
BY_INSTANCE = PRICED | {"device_cost_h": None, "instance_cost_h": 30, "instance_devices": 8}

# Its scenarios, the settings on its sheet Report, and what both reports say in their headline.
CASES = {
    "the cheapest wins": ([PRICED, FOR_TWO, PRICED | OWNED], {}, "S03 costs least: $2.76"),
    "its demand is planned": ([PRICED | DEMAND, OFTEN], {}, "S02 costs least: $1.90"),
    "the demand is too small": (
        [PRICED | DEMAND | {"requests_month": 10_000}],
        {},
        "Use the API for the demand of S01",
    ),
    "the API wins at this load": (
        [PRICED | {"busy_share": 0.12}, PRICED | {"busy_share": 0.1}],
        {},
        "Use the API at 12%",
    ),
    "the API always wins": ([PRICED | CHEAP_API, PRICED | CHEAP_API | {"batch": 8}], {}, "never gets cheaper"),
    "the API is free": ([PRICED | FREE_API], {}, "Use the API at $0.00"),
    "two are equal": ([PRICED, PRICED, PRICED | {"target_tokens_per_sec": 12}], {}, "S01 costs least, equal with two"),
    "none fits": (
        [TOO_LARGE, TOO_LARGE | {"batch": 8}],
        {},
        "No scenario fits its hardware",
    ),
    "an instance is rented": ([BY_INSTANCE, PRICED], {}, "S02 costs least: $3.03"),
    "instances for a demand": ([BY_INSTANCE | DEMAND | {"instance_cost_h": 10}], {}, "S01 costs $4.74"),
    "owned for a demand that falls": ([PRICED | OWNED | DEMAND | {"growth_share_month": -0.3}], {}, "Use the API for"),
    "two currencies without a rate": (
        [PRICED, PRICED | {"currency": "EUR", "device_cost_h": 1}],
        {},
        "S01 costs $3.03",
    ),
    "two currencies with a rate": ([PRICED, PRICED | EUROS | {"device_cost_h": 2}], {}, "S02 costs least: $2.09"),
    "a currency on the sheet": ([PRICED | {"currency": "EUR"}, PRICED], {"Currency": "USD"}, "S02 costs $3.03"),
    "no currency": ([PRICED | {"currency": None}], {}, "S01 costs 3.03"),
    "no currency but the sheet's": ([PRICED | {"currency": None}], {"Currency": "CHF"}, "S01 costs CHF\xa03.03"),
    "estimates": ([NAMED, NAMED | {"device": "H200 SXM"}, NAMED | {"batch": 64}], {}, "S03 costs least: €0."),
    "a price without a load": ([PRICED | {"busy_share": None}, CORE], {}, "requests an hour per device"),
    "unpriced": ([CORE, CORE | {"batch": 32, "precision": "INT4"}, CORE | {"devices": 1}], {}, "S02 serves most"),
}
# The signs of a locale stand where any figure stands; a few cases show that both reports write them.
LOCALES = [("en", name) for name in CASES] + [("de-DE", "its demand is planned"), ("fr-FR", "unpriced")]


def write(path, rows, sheet=()):
    """A workbook of these scenarios, and the settings on its sheet Report."""
    workbook = openpyxl.Workbook()
    scenarios = workbook.active
    scenarios.title = "Scenarios"
    names = list(dict.fromkeys(name for row in rows for name in row))
    scenarios.append(["Scenario", *map(header_of, names)])
    for number, row in enumerate(rows, 1):
        scenarios.append([f"{path.stem} {number}", *map(row.get, names)])
    if sheet:
        report = workbook.create_sheet("Report")
        for pair in dict(sheet).items():
            report.append(pair)
    workbook.save(path)
    return path


def summed_up(folder, **said):
    """The summary's pages of the workbooks of a folder."""
    asked = BatchOptions(pdf=False, made=MADE, report=said)
    found = run_batch([folder], folder.parent / "out", jobs=1, asked=asked)
    with written_as(asked.settings.locale):
        return pages_of(found.workbooks, lines(found.workbooks), asked.settings, MADE)


@pytest.fixture
def plans(tmp_path):
    folder = tmp_path / "plans"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(("locale", "name"), LOCALES)
def test_it_answers_as_the_workbooks_own_report(plans, locale, name):
    rows, sheet, title = CASES[name]
    path = write(plans / "plan.xlsx", rows, sheet)
    study = plan_workbook(path)
    asked = overridden(study.settings, {"locale": locale})
    with written_as(locale):
        own = report_of(study, About(MADE, asked))
    told = summed_up(plans, locale=locale)
    assert locale != "en" or title in own.verdict.title
    best = study.recommendation.best
    where = () if best is None else told.verdict.body[-1:]
    assert told.verdict == dataclasses.replace(own.verdict, body=own.verdict.body + where)
    assert told.tiles == own.tiles
    assert told.front == own.front
    if best is not None:
        case = study.case_of(best)
        assert where == (f"{case.label} stands in plan.xlsx, Scenarios!{case.origin.cells['name']}.",)
        assert told.ranking.rows[0].cells[0].text == best.scenario.name
    # The last words of each page's foot tell the same of all amounts.
    assert told.stamp.rpartition(" · ")[2] == own.stamp.rpartition(" · ")[2]
    assert told.bases == own.bases


def test_the_costs_of_several_workbooks_are_held_together(plans):
    write(plans / "a.xlsx", [PRICED])
    write(plans / "b.xlsx", [PRICED | {"device_cost_h": 2}, PRICED | {"device_cost_h": 4}])
    told = summed_up(plans)
    assert told.verdict.title.startswith("S02 costs least: $1.90 per million output tokens")
    assert told.verdict.body[-1] == "S02 stands in b.xlsx, Scenarios!A2."
    assert told.tiles[0].number == "$1.90"
    head = next(head for head in told.ranking.heads if head.label == "Cost")
    assert head.unit == "USD/M output"
    at = told.ranking.heads.index(head)
    assert [row.cells[at].text for row in told.ranking.rows] == ["1.90", "3.03", "3.79"]
    assert [bar.text for bar in told.front.bars] == ["$3.03", "$1.90, recommended", "$3.79"]


def test_a_rate_holds_in_its_own_workbook_alone(plans):
    write(plans / "a.xlsx", [PRICED])
    # Its rate leads from dollars to euros, in which it compares; in the summary, both of its rows are what they are.
    rate = {"exchange_rate": 0.5, "exchange_day": "2026-11-02"}
    write(plans / "b.xlsx", [PRICED | {"currency": "EUR"}, PRICED | {"device_cost_h": 2} | rate], {"Currency": "EUR"})
    told = summed_up(plans)
    assert told.verdict.title.startswith("S03 costs least: $1.90")
    assert "set aside: one without an exchange rate" in " ".join(told.verdict.body)
    # One that says that it leads to dollars does so in the summary too.
    write(plans / "c.xlsx", [PRICED | EUROS | {"device_cost_h": 1, "exchange_currency": "USD"}], {"Currency": "EUR"})
    assert summed_up(plans).verdict.title.startswith("S04 costs least: $1.04")


def test_amounts_without_a_currency_are_not_taken_for_another_workbooks(plans):
    write(plans / "a.xlsx", [PRICED | {"currency": None, "device_cost_h": 0.1}])
    write(plans / "b.xlsx", [PRICED])
    told = summed_up(plans)
    assert told.verdict.title.startswith("S02 costs $3.03")
    assert [bar.label for bar in told.front.bars] == ["S02 b 1"]
    # Where the option names the one currency of all, they are in it.
    (plans.parent / "out").rename(plans.parent / "before")
    assert summed_up(plans, currency="USD").verdict.title.startswith("S01 costs least")


# For whom it is

SAID = {
    "status": "final",
    "organisation": "Example AG",
    "title": "Serving in 2027",
    "subtitle": "All sites",
    "prepared_for": "The board",
    "prepared_by": "A. Planner",
    "period": "2027",
    "version": "1.2",
    "reviewed_by": "R. Reviewer",
    "approved_by": "B. Approver",
    "contact": "planning@example.com",
    "introduction": ("Why this is.",),
    "notes": ("A note.",),
    "decisions": ("Buy it | The CFO | 2026-12-12",),
    "locale": "de-DE",
    "currency": "USD",
    "paper": "Letter",
    "pdf_variant": "pdf/a-3b",
}


def test_every_setting_that_is_given_stands_on_it(plans, tmp_path):
    try:
        load_weasyprint()
    except PdfUnavailableError:
        pytest.skip("WeasyPrint finds no Pango here; with it this would run")
    Image.new("RGB", (300, 90), "navy").save(tmp_path / "logo.png")
    said = SAID | {"logo": str(tmp_path / "logo.png")}
    assert set(said) == set(settings())
    write(plans / "plan.xlsx", [PRICED | DEMAND])
    told = summed_up(plans, **said)
    with written_as("de-DE"):
        render_pages(TEMPLATE, tmp_path / "s.pdf", settings=Settings(**said), made=MADE, pages=told)
    pdf = pypdf.PdfReader(tmp_path / "s.pdf")
    first, second, *_ = [" ".join(page.extract_text().split()) for page in pdf.pages]
    assert told.control.eyebrow == "Example AG · Capacity summary"
    cover = ("FINAL", "Serving in 2027", "All sites", "The board", "A. Planner", "Period", "1.2", "29.11.2026")
    # What is asked stands where decisions are listed, and not as planner would ask it.
    assert [text for text in (*cover, "S01 costs 3,03 $ per million") if text not in first] == []
    assert "Decision asked" not in first
    listed = ("Why this is.", "Buy it", "The CFO", "12.12.2026", "R. Reviewer", "B. Approver", "planning@example.com")
    assert [text for text in (*listed, "A note.", "USD") if text not in second] == []
    assert len(pdf.pages[0].images) == 1
    assert [round(float(side)) for side in pdf.pages[0].mediabox[2:]] == [612, 792]
    for page in pdf.pages:
        assert "FINAL · planner" in (text := " ".join(page.extract_text().split()))
        assert "29.11.2026 · amounts in USD" in text
    assert "Example AG · 1.2" in second


def test_it_names_nobody_where_nobody_is_named(plans):
    write(plans / "plan.xlsx", [CORE])
    told = summed_up(plans)
    assert (told.control.status, told.control.eyebrow, told.controlled) == ("DRAFT", "Capacity summary", False)
    assert told.facts == (("Workbooks", "1 done"), ("Scenarios", "1"), ("Warnings", "0"), ("Made", "2026-11-29"))
    assert told.subtitle == "What one scenario in one workbook can serve"


def test_counts_and_dates_are_those_of_its_locale():
    many = [Done(name=f"{n}.xlsx", source="x", status=Status.REFUSED, reason="x", warnings=3) for n in range(1234)]
    with written_as("de-DE"):
        told = pages_of(many, [], Settings(locale="de-DE"), MADE)
    assert dict(told.facts)["Workbooks"] == "0 done, 1.234 came to nothing"
    assert (dict(told.facts)["Warnings"], dict(told.facts)["Made"]) == ("3.702", "29.11.2026")
    assert "1.234 workbooks · 29.11.2026" in told.stamp
    assert dict(told.bases)["Units"].startswith("GB is 1.000.000.000 bytes.")
