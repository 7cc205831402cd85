# Two commands set everything up on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all test-compiled chaos fuzz check bench conformance format tables clean help

help:
	@echo "make demo   train a small network on handwritten digits and show the result"
	@echo "make test   run the tests, but for slow ones of which others test the same"
	@echo "make test-all   run all tests"
	@echo "make test-compiled  run those of whole programs once more, with all compiled that can be"
	@echo "make chaos  train on a cluster in which processes and connections fail (ARGS='--seed N' does it once more)"
	@echo "make fuzz   load and run 10,000 damaged graphs, models and checkpoints, and other files (ARGS='--cases N --seed N')"
	@echo "make check  lint, formatting, types and who imports whom"
	@echo "make tables write the tables of public names and ops, after one is added or moved"
	@echo "make conformance  compare every op with TensorFlow, and exchange checkpoints, meta graphs and models (CONFORMANCE_TENSORFLOW names a Python that has it, CONFORMANCE_TENSORFLOW_1 one with 1.15, for checkpoints of objects)"
	@echo "make bench  time Penstock beside TensorFlow, PyTorch and JAX (those that are installed)"

# The environment is remade whenever what it is made from changes.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# Three for each two processors, since tests wait for threads, processes and timeouts; `make test PROCESSES=` for one.
PROCESSES ?= -n $(shell $(PYTHON) -c 'import os; print(max(1, 3 * os.cpu_count() // 2))') --dist worksteal

demo: $(READY)
	$(BIN)/penstock demo $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest $(PROCESSES) $(ARGS)

test-all: $(READY)
	$(BIN)/python -m pytest -m "" $(PROCESSES) $(ARGS)

# Where sessions run graphs, and no test says otherwise: not those of compilers, which always compile, nor files of
# checkpoints and interleavings of queues, which compute nothing, nor killed programs, which are not compiled.
COMPILED := analysis client cluster/contract cluster/test_steps.py codegen/python/test_cuda_graphs.py contrib control_flow \
	data_flow datasets devices distribute engine estimator feature_column gradients keras layers ops partition passes placement rnn \
	runtime saved_model session summary system/test_conformance.py train training_loop
UNCOMPILED := data_flow/test_queue_interleavings.py training_loop/test_kills.py
OF_COMPILED = -m "" $(UNCOMPILED:%=--ignore tests/%) $(COMPILED:%=tests/%) $(ARGS)

test-compiled: $(READY)
	PENSTOCK_COMPILE=on PENSTOCK_ONLY_COMPILE=1 $(BIN)/python -m pytest $(OF_COMPILED)
	PENSTOCK_COMPILE=on $(BIN)/python -m pytest $(PROCESSES) $(OF_COMPILED)

chaos: $(READY)
	$(BIN)/python -m tests.cluster.chaos.run $(ARGS)

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz $(ARGS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

bench: $(READY)
	$(BIN)/python -m bench.run --out bench/RESULTS.md $(ARGS)

conformance: $(READY)
	$(BIN)/python -m conformance.run $(ARGS)
	$(BIN)/python -m conformance.checkpoints
	$(BIN)/python -m conformance.object_checkpoints
	$(BIN)/python -m conformance.meta_graphs
	$(BIN)/python -m conformance.models

tables: $(READY)
	$(BIN)/python -m penstock.api.generate

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache
