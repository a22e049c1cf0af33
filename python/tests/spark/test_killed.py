"""A job whose engine is killed in the middle of a stage goes on from its checkpoint, and comes to the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from families import family, ingested, told

#: The job in a process of its own, with its engine in it or below it.
PROGRAM = """
import json, os, sys
from pathlib import Path
rows, policy, checkpoint = json.loads(Path(sys.argv[1]).read_text())
from pyspark.sql import SparkSession
if os.environ.get("CORPUSDB_SPARK") == "jvm":
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
else:
    from pysail.spark import SparkConnectServer
    server = SparkConnectServer()
    server.start()
    session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
from corpusdb import spark
df = session.createDataFrame([tuple(row) for row in rows], "number long, key string, source string, text string").repartition(3)
spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=checkpoint)
"""


def ended(job: Path) -> set[str]:
    """The stages that say that they are whole."""
    return {path.name.removesuffix(".done") for path in job.glob("*.done") if list(path.glob("*.parquet"))}


@pytest.mark.parametrize("last", ["texts", "pairs-0"])
def test_an_engine_killed_in_a_stage(session: Any, last: str, tmp_path: Path) -> None:
    from corpusdb import spark

    policy: dict[str, Any] = {"threshold": 0.5}
    documents = [{**one, "year": None} for one in family(21, 300)]
    rows = [[one[name] for name in ("number", "key", "source", "text")] for one in documents]
    (tmp_path / "given.json").write_text(json.dumps([rows, policy, str(tmp_path / "job")]))
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-P", str(tmp_path / "program.py"), str(tmp_path / "given.json")]
    running = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 400
    while last not in ended(tmp_path / "job"):
        assert running.poll() is None, "the job ended before it was killed"
        assert time.monotonic() < limit
        time.sleep(0.005)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    before = ended(tmp_path / "job")
    assert last in before
    assert "result" not in before
    df = session.createDataFrame([tuple(row) for row in rows], "number long, key string, source string, text string").repartition(2)
    done = spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=str(tmp_path / "job"))
    assert {stage.name for stage in done.stages if stage.resumed} == before
    assert told(done.rows) == ingested(tmp_path / "corpus", documents, policy)
