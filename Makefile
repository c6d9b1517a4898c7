# Every target builds .venv when it is missing; nothing has to be installed by hand.
# The demo needs the package alone; tests, checks and benchmarks need the tools as well.
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed
TOOLS := $(VENV)/.tools
BIN := $(VENV)/bin
# DGL 1.1.3 ends at Python 3.11; it wants setuptools.extern, gone since setuptools 71.
DGL := .venv-dgl
DGL_PYTHON ?= python3.11
DGL_TORCH ?= 2.13.0

# Processes that share the tests. Each writes down the modules it has compiled: the tests
# start many others, which would compile them again.
JOBS ?= 2
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

.PHONY: help install install-locked lock demo test test-promises test-all lint types docs notebooks \
	wheel-check audit bench bench-dgl bench-gpu clean

help: ## Show the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(TOOLS): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

install: $(TOOLS) ## Install sgat and its tools into .venv

# Setuptools first: pyspark is built from source, and so is sgat; neither may fetch more.
install-locked: ## The same from .ci/lock.txt, where a file of another hash is refused
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	sed -n '/^setuptools==/,/[^\]$$/p' .ci/lock.txt > $(VENV)/setuptools.txt
	$(BIN)/python -m pip install --quiet --require-hashes --requirement $(VENV)/setuptools.txt
	$(BIN)/python -m pip install --quiet --require-hashes --no-build-isolation --requirement .ci/lock.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(INSTALLED) $(TOOLS)

# Versions that the lock has and that still fit stay; empty .ci/lock.txt for the newest.
lock: $(TOOLS) ## Write .ci/lock.txt anew from constraints.txt; asks the package index
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-annotate --no-header --constraint constraints.txt --extra dev \
		--output-file .ci/lock.txt pyproject.toml

demo: $(INSTALLED) ## Train on the karate club and show what to type next
	@echo "Zachary's karate club: two of 34 members say which side they are on. SGAT predicts"
	@echo "the other 32 and removes 46 % of the edges on the way."
	@echo
	$(BIN)/sgat fit karate --out runs/demo --overwrite
	@echo
	$(BIN)/sgat report runs/demo
	@echo
	@echo "Look at   runs/demo/report.html     (open it in a browser; a slider moves the epochs)"
	@echo "          runs/demo/edges.parquet   (a score for every edge)"
	@echo "Then try  $(BIN)/sgat fit karate --keep 0.3 --seed 1"
	@echo "          $(BIN)/sgat fit --edges edges.csv --nodes nodes.csv --label y"
	@echo "          $(BIN)/sgat --help"

test: $(TOOLS) ## Run the fast tests in two processes: minutes
	$(PYTEST)

test-promises: $(TOOLS) ## Run the slow tests of what the README promises: minutes
	$(PYTEST) -m 'promise and slow'

test-all: $(TOOLS) ## Run all tests, slow ones and those of a GPU included: far longer
	$(PYTEST) -m ''

lint: $(TOOLS) ## Check format and style: seconds
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(TOOLS) ## Check types: minutes the first time
	$(BIN)/mypy

# A warning ends the build: a link without a target, a page that no other names.
docs: $(TOOLS) ## Build the documentation site into build/site; it works offline
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --conf-dir docs/site \
		--doctree-dir build/doctrees . build/site
	@echo "Open build/site/index.html"

notebooks: $(TOOLS) ## Run the notebooks in examples/ and store what they show
	$(BIN)/python docs/site/run_notebooks.py examples/*.ipynb

wheel-check: ## Use the wheel with the oldest and with the newest dependencies: minutes
	PYTHON=$(PYTHON) .ci/wheel-check oldest
	PYTHON=$(PYTHON) .ci/wheel-check newest

audit: $(TOOLS) ## Look up known faults of what is installed; asks a public database
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --skip-editable

bench: $(TOOLS) ## Time layers, trainings and sizes on the CPU beside their peers, and draw
	$(BIN)/python -m benchmarks.ops
	$(BIN)/python -m benchmarks.end_to_end
	$(BIN)/python -m benchmarks.sweep
	$(BIN)/python -m benchmarks.plot

bench-gpu: $(TOOLS) ## The same on a GPU, with whole steps at full size
	$(BIN)/python -m benchmarks.ops --device cuda --graph reddit-shaped
	$(BIN)/python -m benchmarks.training_step
	$(BIN)/python -m benchmarks.end_to_end --device cuda
	$(BIN)/python -m benchmarks.sweep --device cuda
	$(BIN)/python -m benchmarks.plot

$(DGL)/.torch-$(DGL_TORCH):
	rm -rf $(DGL)
	$(DGL_PYTHON) -m venv $(DGL)
	$(DGL)/bin/python -m pip install --quiet torch==$(DGL_TORCH) dgl==1.1.3 'numpy<2' packaging
	$(DGL)/bin/python -m pip install --quiet --no-deps 'setuptools<71'
	touch $@

bench-dgl: $(TOOLS) $(DGL)/.torch-$(DGL_TORCH) ## Time layers with DGL 1.1.3 beside them, from an environment of its own
	$(BIN)/python -m benchmarks.ops --dgl $(DGL)/bin/python

clean: ## Remove everything that was built
	rm -rf $(VENV) $(DGL) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
