#!/bin/sh
# Makes the virtual environment that the Python package is built, installed and tested in.
#
#   scripts/python.sh VENV REQUIREMENTS..   makes VENV if it is absent, and installs what the files name if they have changed
#
# Python 3.11 or newer is taken from PATH; on Debian and Ubuntu it is installed when missing, elsewhere the script says
# what to install. PYTHON names another interpreter. Safe to run again: with everything in place it changes nothing.
set -eu

venv=$1
shift

say() { printf 'python: %s\n' "$*" >&2; }

# Whether an interpreter is new enough and can make virtual environments with pip in them.
works() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if works "$name"; then
            command -v "$name"
            return
        fi
    done
    return 1
}

if ! python=$(find_python); then
    if command -v apt-get >/dev/null 2>&1 && [ -z "${PYTHON:-}" ]; then
        as_root=''
        if [ "$(id -u)" -ne 0 ]; then
            command -v sudo >/dev/null 2>&1 || { say 'missing: python3-venv; run as root: apt-get install python3-venv'; exit 1; }
            as_root='sudo env DEBIAN_FRONTEND=noninteractive'
        fi
        say 'installing python3-venv'
        export DEBIAN_FRONTEND=noninteractive
        if ! $as_root apt-get install --yes --no-install-recommends python3-venv >/dev/null 2>&1; then
            $as_root apt-get update >&2
            $as_root apt-get install --yes --no-install-recommends python3-venv >&2
        fi
    fi
    python=$(find_python) || {
        say "no Python 3.11 or newer with venv and pip among ${PYTHON:-those in PATH}: install one (Debian: python3-venv),"
        say 'or name one: make python PYTHON=/path/to/python3'
        exit 1
    }
fi

if ! [ -x "$venv/bin/python" ] || ! works "$venv/bin/python"; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi

# What was installed is noted, so that a second run needs no network.
cat "$@" >"$venv/requirements.new"
if ! cmp -s "$venv/requirements.new" "$venv/requirements.txt"; then
    say "installing into $venv what is named in $*"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$venv/requirements.new"
    mv "$venv/requirements.new" "$venv/requirements.txt"
fi
