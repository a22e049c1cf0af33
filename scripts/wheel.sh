#!/usr/bin/env bash
# Builds the wheel of the Python package and installs it into a virtual environment that has maturin.
#
#   scripts/wheel.sh VENV FOLDER [ARGUMENT..]   puts the wheel into FOLDER; the arguments are cargo's
#
# One binary serves every interpreter: none is asked while it is compiled (PYO3_NO_PYTHON). Only a free-threaded one needs
# its own.
set -euo pipefail

venv=$1 folder=$2
shift 2
export PYO3_NO_PYTHON=1
rm -rf "$folder"
if "$venv/bin/python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))'; then
    unset PYO3_NO_PYTHON
    set -- --interpreter "$venv/bin/python" "$@"
fi
"$venv/bin/maturin" build --quiet --locked --compatibility linux --manifest-path python/Cargo.toml --out "$folder" "$@"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$folder"/*.whl
