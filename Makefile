# Everything runs in .venv, made from the hash-pinned lock; only Python 3.11+, make and git are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: setup
setup: $(VENV)/run.done ## make .venv with what the pipeline needs

.PHONY: extras
extras: setup ## add what the retrievers dense, mcp and neuralmind need
	python -m pip install -qq --require-hashes --no-deps -r requirements-extras.lock

.PHONY: params
params: setup ## write params.yaml as conf/ composes it
	rankgate params

# Without network the repos that cannot be fetched are named and left out.
.PHONY: repro
repro: setup ## set up, then run the pipeline: every repo and retriever of params.yaml
	@mkdir -p work
	@targets=$$(rankgate fetch --targets 2> work/left-out.txt) || { cat work/left-out.txt >&2; exit 2; }; \
	dvc repro --keep-going $$targets; status=$$?; \
	rankgate report; cat work/left-out.txt >&2; exit $$status

.PHONY: test
test: $(VENV)/dev.done ## lint, types, all tests, the pipeline from a clean clone
	ruff check .
	ruff format --check .
	mypy
	rankgate params --check
	rankgate fetch
	pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: mutation
mutation: $(VENV)/dev.done ## mutate the measures; fails when under 95 % of the mutants are killed
	python tests/mutation.py

.PHONY: bench
bench: $(VENV)/dev.done ## time it against its peers, as ratios
	python benchmarks/scoring.py
	python benchmarks/retrieval.py
	python benchmarks/comparing.py
	python benchmarks/corpus.py

# Retrievers that download models, and repositories from npm: not part of `make repro`.
.PHONY: suite
suite: extras ## run the leaderboard: all repositories × all embedded systems
	python benchmarks/leaderboard.py

.PHONY: table
table: setup ## write the README's table of systems from the results
	python benchmarks/systems_table.py

.PHONY: lock
lock: $(VENV)/dev.done ## pin the newest versions that pyproject.toml allows
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --upgrade --extra build --extra pipeline pyproject.toml -o requirements.lock
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --upgrade --extra build --extra pipeline --extra dev pyproject.toml -c requirements.lock -o requirements-dev.lock
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --upgrade --extra dense --extra mcp --extra neuralmind pyproject.toml -c requirements-dev.lock -o requirements-extras.lock

$(VENV)/run.done: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rankgate needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.done: $(VENV)/run.done requirements-dev.lock
	$(BIN)/python -m pip install -qq --require-hashes --no-deps -r requirements-dev.lock
	@touch $@
