"""Checks whether a cluster can run a job: what its program and its tasks have, and what to change."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corpusdb import _native

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Finding", "Seen", "doctor", "judged", "seen"]

#: Rows for each probing task: more than an engine puts into a batch by default.
_ROWS = 40_000
#: The most bytes of a batch of texts of 10 KB that a task can hold without trouble.
_BATCH = 256 << 20
_SETTINGS = ("spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.execution.arrow.maxBytesPerBatch", "spark.task.cpus")


@dataclass(frozen=True)
class Finding:
    """One finding: a line of the output."""

    #: What was checked.
    what: str
    #: What was found.
    found: str
    #: What to change; None if nothing.
    way_out: str | None = None

    def __str__(self) -> str:
        if self.way_out is None:
            return f"good  {self.what}: {self.found}"
        return f"bad   {self.what}: {self.found}; {self.way_out}"


@dataclass(frozen=True)
class Seen:
    """The observations that findings are made from."""

    #: Versions in the program: `python`, `corpusdb`, `signature`, `pyarrow`.
    program: dict[str, str]
    #: The same for each probing task, with `host`, `rows` (of its largest batch), `cores`, `threads` and, if a package
    #: does not load, `missing`.
    tasks: list[dict[str, str]]
    #: The engine and its version.
    engine: str
    #: The version of Java; None without Java.
    java: str | None = None
    #: Settings of the session that matter here, if known.
    settings: dict[str, str] = field(default_factory=dict)
    #: Why tasks did not run; None if they ran.
    failure: str | None = None


def doctor(spark: SparkSession, tasks: int = 8) -> list[Finding]:
    """Checks a cluster by `tasks` probing tasks. A finding with a problem says what to change.

    The findings are about the engine, Java, Python and the packages of the tasks (compared with the program), the
    version of the fingerprints, the sizes of Arrow batches, and the threads of a task. `python -m corpusdb.spark
    doctor` prints them.
    """
    return judged(seen(spark, tasks))


def seen(spark: SparkSession, tasks: int) -> Seen:
    """Collects versions and settings of the program, of the session, and, by tasks, of the workers."""
    import pyarrow

    program = {
        "python": platform.python_version(), "corpusdb": _native.version(), "signature": str(_native.signature_version()),
        "pyarrow": pyarrow.__version__,
    }
    java = _asked(spark, "SELECT java_method('java.lang.System', 'getProperty', 'java.version') AS answer")
    version = (_asked(spark, "SELECT version() AS answer") or str(spark.version)).split()[0]
    engine = f"{'Sail' if java is None and version != spark.version else 'Spark'} {version}"
    settings = {name: value for name in _SETTINGS if (value := _setting(spark, name)) is not None}
    found: list[dict[str, str]] = []
    failure = None
    try:
        rows = spark.range(0, tasks * _ROWS, 1, tasks).mapInArrow(_probe(), "told map<string, string>").collect()
        found = [dict(row["told"]) for row in rows]
    except Exception as error:  # Each engine raises its own exceptions if no task runs.
        failure = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return Seen(program, found, engine, java, settings, failure)


def _asked(spark: SparkSession, query: str) -> str | None:
    try:
        return str(spark.sql(query).collect()[0]["answer"])
    except Exception:  # The engine does not have the function; each raises its own exceptions.
        return None


def _setting(spark: SparkSession, name: str) -> str | None:
    try:
        return str(spark.conf.get(name))
    except Exception:  # The server does not know the setting; each raises its own exceptions.
        return None


def _probe() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The probing task. It is an inner function without references to this module, so that it is pickled by value and
    runs on workers without this package."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import platform
        import socket

        import pyarrow as pa

        told = {"python": platform.python_version(), "host": socket.gethostname(), "pyarrow": pa.__version__}
        told["rows"] = str(max((batch.num_rows for batch in batches), default=0))
        told["cores"] = str(os.cpu_count())
        told["threads"] = " ".join(f"{name}={value}" for name, value in sorted(os.environ.items()) if name.endswith("_NUM_THREADS"))
        try:
            import numpy  # noqa: F401

            from corpusdb import _native

            told["corpusdb"], told["signature"] = _native.version(), str(_native.signature_version())
        except Exception as error:
            told["missing"] = f"{type(error).__name__}: {error}"
        yield pa.RecordBatch.from_arrays([pa.array([list(told.items())], pa.map_(pa.string(), pa.string()))], names=["told"])

    return task


def judged(seen: Seen) -> list[Finding]:
    """Turns observations into findings."""
    return [_engine(seen), *_java(seen), *_tasks(seen)]


def _engine(seen: Seen) -> Finding:
    if seen.engine.startswith("Spark ") and _number(seen.engine.split()[1]) < (3, 5):
        way_out = "mapInArrow over binary columns needs 3.5: install 3.5 or newer (tested from 4 on)"
        return Finding("engine", seen.engine, way_out)
    return Finding("engine", seen.engine)


def _java(seen: Seen) -> list[Finding]:
    if seen.java is None:
        return [Finding("Java", "not found, and not needed")] if seen.engine.startswith("Sail") else []
    if seen.engine.startswith("Spark 4") and _number(seen.java) < (17,):
        return [Finding("Java", seen.java, "Spark 4 needs 17 or newer: set JAVA_HOME on every machine")]
    return [Finding("Java", seen.java)]


def _tasks(seen: Seen) -> list[Finding]:
    if seen.failure is not None or not seen.tasks:
        way_out = (
            "tasks need the same minor version of Python as the program, with pyarrow: set PYSPARK_PYTHON (or "
            "spark.pyspark.python) to an environment that every worker has"
        )
        return [Finding("tasks", seen.failure or "none answered", way_out)]
    return [
        Finding("tasks", f"{len(seen.tasks)} answered, of {', '.join(_different(seen.tasks, 'host'))}"),
        _same(seen, "python", "Python", 2, "set PYSPARK_PYTHON (or spark.pyspark.python) to that of the program"),
        _package(seen),
        _same(seen, "signature", "version of the fingerprints", 1,
              "two versions cannot be compared: install one version of corpusdb everywhere"),
        _same(seen, "pyarrow", "pyarrow", 1, "install one major version everywhere"),
        _batches(seen),
        _threads(seen),
    ]


def _package(seen: Seen) -> Finding:
    own = seen.program["corpusdb"]
    missing = _different(seen.tasks, "missing")
    if missing:
        hosts = ", ".join(_different((task for task in seen.tasks if "missing" in task), "host"))
        return Finding("corpusdb in tasks", f"it does not load on {hosts} ({'; '.join(missing)})", f"pip install corpusdb=={own} numpy there")
    return _same(seen, "corpusdb", "corpusdb in tasks", 3, f"pip install corpusdb=={own} on every worker")


def _same(seen: Seen, name: str, what: str, parts: int, way_out: str) -> Finding:
    """Compares the first `parts` parts of a version between the tasks and the program."""
    own, theirs = seen.program[name], _different(seen.tasks, name)
    if all(other.split(".")[:parts] == own.split(".")[:parts] for other in theirs):
        return Finding(what, ", ".join(theirs or [own]))
    return Finding(what, f"{', '.join(theirs)} in tasks, {own} in the program", way_out)


def _batches(seen: Seen) -> Finding:
    """A task has a batch of texts, and its results, in memory."""
    rows = max(int(task["rows"]) for task in seen.tasks)
    limit = seen.settings.get("spark.sql.execution.arrow.maxBytesPerBatch")
    size = f"{rows * 10_000 >> 20} MiB"
    found = f"up to {rows:,} rows; with texts of 10 KB, {size}" + (f"; at most {limit}" if limit else "")
    if rows * 10_000 <= _BATCH or limit:
        return Finding("Arrow batches", found)
    way_out = "set spark.sql.execution.arrow.maxRecordsPerBatch to 2000, or lower if texts are longer"
    return Finding("Arrow batches", found, way_out)


def _threads(seen: Seen) -> Finding:
    cores, threads = ", ".join(_different(seen.tasks, "cores")), "; ".join(_different(seen.tasks, "threads"))
    cpus = seen.settings.get("spark.task.cpus", "1")
    found = f"one a task, of {cores} cores a worker" + (f" ({threads})" if threads else "")
    if cpus != "1":
        return Finding("threads", f"{found}; spark.task.cpus is {cpus}", "a task uses one core: set spark.task.cpus to 1")
    return Finding("threads", found)


def _different(tasks: Iterable[dict[str, str]], name: str) -> list[str]:
    return sorted({task[name] for task in tasks if task.get(name)})


def _number(version: str) -> tuple[int, ...]:
    """The leading numbers of a version. Java 8 calls itself 1.8."""
    parts = version.removeprefix("1.").split(".") if version.startswith("1.8") else version.split(".")
    numbers = []
    for part in parts[:2]:
        digits = "".join(character for character in part if character.isdigit())
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
