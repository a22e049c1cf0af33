"""What a cluster lacks is told with the way out."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from typing import Any

import pytest

import corpusdb
from corpusdb.spark._doctor import Seen, doctor, judged

PROGRAM = {"python": "3.11.9", "corpusdb": "0.1.0", "signature": "3", "pyarrow": "21.0.0"}
TASK = {**PROGRAM, "host": "w1", "rows": "10000", "cores": "8", "threads": "OMP_NUM_THREADS=1"}
WELL = Seen(PROGRAM, [TASK, {**TASK, "host": "w2"}], "Spark 4.1.1", "17.0.15")


def bad(**other: Any) -> list[str]:
    return [str(finding) for finding in judged(dataclasses.replace(WELL, **other)) if finding.way_out]


def test_the_cluster_of_these_tests_is_well(session: Any) -> None:
    findings = doctor(session, tasks=3)
    assert [finding for finding in findings if finding.way_out] == []
    told = {finding.what: finding.found for finding in findings}
    assert told["tasks"].startswith("3 answered")
    assert told["corpusdb in tasks"] == corpusdb.__version__
    assert told["Python"] == ".".join(map(str, sys.version_info[:3]))
    assert told["engine"].split()[0] in ("Sail", "Spark")
    assert "rows" in told["Arrow batches"]


def test_each_fault_has_its_line() -> None:
    assert bad() == []
    other = {**TASK, "host": "w3"}
    assert bad(tasks=[TASK, {**other, "python": "3.12.1"}]) == [
        "bad   Python: 3.11.9, 3.12.1 in tasks, 3.11.9 in the program; set PYSPARK_PYTHON (or spark.pyspark.python) to that of the program"
    ]
    assert bad(tasks=[TASK, {**other, "corpusdb": "0.2.0", "signature": "4"}]) == [
        "bad   corpusdb in tasks: 0.1.0, 0.2.0 in tasks, 0.1.0 in the program; pip install corpusdb==0.1.0 on every worker",
        "bad   version of the fingerprints: 3, 4 in tasks, 3 in the program; "
        "two versions cannot be compared: install one version of corpusdb everywhere",
    ]
    absent = {name: value for name, value in other.items() if name not in ("corpusdb", "signature")}
    assert bad(tasks=[TASK, {**absent, "missing": "ModuleNotFoundError: No module named 'corpusdb'"}]) == [
        "bad   corpusdb in tasks: it does not load on w3 (ModuleNotFoundError: No module named 'corpusdb'); "
        "pip install corpusdb==0.1.0 numpy there"
    ]
    assert bad(engine="Spark 3.4.2", java="11.0.2")[0].startswith("bad   engine: Spark 3.4.2; ")
    assert bad(java="11.0.2") == ["bad   Java: 11.0.2; Spark 4 needs 17 or newer: set JAVA_HOME on every machine"]
    assert bad(engine="Spark 3.5.1", java="1.8.0_402") == []
    wide = [{**TASK, "rows": "40000"}]
    assert bad(tasks=wide)[0].startswith("bad   Arrow batches: up to 40,000 rows; with texts of 10 KB, 381 MiB; ")
    assert bad(tasks=wide, settings={"spark.sql.execution.arrow.maxBytesPerBatch": "64MB"}) == []
    assert "set spark.task.cpus to 1" in bad(settings={"spark.task.cpus": "4"})[0]
    assert bad(tasks=[], failure="Python in worker has different version") == [
        "bad   tasks: Python in worker has different version; tasks need the same minor version of Python as the program, "
        "with pyarrow: set PYSPARK_PYTHON (or spark.pyspark.python) to an environment that every worker has"
    ]


def test_the_probe_needs_no_package_where_it_runs() -> None:
    """It is sent whole: a worker without corpusdb can run it, and says so."""
    import pickle

    from pyspark import cloudpickle

    pickled = cloudpickle.dumps(__import__("corpusdb.spark._doctor", fromlist=["_probe"])._probe())
    program = (
        "import sys, pickle; sys.modules['corpusdb'] = None\n"
        "told = next(pickle.loads(sys.stdin.buffer.read())(iter([])))\n"
        "print(dict(told.column('told')[0].as_py())['missing'])"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", program], input=pickled, capture_output=True, check=True)
    assert pickle.loads(pickled) is not None
    assert "corpusdb" in ran.stdout.decode()


def test_the_command_tells_it(session: Any) -> None:
    remote = os.environ.get("CORPUSDB_SPARK_ADDRESS")
    if remote is None:
        pytest.skip("the session is not of Connect")
    ran = subprocess.run([sys.executable, "-P", "-m", "corpusdb.spark", "doctor", "--remote", remote, "--tasks", "2"],
                         capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "good  tasks: 2 answered" in ran.stdout
