# The commands of the repository. `make demo` and `make test` work on a fresh clone.
#
# RocksDB is compiled once for the machine, outside cargo (`rocksdb`). Everything that is run, shipped or checked is of the
# profile `release`, in one target directory: no dependency is compiled twice for it.
# RUSTFLAGS is never set here, since it is part of what cargo compares before it reuses anything.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Outside the clone, so that clones and cleanings pay for nothing twice.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/corpusdb/target

# With ccache installed, its links stand before the real compilers: `c++` then is ccache, and no
# variable that cargo compares has changed.
ifneq ($(wildcard /usr/lib/ccache),)
export PATH := /usr/lib/ccache:$(PATH)
endif

# The Python module is one binary for every interpreter: none is asked while it is compiled, so none can change it. Only a
# free-threaded one needs its own (scripts/wheel.sh).
export PYO3_NO_PYTHON := 1

CORPUSDB := $(CARGO_TARGET_DIR)/release/corpusdb

# Outside the clone too: the environment that the Python package is installed in.
VENV ?= $(HOME)/.cache/corpusdb/venv
WHEELS := $(CARGO_TARGET_DIR)/wheels

.PHONY: help setup rocksdb build demo python test test-python test-integrations test-remote test-formats test-readers \
	test-templates test-spark check quick lint fmt soak bench bench-peers bench-growth bench-nightly bench-fields \
	docs surface

help: ## List these commands
	@awk -F ':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' Makefile

##@ Build

setup: ## Install what a build needs (Debian and Ubuntu), or say what is missing
	@scripts/setup.sh

# Not by ROCKSDB_LIB_DIR of this make: cargo reads the folder from .cargo/local.toml, and plain cargo reads the same.
rocksdb: setup ## Compile RocksDB once for this machine (minutes), where it is not there yet
	@scripts/rocksdb.sh >/dev/null

# The features of all members at once: either alone would turn on other features of arrow, and compile it again.
build: rocksdb ## Build the command
	cargo build --release --locked --workspace --bin corpusdb

demo: build ## Build, then show corpusdb at work on the sources cargo has unpacked
	@$(CORPUSDB) demo

REQUIREMENTS ?= python/requirements-test.txt

# maturin builds the member by the same profile in the same target directory: what `build` compiled is not compiled again.
python: rocksdb ## Build the Python package and install it into VENV
	@scripts/python.sh "$(VENV)" $(REQUIREMENTS)
	scripts/wheel.sh "$(VENV)" "$(WHEELS)" --release
	@echo "installed: . $(VENV)/bin/activate"

##@ Test

# What tests compile of ours is compiled as .cargo/test.toml says, over the dependencies of `release`. Their programs lie
# apart, so that the command of `build` stays what it is.
TESTED := CARGO_BUILD_BUILD_DIR="$(CARGO_TARGET_DIR)" CARGO_TARGET_DIR="$(CARGO_TARGET_DIR)/test"
AS_TESTS := --release --locked --config .cargo/test.toml

# Programs of examples/ are run as modules of the integration tests: linking each would take RocksDB five times more.
TESTS := --workspace --tests

# Outside the clone, and not VENV, which has the package as it is shipped. DuckDB judges SQL, and Sail is a server of Spark
# Connect without Java; neither has a wheel for free-threaded interpreters, where JUDGES is empty.
VENV_TEST ?= $(HOME)/.cache/corpusdb/venv-test
JUDGES ?= python/requirements-judges.txt python/requirements-spark.txt

# The package comes first: the tutorials with Python are among the tests of cargo, and find it in PATH. It is tested from
# another directory, so that what is installed is tested and not what is in the tree. With WITH_SPARK, Spark itself is too.
# $(call WHEEL_OF_TESTS,ENVIRONMENT,REQUIREMENTS): makes the environment, and installs the package as tests compile it.
WHEEL_OF_TESTS = scripts/python.sh "$(1)" $(2) && \
	$(TESTED) scripts/wheel.sh "$(1)" "$(CARGO_TARGET_DIR)/test/wheels" --release --config "$(CURDIR)/.cargo/test.toml"
CARGO_TEST := $(TESTED) scripts/in-memory.sh cargo test $(AS_TESTS)
# A test whose judge is not there fails.
WITH_JUDGES = PATH="$(VENV_TEST)/bin:$$PATH"
TEST_RUST = $(WITH_JUDGES) $(CARGO_TEST) $(TESTS)
TEST_DOCS = $(TESTED) cargo test $(AS_TESTS) --doc
TEST_PYTHON = cd python/tests && ../../scripts/in-memory.sh "$(VENV_TEST)/bin/python" -P -m pytest -p no:cacheprovider

test: rocksdb ## Run all tests, doc tests and those of the Python package included
	$(call WHEEL_OF_TESTS,$(VENV_TEST),python/requirements-test.txt $(JUDGES))
	$(TEST_RUST)
	$(TEST_DOCS)
	$(TEST_PYTHON)
	$(if $(WITH_SPARK),+@$(MAKE) --no-print-directory test-spark)

test-python: rocksdb ## Build, install and test the Python package alone
	$(call WHEEL_OF_TESTS,$(VENV_TEST),python/requirements-test.txt $(JUDGES))
	$(TEST_PYTHON) $(if $(JUDGES),,--ignore=spark --ignore=test_random_sql.py)

# By what the path of the test begins with: a package of crates/ (store::batch) or a room of one (dedup::family) has its
# unit tests run, `it` those of tests/it (it::store::check), anything else those of the database, of tests/it, or of both.
quick: rocksdb ## Run one test of what you change, compiled in seconds: TEST=epoch::mix
	@test="$(TEST)"; first="$${test%%::*}"; rest="$${test#$$first}"; rest="$${rest#::}"; of=corpusdb; targets=""; \
	room="$$(ls -d crates/*/src/$$first 2>/dev/null || true)"; \
	if [ -z "$$first" ]; then :; \
	elif [ "$$first" = it ]; then targets="--test it"; test="$$rest"; \
	elif [ -d "crates/$$first" ]; then of="corpusdb-$$first"; test="$$rest"; \
	elif [ -n "$$room" ] && [ ! -d "src/$$first" ]; then of="corpusdb-$$(cut -d / -f 2 <<<"$$room")"; \
	else \
		if [ -e "tests/it/$$first.rs" ] || [ -e "tests/it/$$first" ]; then targets="--test it"; fi; \
		if [ -e "src/$$first" ]; then targets="$$targets --lib"; fi; \
	fi; \
	if [ "$$of" != corpusdb ]; then targets="--lib --features $$of/cli"; fi; \
	$(WITH_JUDGES) $(CARGO_TEST) --package "$$of" $${targets:---lib --test it} -- $$test

# Every random search takes SEEDS times the cases that it takes in `test`, each by a seed of its own; those that give
# proptest no number take its default of 256.
SEEDS ?= 34

soak: rocksdb ## Search long: the random tests with SEEDS times their cases
	$(call WHEEL_OF_TESTS,$(VENV_TEST),python/requirements-test.txt $(JUDGES))
	CORPUSDB_SEEDS=$(SEEDS) PROPTEST_CASES=$$((256 * $(SEEDS))) $(TEST_RUST)
	export CORPUSDB_SEEDS=$(SEEDS); $(TEST_PYTHON) test_random_sql.py

# torch from PyPI brings some 5 GB: an environment of its own, made once, and no part of `test` or `check`.
INTEGRATIONS ?= $(HOME)/.cache/corpusdb/venv-integrations

test-integrations: rocksdb ## Test the Python package with torch, transformers, TRL, datasets, Polars (5 GB)
	$(call WHEEL_OF_TESTS,$(INTEGRATIONS),$(addprefix python/requirements-,$(addsuffix .txt,test judges integrations)))
	cd python/tests && "$(INTEGRATIONS)/bin/python" -P -m pytest -p no:cacheprovider -o norecursedirs= integrations
	PATH="$(INTEGRATIONS)/bin:$$PATH" PYTHONPATH="$(CURDIR)/python/tests/integrations/yours" \
		$(CARGO_TEST) --workspace --test it docs::guides::
	"$(INTEGRATIONS)/bin/python" -P scripts/notebook.py --check

# moto is a store of buckets on this machine: an environment of its own, for its many packages.
REMOTE ?= $(HOME)/.cache/corpusdb/venv-remote

test-remote: rocksdb ## Test buckets with moto's S3 server: cuts, kills, missing credentials, exports
	$(call WHEEL_OF_TESTS,$(REMOTE),python/requirements-test.txt python/requirements-remote.txt)
	cd python/tests && "$(REMOTE)/bin/python" -P -m pytest -p no:cacheprovider -o norecursedirs= remote

# The writers and readers of MosaicML Streaming, litdata, Megatron, datatrove and datasets, which bring torch.
FORMATS ?= $(HOME)/.cache/corpusdb/formats

test-formats: build ## Hold every output format to its reference writer and reader (6 GB)
	work="$$(mktemp -d)" && trap 'rm -rf "$$work"' EXIT && python="$$(benches/peers/formats/setup.sh "$(FORMATS)")" && \
		"$$python" benches/peers/formats/compare.py --corpusdb $(CORPUSDB) --work "$$work"

# DIR has the files of others that benches/peers/readers/README.md names.
READERS ?= $(HOME)/.cache/corpusdb/readers

test-readers: build ## Hold the readers to those of others, on their own files: DIR=directory of benches/peers/readers
	@test -d "$(DIR)" || { echo 'DIR is a directory with the sources of benches/peers/readers/README.md'; exit 2; }
	python="$$(benches/peers/setup.sh "$(READERS)" benches/peers/readers)" && \
		"$$python" benches/peers/readers/compare.py --corpusdb $(CORPUSDB) "$(DIR)"

# DIR has the archives of others that benches/peers/templates/README.md names.
TEMPLATES ?= $(HOME)/.cache/corpusdb/templates

test-templates: build ## Hold chat templates to transformers, as published: DIR=directory of benches/peers/templates
	@test -d "$(DIR)" || { echo 'DIR is a directory with the archives of benches/peers/templates/README.md'; exit 2; }
	python="$$(benches/peers/setup.sh "$(TEMPLATES)" benches/peers/templates)" && \
		"$$python" benches/peers/templates/compare.py --corpusdb $(CORPUSDB) "$(DIR)"

# Spark names its package as the client does that `test` has for Sail: an environment of its own.
SPARK ?= $(HOME)/.cache/corpusdb/venv-spark-jvm

test-spark: rocksdb ## Test corpusdb.spark on Spark itself, which needs Java 17 (1 GB); `test` does so on Sail
	@command -v java >/dev/null || { echo 'Java is not installed: on Debian and Ubuntu apt-get install openjdk-17-jre-headless'; exit 2; }
	$(call WHEEL_OF_TESTS,$(SPARK),python/requirements-test.txt python/requirements-spark-jvm.txt)
	cd python/tests && CORPUSDB_SPARK=jvm "$(SPARK)/bin/python" -P -m pytest -p no:cacheprovider spark

##@ Change

fmt: ## Format the sources
	cargo fmt

lint: rocksdb ## Look at the sources as the compiler, clippy and typos do; with `fmt`, what to run before a commit
	@if command -v typos >/dev/null 2>&1; then echo typos; typos; fi
	$(TESTED) cargo clippy $(AS_TESTS) --lib --bins -- -D warnings

check: rocksdb ## Everything a change must pass; the tests come last
	cargo fmt --check
	@if command -v typos >/dev/null 2>&1; then echo typos; typos; else echo 'typos is not installed: words are not checked'; fi
	$(TESTED) cargo clippy $(AS_TESTS) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(TESTED) cargo doc $(AS_TESTS) --no-deps --lib
	@if command -v cargo-deny >/dev/null 2>&1; then echo cargo deny check; cargo deny --locked check; \
	else echo 'cargo-deny is not installed: licences and advisories are not checked'; fi
	+RUSTDOCFLAGS='-D warnings' $(MAKE) --no-print-directory test

##@ Measure

bench: rocksdb ## Measure; see docs/BENCHMARKS.md
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

##@ Write what is generated

surface: ## Write tests/surface.txt anew: what programs can name of the library
	CORPUSDB_WRITE_SURFACE=1 $(TESTED) cargo test $(AS_TESTS) --test it -- the_public_surface

docs: build ## Write the references and what of the package follows from the verbs, and the picture of docs/ARCHITECTURE.md
	$(CORPUSDB) reference > docs/reference/cli.md
	$(CORPUSDB) reference python-options > python/corpusdb/_options.py
	$(CORPUSDB) reference python-reports > python/corpusdb/_reports.py
	$(MAKE) python
	"$(VENV)/bin/python" -P scripts/python_reference.py > docs/reference/python.md
	python3 scripts/draw.py docs/explanation/architecture.txt
