#!/usr/bin/env bash
# Makes the virtual environment of the reference writers and prints its Python: benches/peers/formats/setup.sh [DIRECTORY]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
place="${1:-$HOME/.cache/corpusdb/formats}"

if ! cmp -s "$here/requirements.txt" "$place/requirements.txt"; then
    if [ ! -x "$place/bin/python" ] && ! python3 -m venv "$place" >&2; then
        echo 'python3 with its venv module is missing; on Debian and Ubuntu: apt-get install python3-venv' >&2
        exit 1
    fi
    # pip takes very long over what these ask of each other; uv does not.
    "$place/bin/python" -m pip install --quiet uv >&2
    while read -r package; do
        "$place/bin/uv" pip install --quiet --python "$place/bin/python" "$package" >&2
    done < <(grep -v '^#' "$here/requirements.txt")
    # What MosaicML Streaming and Megatron hold back is too old for datasets.
    "$place/bin/uv" pip install --quiet --python "$place/bin/python" --no-deps \
        transformers==5.23.0 tokenizers==0.23.3 huggingface-hub==2.4.0 >&2
    cp "$here/requirements.txt" "$place/requirements.txt"
fi
echo "$place/bin/python"
