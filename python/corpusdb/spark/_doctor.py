"""Whether a cluster can run a job: what its tasks and its program have, and the way out where that does not fit."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from corpusdb import _native

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Finding", "Seen", "doctor", "judged", "seen"]

#: Rows that a probing task is given: more than a batch that an engine makes unasked.
_ROWS = 40_000
#: Bytes up to which a batch of texts of 10 KB is no burden to a task.
_BATCH = 256 << 20
_SETTINGS = ("spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.execution.arrow.maxBytesPerBatch", "spark.task.cpus")


@dataclass(frozen=True)
class Finding:
    """One line of what was found."""

    #: What was looked at.
    what: str
    #: What it is.
    found: str
    #: What to do; none where it is well.
    way_out: str | None = None

    def __str__(self) -> str:
        if self.way_out is None:
            return f"good  {self.what}: {self.found}"
        return f"bad   {self.what}: {self.found}; {self.way_out}"


@dataclass(frozen=True)
class Seen:
    """What was seen of a cluster."""

    #: Of the program: `python`, `corpusdb`, `signature`, `pyarrow`.
    program: dict[str, str]
    #: Of each probing task the same, with `host`, `rows` (of its largest batch), `cores`, `threads` and, where a package
    #: does not load, `missing`.
    tasks: list[dict[str, str]]
    #: The engine and its version.
    engine: str
    #: The version of Java, where there is one.
    java: str | None = None
    #: Settings of the session that count, where they are known.
    settings: dict[str, str] = field(default_factory=dict)
    #: Why tasks did not run, if they did not.
    failure: str | None = None


def doctor(spark: SparkSession, tasks: int = 8) -> list[Finding]:
    """Looks at a cluster with so many probing tasks: one finding a line, each with the way out where something does not fit.

    It names the engine, Java, the Python and the packages of tasks beside those of the program, the version of the
    fingerprints, the sizes of Arrow batches and the threads of a task. `python -m corpusdb.spark doctor` prints the same.
    """
    return judged(seen(spark, tasks))


def seen(spark: SparkSession, tasks: int) -> Seen:
    """What the program sees of itself, of the session, and through tasks of the workers."""
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
    except Exception as error:  # Each engine tells in its own way why no task runs.
        failure = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return Seen(program, found, engine, java, settings, failure)


def _asked(spark: SparkSession, query: str) -> str | None:
    try:
        return str(spark.sql(query).collect()[0]["answer"])
    except Exception:  # A function that an engine does not have; each says so in its own way.
        return None


def _setting(spark: SparkSession, name: str) -> str | None:
    try:
        return str(spark.conf.get(name))
    except Exception:  # A setting that a server does not know; each says so in its own way.
        return None


def _probe() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task. It stands within a function, and names nothing beside it, so that it is sent whole: to tasks that may not
    have this package."""

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
    """What is well, and what is not, with the way out."""
    return [_engine(seen), *_java(seen), *_tasks(seen)]


def _engine(seen: Seen) -> Finding:
    if seen.engine.startswith("Spark ") and _number(seen.engine.split()[1]) < (3, 5):
        return Finding("engine", seen.engine, "mapInArrow over binary columns is tested from 4 on, and 3.5 has it: take 3.5 or newer")
    return Finding("engine", seen.engine)


def _java(seen: Seen) -> list[Finding]:
    if seen.java is None:
        return [Finding("Java", "none that answers, and none is needed")] if seen.engine.startswith("Sail") else []
    if seen.engine.startswith("Spark 4") and _number(seen.java) < (17,):
        return [Finding("Java", seen.java, "Spark 4 needs 17 or newer: set JAVA_HOME on every machine")]
    return [Finding("Java", seen.java)]


def _tasks(seen: Seen) -> list[Finding]:
    if seen.failure is not None or not seen.tasks:
        way_out = (
            "tasks need the Python of the program to the minor version, with pyarrow: set PYSPARK_PYTHON (or "
            "spark.pyspark.python) to an environment that every worker has"
        )
        return [Finding("tasks", seen.failure or "none answered", way_out)]
    return [
        Finding("tasks", f"{len(seen.tasks)} answered, of {', '.join(_different(seen.tasks, 'host'))}"),
        _same(seen, "python", "Python", 2, "set PYSPARK_PYTHON (or spark.pyspark.python) to that of the program"),
        _package(seen),
        _same(seen, "signature", "version of the fingerprints", 1, "those of two cannot be compared: install one corpusdb everywhere"),
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
    """Whether tasks have what the program has, to so many parts of a version."""
    own, theirs = seen.program[name], _different(seen.tasks, name)
    if all(other.split(".")[:parts] == own.split(".")[:parts] for other in theirs):
        return Finding(what, ", ".join(theirs or [own]))
    return Finding(what, f"{', '.join(theirs)} in tasks, {own} in the program", way_out)


def _batches(seen: Seen) -> Finding:
    """A task holds a batch of texts, and what comes of it, in memory."""
    rows = max(int(task["rows"]) for task in seen.tasks)
    limit = seen.settings.get("spark.sql.execution.arrow.maxBytesPerBatch")
    found = f"up to {rows:,} rows, which of texts of 10 KB are {rows * 10_000 >> 20} MiB" + (f"; at most {limit}" if limit else "")
    if rows * 10_000 <= _BATCH or limit:
        return Finding("Arrow batches", found)
    return Finding("Arrow batches", found, "set spark.sql.execution.arrow.maxRecordsPerBatch to 2000, less where texts are longer")


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
    """The leading numbers of a version; Java before 9 calls itself 1.8."""
    parts = version.removeprefix("1.").split(".") if version.startswith("1.8") else version.split(".")
    numbers = []
    for part in parts[:2]:
        digits = "".join(character for character in part if character.isdigit())
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
