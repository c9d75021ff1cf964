# Two commands do everything on a fresh machine with Python 3.11 and git:
#   make bench   set up, then time the solvers on a built-in graph and on real ones if present
#   make test    set up, then check style, types and behaviour
# Before an issue is closed:
#   make test-all  with the oldest and newest versions, other Pythons, and long fuzzing too
#   make bench-compare BASE=commit  fails if something is slower than in that commit (CONTRIBUTING.md)
# What people read, as a site in build/site:
#   make docs      every warning is an error

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# the site's tools stay out of the environment that the tests run in
SITE := build/site-tools

# the environments are installed without bytecode: what is imported writes it, once, whatever the
# caller's environment says, for hundreds of processes that the tests start
export PYTHONDONTWRITEBYTECODE :=

.PHONY: bench bench-compare test test-all docs clean

bench: $(INSTALLED)
	$(BIN)/python -m sssp.bench $(ARGS)

bench-compare: $(INSTALLED)
	$(BIN)/python -m bench.compare $(ARGS) $(BASE)

test: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "gpu and not slow" $(ARGS)

test-all: test docs
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow $(ARGS)
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "gpu and slow" $(ARGS)
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/python -m pytest -n auto --dist worksteal --hazards -m "gpu and not slow" $(ARGS)
	$(BIN)/python -m tests.environments $(ARGS)
	$(BIN)/python -m pytest -n auto --dist worksteal --hypothesis-profile=long $(ARGS)
	$(BIN)/python -m bench.compare --no-fail $(BASE)

docs: $(SITE)/.installed
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict --quiet
	@echo build/site/index.html

$(SITE)/.installed: pyproject.toml
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[docs]'
	touch $@

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
