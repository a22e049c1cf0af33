#!/usr/bin/env bash
# Makes a virtual environment of peers and prints its Python: benches/peers/setup.sh [DIRECTORY [FOLDER]]
#
# FOLDER has the requirements.txt; by default this one, that of the race.
set -euo pipefail
here="${2:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}"
place="${1:-$HOME/.cache/corpusdb/peers}"

if ! cmp -s "$here/requirements.txt" "$place/requirements.txt"; then
    if [ ! -x "$place/bin/python" ] && ! python3 -m venv "$place" >&2; then
        echo 'python3 with its venv module is missing; on Debian and Ubuntu: apt-get install python3-venv' >&2
        exit 1
    fi
    "$place/bin/python" -m pip install --quiet --requirement "$here/requirements.txt" >&2
    cp "$here/requirements.txt" "$place/requirements.txt"
fi
echo "$place/bin/python"
