"""The same records, written by pyarrow, Polars, pandas, DuckDB and Python's json, are the same records."""

from __future__ import annotations

import datetime
import decimal
import itertools
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import corpusdb

UTC = datetime.UTC
MOMENT = datetime.datetime(2024, 3, 31, 1, 30)
# What is no text in a table of texts, and what JSON has no type for.
DECLARED = {
    "flag": "bool",
    "i8": "int",
    "i64": "int",
    "u64": "float",
    "f64": "float",
    "amount": "float",
    "day": "timestamp",
    "s": "timestamp",
    "ms": "timestamp",
    "us": "timestamp",
    "ns": "timestamp",
    "zoned": "timestamp",
}
NESTED = ["list", "struct"]


def records() -> pyarrow.Table:
    """Two records with a field of each type; what is null in one of them has a value in the other."""
    fine = MOMENT.replace(microsecond=123456)
    columns = {
        "id": pyarrow.array(["a", "b"]),
        "text": pyarrow.array(["One page of the log.", "Another page of it."]),
        "flag": pyarrow.array([True, None]),
        "i8": pyarrow.array([7, None], pyarrow.int8()),
        "i64": pyarrow.array([2**53 + 1, -1], pyarrow.int64()),
        "u64": pyarrow.array([2**64 - 1, 0], pyarrow.uint64()),
        "f64": pyarrow.array([0.1, 3.0]),
        "amount": pyarrow.array([decimal.Decimal("3.00"), decimal.Decimal("-1.25")], pyarrow.decimal128(10, 2)),
        "word": pyarrow.array(["007", "x,\"y\""]),
        "day": pyarrow.array([MOMENT.date(), None]),
        "s": pyarrow.array([MOMENT, None], pyarrow.timestamp("s")),
        "ms": pyarrow.array([MOMENT, MOMENT.replace(microsecond=5000)], pyarrow.timestamp("ms")),
        "us": pyarrow.array([MOMENT, fine], pyarrow.timestamp("us")),
        "ns": pyarrow.array([fine, fine], pyarrow.timestamp("ns")),
        "zoned": pyarrow.array([fine.replace(tzinfo=UTC)] * 2, pyarrow.timestamp("us", "UTC")),
        "clock": pyarrow.array([datetime.time(1, 30), datetime.time(23, 59, 59, 250000)], pyarrow.time64("us")),
        "list": pyarrow.array([[1, None], []], pyarrow.list_(pyarrow.int64())),
        "struct": pyarrow.array(
            [{"x": 1, "y": "u"}, {"x": None, "y": None}],
            pyarrow.struct([("x", pyarrow.int64()), ("y", pyarrow.string())]),
        ),
        "none": pyarrow.array([None, None], pyarrow.string()),
    }
    return pyarrow.table(columns)


def duck(table: pyarrow.Table, to: Path, options: str) -> None:
    connection = duckdb.connect()
    connection.register("records", table)
    connection.execute(f"COPY (SELECT * FROM records) TO '{to}' ({options})")


def python_json(table: pyarrow.Table, to: Path, *, sort_keys: bool) -> None:
    rows = (json.dumps(row, default=str, sort_keys=sort_keys) for row in table.to_pylist())
    to.write_text("".join(f"{row}\n" for row in rows))


def arrow_file(table: pyarrow.Table, to: Path) -> None:
    with pyarrow.OSFile(str(to), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def pandas_json(table: pyarrow.Table, to: Path) -> None:
    table.to_pandas().to_json(to, orient="records", lines=True, date_format="iso", date_unit="ns")


WRITERS: dict[str, Callable[[pyarrow.Table, Path], object]] = {
    "pyarrow.parquet": pyarrow.parquet.write_table,
    "pyarrow.arrow": arrow_file,
    "polars.parquet": lambda table, to: polars.from_arrow(table).write_parquet(to),
    "polars.arrow": lambda table, to: polars.from_arrow(table).write_ipc(to),
    "polars.jsonl": lambda table, to: polars.from_arrow(table).write_ndjson(to),
    "pandas.parquet": lambda table, to: table.to_pandas().to_parquet(to),
    "pandas.jsonl": pandas_json,
    "duckdb.parquet": lambda table, to: duck(table, to, "FORMAT parquet"),
    "duckdb.jsonl": lambda table, to: duck(table, to, "FORMAT json"),
    "python.jsonl": lambda table, to: python_json(table, to, sort_keys=False),
    "sorted.jsonl": lambda table, to: python_json(table, to, sort_keys=True),
}
TABLES: dict[str, Callable[[pyarrow.Table, Path], object]] = {
    "pyarrow.csv": lambda table, to: pyarrow.csv.write_csv(table, to),
    "polars.csv": lambda table, to: polars.from_arrow(table).write_csv(to),
    "pandas.csv": lambda table, to: table.to_pandas().to_csv(to, index=False),
    "duckdb.csv": lambda table, to: duck(table, to, "FORMAT csv"),
}


def in_both_orders(table: pyarrow.Table) -> Iterator[pyarrow.Table]:
    yield table
    yield table.select(table.column_names[::-1])


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[corpusdb.CorpusWriter]:
    corpusdb.create(tmp_path / "corpus", fields=DECLARED).close()
    with corpusdb.open(tmp_path / "corpus", mode="w", memory="128MiB") as writer:
        yield writer


@pytest.mark.parametrize("first", WRITERS)
def test_each_writer_writes_the_same_records(writer: corpusdb.CorpusWriter, tmp_path: Path, first: str) -> None:
    names = [first, *(name for name in WRITERS if name != first)]
    for number, (name, table) in enumerate(itertools.product(names, in_both_orders(records()))):
        file = tmp_path / f"{number}-{name}"
        WRITERS[name](table, file)
        report = writer.ingest(file, source="s", id_field="id")
        assert (report.added, report.unchanged) == ((2, 0) if number == 0 else (0, 2)), f"{first}, then {name}"


def test_tables_of_texts_with_declared_types_are_the_same_records(writer: corpusdb.CorpusWriter, tmp_path: Path) -> None:
    plain = records().drop_columns(NESTED)
    writers = {"pyarrow.parquet": WRITERS["pyarrow.parquet"], **TABLES}
    for number, (name, table) in enumerate(itertools.product(writers, in_both_orders(plain))):
        file = tmp_path / f"{number}-{name}"
        writers[name](table, file)
        report = writer.ingest(file, source="s", id_field="id")
        assert (report.added, report.unchanged) == ((2, 0) if number == 0 else (0, 2)), name


def test_a_uuid_and_a_map_are_the_same_in_parquet_and_json(writer: corpusdb.CorpusWriter, tmp_path: Path) -> None:
    key = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    connection = duckdb.connect()
    statement = f"SELECT UUID '{key}' AS id, 'A page.' AS text, UUID '{key}' AS other, MAP {{'a': 1, 'b': NULL}} AS counts"
    for form in ["parquet", "json"]:
        connection.execute(f"COPY ({statement}) TO '{tmp_path}/u.{form}' (FORMAT {form})")
        report = writer.ingest(tmp_path / f"u.{form}", source="s", id_field="id")
        assert (report.added, report.unchanged) == ((1, 0) if form == "parquet" else (0, 1))
    assert [document.key for document in writer.documents()] == [str(key)]
