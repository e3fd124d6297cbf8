# Each target does its own set-up. A machine needs only Python 3.11 or newer and a package index.

PYTHON ?= python3
# A test waits for two thirds of its time, so there are more workers than cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(3 * (os.cpu_count() or 1))')
PYTEST_ARGS ?= -q -n $(WORKERS) --dist worksteal
# Of `make proof`: how many times as often what is random or raced is repeated; one test in PART is run, chosen by SEED.
ROUNDS ?= 1
PART ?= 1
SEED ?= $(shell date +%Y%m%d)

# Without compiled modules, each program that a test or the demo starts would take a second longer.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: demo check test proof pythons drills lint format bench radius screenshots docs man zipapp dist audit clean

demo: .venv/.demo ## run the console on a demo server
	@$(BIN)/unstick demo $(DEMO_ARGS)

check: lint ## lint and the fast tests, in under a minute
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m fast --hypothesis-profile=check

test: .venv/.dev ## every capability, on real servers: 8 minutes on 2 fast cores, 20 on slow ones
	$(BIN)/python -m pytest $(PYTEST_ARGS)

proof: .venv/.dev ## what is random, long or repeated (ROUNDS=10 for more of it; PART=10 SEED=1 for a tenth)
	@echo "one test in $(PART), chosen by SEED=$(SEED), ROUNDS=$(ROUNDS)"
	ROUNDS=$(ROUNDS) $(BIN)/python -m pytest $(PYTEST_ARGS) -m "proof or random" --hypothesis-profile=proof \
		--part=$(PART) --seed=$(SEED)

pythons: .venv/.dev ## the built wheel's first repair by keys, and the fast tests, on each Python of this machine
	WORKERS=$(WORKERS) $(BIN)/python -m tests.pythons

drills: .venv/.dev ## set up incidents on a real server; print what the console says about each (DRILLS=estuary for some)
	@$(BIN)/python -m tests.drills $(DRILLS)

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.promises

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.dev ## measure start, idle, a key at 100,000 nodes, large tables (ROWS=10000000 for the full size)
	$(BIN)/python -m tests.bench

radius: .venv/.dev ## compare the blast radius of random actions with what the demo's executors do (RADIUS_ROUNDS=1000)
	@$(BIN)/python -m tests.bench.bench_radius

screenshots: .venv/.dev ## screenshots/*.svg from the demo, one of them moving
	$(BIN)/python -m tests.screenshots

# Zensical does not follow the symbolic link docs/screenshots.
docs: .venv/.docs ## build/site, the documentation; a broken link or a missing picture is an error
	$(BIN)/zensical build --clean --strict
	cp -R screenshots build/site/
	$(BIN)/python -m tests.pictures build/site

man: .venv/.demo ## build/unstick.1, the manual page
	@mkdir -p build
	$(BIN)/unstick man > build/unstick.1

zipapp: .venv/.dev ## build/unstick.pyz, one file for this platform and Python
	@mkdir -p build
	$(BIN)/pex . --resolver-version pip-2020-resolver --venv prepend --sh-boot --console-script unstick --output-file build/unstick.pyz

dist: .venv/.dev ## dist/: the wheel, the sdist, their parts (CycloneDX), locked requirements, recipes and checksums
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/uv export --quiet --locked --no-dev --extra demo --format cyclonedx1.5 --output-file dist/unstick.cdx.json
	$(BIN)/uv export --quiet --locked --no-dev --extra demo --no-emit-project --output-file dist/requirements.txt
	$(BIN)/python packaging/release.py recipes
	cd dist && sha256sum * > SHA256SUMS

audit: .venv/.dev ## look for known vulnerabilities in the locked dependencies
	@mkdir -p build
	$(BIN)/uv export --quiet --locked --all-extras --no-emit-project --output-file build/requirements.txt
	$(BIN)/uv tool run pip-audit --disable-pip --require-hashes --requirement build/requirements.txt

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A broken link (its interpreter is gone) counts as missing, so the folder is created again.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "unstick needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv

.venv/.demo: pyproject.toml $(BIN)/python
	@echo "setting up .venv for the demo (only the first time)"
	@$(PIP) --editable '.[demo]'
	@touch $@

.venv/.docs: pyproject.toml $(BIN)/python
	@echo "setting up .venv for the documentation (only the first time)"
	@$(PIP) --editable '.[docs]'
	@touch $@

# The versions and hashes of uv.lock, which must agree with pyproject.toml.
.venv/.dev: pyproject.toml uv.lock $(BIN)/python
	@echo "setting up .venv for development (only the first time)"
	@$(PIP) uv
	@UV_PROJECT_ENVIRONMENT=.venv $(BIN)/uv sync --quiet --locked --inexact --no-python-downloads --all-extras
	@touch .venv/.demo .venv/.docs $@
