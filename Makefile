# The commands of jingwei. Everything runs in .venv, which `make setup` makes once from requirements.lock.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check

# What makes mutants is no part of .venv: nothing else needs it.
MUTATION_STAMP := build/mutation/tools/.installed

# Nor is what looks at the proofs.
PROOFS_STAMP := build/proofs/tools/.installed

# The module that writes the generated part of docs/.
GENERATE_DOCS ?= docs.generate

# The Hypothesis profile, for those who register them: quick or deep.
HYPOTHESIS_PROFILE ?= quick
export HYPOTHESIS_PROFILE

# How many processes pytest uses: a number, auto, or 0 for none.
WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)

# Set up in pyproject.toml.
COVERAGE := $(BIN)/python -m coverage

# What the deep run begins with (a number; drawn unless given), and which properties it runs.
SEED ?=
ONLY ?= properties

# How long each target is fuzzed, and which: one of properties/fuzz/corpus/, or all.
SECONDS ?= 60
TARGET ?=

# What ruff looks at: those of them that exist.
CODE := $(wildcard jingwei tests properties benchmarks docs)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format types contracts unit properties deep fuzz docs-code \
	bench mutation mutation-sample proofs docs changelog lock clean

help: ## say what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: $(STAMP) ## make .venv from requirements.lock (once; again when the lock or pyproject.toml changes)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jingwei needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@test ! -x $(BIN)/python || $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "$(VENV) was made with an old Python: make clean first")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --quiet --require-hashes -r requirements.lock
	$(PIP) install --quiet --quiet --no-deps --no-build-isolation --editable .
	touch $@

demo: $(STAMP) ## show the whole path on a small session
	$(BIN)/jingwei demo

test: $(STAMP) ## everything that must hold before a change lands
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory types
	$(MAKE) --no-print-directory contracts
	$(MAKE) --no-print-directory unit
	$(MAKE) --no-print-directory docs-code
	$(MAKE) --no-print-directory properties

lint: $(STAMP) ## ruff: rules and format
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

format: $(STAMP) ## let ruff mend what it can
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

types: $(STAMP) ## mypy with the plugin of returns, pyright strict
	$(BIN)/mypy
	$(BIN)/pyright

contracts: $(STAMP) ## who may import whom
	$(BIN)/lint-imports

unit: $(STAMP) ## the examples in tests/, which reach every branch of jingwei/
	$(COVERAGE) erase
	$(COVERAGE) run -m pytest -n $(WORKERS) tests
	$(COVERAGE) combine --quiet
	$(COVERAGE) report

properties: $(STAMP) ## the specification, with few examples
	$(PYTEST) properties

# The seed is drawn and printed, so that a run that fails can be repeated.
deep: $(STAMP) ## the specification, with very many examples (hours); SEED repeats a run, ONLY takes one file
	@seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); \
	echo "deep run, seed $$seed; to repeat it: make deep SEED=$$seed ONLY=\"$(ONLY)\""; \
	HYPOTHESIS_PROFILE=deep $(PYTEST) --dist worksteal --hypothesis-seed=$$seed $(ONLY)

fuzz: $(STAMP) ## fuzz the doors for SECONDS each (60); TARGET for one; atheris where it is installed
	$(BIN)/python -m properties.fuzz --seconds $(SECONDS) $(addprefix --target ,$(TARGET))

# docs/conftest.py holds the set-up of sybil; as a plugin it covers the README too.
docs-code: $(STAMP) ## run the code that stands in docs/ and the README
	$(BIN)/python -m pytest --noconftest -p docs.conftest README.md docs

bench: $(STAMP) ## what benchmarks/ measures, in one run
	$(BIN)/python -m benchmarks

mutation: $(MUTATION_STAMP) ## how many small changes of jingwei the properties notice (hours; goes on where it stopped)
	$(BIN)/python -m properties.mutation run

mutation-sample: $(MUTATION_STAMP) ## the same for 60 of them, always the same ones
	$(BIN)/python -m properties.mutation sample

proofs: $(PROOFS_STAMP) ## ask CrossHair for every contract of properties/proofs, and for its bug (minutes)
	$(BIN)/python -m properties.proofs run

$(MUTATION_STAMP): properties/mutation/requirements.txt | $(STAMP)
$(PROOFS_STAMP): properties/proofs/requirements.txt | $(STAMP)
$(MUTATION_STAMP) $(PROOFS_STAMP):
	rm -rf $(@D)
	$(PIP) install --quiet --quiet --no-deps --require-hashes --target $(@D) -r $<
	touch $@

docs: $(STAMP) ## write the generated part of docs/ anew
	$(BIN)/python -m $(GENERATE_DOCS)
	$(BIN)/python -m properties.generate

changelog: $(STAMP) ## show what the next entry of CHANGELOG.md will say
	$(BIN)/towncrier build --draft

lock: $(STAMP) ## write requirements.lock anew (with Python 3.11, the oldest that is supported)
	$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "make lock needs a .venv with Python 3.11")'
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
		--no-emit-trusted-host --strip-extras --allow-unsafe \
		--extra cli --extra plot --extra condense --extra actions --extra tiktoken --extra testing --extra dev \
		--output-file requirements.lock pyproject.toml
	! grep -nE '://| @ ' requirements.lock

clean: ## remove everything that these commands made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
