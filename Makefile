# Two commands are enough:  make try PROMPT="How do I …"   and   make test
.DEFAULT_GOAL := help
SHELL := /bin/sh

# The first Python that is new enough; override with PYTHON=/path/to/python3.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PROMPT ?= How do I get a stripped screw out of a piece of wood?
# Taken as it was typed: neither make nor the shell looks for a $ in it.
export ABJUDGE_TRY_PROMPT := $(value PROMPT)
# Or make would hand PROMPT to every recipe expanded, and run what stands in it.
unexport PROMPT

.PHONY: help setup models try check test test-slow bench cassettes readme constraints schemas clean

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## make the environment in .venv

$(READY): constraints.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=…" >&2; exit 3; }
	@echo "Making $(VENV) (once)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' constraints.txt > $(VENV)/uv.txt
	@# uv takes 8 s where pip takes a minute; bytecode is compiled now, or every start would pay for it.
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt 2>/dev/null \
		&& UV_COMPILE_BYTECODE=1 $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r constraints.txt; \
	then :; else \
		echo "uv cannot be used here; taking pip (about a minute)" >&2; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt; \
	fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

try: $(READY) ## compare one PROMPT with and without the default scaffold, on the models that are there
	@printf '%s' "$$ABJUDGE_TRY_PROMPT" | $(BIN)/abjudge compare --prompt - --both-orders --yes

models: $(READY) ## fetch the two small models (350 MB, once)
	@$(BIN)/abjudge models fetch smollm2-135m --yes
	@$(BIN)/abjudge models fetch gemma3-270m --yes

check: $(READY) ## format, lint, types, the law of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY) ## the quick tests and the checks
	$(MAKE) --no-print-directory check
	$(BIN)/pytest

test-slow: $(READY) ## tests that load the real models or take long
	$(BIN)/pytest -m slow

bench: $(READY) ## measure start-up, ledger and sweeps side by side (peers first: sh tests/benchmarks/peers.sh)
	$(BIN)/python -m tests.benchmarks.startup
	$(BIN)/python -m tests.benchmarks.ledger
	$(BIN)/python -m tests.benchmarks.sweep

cassettes: $(READY) ## record the cassettes again, from real models on loopback or those the environment names
	VCR_MODE=all $(BIN)/pytest -m "slow or not slow" tests/wires

constraints: $(READY) ## pin every dependency again, with hashes
	@{ echo '# Every package of `pip install -e ".[embedded,dev]"`, pinned, with its hashes. Made by `make constraints`.'; \
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --all-extras --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header; } > constraints.new
	@mv constraints.new constraints.txt

readme: $(READY) ## run the README's first command and write its output into the README again
	$(BIN)/python -m tests.support.readme

schemas: $(READY) ## write the published JSON Schemas again
	$(BIN)/python -m tests.support.write_schemas

clean: ## remove the environment and what the tools left
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
