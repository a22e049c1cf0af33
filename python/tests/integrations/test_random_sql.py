"""Random conditions and columns over a corpus, and over its documents as DuckDB reads them from an exported Parquet file."""

from __future__ import annotations

import os
import random
from pathlib import Path

import duckdb
import pytest

import corpora
import corpusdb

NUMBERS = ["id", "bytes", "chars", "quality", "year"]
WORDS = ["source", "key", "standing"]
#: How many are tried, as many times as CORPUSDB_SEEDS says.
CLAUSES = 300 * int(os.environ.get("CORPUSDB_SEEDS", "1"))


class Maker:
    """Makes clauses that mean the same in both."""

    def __init__(self, seed: int, rows: dict[str, list[object]]) -> None:
        self.random = random.Random(seed)
        self.rows = rows

    def literal(self, column: str) -> str:
        value = self.random.choice(self.rows[column])
        if value is None:
            return "NULL" if self.random.random() < 0.2 else ("'en'" if column in WORDS else "7")
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        if self.random.random() < 0.3:
            value = value + self.random.choice([-1, 1, 0.5])  # type: ignore[operator]
        return repr(value)

    def condition(self, depth: int) -> str:
        pick = self.random.random()
        if depth > 0 and pick < 0.7:
            left = self.condition(depth - 1)
            if pick < 0.15:
                return f"NOT ({left})"
            if pick < 0.25:
                return f"({left}) IS {self.random.choice(['', 'NOT '])}{self.random.choice(['TRUE', 'FALSE', 'NULL'])}"
            return f"({left}) {self.random.choice(['AND', 'OR'])} ({self.condition(depth - 1)})"
        column = self.random.choice(NUMBERS + WORDS)
        negated = self.random.choice(["", "NOT "])
        kind = self.random.randrange(6)
        if kind == 0:
            return f"{negated}kept"
        if kind == 1:
            return f"{column} IS {negated}NULL"
        if kind == 2:
            values = ", ".join(self.literal(column) for _ in range(self.random.randrange(1, 5)))
            return f"{column} {negated}IN ({values})"
        if kind == 3:
            return f"{column} {negated}BETWEEN {self.literal(column)} AND {self.literal(column)}"
        if kind == 4:
            column = self.random.choice(["text", "source", "key"])
            return f"{column} {negated}LIKE {self.random.choice(['%a%', '%/1_', 'w_b', '', '%'])!r}"
        return f"{column} {self.random.choice(['=', '<>', '<', '<=', '>', '>='])} {self.literal(column)}"

    def column(self) -> str:
        number, word = self.random.choice(NUMBERS), self.random.choice(WORDS)
        return self.random.choice(
            [
                number,
                word,
                f"CAST({number} AS DOUBLE) * 2 + 1",
                f"coalesce({word}, 'none')",
                f"upper({word})",
                f"CASE WHEN {self.condition(1)} THEN 1 ELSE 0 END",
                "json_extract_string(meta, '$.quality')",
            ]
        )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[corpusdb.Corpus, duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("random")
    db = corpusdb.open(corpora.build(folder / "crawl"), memory="128MiB")
    file = folder / "all.parquet"
    db.export(file, all=True, columns=[*NUMBERS, *WORDS, "kept", "text", "meta"])
    other = duckdb.connect()
    other.execute(f"CREATE VIEW documents AS SELECT * FROM read_parquet('{file}')")
    return db, other


def plain(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Numbers as floats, so that types do not matter; in an order that both have."""
    spelt = [tuple(float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else v for v in row) for row in rows]
    return sorted(spelt, key=repr)


def test_duckdb_answers_the_same(place: tuple[corpusdb.Corpus, duckdb.DuckDBPyConnection]) -> None:
    db, other = place
    columns = [*NUMBERS, *WORDS]
    table = db.sql(f"SELECT {', '.join(columns)} FROM documents").fetchall()
    maker = Maker(7, {name: [row[at] for row in table] for at, name in enumerate(columns)})
    differed = []
    for number in range(CLAUSES):
        # Named, since the engine refuses two columns of one name.
        listed = ", ".join(f"{maker.column()} AS c{at}" for at in range(maker.random.randrange(1, 4)))
        condition = maker.condition(number % 4)
        if number % 3 == 0:
            theirs = f"SELECT source, count(*), sum(bytes) FROM documents WHERE {condition} GROUP BY source"
        else:
            theirs = f"SELECT {listed} FROM documents WHERE {condition}"
        ours = theirs.replace("json_extract_string(meta, '$.quality')", "meta ->> 'quality'")
        if plain(db.sql(ours).fetchall()) != plain(other.execute(theirs).fetchall()):
            differed.append(theirs)
    assert not differed, f"{len(differed)} of {CLAUSES} differ: {differed[:5]}"
