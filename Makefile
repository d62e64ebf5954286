# Verbs for people; continuous integration uses the same ones.
#
# make run       set up the environment, then the demo        make check      lint, types
# make test      set up the environment, then all of the      make accept     rewrite golden files
#                checks and tests but the slow ones           make bench      benchmarks
# make quick     a subset in under two minutes                make gpu-test   full-size rows on a GPU
# make test-all  the slow ones too
#
# PYTHON=/path/to/python uses an environment that already has everything, and sets up none.
# WORKERS=4 runs the tests in more processes; TESTS="tests/norm" chooses some.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

VENV ?= .venv
WORKERS ?= 2
TESTS ?=

ifdef PYTHON
READY :=
else
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.installed
endif

# One process per worker needs one thread each, or they fight for the cores.
PYTEST := OMP_NUM_THREADS=1 $(PYTHON) -m pytest -n $(WORKERS)
# Triton reads TRITON_INTERPRET when it is imported, so the interpreter gets a session of its own;
# conftest.py chooses the tests of each.
INTERPRET := TRITON_INTERPRET=1 $(PYTEST)

# Building wheels, megabytes of hostile text, models and kernels take longer than a quick look should.
QUICK := $(wildcard tests/*.py) $(wildcard tests/diagnostics tests/manifest tests/codegen \
  tests/validator tests/runtime tests/cli) \
  --ignore=tests/test_packaging.py --ignore=tests/manifest/test_source_bounds.py

.PHONY: help run test quick test-all check accept bench gpu-test clean

help:
	@awk '/^#/ { sub(/^# ?/, ""); print; next } { exit }' Makefile

# Threads that spin while they wait keep shared cores from their work; torch reads this as it loads.
run: $(READY)
	OMP_WAIT_POLICY=$${OMP_WAIT_POLICY:-passive} $(PYTHON) -m tileops demo

test: check
	$(PYTEST) -m "not slow and not gpu" $(TESTS)
	$(INTERPRET) -m "not slow and not gpu" $(TESTS)

quick: $(READY)
	$(PYTEST) -q -m "not slow and not gpu" $(or $(TESTS),$(QUICK))

test-all: check
	$(PYTEST) $(TESTS)
	$(INTERPRET) $(TESTS)

gpu-test: $(READY)
	$(PYTHON) -m pytest -m gpu $(TESTS)

check: $(READY)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -m tests.rules

accept: $(READY)
	EXPECTTEST_ACCEPT=1 TILEOPS_ACCEPT=1 $(PYTHON) -m pytest -q -m "golden" $(TESTS)
	git status --short tests docs tileops

bench: $(READY)
	$(PYTHON) -m benchmarks

clean:
	rm -rf $(VENV) build dist *.egg-info

# The first interpreter that the package supports.
CANDIDATES := python3 python3.13 python3.12 python3.11
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))

$(VENV)/.installed: pyproject.toml constraints.txt setup.py
	@found=; for candidate in $(CANDIDATES); do \
	  if $$candidate -c '$(SUPPORTED)' 2>/dev/null; then found=$$candidate; break; fi; done; \
	if [ -z "$$found" ]; then echo "tileops needs Python 3.11, 3.12 or 3.13" >&2; exit 1; fi; \
	echo "Creating $(VENV) with $$($$found --version)"; \
	$$found -m venv $(VENV)
	@echo "Installing; the first time this takes a few minutes"
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e '.[test]'
	@touch $@
