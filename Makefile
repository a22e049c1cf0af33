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

.PHONY: help setup build demo test check bench fmt docs

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' Makefile

setup: ## Install what a build needs (Debian and Ubuntu), or say what is missing
	@scripts/setup.sh

build: setup ## Build the command
	cargo build --release --locked

demo: build ## Build, then show corpusdb at work on the sources cargo has unpacked
	@$(CORPUSDB) demo

test: setup ## Run all tests, doc tests included
	cargo test --release --locked

check: setup ## Everything a change must pass; the tests come last
	cargo fmt --check
	cargo clippy --release --locked --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --release --locked --no-deps --lib
	@if command -v cargo-deny >/dev/null 2>&1; then echo cargo deny check; cargo deny --locked check; \
	else echo 'cargo-deny is not installed: licences and advisories are not checked'; fi
	RUSTDOCFLAGS='-D warnings' cargo test --release --locked

bench: setup ## Measure; see docs/BENCHMARKS.md
	cargo bench --locked --bench fingerprint

fmt: ## Format the sources
	cargo fmt

docs: build ## Write docs/CLI.md anew
	$(CORPUSDB) reference > docs/CLI.md
