#!/usr/bin/env bash
# Makes the virtual environment of the judges and prints its Python: benches/peers/readers/setup.sh [DIRECTORY]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
place="${1:-$HOME/.cache/corpusdb/readers}"

if ! cmp -s "$here/requirements.txt" "$place/requirements.txt"; then
    if [ ! -x "$place/bin/python" ] && ! python3 -m venv "$place" >&2; then
        echo 'python3 with its venv module is missing; on Debian and Ubuntu: apt-get install python3-venv' >&2
        exit 1
    fi
    "$place/bin/python" -m pip install --quiet --requirement "$here/requirements.txt" >&2
    cp "$here/requirements.txt" "$place/requirements.txt"
fi
echo "$place/bin/python"
