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

CORPUSDB := $(CARGO_TARGET_DIR)/release/corpusdb

.PHONY: help setup build demo test check bench bench-peers bench-growth bench-nightly fmt docs surface

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' Makefile

setup: ## Install what a build needs (Debian and Ubuntu), or say what is missing
	@scripts/setup.sh

build: setup ## Build the command
	cargo build --release --locked

demo: build ## Build, then show corpusdb at work on the sources cargo has unpacked
	@$(CORPUSDB) demo

# Programs of examples/ are run as modules of the integration tests: linking each would take RocksDB five times more.
TESTS := --lib --bins --tests

test: setup ## Run all tests, doc tests included
	cargo test --release --locked $(TESTS)
	cargo test --release --locked --doc

check: setup ## Everything a change must pass; the tests come last
	cargo fmt --check
	cargo clippy --release --locked --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --release --locked --no-deps --lib
	@if command -v cargo-deny >/dev/null 2>&1; then echo cargo deny check; cargo deny --locked check; \
	else echo 'cargo-deny is not installed: licences and advisories are not checked'; fi
	cargo test --release --locked $(TESTS)
	RUSTDOCFLAGS='-D warnings' cargo test --release --locked --doc

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

fmt: ## Format the sources
	cargo fmt

surface: ## Write tests/surface.txt anew: what programs can name of the library
	CORPUSDB_WRITE_SURFACE=1 cargo test --release --locked --test it -- the_public_surface

docs: build ## Write docs/reference/cli.md and the picture of docs/ARCHITECTURE.md anew
	$(CORPUSDB) reference > docs/reference/cli.md
	python3 scripts/draw.py docs/explanation/architecture.txt
