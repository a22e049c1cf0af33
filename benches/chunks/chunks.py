"""How many bytes of a later Parquet export are new to a store that keeps equal chunks of bytes once.

    VENV/bin/python benches/chunks/chunks.py --work WORK --corpusdb COMMAND --data FILE [--id-field id]

The documents of a file are ingested but for the last 1 %, and exported to one Parquet file, with and without
`--content-defined-chunks`; an epoch of rows is built with and without it, too, with a tokenizer that is trained on them.
Then the last 1 % are added, and all is written once more; then 100 documents drawn by a seed are erased, and once more.
Every file is cut into chunks of 64 KiB on average (8 to 128 KiB) by a gear hash, as the chunk stores of Xet, restic and
borg cut theirs; a chunk that the state before has is not new. The rows of the epoch are its documents in
their order, since a shuffle of other rows is another order.

Told: bytes of each file, and the share of new bytes after each step. Needs numpy, and zstandard for a file of zstd.
"""

import argparse
import hashlib
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

MEAN_BITS, LEAST, MOST = 16, 8 << 10, 128 << 10
SEED = 20261130
RECIPE = """version = 1
[tokenizer]
name = "own"
specials = {{ eos = "<|endoftext|>" }}
[pack]
kind = "none"
length = 2048
[order]
kind = "sequential"
[output]
format = "parquet"
columns = []
{more}"""


def gear():
    return np.random.Generator(np.random.PCG64(SEED)).integers(0, 1 << 63, 256, dtype=np.uint64)


def chunks(path, table=gear()):
    """Hashes and lengths of the chunks of a file. A gear hash depends on the last 64 bytes alone, so 64 sums make it."""
    data = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    found, start = [], 0
    for begin in range(0, len(data), 1 << 22):
        first = max(0, begin - 63)
        part = table[data[first : begin + (1 << 22)]]
        hashes = part.copy()
        for back in range(1, 64):
            hashes[back:] += part[:-back] << np.uint64(back)
        cuts = np.nonzero(hashes >> np.uint64(64 - MEAN_BITS) == 0)[0] + first
        for cut in (int(cut) for cut in cuts if cut >= begin):
            while cut + 1 - start > MOST:
                found.append((start, start + MOST))
                start += MOST
            if cut + 1 - start >= LEAST:
                found.append((start, cut + 1))
                start = cut + 1
    while len(data) - start > MOST:
        found.append((start, start + MOST))
        start += MOST
    found.append((start, len(data)))
    raw = data.tobytes()
    return [(hashlib.blake2b(raw[a:b], digest_size=16).digest(), b - a) for a, b in found if b > a]


class Bench:
    def __init__(self, options):
        self.command, self.work = options.corpusdb, options.work
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.corpus = self.work / "corpus"
        self.known = {}
        self.rows = []

    def run(self, *arguments):
        ran = subprocess.run([self.command, *map(str, arguments), "--no-progress"], capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"{arguments}: {ran.stderr}")
        return ran.stdout

    def write(self, step):
        """Writes all outputs, and keeps what is new of each."""
        for name, more in (("plain", []), ("by content", ["--content-defined-chunks"])):
            file = self.work / f"{name}-{step}.parquet"
            self.run("export", self.corpus, "--to", file, *more)
            self.measure(step, f"export, {name}", [file])
        for name, more in (("plain", ""), ("by content", "content_defined_chunks = true\n")):
            recipe, to = self.work / f"{name}.toml", self.work / f"{name}-{step}"
            recipe.write_text(RECIPE.format(more=more))
            self.run("epoch", "build", self.corpus, recipe, "--out", to)
            self.measure(step, f"epoch, {name}", sorted(to.glob("*.parquet")))

    def measure(self, step, what, files):
        cut = [chunk for file in files for chunk in chunks(file)]
        known = self.known.get(what, set())
        total = sum(length for _, length in cut)
        new = sum(length for chunk, length in dict(cut).items() if chunk not in known)
        self.known[what] = {chunk for chunk, _ in cut}
        self.rows.append((step, what, total, new / total))
        print(f"{step:10} {what:20} {total / 1e6:8.1f} MB  new {100 * new / total:5.1f} %", flush=True)


def records(path):
    if path.suffix == ".zst":
        import zstandard

        with open(path, "rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            return stream.read().splitlines(keepends=True)
    return path.read_bytes().splitlines(keepends=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--corpusdb", default="corpusdb")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--id-field", default="id")
    options = parser.parse_args()
    bench = Bench(options)
    lines = records(options.data)
    part = len(lines) - len(lines) // 100
    for name, some in (("first", lines[:part]), ("later", lines[part:])):
        (bench.work / f"{name}.jsonl").write_bytes(b"".join(some))
    ingest = ("--source", "web", "--id-field", options.id_field)
    bench.run("init", bench.corpus)
    bench.run("ingest", bench.corpus, bench.work / "first.jsonl", *ingest)
    bench.run("tokenizer", "train", bench.corpus, "own", "--vocab-size", 8192, "--sample-bytes", "20MB")
    bench.write("first")
    bench.run("ingest", bench.corpus, bench.work / "later.jsonl", *ingest)
    bench.write("+1 %")
    kept = json.loads(bench.run("sql", bench.corpus, "SELECT array_agg(id ORDER BY id) AS ids FROM documents WHERE kept", "--json"))
    erased = random.Random(SEED).sample(kept["ids"], 100)
    bench.run("purge", bench.corpus, "--force", *erased)
    bench.write("-100")


if __name__ == "__main__":
    main()
