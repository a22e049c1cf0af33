#!/usr/bin/env python3
"""Whether Spark decides as one corpus does, on real documents with 24 kinds of planted edits: row for row, for several
partitionings.

Usage: benches/spark/equal.py --data DIR [--documents N] [--modes ..] [--keeps ..] [--partitions ..], with corpusdb, pyspark
(or pyspark-client and pysail) and PyArrow installed. CORPUSDB_SPARK=jvm takes Spark itself. DIR has .jsonl.zst files with
`id` and `text`; the command `zstd` reads them. Prints one line of JSON a run; exit 1 if any row differs.
"""

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from edits import KINDS, edited
from engine import frame, ingested, session, texts, told

from corpusdb import spark


def documents(data: Path, count: int) -> list[dict]:
    """Texts drawn evenly from the files, and among them as many copies as a third of them, of every kind of edit alike."""
    draw, found = random.Random(11), []
    files = sorted(data.glob("*.jsonl.zst"))
    for file in files:
        drawn = texts(file, lambda lines: draw.sample(lines, min(len(lines), count // len(files))))
        found += [{"source": file.name.split(".")[0], "text": text[:20_000], "edit": None} for text in drawn]
    originals = list(found)
    for kind, one in zip(itertools.cycle(KINDS), draw.choices(originals, k=len(originals) // 3), strict=False):
        found.append({"source": one["source"], "text": edited(draw, kind, one["text"], draw.choice(originals)["text"]), "edit": kind})
    draw.shuffle(found)
    return [{"number": n, "key": f"d{n}", "year": draw.choice([None, *range(2015, 2027)]), **one} for n, one in enumerate(found)]


def removed(rows: list[dict], decided: list[tuple]) -> dict:
    """Of each kind of edit, how many of so many copies were removed."""
    count = {kind: [0, 0] for kind in KINDS}
    for row, (_, standing, *_) in zip(rows, decided, strict=True):
        if row["edit"] is not None:
            count[row["edit"]][0] += standing != "kept"
            count[row["edit"]][1] += 1
    return {kind: f"{gone}/{of}" for kind, (gone, of) in count.items()}


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--documents", type=int, default=3000)
    asked.add_argument("--modes", nargs="+", default=["witness", "components", "lsh", "exact", "none"])
    asked.add_argument("--keeps", nargs="+", default=["first", "longest", "source-priority:tldr,peps", "field:year"])
    asked.add_argument("--task-rows", type=int, default=2_000_000, help="pairs that one task gathers: few, and components go through rounds")
    asked.add_argument("--partitions", nargs="+", type=int, default=[1, 3, 7])
    given = asked.parse_args()
    # Documents of one source stand together, so that the corpus is given them in few calls.
    rows = sorted(documents(given.data, given.documents), key=lambda one: one["source"])
    rows = [{**one, "number": number} for number, one in enumerate(rows)]
    running, is_wrong = session(), False
    for mode in given.modes:
        for at, keep in enumerate(given.keeps):
            policy = {"mode": mode, "threshold": 0.7, "keep": keep, "scope": ("global", "per-source")[at % 2]}
            for partitions in given.partitions[: 1 if at else None]:
                with tempfile.TemporaryDirectory() as work:
                    expected = ingested(Path(work) / "corpus", rows, policy)
                    df = frame(running, rows, partitions)
                    began = time.perf_counter()
                    done = spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=f"{work}/job",
                                      task_rows=given.task_rows)
                    found = told(done.rows)
                    seconds = time.perf_counter() - began
                    differ = sum(a != b for a, b in zip(found, expected, strict=True))
                    is_wrong |= differ > 0
                    kinds = {kind: sum(row[1] == kind for row in expected) for kind in ("kept", "exact", "near", "empty")}
                    print(json.dumps({**policy, "partitions": partitions, "documents": len(rows), **kinds, "differ": differ,
                                      "seconds": round(seconds, 1), "largest_bucket": (done.largest_buckets or [0])[0],
                                      "edits_removed": removed(rows, expected) if keep == "first" else None,
                                      "stages": {stage.name: stage.rows for stage in done.stages}}), flush=True)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
