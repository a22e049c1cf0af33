#!/usr/bin/env python3
"""Shapes that are hard on a cluster, against an ingest of the same documents: crowded buckets, hubs, chains, and components
of random edges against a union-find.

Usage: benches/spark/stress.py CASE [--count N] [--mode M] [--task-rows N] [--no-ingest], with corpusdb, pyspark (or
pyspark-client and pysail) and PyArrow installed; CORPUSDB_SPARK=jvm takes Spark itself. Cases: template (N documents of one
text with ends of their own), template-different (the same, but no two similar), hub-first and hub-last (N documents
similar to one and not to each other, which it precedes or follows), chain (each of N similar to the next alone), edges (N
random edges between as many nodes). Prints one line of JSON, with rows and bytes of
Parquet for each stage; exit 1 if any row differs.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from engine import ingested, processor_seconds, session, told

from corpusdb import spark

SCHEMA = pa.schema([("number", pa.int64()), ("key", pa.string()), ("source", pa.string()), ("text", pa.string()), ("year", pa.int64())])


def template(count: int) -> list[str]:
    """120 words in common, and up to 8 of an end that few share."""
    draw = random.Random(1)
    stem = " ".join(f"stem{n}" for n in range(120))
    return [f"{stem} " + " ".join(f"end{draw.randrange(2000)}" for _ in range(draw.randrange(8))) for _ in range(count)]


def template_different(count: int) -> list[str]:
    """60 words in common and 60 of its own."""
    stem = " ".join(f"stem{n}" for n in range(60))
    return [f"{stem} " + " ".join(f"own{number}x{n}" for n in range(60)) for number in range(count)]


def hub(count: int) -> list[str]:
    """One of 400 words, and others that have 9 words of their own in the place of some: J .80 to it, .65 to each other."""
    draw, words = random.Random(2), [f"hub{n}" for n in range(400)]

    def other(number: int) -> str:
        places = set(draw.sample(range(400), 9))
        return " ".join(f"own{number}x{at}" if at in places else word for at, word in enumerate(words))

    return [" ".join(words), *(other(number) for number in range(count - 1))]


def chain(count: int) -> list[str]:
    words = [f"word{n}" for n in range(40 + 4 * count)]
    return [" ".join(words[4 * n:4 * n + 40]) for n in range(count)]


CASES = {
    "template": (template, 0.8), "template-different": (template_different, 0.8), "hub-first": (hub, 0.75),
    "hub-last": (lambda count: hub(count)[::-1], 0.75), "chain": (chain, 0.7),
}


def documents(running, given: argparse.Namespace) -> dict:
    make, threshold = CASES[given.case]
    rows = [{"number": n, "key": f"d{n}", "source": "web", "year": None, "text": text} for n, text in enumerate(make(given.count))]
    policy = {"mode": given.mode, "threshold": threshold}
    with tempfile.TemporaryDirectory() as work:
        # As files: what a client may send to a server of Connect has a limit.
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), f"{work}/rows.parquet")
        df = running.read.parquet(f"{work}/rows.parquet").repartition(4)
        began, used = time.perf_counter(), processor_seconds()
        done = spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=f"{work}/job", task_rows=given.task_rows)
        seconds, used = time.perf_counter() - began, processor_seconds() - used
        found = told(done.rows)
        answer = {
            "kept": sum(row[1] == "kept" for row in found), "seconds": round(seconds, 1), "processor_seconds": round(used, 1),
            "largest_bucket": (done.largest_buckets or [0])[0], "stages": {stage.name: [stage.rows, sum(file.stat().st_size for file in Path(f"{work}/job/{stage.name}").rglob("*.parquet"))]
                       for stage in done.stages},
        }
        if given.ingest:
            began, used = time.perf_counter(), processor_seconds()
            expected = ingested(Path(work) / "corpus", rows, policy)
            answer["ingest_seconds"] = round(time.perf_counter() - began, 1)
            answer["ingest_processor_seconds"] = round(processor_seconds() - used, 1)
            answer["differ"] = sum(a != b for a, b in zip(found, expected, strict=True))
    return answer


def edges(running, given: argparse.Namespace) -> dict:
    """Random edges, of which nearly all are in one component of small diameter, and a path of a hundredth as many."""
    from corpusdb.spark._components import components
    from corpusdb.spark._stages import Stages

    draw, nodes = random.Random(3), given.count
    pairs = {tuple(sorted((draw.randrange(nodes), draw.randrange(nodes)))) for _ in range(given.count)}
    pairs |= {(nodes + n, nodes + n + 1) for n in range(given.count // 100)}
    pairs = [(a, b) for a, b in pairs if a != b]
    root = list(range(2 * nodes))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    began = time.perf_counter()
    for a, b in pairs:
        a, b = find(a), find(b)
        root[max(a, b)] = min(a, b)
    union_find = time.perf_counter() - began

    def rank(node: int) -> bytes:
        return node.to_bytes(24, "big")

    with tempfile.TemporaryDirectory() as work:
        stages = Stages(running, f"{work}/job", {})
        df = running.createDataFrame([(bytearray(rank(a)), bytearray(rank(b))) for a, b in pairs], "left binary, right binary")
        df.repartition(4).write.parquet(f"{work}/pairs")
        began, used = time.perf_counter(), processor_seconds()
        named = components(stages, "0", running.read.parquet(f"{work}/pairs"), len(pairs), given.task_rows)
        seconds, used = time.perf_counter() - began, processor_seconds() - used
        found = {int.from_bytes(row["node"], "big"): int.from_bytes(row["component"], "big") for row in named.collect()}
        expected = {node: find(node) for pair in pairs for node in pair}
        differ = sum(found.get(node) != root for node, root in expected.items()) + len(found.keys() - expected.keys())
        return {"edges": len(pairs), "nodes": len(expected), "components": len(set(expected.values())), "differ": differ,
                "seconds": round(seconds, 1), "processor_seconds": round(used, 1), "union_find_seconds": round(union_find, 1),
                "stages": {stage.name: stage.rows for stage in stages.done}}


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("case", choices=[*CASES, "edges"])
    asked.add_argument("--count", type=int, default=10_000)
    asked.add_argument("--mode", default="witness")
    asked.add_argument("--task-rows", type=int, default=2_000_000)
    asked.add_argument("--no-ingest", dest="ingest", action="store_false")
    given = asked.parse_args()
    answer = (edges if given.case == "edges" else documents)(session(), given)
    print(json.dumps({"case": given.case, "count": given.count, "mode": given.mode, "task_rows": given.task_rows, **answer}), flush=True)
    return int(answer.get("differ", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
