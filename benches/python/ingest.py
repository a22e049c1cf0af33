#!/usr/bin/env python3
"""Ingest of the same records from Parquet files, from an Arrow table and from mappings: seconds, CPU seconds, their ratio.

The records are made up, of prose that repeats nothing, with three fields beside the text. Every form goes into a new corpus,
in turn, `--rounds` times; the medians count. The goal: Arrow at 0.9 of the rate of Parquet files or more.

Usage: benches/python/ingest.py [--documents N] [--words N] [--rounds N]
"""

import argparse
import random
import resource
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import corpusdb

#: Made-up words, so that texts are as varied as prose is.
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()


def table(documents, words):
    draw = random.Random(1)
    vocabulary = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(20_000)]
    texts = [" ".join(draw.choices(vocabulary, k=words)) for _ in range(documents)]
    return pa.table({
        "url": [f"https://a.example/{n}" for n in range(documents)],
        "text": texts,
        "quality": [draw.random() for _ in range(documents)],
        "day": [draw.randrange(365) for _ in range(documents)],
    })


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        data = table(asked.documents, asked.words)
        pq.write_table(data, work / "pages.parquet")
        forms = {"parquet": lambda: work / "pages.parquet", "arrow": lambda: data, "mappings": lambda: iter(data.to_pylist())}
        seconds = {name: [] for name in forms}
        cpu = {name: [] for name in forms}
        for number in range(asked.rounds):
            for name, form in forms.items():
                path, given = work / f"{name}-{number}", form()
                corpusdb.create(path, fields={"quality": float, "day": int}).close()
                with corpusdb.open(path, mode="w") as w:
                    before, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
                    assert w.ingest(given, source="web", id_field="url", progress=False).added == asked.documents
                    after = resource.getrusage(resource.RUSAGE_SELF)
                    seconds[name].append(time.monotonic() - began)
                    cpu[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    base = statistics.median(seconds["parquet"]), statistics.median(cpu["parquet"])
    print(f"{asked.documents:,} documents of {asked.words} words, {data.nbytes / 1e6:.0f} MB, medians of {asked.rounds}")
    for name in forms:
        took, used = statistics.median(seconds[name]), statistics.median(cpu[name])
        print(f"{name:9} {took:6.2f} s ({base[0] / took:.2f} x the rate of Parquet)  {used:6.2f} CPU s ({base[1] / used:.2f} x)")


if __name__ == "__main__":
    main()
