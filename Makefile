# One command each; what is missing is set up on the way. `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# apt-get needs root: as root it runs as it is, else through sudo where that is at hand.
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
PANGO := libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0
# The floors of the model, each line of which a test must reach.
CORE := planner/units.py,planner/quantities.py,planner/catalog/*,planner/model_files/*,planner/issues.py,planner/columns.py,planner/rules.py,planner/currencies.py,planner/formulas/*,planner/plan/*,planner/translate.py,planner/guards.py,planner/functions.py,planner/for_excel.py,planner/headers.py,planner/header_words.py,planner/cells.py,planner/library_*.py,planner/table*.py

.DEFAULT_GOAL := help
.PHONY: help demo test check bench bench-batch fuzz properties corpora accuracy pango clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed pango ## set everything up and run the sample workbook: results and report in workbooks/
	$(BIN)/planner run workbooks/scenarios.xlsx

test: $(VENV)/.tested pango ## set everything up and run every test
	$(BIN)/python -m pytest -q -rs -n auto --maxprocesses 4 --dist worksteal --cov --cov-report=

check: $(VENV)/.checked ## lint, types, floors, and coverage of the core (after `make test`)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/coverage report --include='$(CORE)' --fail-under=97

bench: $(VENV)/.tested ## speed, as ratios against stated limits
	$(BIN)/python -m pip install -q --group bench
	$(BIN)/python tests/benchmarks/bench.py

bench-batch: $(VENV)/.tested ## a folder of COUNT workbooks (200): 1 and 2 jobs, killed and resumed; takes minutes
	$(BIN)/python tests/benchmarks/bench_batch.py $(COUNT)

fuzz: $(VENV)/.tested ## break workbooks by the thousand: each must give results, issues or one refusal
	$(BIN)/python tests/fuzz/fuzz.py --count $(or $(COUNT),2000) --seed $(or $(SEED),0)

properties: $(VENV)/.tested ## every property on 3,000 examples, where `make test` takes 30
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m hypothesis --hypothesis-profile=many

corpora: $(VENV)/.tested ## merge into every workbook of a folder (DIR=...), compare all parts
	$(BIN)/python tests/corpora/corpora.py $(DIR) --validate $(or $(VALIDATE),0)

accuracy: $(VENV)/.tested ## hold the estimate against measurements that its constants have not seen (WRITE=1: fit them anew)
	$(BIN)/python tests/accuracy/accuracy.py $(if $(WRITE),--write)

clean: ## remove the virtual environment and what tools left behind
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

# A bare Debian has python3 without its venv module.
$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  rm -rf $(VENV); command -v apt-get >/dev/null && $(AS_ROOT) apt-get update -qq && \
	  $(AS_ROOT) apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); } || { \
	  rm -rf $(VENV); echo "python3 -m venv does not work here; as root: apt-get install python3-venv (Python 3.11 or newer)"; exit 1; }
	@$(BIN)/python -m pip install -q --upgrade pip || { rm -rf $(VENV); exit 1; }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install -q --group test
	@touch $@

$(VENV)/.checked: $(VENV)/.tested
	$(BIN)/python -m pip install -q --group check
	@touch $@

# The report needs Pango. Where it is missing and cannot be installed, planner itself says what to do.
pango: $(VENV)/.installed
	@$(BIN)/python -c 'import weasyprint' >/dev/null 2>&1 || ! command -v apt-get >/dev/null || { \
	  echo "Installing Pango: $(PANGO)"; \
	  $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq --no-install-recommends $(PANGO); } || \
	  echo "Pango could not be installed; everything but the PDF report works."
