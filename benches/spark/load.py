#!/usr/bin/env python3
"""Documents a second of `corpusdb bulk-load` against `corpusdb ingest` of the same files, in one run.

Usage: benches/spark/load.py CORPUSDB [--documents N] [--keep first] [--tokenizer tokenizer.json], with the Python package
of the same release, PyArrow and pyspark (or pyspark-client) installed. The documents are made up: 60 to 400 words of a
vocabulary of 50,000, one in five an edited copy of an earlier one, one in twenty an exact one. The decisions are those of
the ingest, which runs first; a cluster would make them elsewhere, so that making them is not part of what is measured.
Prints one line of JSON; ends with an error if the digests differ.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import corpusdb
from corpusdb import kernel
from corpusdb.spark._load import DECISIONS

PART = 50_000


def texts(count: int):
    """Made-up texts, some like earlier ones."""
    draw, earlier = random.Random(17), []
    words = [f"{a}{b}{c}" for a in ("ba", "der", "ing", "lo", "mi") for b in range(100) for c in ("nus", "pre", "ro", "sel", "ta")]
    for number in range(count):
        chance = draw.random()
        if earlier and chance < 0.05:
            text = draw.choice(earlier)
        elif earlier and chance < 0.25:
            copied = draw.choice(earlier).split(" ")
            for _ in range(draw.randrange(1, 6)):
                copied[draw.randrange(len(copied))] = draw.choice(words)
            text = " ".join(copied)
        else:
            text = " ".join(draw.choices(words, k=draw.randrange(60, 400))) + f" {number}"
        if len(earlier) < 20_000:
            earlier.append(text)
        else:
            earlier[draw.randrange(20_000)] = text
        yield text


def write_documents(load: Path, count: int) -> None:
    made = texts(count)
    for part, first in enumerate(range(0, count, PART)):
        rows = range(first, min(first + PART, count))
        table = pa.table({"text": [next(made) for _ in rows], "key": [f"d{n}" for n in rows], "source": ["web"] * len(rows),
                          "_order": list(rows)})
        folder = load / "documents" / f"part={part:06}"
        folder.mkdir(parents=True)
        pq.write_table(table, folder / "rows.parquet")


def add_decisions(load: Path, corpus: Path, policy: dict) -> None:
    """What the ingest decided, written beside the documents."""
    with corpusdb.open(corpus) as c:
        rows = c.sql("SELECT d.id, d.standing, o.key AS witness, o.id AS witness_id, x.jaccard, x.containment_removed AS part FROM documents d "
                     "LEFT JOIN duplicates x ON x.id = d.id LEFT JOIN documents o ON o.id = d.dup_of ORDER BY d.id")
        decided = pa.table(rows).to_pydict()
    files = sorted(load.glob("documents/*/*.parquet"))
    shingles: list[int] = []
    for file in files:
        prints = pa.record_batch(kernel.fingerprint(pq.read_table(file, columns=["text", "key", "_order"]), policy, key="key", order="_order"))
        shingles += prints.column("shingles").to_pylist()
    for file in files:
        table = pq.read_table(file)
        ids = table.column("_order").to_pylist()
        column = {name: [decided[name][n] for n in ids] for name in ("standing", "witness", "witness_id", "jaccard", "part")}
        removed = [witness is not None for witness in column["witness"]]
        keys = table.column("key").to_pylist()
        values = {
            "_standing": column["standing"],
            "_kind": [standing if gone else None for standing, gone in zip(column["standing"], removed)],
            "_witness": column["witness"],
            "_witness_source": ["web" if gone else None for gone in removed],
            "_jaccard": column["jaccard"],
            "_shared": [round(part * shingles[n]) if gone else None for n, part, gone in zip(ids, column["part"], removed)],
            "_removed_shingles": [shingles[n] if gone else None for n, gone in zip(ids, removed)],
            "_witness_shingles": [shingles[other] if gone else None for other, gone in zip(column["witness_id"], removed)],
            "_cluster": [w if gone else (key if s == "kept" else None) for w, gone, key, s in zip(column["witness"], removed, keys, column["standing"])],
        }
        numbers = {"_jaccard": pa.float64(), "_shared": pa.int64(), "_removed_shingles": pa.int64(), "_witness_shingles": pa.int64()}
        for name, these in values.items():
            table = table.append_column(name, pa.array(these, numbers.get(name, pa.string())))
        pq.write_table(table, file)


def run(words: list[str]) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return time.perf_counter() - started, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--keep", default="first")
    parser.add_argument("--tokenizer")
    parser.add_argument("--check", action="store_true", help="compare all removed documents with their witnesses")
    args = parser.parse_args()
    policy = {"keep": args.keep}
    work = Path(tempfile.mkdtemp(prefix="load-"))
    try:
        write_documents(work / "load", args.documents)
        for name in ("ingested", "again", "loaded"):
            run([args.command, "init", str(work / name), "--keep", args.keep])
            if args.tokenizer:
                run([args.command, "tokenizer", "add", str(work / name), "own", args.tokenizer])
        ingest = ["--source", "web", "--source-from", "source", "--id-field", "key", "--text-field", "text", "--format", "parquet",
                  "--drop-fields", ",".join(DECISIONS)]
        # The first ingest decides. The second reads the same files as the load: it is the one that is measured.
        run([args.command, "ingest", str(work / "ingested"), str(work / "load/documents"), *ingest])
        add_decisions(work / "load", work / "ingested", policy)
        manifest = {"format": 1, "signature_version": corpusdb._native.signature_version(), "documents": args.documents, "source": "web",
                    "policy": json.loads(corpusdb._native.policy_json(corpusdb._policy.policy_settings(policy)))}
        (work / "load/manifest").mkdir()
        (work / "load/manifest/manifest.txt").write_text(json.dumps(manifest))
        seconds, told = run([args.command, "ingest", str(work / "again"), str(work / "load/documents"), *ingest, "--json"])
        checked = ["--check"] if args.check else []
        load_seconds, load_told = run([args.command, "bulk-load", str(work / "loaded"), str(work / "load"), "--json", *checked])
        digests = {run([args.command, "check", str(work / name), "--digest"])[1] for name in ("again", "loaded")}
        ingested, loaded = json.loads(told), json.loads(load_told)
        print(json.dumps({
            "documents": args.documents, "keep": args.keep, "removed": args.documents - ingested["kept"], "compared": loaded["compared"],
            "later": loaded["later"], "ingest_per_second": round(args.documents / seconds), "load_per_second": round(args.documents / load_seconds),
            "ingest_stages": ingested["stages"], "load_stages": loaded["stages"], "equal": len(digests) == 1,
        }))
        if len(digests) != 1:
            sys.exit("the digests differ")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
