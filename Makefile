# Two commands do everything on a fresh machine with Python 3.11 and git:
#   make bench   set up, then time the solvers on a built-in graph and on real ones if present
#   make test    set up, then check style, types and behaviour
# Before an issue is closed:
#   make test-all  with the oldest and newest versions, other Pythons, and long fuzzing too

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: bench test test-all clean

bench: $(INSTALLED)
	$(BIN)/python -m sssp.bench $(ARGS)

test: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/python -m pytest -n auto --dist worksteal -m gpu $(ARGS)

test-all: test
	$(BIN)/python -m pytest -m slow $(ARGS)
	$(BIN)/python -m tests.environments $(ARGS)
	$(BIN)/python -m pytest -n auto --dist worksteal --hypothesis-profile=long $(ARGS)

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
