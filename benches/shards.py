"""An epoch over several corpora beside that over one corpus with the same documents.

    python3 benches/shards.py COMMAND FILE.. --vocab FILE --merges FILE [--shards 4] [--rounds 5] [--copies 1]

Records of the files (JSON lines, plain or Zstandard, with `id` and `text`) are ingested into one corpus, and into
`--shards` ones by a hash of their keys, with mode none: what is measured is not dedup. With `--copies` each record
comes so often, told apart by a line of its own. Then `epoch plan` and `epoch build` (best-fit rows of 2,048, Parquet)
run in turns over one and over all, each round with another seed, so that nothing is planned before.

Told: medians of seconds of processor time and of peak memory, and what the several take of the one. Ends with 1 unless
both epochs have the same documents, tokens and rows. Only the standard library and `zstd` are needed.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
from measure import median, run, table

RECIPE = """version = 1
seed = {seed}
[tokenizer]
specials = {{ eos = "<|endoftext|>", pad = "<|endoftext|>" }}
[pack]
length = 2048
[output]
compression = "none"
"""


def records(path):
    if path.suffix != ".zst":
        yield from path.open("rb")
        return
    with subprocess.Popen(["zstd", "-dc", path], stdout=subprocess.PIPE) as process:
        yield from process.stdout


def divide(options, work):
    """The records of all files in one file, and by keys in as many as there are shards."""
    whole = work / "whole.jsonl"
    parts = [work / f"part-{shard}.jsonl" for shard in range(options.shards)]
    files = [open(path, "wb") for path in (whole, *parts)]
    for path in options.files:
        for line in records(path):
            record = json.loads(line)
            for copy in range(options.copies):
                key = f"{record['id']} {copy}"
                text = record["text"] if copy == 0 else f"{record['text']}\ncopy {copy}"
                told = json.dumps({"id": key, "text": text}, ensure_ascii=False).encode() + b"\n"
                shard = int.from_bytes(hashlib.md5(key.encode()).digest()[:4], "big") % options.shards
                files[0].write(told)
                files[1 + shard].write(told)
    for file in files:
        file.close()
    return whole, parts


def corpus(options, path, records):
    command = options.command
    run([command, "init", path, "--mode", "none"])
    run([command, "ingest", path, records, "--source", "all", "--id-field", "id", "--no-progress"])
    run([command, "tokenizer", "add", path, "gpt2", "--vocab", options.vocab, "--merges", options.merges, "--no-progress"])
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--merges", required=True)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        whole, parts = divide(options, work)
        one = [corpus(options, work / "one", whole)]
        several = [corpus(options, work / f"shard-{number}", part) for number, part in enumerate(parts)]
        spent, totals = {}, {}
        for seed in range(options.rounds):
            recipe = work / f"recipe-{seed}.toml"
            recipe.write_text(RECIPE.format(seed=seed), encoding="utf-8")
            for name, corpora in (("one", one), ("several", several)):
                beside = ["--shards", *corpora[1:]] if len(corpora) > 1 else []
                out = work / f"epoch-{name}-{seed}"
                plan = [options.command, "epoch", "plan", corpora[0], recipe, "--json", *beside]
                _, figures = run(plan)
                spent.setdefault((name, "plan"), []).append(figures)
                build = [options.command, "epoch", "build", corpora[0], recipe, "--out", out, "--no-progress", *beside]
                _, figures = run(build)
                spent.setdefault((name, "build"), []).append(figures)
                beside = out.with_name(f".{out.name}.manifest.json")
                path = beside if beside.exists() else out / "manifest.json"
                manifest = json.loads(path.read_text(encoding="utf-8"))
                found = [manifest["totals"][it] for it in ("rows", "tokens")] + [manifest["sources"][0]["documents"]]
                totals.setdefault(name, found)
                for file in out.iterdir():
                    file.unlink()
    rows = []
    for step in ("plan", "build"):
        told = [step]
        for figure in ("cpu", "peak_mb"):
            ours, alone = (median([it[figure] for it in spent[name, step]]) for name in ("several", "one"))
            told += [f"{alone:.2f}", f"{ours:.2f}", f"{ours / alone:.2f}"]
        rows.append(told)
    counted, tokens, documents = totals["one"]
    print(f"{documents:,} documents, {tokens:,} tokens in {counted:,} rows; {options.shards} corpora\n")
    head = ["step", "processor s, one", "several", "ratio", "peak MB, one", "several", "ratio"]
    print(table(head, rows))
    if totals["one"] != totals["several"]:
        sys.exit(f"the epochs differ: {totals}")


if __name__ == "__main__":
    main()
