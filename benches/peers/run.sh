#!/usr/bin/env bash
# The race against the field: benches/peers/run.sh DATA WORK [OPTION of speed.py]...
#
# DATA: a directory of .jsonl or .jsonl.zst files with a field `text`. WORK: where inputs, truths and answers are kept.
# Leaves the figures as speed.json and a chart of each input and configuration in WORK.
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
"$python" "$here/speed.py" --data "$data" --work "$work" --kernel "$kernel" \
    --corpusdb "$target/release/corpusdb" --json "$work/speed.json" "$@"

# A chart of each input and configuration beside the figures.
"$python" - "$work/speed.json" <<'END' | while read -r input config; do
import json, sys
print(*sorted({f"{run['input']} {run['config']}" for run in json.load(open(sys.argv[1]))["runs"]}), sep="\n")
END
    "$python" "$here/../../scripts/chart.py" race "$work/speed.json" "$input" "$config" > "$work/$input-$config.svg"
done
