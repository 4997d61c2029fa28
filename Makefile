# Thin on purpose: every target is one command of a tool. `make help` lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# DuckDB's extensions come as packages for a release of their own, hence another environment.
EXTENSIONS := .venv-extensions

# What can run on Spark so far.
SPARK_TESTS ?= tests/engines tests/dbt/test_worked_examples.py tests/dbt/test_demo.py::test_build_at_the_root_is_green_twice \
  tests/scenarios/test_cases.py tests/scenarios/test_snapshot_and_replace_cases.py -k "not any_order"

# Step by step, on Sail and on Spark. Others are about what is refused there: change feeds, operations, files.
SPARK_SCENARIOS := append_flow bad_flows bad_input bad_replace bad_snapshots bitemporal dml expectations odd_input partial_updates \
  replace snapshots streams
SPARK_STEPS ?= $(SPARK_SCENARIOS:%=tests/scenarios/test_%.py)

# What was seen to be true on DuckLake; the rest of what DuckDB is tested with is left to try.
LAKE_SCENARIOS := cases snapshot_and_replace_cases append_flow bad_files bad_flows bad_input bad_replace bad_snapshots bitemporal \
  change_feed expectations first_read forget move_and_trim partial_updates replace snapshots streams
DUCKLAKE_TESTS ?= tests/engines $(LAKE_SCENARIOS:%=tests/scenarios/test_%.py) \
  tests/properties/test_auto_cdc.py tests/properties/test_streams.py tests/dbt/test_streams.py tests/dbt/test_data_tests.py \
  tests/dbt/test_worked_examples.py tests/dbt/test_demo.py::test_build_at_the_root_is_green_twice -k "not any_order"

# What is worth a cluster: all that joins and numbers rows, a few times.
CLUSTER_TESTS ?= tests/engines/test_contract.py tests/scenarios/test_cases.py \
  -k "contract or (test_case and (IC01 or IC33 or IC41 or IC28))"

.DEFAULT_GOAL := help
.PHONY: help demo tutorial test nightly test-postgres test-ducklake test-sail test-spark test-spark-cluster lint format bench docs reference golden test-extensions test-matrix test-kills build clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Run the worked examples batch by batch, print and check their tables
	$(BIN)/python scripts/demo.py

tutorial: $(READY) ## Make 100,000 messages and run the pipeline of the tutorial on them, in examples/cdc_tutorial
	cd examples/cdc_tutorial && $(abspath $(BIN))/python generate.py && $(abspath $(BIN))/dbt build

test: lint ## Lint, type check and test
	$(BIN)/pytest -n 2

test-postgres: $(READY) ## Test on PostgreSQL: the packaged server, and each of Debian's that is installed (RELEASES="15" for some)
	BIN=$(BIN) scripts/test-postgres $(RELEASES)

test-ducklake: $(EXTENSIONS)/.ready ## Test on DuckLake: its catalog on the packaged PostgreSQL, also with several processes at once
	$(EXTENSIONS)/bin/python scripts/with-ducklake $(EXTENSIONS)/bin/pytest -n 2 --engine ducklake $(DUCKLAKE_TESTS)

test-sail: .venv-sail/.ready ## Test the language of Spark on Sail, with Delta tables: a quick check
	.venv-sail/bin/python scripts/with-spark --sail .venv-sail/bin/pytest -n 2 --engine sail $(SPARK_TESTS) $(SPARK_STEPS)

test-spark: .venv-spark/.ready ## Test on Spark with Iceberg tables; needs Java 8, 11 or 17, and much time
	.venv-spark/bin/python scripts/with-spark --small .venv-spark/bin/pytest -n 2 --engine spark $(SPARK_TESTS) $(SPARK_STEPS)

test-spark-cluster: .venv-spark/.ready ## Test on a Spark of two executors, each a process: the contract and some examples
	.venv-spark/bin/python scripts/with-spark --cluster .venv-spark/bin/pytest --engine spark $(CLUSTER_TESTS)

nightly: test-kills test-matrix test-postgres test-ducklake test-sail test-spark test-spark-cluster ## All that takes too long for every change: hours

lint: $(READY) ## Lint and type check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(READY) ## Format and repair what ruff can repair
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(VENV)/.bench ## Measure against hand-written SQL, dbt merge, dbt snapshot, dlt and SQLMesh
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/snapshots.py

docs: $(VENV)/.docs ## Build the manual into build/site; any warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

reference: $(READY) ## Write the table of options into README and manual, after a change of spec.py
	$(BIN)/python scripts/reference.py

golden: $(READY) ## Write the plans that are pinned for each engine, after a change of what is planned
	$(BIN)/python -m tests.golden

test-extensions: $(EXTENSIONS)/.ready ## Test object stores and attached databases, with DuckDB's extensions
	$(EXTENSIONS)/bin/pytest tests/extensions

test-matrix: $(READY) ## Install the wheel beside each minor of dbt-core, run a user's project (MINORS="1.8 1.12" for some)
	BUILDER=$(BIN)/python scripts/test-matrix $(MINORS)

build: $(READY) ## Build the wheel and the source distribution into dist/
	$(BIN)/python -m build

clean: ## Remove everything that the other targets made
	rm -rf $(VENV) $(EXTENSIONS) .venv-matrix .venv-sail .venv-spark build dist target logs .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The stamp makes a second call instant; a changed requirement makes the environment catch up.
$(READY): pyproject.toml requirements-dev.txt constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt -c constraints.txt
	touch $(READY)

$(EXTENSIONS)/.ready: pyproject.toml requirements-extensions.txt constraints.txt
	test -x $(EXTENSIONS)/bin/python || $(PYTHON) -m venv $(EXTENSIONS)
	grep -v '^duckdb==' constraints.txt >$(EXTENSIONS)/constraints.txt
	$(EXTENSIONS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-extensions.txt -c $(EXTENSIONS)/constraints.txt
	touch $(EXTENSIONS)/.ready

# Each with a client of its own. An old pip cannot build what Spark's package is made of.
.venv-%/.ready: requirements-%.txt pyproject.toml constraints.txt
	test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip wheel setuptools
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-$*.txt -c constraints.txt
	touch .venv-$*/.ready

test-kills: $(READY) ## Kill hundreds of runs at random moments: nothing is lost, nothing comes twice
	NIGHTLY=1 $(BIN)/pytest -n 2 tests/reliability

$(VENV)/.bench: $(READY) requirements-bench.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-bench.txt -c constraints.txt
	touch $(VENV)/.bench

$(VENV)/.docs: $(READY) requirements-docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt -c constraints.txt
	touch $(VENV)/.docs
