#!/usr/bin/env python3
"""Removing duplicates of the same documents, each in a process of its own: corpusdb on Spark, text-dedup's job on Spark, datatrove
with two workers.

Usage: benches/spark/race.py --data DIR [--documents N] [--rounds N] [--tools ..], run by an interpreter that has corpusdb,
benches/peers/requirements.txt and pyspark, on a machine that does nothing else: processor time is that of the whole machine.
DIR has .jsonl.zst files with `text`. Prints one line of JSON a run: seconds of wall and processor, documents kept, and for
Spark the bytes shuffled for a document.

Everybody has 256 hashes in 32 bands of 8, shingles of 5 words, two threads, and shuffles in four partitions. corpusdb
compares texts (J .8) and names a witness; the others take equal bands for similarity. text-dedup asks GraphFrames, which is
no Python package, for components: a union-find in the driver answers in its place, which costs less and shuffles nothing.
It drops documents of fewer than 5 words first, and datatrove writes what it removes, too. Starting the interpreter, and
Java where it is, counts.
"""

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

PARTITIONS = 4


def write_input(data: Path, place: Path, count: int) -> int:
    """The documents as Parquet, and as two files of JSON lines."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from equal import documents

    rows = documents(data, count)
    numbers, texts = [row["number"] for row in rows], [row["text"] for row in rows]
    half = len(rows) // 2 + 1
    (place / "parquet").mkdir()
    (place / "lines").mkdir()
    for part, first in enumerate((0, half)):
        these = slice(first, first + half)
        table = pa.table({"number": numbers[these], "text": texts[these]})
        pq.write_table(table, place / "parquet" / f"{part}.parquet")
        with open(place / "lines" / f"{part}.jsonl", "w") as file:
            for number, text in zip(numbers[these], texts[these], strict=True):
                file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    return len(rows)


def corpusdb(place: Path) -> int:
    """`corpusdb.spark.dedup`, and what is kept written as Parquet."""
    from engine import session

    from corpusdb import spark

    running = session()
    df = running.read.parquet(str(place / "parquet"))
    done = spark.dedup(df, {"threshold": 0.8}, order="number", checkpoint=str(place / "stages"))
    kept = done.rows.where("standing = 'kept'").select("order")
    df.join(kept, df["number"] == kept["order"]).write.parquet(str(place / "kept"))
    return kept.count()


def text_dedup(place: Path) -> int:
    """The job that text-dedup has for Spark, with shuffles for this machine in place of 8,192."""
    import text_dedup

    program = Path(text_dedup.__file__).with_name("minhash_spark.py").read_text()
    for theirs, ours in (('"8192"', f'"{PARTITIONS}"'), ("repartition(4096)", f"repartition({PARTITIONS})"),
                         ('"spark.default.parallelism", "100"', f'"spark.default.parallelism", "{PARTITIONS}"'), ("max(256,", f"max({PARTITIONS},")):
        assert theirs in program, theirs
        program = program.replace(theirs, ours)
    changed = place / "minhash_spark.py"
    changed.write_text(program)
    graphs = types.ModuleType("graphframes")
    graphs.GraphFrame = Components
    sys.modules["graphframes"] = graphs
    sys.argv = [str(changed), "-i", str(place / "parquet"), "-o", str(place / "kept"), "-c", "text", "--checkpoint_dir", str(place / "checkpoints"),
                "--threshold", "0.8", "--num_perm", "256", "--b", "32", "--r", "8", "--ngram_size", "5"]
    runpy.run_path(str(changed), run_name="__main__")
    import pyarrow.parquet as pq

    return sum(pq.ParquetFile(file).metadata.num_rows for file in (place / "kept").rglob("*.parquet"))


class Components:
    """What GraphFrames is asked for: the component of each vertex, by its least member."""

    def __init__(self, vertices, edges):
        self.edges = edges

    def connectedComponents(self):  # noqa: N802
        above = {}

        def top(node):
            while above.setdefault(node, node) != node:
                above[node] = above[above[node]]
                node = above[node]
            return node

        for row in self.edges.collect():
            a, b = top(row["src"]), top(row["dst"])
            above[max(a, b)] = min(a, b)
        return self.edges.sparkSession.createDataFrame([(node, top(node)) for node in above], "id long, component long")


def datatrove(place: Path) -> int:
    """datatrove's four blocks, two tasks at a time."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "peers"))
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from tools import Spaces, Stages, Trove

    class Both(Trove):
        def reader(self):
            return JsonlReader(str(place / "lines"), compression=None)

        def run(self, name, blocks, tasks=2):
            LocalPipelineExecutor(blocks, tasks=tasks if name != "cluster" else 1, workers=2, logging_dir=self.folder(f"logs-{name}")).run()

        def signatures(self, folder):
            from datatrove.pipeline.dedup import MinhashDedupSignature

            block = MinhashDedupSignature(self.folder(folder), config=self.config)
            block.word_tokenizer = Spaces()
            self.run("signature", [self.reader(), block])

    trove = Both("same", place / "lines" / "0.jsonl", Stages(), place / "trove")
    trove.signatures("signatures")
    removed = trove.decisions("signatures")
    return sum(1 for file in (place / "lines").iterdir() for _ in open(file)) - len(removed)


TOOLS = {"corpusdb": corpusdb, "text-dedup": text_dedup, "datatrove": datatrove}


def processor_seconds() -> float:
    """What all processes of the machine have used so far."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def shuffled(events: Path) -> int:
    """Bytes that the tasks of a log of Spark wrote for others."""
    total = 0
    for file in events.rglob("*"):
        for line in open(file) if file.is_file() else ():
            if '"SparkListenerTaskEnd"' in line:
                metrics = json.loads(line).get("Task Metrics") or {}
                total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--data", type=Path)
    asked.add_argument("--documents", type=int, default=60_000)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    asked.add_argument("--run", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.run:
        print(json.dumps({"kept": TOOLS[given.run](Path.cwd())}))
        return 0
    if given.data is None:
        asked.error("--data is needed: a directory of .jsonl.zst files")
    with tempfile.TemporaryDirectory() as work:
        count = write_input(given.data, Path(work), given.documents)
        for _ in range(given.rounds):
            for tool in given.tools:
                place = Path(work) / "run"
                (place / "events").mkdir(parents=True)
                for name in ("parquet", "lines"):
                    (place / name).symlink_to(Path(work) / name)
                settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (place / "events").as_uri(), "spark.eventLog.compress": "false",
                            "spark.driver.memory": "3g", "spark.sql.shuffle.partitions": str(PARTITIONS)}
                conf = " ".join(f"--conf {name}={value}" for name, value in settings.items())
                environment = {**os.environ, "CORPUSDB_SPARK": "jvm", "PYSPARK_PYTHON": sys.executable,
                               "PYSPARK_SUBMIT_ARGS": f"--master local[2] {conf} pyspark-shell"}
                began = time.perf_counter(), processor_seconds()
                command = [sys.executable, str(Path(__file__).absolute()), "--run", tool]
                done = subprocess.run(command, cwd=place, env=environment, check=True, stdout=subprocess.PIPE, text=True)
                wall, cpu = time.perf_counter() - began[0], processor_seconds() - began[1]
                kept = json.loads(done.stdout.splitlines()[-1])["kept"]
                print(json.dumps({"tool": tool, "documents": count, "kept": kept, "wall_s": round(wall, 1), "processor_s": round(cpu, 1),
                                  "shuffled_bytes_a_document": round(shuffled(place / "events") / count) or None}), flush=True)
                subprocess.run(["rm", "-rf", str(place)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
