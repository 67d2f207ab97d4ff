import dataclasses

import pytest

from planner.issues import Issue, PlannerError, Severity, quoted_sheet


def issue(**said):
    return Issue(**{"severity": Severity.ERROR, "code": "value", "problem": "Devices is -2", **said})


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({}, "Devices is -2."),
        ({"sheet": "Scenarios", "cell": "C7"}, "Scenarios!C7: Devices is -2."),
        ({"cell": "C7"}, "C7: Devices is -2."),
        ({"sheet": "Scenarios"}, "Scenarios: Devices is -2."),
        ({"sheet": "Q3 plan", "cell": "C7"}, "'Q3 plan'!C7: Devices is -2."),
        ({"accepted": "a whole number"}, "Devices is -2; expected a whole number."),
        ({"advice": "Use more"}, "Devices is -2. Use more."),
        ({"advice": "Did you mean 2?"}, "Devices is -2. Did you mean 2?"),
        ({"accepted": "a whole number", "advice": "Use 2"}, "Devices is -2; expected a whole number. Use 2."),
    ],
)
def test_an_issue_reads_as_a_sentence_behind_its_cell(said, text):
    assert str(issue(**said)) == text


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ({}, ""),
        ({"accepted": "a whole number"}, "Expected a whole number"),
        ({"advice": "Use 2"}, "Use 2"),
        ({"accepted": "a whole number", "advice": "Use 2"}, "Use 2"),
    ],
)
def test_the_remedy_is_the_advice_or_what_is_accepted(said, remedy):
    assert issue(**said).remedy == remedy


def test_issues_are_values():
    assert issue() == issue()
    assert len({issue(), issue()}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        issue().cell = "A1"
    assert not issubclass(Issue, Exception)
    assert issubclass(PlannerError, Exception)


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("Scenarios", "Scenarios"),
        ("My_sheet", "My_sheet"),
        ("Q3 plan", "'Q3 plan'"),
        ("Bob's", "'Bob''s'"),
        ("S1", "'S1'"),
        ("XFD1048576", "'XFD1048576'"),
        ("R", "'R'"),
        ("c", "'c'"),
        ("RC", "'RC'"),
        ("true", "'true'"),
        ("2026", "'2026'"),
        ("2026plan", "'2026plan'"),
        ("Größe", "'Größe'"),
        ("a-b", "'a-b'"),
        ("a!b", "'a!b'"),
        ("_x", "'_x'"),
    ],
)
def test_a_sheets_name_is_quoted_where_excel_would_quote_it(name, quoted):
    assert quoted_sheet(name) == quoted
