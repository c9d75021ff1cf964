# Two commands do everything on a fresh machine with Python 3.11 and git:
#   make bench   set up, then time the solvers on a built-in graph and on real ones if present
#   make test    set up, then check style, types and behaviour

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: bench test clean

bench: $(INSTALLED)
	$(BIN)/python -m sssp.bench $(ARGS)

test: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/python -m pytest -n auto --dist worksteal -m gpu $(ARGS)

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
