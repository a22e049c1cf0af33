"""What the programs beside this one have in common: a session, a frame, an ingest to compare with, and processor time."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import corpusdb

FIELDS = "number long, key string, source string, text string, year long"


def frame(running, rows: list[dict], partitions: int):
    """The documents in a random order, in so many partitions."""
    mixed = random.Random(partitions).sample(rows, len(rows))
    values = [tuple(one[name.split()[0]] for name in FIELDS.split(", ")) for one in mixed]
    return running.createDataFrame(values, FIELDS).repartition(partitions)


def texts(file: Path, choose=lambda lines: lines) -> list[str]:
    """The texts of those lines of a .jsonl.zst file that are chosen, without empty ones; the command `zstd` reads it."""
    lines = subprocess.run(["zstd", "-dc", file], check=True, capture_output=True, text=True).stdout.splitlines()
    return [record["text"] for record in map(json.loads, choose(lines)) if record.get("text")]


def told(rows) -> list[tuple]:
    """Key, standing, witness, similarity and cluster of each document, in order."""
    found = sorted(rows.collect(), key=lambda row: row["order"])
    return [(row["key"], row["standing"], row["witness"], row["jaccard"], row["cluster"]) for row in found]


def processor_seconds() -> float:
    """What this process and all below it have used so far."""
    parents, used = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)], used[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    own, total = os.getpid(), 0

    def is_below(process: int) -> bool:
        while process > 1 and process != own:
            process = parents.get(process, 0)
        return process == own

    total = sum(ticks for process, ticks in used.items() if is_below(process))
    return total / os.sysconf("SC_CLK_TCK")


def ingested(work: Path, rows: list[dict], policy: dict) -> list[tuple]:
    """What a corpus decides that ingests the documents in their order."""
    corpusdb.create(work, fields={"year": int}, **policy).close()
    with corpusdb.open(work, mode="w") as w:
        start = 0
        for end in range(1, len(rows) + 1):
            if end == len(rows) or rows[end]["source"] != rows[start]["source"]:
                w.ingest(map(record, rows[start:end]), source=rows[start]["source"], id_field="key")
                start = end
        return w.sql("SELECT d.key, d.standing, o.key, d.jaccard, c.key FROM documents d LEFT JOIN documents o ON d.dup_of = o.id "
                     "LEFT JOIN documents c ON d.cluster = c.id ORDER BY d.id").fetchall()


def record(row: dict) -> dict:
    return {name: row[name] for name in ("key", "text", "year")}


def session():
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    if os.environ.get("CORPUSDB_SPARK") == "jvm":
        made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
        made = made.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "3g").getOrCreate()
        made.sparkContext.setLogLevel("ERROR")
        return made
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer()
    server.start()
    made = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
    made.server = server  # It ends with what holds it.
    return made
