# Touchstone. `make demo` and `make test` do all the set-up on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench figures notebooks clean

demo: $(VENV)/.installed   ## the ladder over the bundled handbook, with the real MiniLM model
	$(BIN)/rag run experiments/ladder.yaml
	@echo
	@echo "The run: $$(cd results/ladder/latest && pwd -P)"
	@echo "Next:    $(BIN)/rag replay results/ladder q-030     every stage of one question"
	@echo "         $(BIN)/rag search experiments/ladder.yaml 'how much can I take out in a day' -k 3"

test: $(VENV)/.installed   ## every test
	$(BIN)/pytest

check: $(VENV)/.installed   ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed   ## every benchmark: ratios against the peer, measured in the same run (slow)
	@for benchmark in benchmarks/*.py; do echo "== $$benchmark"; $(BIN)/python $$benchmark || exit 1; done

figures: $(VENV)/.installed   ## the pictures of README
	$(BIN)/rag score results/ladder --figure docs/ladder.png

notebooks: $(VENV)/.installed   ## the notebooks, executed and written back with their figures
	$(BIN)/python scripts/notebooks.py

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[all]'
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
