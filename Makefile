# The commands of the repository. `make demo` and `make test` work on a fresh clone.
#
# One profile, `release`, for everything: RocksDB's C++ is most of a build and is compiled once.
# RUSTFLAGS is never set here, since it is part of what cargo compares before it reuses anything.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Outside the clone, so that clones and cleanings do not pay for RocksDB again.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/corpusdb/target

# With ccache installed, its links stand before the real compilers: `c++` then is ccache, and no
# variable that cargo compares has changed.
ifneq ($(wildcard /usr/lib/ccache),)
export PATH := /usr/lib/ccache:$(PATH)
endif

# The Python module is one binary for every interpreter: none is asked while it is compiled, so none can change it. Only a
# free-threaded one needs its own (`python`).
export PYO3_NO_PYTHON := 1

CORPUSDB := $(CARGO_TARGET_DIR)/release/corpusdb

# Outside the clone too: the environment that the Python package is installed in.
VENV ?= $(HOME)/.cache/corpusdb/venv
WHEELS := $(CARGO_TARGET_DIR)/wheels

.PHONY: help setup build demo python test test-integrations test-remote test-spark check bench bench-peers bench-growth bench-nightly bench-fields fmt docs surface

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-17s %s\n", $$1, $$2}' Makefile

setup: ## Install what a build needs (Debian and Ubuntu), or say what is missing
	@scripts/setup.sh

# All members at once: either alone would turn on other features of arrow, and compile it again.
build: setup ## Build the command
	cargo build --release --locked --workspace

demo: build ## Build, then show corpusdb at work on the sources cargo has unpacked
	@$(CORPUSDB) demo

# What `test` and `check` need beside it: Sail, a server of Spark Connect without Java.
REQUIREMENTS ?= python/requirements-test.txt
WITH_SAIL := python/requirements-test.txt python/requirements-spark.txt

# maturin builds the member by the same profile in the same target directory: what `build` compiled is not compiled again.
python: build ## Build the Python package and install it into VENV
	@scripts/python.sh "$(VENV)" $(REQUIREMENTS)
	@rm -rf "$(WHEELS)"
	if "$(VENV)/bin/python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))'; then \
		unset PYO3_NO_PYTHON; set -- --interpreter "$(VENV)/bin/python"; \
	fi; \
	"$(VENV)/bin/maturin" build --quiet --release --locked --compatibility linux --manifest-path python/Cargo.toml --out "$(WHEELS)" "$$@"
	"$(VENV)/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$(WHEELS)"/*.whl
	@echo "installed: . $(VENV)/bin/activate"

# Programs of examples/ are run as modules of the integration tests: linking each would take RocksDB five times more.
TESTS := --lib --bins --tests

# From another directory, so that the installed package is tested and not the one of the tree. The tutorial with a cluster is
# among the tests of cargo, and finds the package now. With WITH_SPARK, Spark itself is tested too.
define TEST_PYTHON
	+@$(MAKE) --no-print-directory python REQUIREMENTS="$(WITH_SAIL)"
	cd python/tests && "$(VENV)/bin/python" -P -m pytest -p no:cacheprovider
	$(if $(WITH_SPARK),+@$(MAKE) --no-print-directory test-spark)
	PATH="$(VENV)/bin:$$PATH" cargo test --release --locked --workspace --test it tutorials::dedup_on_a_cluster
endef

test: setup ## Run all tests, doc tests and those of the Python package included
	cargo test --release --locked --workspace $(TESTS)
	cargo test --release --locked --doc
	$(TEST_PYTHON)

# torch from PyPI brings some 5 GB: an environment of its own, made once, and no part of `test` or `check`.
INTEGRATIONS ?= $(HOME)/.cache/corpusdb/venv-integrations

test-integrations: python ## Test the Python package with torch, transformers, TRL, datasets, Polars and DuckDB (5 GB)
	@scripts/python.sh "$(INTEGRATIONS)" python/requirements-test.txt python/requirements-integrations.txt
	"$(INTEGRATIONS)/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$(WHEELS)"/*.whl
	cd python/tests && "$(INTEGRATIONS)/bin/python" -P -m pytest -p no:cacheprovider -o norecursedirs= integrations
	PATH="$(INTEGRATIONS)/bin:$$PATH" PYTHONPATH="$(CURDIR)/python/tests/integrations/yours" cargo test --release --locked --workspace --test it tutorials::
	"$(INTEGRATIONS)/bin/python" -P scripts/notebook.py --check

# moto is a store of buckets on this machine: an environment of its own, for its many packages.
REMOTE ?= $(HOME)/.cache/corpusdb/venv-remote

test-remote: python ## Test buckets with moto's S3 server: cuts, kills, missing credentials, exports
	@scripts/python.sh "$(REMOTE)" python/requirements-test.txt python/requirements-remote.txt
	"$(REMOTE)/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$(WHEELS)"/*.whl
	cd python/tests && "$(REMOTE)/bin/python" -P -m pytest -p no:cacheprovider -o norecursedirs= remote

# Spark names its package as the client does that `test` has for Sail: an environment of its own.
SPARK ?= $(HOME)/.cache/corpusdb/venv-spark-jvm

test-spark: python ## Test corpusdb.spark on Spark itself, which needs Java 17 (1 GB); `test` does so on Sail
	@command -v java >/dev/null || { echo 'Java is not installed: on Debian and Ubuntu apt-get install openjdk-17-jre-headless'; exit 2; }
	@scripts/python.sh "$(SPARK)" python/requirements-test.txt python/requirements-spark-jvm.txt
	"$(SPARK)/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$(WHEELS)"/*.whl
	cd python/tests && CORPUSDB_SPARK=jvm "$(SPARK)/bin/python" -P -m pytest -p no:cacheprovider spark

check: setup ## Everything a change must pass; the tests come last
	cargo fmt --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --release --locked --no-deps --lib
	@if command -v cargo-deny >/dev/null 2>&1; then echo cargo deny check; cargo deny --locked check; \
	else echo 'cargo-deny is not installed: licences and advisories are not checked'; fi
	cargo test --release --locked --workspace $(TESTS)
	RUSTDOCFLAGS='-D warnings' cargo test --release --locked --doc
	$(TEST_PYTHON)

bench: setup ## Measure; see docs/BENCHMARKS.md
	cargo bench --locked --bench fingerprint

# The race keeps its inputs and answers in WORK. DATA is asked for before anything is built.
WORK ?= $(HOME)/.cache/corpusdb/race

.PHONY: data
data:
	@test -n "$(DATA)" || { echo 'give DATA=directory of .jsonl or .jsonl.zst files with a field `text`'; exit 2; }

bench-peers: data build ## Race other tools on DATA=directory of .jsonl.zst; see docs/BENCHMARKS.md
	benches/peers/run.sh "$(DATA)" "$(WORK)/speed"

bench-growth: data build ## Measure what 1 % more costs at a million documents, in words of DATA
	"$$(benches/peers/setup.sh)" benches/peers/incremental.py --data "$(DATA)" --work "$(WORK)/growth" --corpusdb $(CORPUSDB)

# Needs no DATA: its documents are made up.
DOCUMENTS ?= 200000
NIGHTS ?= 30

bench-nightly: build ## Measure a crawl that comes again every night: DOCUMENTS, NIGHTS
	python3 benches/nightly/nightly.py --work "$(WORK)/nightly" --corpusdb $(CORPUSDB) --documents $(DOCUMENTS) --nights $(NIGHTS)

bench-fields: build ## Measure scores from outside for every document, killed and run again: DOCUMENTS
	python3 benches/fields/scores.py --work "$(WORK)/fields" --corpusdb $(CORPUSDB) --documents $(DOCUMENTS)

fmt: ## Format the sources
	cargo fmt

surface: ## Write tests/surface.txt anew: what programs can name of the library
	CORPUSDB_WRITE_SURFACE=1 cargo test --release --locked --test it -- the_public_surface

docs: build python ## Write the references of the command and of Python, and the picture of docs/ARCHITECTURE.md, anew
	$(CORPUSDB) reference > docs/reference/cli.md
	"$(VENV)/bin/python" -P scripts/python_reference.py > docs/reference/python.md
	python3 scripts/draw.py docs/explanation/architecture.txt
