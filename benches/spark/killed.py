#!/usr/bin/env python3
"""A job whose engine is killed again and again in the middle of a stage, and that goes on from its checkpoint each time.

Usage: benches/spark/killed.py [--documents N] [--kills N], with corpusdb, pyspark (or pyspark-client and pysail) and PyArrow
installed; CORPUSDB_SPARK=jvm takes Spark itself. The job is a process of its own with its engine below it (the server of
Sail, or the JVM and its Python workers). It is killed, all of it, at a drawn moment after a stage ended; then begun again.
The answer is compared with an ingest, row for row. Prints one line of JSON; exit 1 if any row differs.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engine import frame, ingested, session, told
from stress import template

from corpusdb import spark

POLICY = {"threshold": 0.8}


def documents(count: int) -> list[dict]:
    draw = random.Random(5)
    texts = template(count // 2) + [" ".join(f"w{draw.randrange(count)}" for _ in range(80)) for _ in range(count - count // 2)]
    draw.shuffle(texts)
    return [{"number": n, "key": f"d{n}", "source": "web", "year": None, "text": text} for n, text in enumerate(texts)]


def job(rows: list[dict], checkpoint: str) -> list:
    done = spark.dedup(frame(session(), rows, 4), POLICY, order="number", key="key", source="source", checkpoint=checkpoint)
    return [told(done.rows), [stage.name for stage in done.stages if not stage.resumed]]


def whole(checkpoint: Path) -> set[str]:
    """The stages that ended."""
    return {path.name.removesuffix(".done") for path in checkpoint.glob("*.done") if list(path.glob("*.parquet"))}


def killed(command: list[str], checkpoint: Path, draw: random.Random) -> tuple[set[str], list[str]]:
    """Runs the job until one more stage than before has ended, and a moment longer; what is whole, and what was begun."""
    before = whole(checkpoint)
    running = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    while whole(checkpoint) == before and running.poll() is None:
        time.sleep(0.01)
    time.sleep(draw.random())
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    after = whole(checkpoint)
    begun = {path.name for path in checkpoint.iterdir() if not path.name.endswith(".done")} - after
    return after, sorted(begun)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--documents", type=int, default=20_000)
    asked.add_argument("--kills", type=int, default=8)
    asked.add_argument("--job", nargs=2, metavar=("CHECKPOINT", "ANSWER"), help=argparse.SUPPRESS)
    given = asked.parse_args()
    rows = documents(given.documents)
    if given.job is not None:
        checkpoint, answer = given.job
        Path(answer).write_text(json.dumps(job(rows, checkpoint)))
        return 0
    with tempfile.TemporaryDirectory() as directory:
        work, draw, kills = Path(directory), random.Random(7), []
        (work / "job").mkdir()
        command = [sys.executable, *map(str, sys.orig_argv[1:]), "--job", f"{work}/job", f"{work}/answer"]
        for _ in range(given.kills):
            after, begun = killed(command, work / "job", draw)
            kills.append({"whole": len(after), "begun": begun})
            if "result" in after:
                break
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        found, made = json.loads((work / "answer").read_text())
        expected = ingested(work / "corpus", rows, POLICY)
        differ = sum(tuple(a) != b for a, b in zip(found, expected, strict=True))
        kept = sum(row[1] == "kept" for row in expected)
        print(json.dumps({"documents": len(rows), "kept": kept, "kills": kills, "made_by_the_last": made, "differ": differ}), flush=True)
        return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
