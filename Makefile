# Everything a contributor needs, set-up included; plain `make` lists the targets.
#
# All of it happens in .venv. The stamp files in there record what has been installed, so that a
# second run starts at once and a change of pyproject.toml or of the kernel is picked up.

PYTHON ?= python3
WORKERS ?= auto
SECONDS ?= 60
SEED ?= 1

VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
# Whose sanitizers come as libraries that can be loaded into Python, and the tests to run there.
SANITIZE_CXX ?= g++
SANITIZE_TESTS := tests/test_minimal.py tests/tail/test_kernel.py tests/tail/test_goodness_of_fit.py tests/tail/test_surprise.py tests/io/test_io.py
CXX_FILES := $(wildcard cpp/*.cpp cpp/*.hpp cpp/tests/*.cpp cpp/tests/*.hpp)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The targets people need first have two marks (##!).
.PHONY: help
help: ## List these targets
	@echo 'make TARGET. First of all:'
	@sed -n 's/^\([a-z0-9-]*\):.*##! /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  %-10s %s\n", $$1, $$2}'
	@echo 'and also:'
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  %-10s %s\n", $$1, $$2}'

.PHONY: demo
demo: $(VENV)/.package ##! Show what paretocut does, on the docstrings of Python
	$(BIN)/paretocut demo

.PHONY: test
test: lint ##! Lint and the quick tests (minutes)
	$(PYTEST) -n $(WORKERS)

.PHONY: test-all
test-all: test sanitize docs $(VENV)/.heavy $(VENV)/.packaging ## Everything: also slow and heavy tests, sanitizers, builds
	$(PYTEST) -n $(WORKERS) --dist loadfile -m 'slow or heavy'
	$(PYTEST) -m packaging

.PHONY: lint
lint: $(VENV)/.dev ##! Check style, types and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(if $(CXX_FILES),$(BIN)/clang-format --dry-run --Werror $(CXX_FILES))

.PHONY: format
format: $(VENV)/.dev ##! Repair style, formatting and spelling
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/codespell --write-changes
	$(if $(CXX_FILES),$(BIN)/clang-format -i $(CXX_FILES))

.PHONY: bench
bench: $(VENV)/.bench ## Measure speed against the project's own targets
	$(BIN)/python -m benchmarks --json benchmarks/results.json

.PHONY: fuzz
fuzz: $(VENV)/.heavy ## Fuzz cuts, fits, files, fusion, readers and adapters, for SECONDS each, from SEED
	FUZZ_SECONDS=$(SECONDS) FUZZ_SEED=$(SEED) $(PYTEST) -m slow tests/fuzz/test_fuzz_truncators.py \
		tests/fuzz/test_fuzz_models.py
	set -e; for target in trec fit ids fusion answers arrow parquet; do \
		$(BIN)/python tests/fuzz/atheris_target.py $$target -max_total_time=$(SECONDS) -seed=$(SEED); done

# Experiments: `make X` is `python -m experiments.X`, which measures, keeps the numbers in its folder and
# writes docs/evidence/X.md. ARGS=--pages only writes the page, from the numbers that are kept. ARGS=--quick
# measures a few of the kept numbers again and compares (a minute).
EXPERIMENTS := accept calibrate compare default frozen fuse judge noise paper recipes rerank rivals rules stop
.PHONY: $(EXPERIMENTS)
compare: $(VENV)/.dev ## Which method cuts best (hours; ten minutes with ARGS=renew)
accept: $(VENV)/.dev ## What can be accepted within an error budget (a quarter of an hour)
calibrate: $(VENV)/.dev ## How good calibration without judgements is (an hour the first time)
judge: $(VENV)/.dev ## What two hundred judged results gain (ten minutes)
fuse: $(VENV)/.heavy ## What fusion gains (half an hour)
rivals: $(VENV)/.dev ## What the papers of newer rules claim (some minutes)
rerank: $(VENV)/.dev ## How deep to re-rank (seconds)
default: $(VENV)/.dev ## Why the default keeps the upper third (minutes)
frozen: $(VENV)/.heavy ## The one test with frozen constants (ten minutes; compares if it ran)
noise: $(VENV)/.dev ## What the rules promise on noise (some minutes)
stop: $(VENV)/.dev ## When a review may stop reading (some minutes)
recipes: $(VENV)/.heavy ## One number for each recipe (five minutes)
rules: $(VENV)/.dev ## What each rule keeps, the table in docs/rules.md (ten seconds)
paper: $(VENV)/.dev ## The Surprise paper's experiments (hours; one part with ARGS=table2)
$(EXPERIMENTS):
	$(BIN)/python -m experiments.$@ $(ARGS)

.PHONY: docs
docs: $(VENV)/.dev ##! Build the documentation into docs/_build/html
	$(BIN)/sphinx-build --fail-on-warning --keep-going -q -b html docs docs/_build/html

# The sanitizers must be loaded before Python is. Without `site` (-S) Python does not see the
# editable install, so that the path decides, and the sanitized copy comes first on it. Not ours to
# mend: what Python never frees, and the libraries that free with one function what another made.
.PHONY: sanitize
sanitize: export CXX = $(SANITIZE_CXX)
sanitize: $(VENV)/.dev ## Run the kernel's tests under address and undefined-behaviour sanitizers
	$(PIP) install --no-deps --no-build-isolation --upgrade --target build/sanitize/site \
	  -C build-dir=build/sanitize/cmake -C cmake.define.PARETOCUT_SANITIZE=ON \
	  -C cmake.define.PARETOCUT_TESTS=ON .
	build/sanitize/cmake/paretocut_tests
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0 \
	PYTHONPATH=build/sanitize/site:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	$(BIN)/python -S -m pytest -p no:cacheprovider --capture=sys $(SANITIZE_TESTS)

.PHONY: wheel
wheel: $(VENV)/.dev ## Build the sdist and, from it, the wheel, into dist
	$(BIN)/python -m build --outdir dist

.PHONY: clean
clean: ## Remove everything the other targets made
	rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f src/paretocut/_kernel.pyi
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up ---------------------------------------------------------------------------------------

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { \
	  echo 'paretocut needs Python 3.11 or later, and $(PYTHON) was not found: install it, or' \
	    'name one with make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) scripts/check_machine.py
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

# The package itself, editable.
$(VENV)/.package: $(VENV)/.created pyproject.toml CMakeLists.txt tests/constraints.txt $(CXX_FILES)
	$(PIP) install -c tests/constraints.txt --group build
	$(PIP) install -c tests/constraints.txt --no-build-isolation --editable '.[cli]'
	@touch $@

# The tools of development, and most extras.
$(VENV)/.dev: $(VENV)/.package
	$(PIP) install -c tests/constraints.txt --group dev
	@touch $@

# What the library is measured against.
$(VENV)/.bench: $(VENV)/.dev
	$(PIP) install -c tests/constraints.txt --group bench
	@touch $@

# What only the heavy integration tests need.
$(VENV)/.heavy: $(VENV)/.dev
	$(PIP) install -c tests/constraints.txt --group heavy
	@touch $@

# What only the builds for other machines need.
$(VENV)/.packaging: $(VENV)/.dev
	$(PIP) install -c tests/constraints.txt --group packaging
	@touch $@
