"""`import planner` costs nothing, and gives every public name when it is asked for."""

import subprocess
import sys

import pytest

import planner

HEAVY = ("openpyxl", "xlsxwriter", "jinja2", "weasyprint", "rich", "click", "ironcalc", "numpy")


def loaded_by(statement):
    """The heavy packages and the modules of planner that a fresh interpreter has after a statement."""
    asked = f"import sys; {statement}; print(*(m for m in sys.modules if m.split('.')[0] in {(*HEAVY, 'planner')!r}))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def heavy(modules):
    return {module for module in modules if module.split(".")[0] in HEAVY}


def test_importing_the_package_loads_nothing():
    assert loaded_by("import planner") == {"planner"}


@pytest.mark.parametrize(
    "statement",
    [
        "from planner import Scenario, evaluate; evaluate(Scenario(weights_gb=140, bandwidth_gb_s=3350))",
        "from planner import Issue, PlannerError, Severity, Result, Options, Study, study_of; study_of([]).table",
        "import planner.table, planner.functions, planner.translate, planner.catalog",
    ],
)
def test_the_core_loads_no_excel_pdf_or_terminal_library(statement):
    assert heavy(loaded_by(statement)) == set()


@pytest.mark.parametrize("name", [name for name in planner.__all__ if name != "__version__"])
def test_every_public_name_is_there_and_its_home_is_planner(name):
    value = getattr(planner, name)
    assert value.__name__ == name
    assert value.__module__.startswith("planner.")
    assert value.__doc__


def test_a_name_once_asked_for_stays():
    assert planner.Scenario is planner.Scenario
    assert "Scenario" in vars(planner)


def test_the_list_of_names_is_sorted_and_complete():
    assert planner.__all__ == sorted(planner.__all__)
    assert set(planner.__all__) == {*planner._HOMES, "__version__"}


def test_other_names_are_refused_as_python_refuses_them():
    with pytest.raises(AttributeError, match="module 'planner' has no attribute 'nothing'"):
        _ = planner.nothing
    assert not hasattr(planner, "__wrapped__")


def test_the_version_is_a_version():
    assert all(part.isdigit() for part in planner.__version__.split("."))
