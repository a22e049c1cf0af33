#!/usr/bin/env bash
# The race against the field: benches/peers/run.sh DATA WORK [OPTION of speed.py]...
#
# DATA: a directory of .jsonl or .jsonl.zst files with a field `text`. WORK: where inputs, truths and answers are kept.
# Needs the command built (`make build`); builds the bench `kernel`, makes the virtual environment, runs speed.py.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
data="${1:?DATA, a directory of .jsonl or .jsonl.zst files}" work="${2:?WORK, a directory}"
shift 2
target="${CARGO_TARGET_DIR:-$HOME/.cache/corpusdb/target}"

python="$("$here/setup.sh")"
kernel="$(cd "$here/../.." && CARGO_TARGET_DIR="$target" cargo bench --locked --bench kernel --no-run --message-format=json |
    "$python" -c 'import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("target", {}).get("name") == "kernel" and message.get("executable"):
        print(message["executable"])')"
exec "$python" "$here/speed.py" --data "$data" --work "$work" --kernel "$kernel" \
    --corpusdb "$target/release/corpusdb" --json "$work/speed.json" "$@"
