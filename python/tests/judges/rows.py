"""The rows that statements are judged over: nulls, equal rows, and the extremes of each type."""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

import corpusdb

DOCUMENTS, ROWS, LINES, ITEMS = 60, 40, 30, 20
#: The kind of statements whose condition is given to `corpus.select` and `corpus.count`.
CONDITION = "condition of a verb"

INTS = [0, 1, -1, 7, 2**31 - 1, -(2**31), 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**62, 128, 255, 32768]
SMALL = [0, 1, 2, 3, 5, 8, -2]
#: Sums of these are exact in any order.
HALVES = [0.0, 0.5, -1.5, 2.0, 3.25, 7.0, -0.25, 100.0]
FLOATS = [0.0, 0.1, 1e308, -1e308, 1e-300, 9007199254740993.0, 1e15, -2.5, 1e18, 3.0]
TEXTS = [
    "",
    " ",
    "a",
    "A",
    "ab",
    "Ab",
    "a_b",
    "a%b",
    "a\\b",
    "x'y",
    "ä",
    "日本",
    "10",
    "-3",
    "007",
    "true",
    "NULL",
    "b!c",
]
MOMENTS = [
    "0001-01-01T00:00:00", "1969-12-31T23:59:59.500", "1970-01-01T00:00:00", "2000-02-29T01:02:03", "2024-01-31T00:00:00",
    "2024-02-29T23:59:59.500", "2024-03-10T02:30:00", "2024-03-10T03:30:00", "2025-12-31T12:00:00", "2038-01-19T03:14:08",
    "9999-12-31T23:59:59",
]  # fmt: skip
#: What differs more often in a table than it is null.
PRESENT = 0.8

#: The types of the columns of each table, as the statements see them; the first column tells rows apart.
COLUMNS = {
    "documents": {
        "id": "int", "n": "int", "q": "int", "f": "float", "g": "float", "b": "bool", "t": "moment", "w": "text", "v": "text",
        "key": "text", "source": "text", "kept": "bool", "bytes": "int", "meta": "json",
    },
    "rows": {"rid": "int", "n": "int", "i": "int", "s": "int", "f": "float", "b": "bool", "t": "moment", "w": "text"},
    "lines": {"lid": "int", "q": "int", "n": "int", "f": "float", "w": "text"},
    "items": {"iid": "int", "q": "int", "b": "bool", "v": "text", "g": "float"},
}  # fmt: skip


def some(draw: random.Random, values: list[Any]) -> Any:
    return draw.choice(values) if draw.random() < PRESENT else None


def corpus(draw: random.Random, path: Path) -> Path:
    """Documents with declared fields of every kind, of which some are equal but for their keys."""
    fields: Any = {
        "n": int,
        "q": int,
        "f": float,
        "g": float,
        "b": bool,
        "t": "timestamp",
        "w": "keyword",
        "v": "keyword",
    }
    corpusdb.create(path, fields=fields, mode="none").close()
    records: list[dict[str, Any]] = []
    for number in range(DOCUMENTS):
        values = {
            "n": some(draw, INTS), "q": some(draw, SMALL), "f": some(draw, HALVES), "g": some(draw, FLOATS),
            "b": some(draw, [True, False]), "t": some(draw, MOMENTS), "w": some(draw, TEXTS), "v": some(draw, TEXTS[:8]),
            "note": some(draw, TEXTS), "num": some(draw, SMALL),
        }  # fmt: skip
        if number % 6 == 5:
            # Equal but for its key and text.
            values = {name: records[-1].get(name) for name in values}
        present = {name: value for name, value in values.items() if value is not None}
        records.append(
            {"id": f"k{number % 10}-{number:02}", "text": f"page {number} " + "word " * (number % 7), **present}
        )
    with corpusdb.open(path, mode="w", memory="128MiB") as w:
        w.ingest(records[:40], source="web", id_field="id")
        w.ingest(records[40:], source="books", id_field="id")
        w.remove(where="id % 9 = 4", reason="for the columns kept and standing")
    return path


def files(draw: random.Random, folder: Path) -> dict[str, Path]:
    """A file of each kind that statements read, by the name of its table."""
    made = {"rows": folder / "rows.parquet", "lines": folder / "lines.csv", "items": folder / "items.jsonl"}
    moments = [datetime.datetime.fromisoformat(text) for text in MOMENTS[1:-1]]
    rows = {
        "rid": pyarrow.array(range(ROWS), pyarrow.int64()),
        "n": pyarrow.array([some(draw, INTS) for _ in range(ROWS)], pyarrow.int64()),
        "i": pyarrow.array([some(draw, INTS[:6] + [300, -129]) for _ in range(ROWS)], pyarrow.int32()),
        "s": pyarrow.array([some(draw, [*SMALL, 127, -128, 300, 32767]) for _ in range(ROWS)], pyarrow.int16()),
        "f": pyarrow.array([some(draw, HALVES) for _ in range(ROWS)], pyarrow.float64()),
        "b": pyarrow.array([some(draw, [True, False]) for _ in range(ROWS)], pyarrow.bool_()),
        "t": pyarrow.array([some(draw, moments) for _ in range(ROWS)], pyarrow.timestamp("us")),
        "w": pyarrow.array([some(draw, TEXTS) for _ in range(ROWS)], pyarrow.string()),
    }
    # In groups, so that some are passed over.
    pyarrow.parquet.write_table(pyarrow.table(rows), made["rows"], row_group_size=8)
    words = ["a", "A", "ab", "a_b", "a%b", "ä", "x'y", "b!c", "word"]
    with made["lines"].open("w", encoding="utf-8") as file:
        file.write("lid,q,n,f,w\n")
        for number in range(LINES):
            values = [some(draw, SMALL), some(draw, INTS), some(draw, HALVES), some(draw, words)]
            file.write(",".join(["" if value is None else str(value) for value in [number, *values]]) + "\n")
    with made["items"].open("w", encoding="utf-8") as file:
        for number in range(ITEMS):
            values = [some(draw, SMALL), some(draw, [True, False]), some(draw, TEXTS[:8]), some(draw, FLOATS)]
            file.write(json.dumps(dict(zip(COLUMNS["items"], [number, *values]))) + "\n")
    return made
