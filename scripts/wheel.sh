#!/usr/bin/env bash
# Builds the wheel of the Python package and installs it into a virtual environment that has maturin.
#
#   scripts/wheel.sh VENV FOLDER [ARGUMENT..]   puts the wheel into FOLDER; the arguments are cargo's
#
# For the Makefile, which has cargo ask no interpreter (PYO3_NO_PYTHON): one binary serves all but the free-threaded.
set -euo pipefail

venv=$1 folder=$2
shift 2
rm -rf "$folder"
if "$venv/bin/python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))'; then
    unset PYO3_NO_PYTHON
    set -- --interpreter "$venv/bin/python" "$@"
fi
"$venv/bin/maturin" build --quiet --locked --compatibility linux --manifest-path python/Cargo.toml --out "$folder" "$@"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$folder"/*.whl
