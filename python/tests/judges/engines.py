"""The same rows in a corpus, in DuckDB and in SQLite, and what the three answer."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from judges.rows import COLUMNS, CONDITION, corpus, files
from judges.tree import DUCKDB, OURS, SQLITE, Node, NotSpelled

import corpusdb

SQLITE_TYPES = {"int": "INTEGER", "float": "REAL", "bool": "INTEGER", "moment": "TEXT", "text": "TEXT", "json": "TEXT"}
#: How a file is read, by the name of its table.
CALLS = {"rows": "read_parquet", "lines": "read_csv", "items": "read_json"}


@dataclass
class Answer:
    """The rows, or why there are none."""

    rows: list[tuple[Any, ...]] | None
    error: str = ""

    def same(self, other: Answer, ordered: bool) -> bool:
        if self.rows is None or other.rows is None:
            return False
        if ordered:
            return self.rows == other.rows
        return Counter(self.rows) == Counter(other.rows)


#: How the engines spell moments that Python has not: `0000-12-31T23:00:00`, `+10000-01-01T..`, `0001-12-31 (BC) ..`.
FAR = re.compile(r"^\+?(-?\d{4,6})(-\d\d-\d\d)( \(BC\))?[T ](\d\d:\d\d:\d\d)(\.\d+)?Z?$")


def far_moment(found: re.Match[str]) -> str:
    year, day, before, time, fraction = found.groups()
    year = 1 - int(year) if before else int(year)
    return f"{year}{day} {time}{(fraction or '.').ljust(7, '0')}"


def plain(value: Any) -> Any:
    """A value without its type: numbers by value, moments as texts of UTC."""
    if isinstance(value, str) and (found := FAR.match(value)):
        return far_moment(found)
    if isinstance(value, decimal.Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if value.is_integer() and abs(value) < 2**53:
            return int(value)
        return float(f"{value:.12e}")
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return plain(value.isoformat(" ", "microseconds"))
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def plain_rows(rows: Iterable[Iterable[Any]]) -> list[tuple[Any, ...]]:
    return [tuple(plain(value) for value in row) for row in rows]


NOT_ASKED = Answer(None, "not asked")


@dataclass
class Verdict:
    """What became of a statement.

    `equal` or `differing`, `refused` by corpusdb, `unanswered` by DuckDB or with a sum that SQLite refuses too, or `disputed`
    between the two. Beyond 64 bits `sqlite` has the exact answer of DuckDB.
    """

    kind: str
    ours: Answer
    duckdb: Answer
    sqlite: Answer


#: How DuckDB begins to say that a whole number has no place in 64 bits.
BEYOND = "Out of Range Error: Overflow"
#: How corpusdb says it of a sum.
BEYOND_OURS = "is beyond whole numbers of 64 bits"


def first_line(error: Exception) -> str:
    """What an error says, without the statement that it is of."""
    return re.sub(r"^cannot run `.*`: ", "", str(error).strip(), flags=re.DOTALL).split("\n")[0]


class Judges:
    """A corpus with two files beside it, and the same rows in DuckDB and SQLite."""

    def __init__(self, folder: Path, seed: int) -> None:
        draw = random.Random(seed)
        self.files = files(draw, folder)
        self.db = corpusdb.open(corpus(draw, folder / "corpus"), memory="128MiB")
        exported = folder / "documents.parquet"
        self.db.export(exported, all=True, columns=list(COLUMNS["documents"]))
        self.exported = exported
        self.duckdb, self.wide = self._duckdb(False), self._duckdb(True)
        self.sqlite = sqlite3.connect(":memory:")
        self.sqlite.execute("PRAGMA case_sensitive_like = ON")
        self.sqlite.create_function(
            "upper", 1, lambda text: text if text is None else str(text).upper(), deterministic=True
        )
        self.sqlite.create_function(
            "lower", 1, lambda text: text if text is None else str(text).lower(), deterministic=True
        )
        for table, kinds in COLUMNS.items():
            columns = ", ".join(f"{name} {SQLITE_TYPES[kind]}" for name, kind in kinds.items())
            self.sqlite.execute(f'CREATE TABLE "{table}" ({columns})')
            rows = self.duckdb.execute(f"SELECT {', '.join(kinds)} FROM {table}").fetchall()
            stored = [
                tuple(v.isoformat(" ", "microseconds") if isinstance(v, datetime.datetime) else v for v in row)
                for row in rows
            ]
            self.sqlite.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(kinds))})', stored)

    def _duckdb(self, wide: bool) -> duckdb.DuckDBPyConnection:
        """The rows of the files; ints have 128 bits if wide, for what 64 do not hold."""
        made = duckdb.connect()
        made.execute("SET TimeZone = 'UTC'; SET threads = 1")
        lines = "{'lid': 'BIGINT', 'q': 'BIGINT', 'n': 'BIGINT', 'f': 'DOUBLE', 'w': 'VARCHAR'}"
        items = "{'iid': 'BIGINT', 'q': 'BIGINT', 'b': 'BOOLEAN', 'v': 'VARCHAR', 'g': 'DOUBLE'}"
        files = {
            "documents": f"read_parquet('{self.exported}')",
            "rows": f"read_parquet('{self.files['rows']}')",
            "lines": f"read_csv('{self.files['lines']}', header = true, columns = {lines})",
            "items": f"read_json('{self.files['items']}', columns = {items})",
        }
        for table, kinds in COLUMNS.items():
            columns = ", ".join(self._column(table, name, kind, wide) for name, kind in kinds.items())
            made.execute(f"CREATE TABLE {table} AS SELECT {columns} FROM {files[table]}")
        return made

    @staticmethod
    def _column(table: str, name: str, kind: str, wide: bool) -> str:
        if kind == "moment" and table == "documents":
            return f"CAST(CAST({name} AS TIMESTAMPTZ) AS TIMESTAMP) AS {name}"
        if kind == "int" and (wide or table == "documents"):
            return f"CAST({name} AS {'HUGEINT' if wide else 'BIGINT'}) AS {name}"
        return name

    def close(self) -> None:
        self.db.close()
        self.duckdb.close()
        self.wide.close()
        self.sqlite.close()

    def ours(self, statement: Node) -> Answer:
        try:
            if statement.kind == CONDITION:
                return self._selected(statement.children[0])
            text = statement.spelled(OURS)
            for table, call in CALLS.items():
                text = text.replace(f"@{table}", f"{call}('{self.files[table]}')")
            return Answer(plain_rows(self.db.sql(text, statement.parameters(OURS) or None, files=True).fetchall()))
        except corpusdb.CorpusError as error:
            return Answer(None, first_line(error))

    def _selected(self, condition: Node) -> Answer:
        text, values = condition.spelled(OURS), condition.parameters(OURS) or None
        ids, counted = self.db.select(text, values), self.db.count(text, values)
        return Answer(
            [(int(id),) for id in ids] if len(ids) == counted else [(f"{len(ids)} selected, {counted} counted",)]
        )

    def of_duckdb(self, statement: Node, wide: bool = False) -> Answer:
        try:
            text = statement.spelled(DUCKDB).replace("@", "")
            asked = self.wide if wide else self.duckdb
            return Answer(plain_rows(asked.execute(text, statement.parameters(DUCKDB) or None).fetchall()))
        except NotSpelled as error:
            return Answer(None, f"not spelled: {error}")
        except (duckdb.FatalException, duckdb.InternalException) as error:
            # A fault of its own, after which it answers nothing more.
            self.duckdb, self.wide = self._duckdb(False), self._duckdb(True)
            return Answer(None, first_line(error))
        except duckdb.Error as error:
            return Answer(None, first_line(error))

    def of_sqlite(self, statement: Node) -> Answer:
        try:
            text = statement.spelled(SQLITE).replace("@", "")
            return Answer(plain_rows(self.sqlite.execute(text, statement.parameters(SQLITE)).fetchall()))
        except NotSpelled as error:
            return Answer(None, f"not spelled: {error}")
        except (sqlite3.Error, UnicodeError) as error:
            return Answer(None, first_line(error))

    def verdict(self, statement: Node) -> Verdict:
        theirs = self.of_duckdb(statement)
        # As a whole in order, so that equal rows alone are in none.
        ordered = statement.ours == "{}{}" and statement.children[-1].ours.startswith(" ORDER BY")
        if theirs.error.startswith(BEYOND):
            # An error is right, and so is the exact answer.
            exact, ours = self.of_duckdb(statement, wide=True), self.ours(statement)
            if exact.rows is None or ours.rows is None:
                return Verdict("unanswered", ours, theirs, exact)
            return Verdict("equal" if ours.same(exact, ordered) else "differing", ours, theirs, exact)
        if theirs.rows is None:
            return Verdict("unanswered", NOT_ASKED, theirs, NOT_ASKED)
        second = self.of_sqlite(statement)
        if second.rows is not None and not theirs.same(second, ordered):
            return Verdict("disputed", NOT_ASKED, theirs, second)
        ours = self.ours(statement)
        if ours.rows is None:
            # A sum without a place in 64 bits is an error by promise; DuckDB's has 128.
            promised = second.error == "integer overflow" or BEYOND_OURS in ours.error
            return Verdict("unanswered" if promised else "refused", ours, theirs, second)
        return Verdict("equal" if ours.same(theirs, ordered) else "differing", ours, theirs, second)

    def shown(self, statement: Node, verdict: Verdict) -> str:
        """A statement with what the three answer."""
        values = {name: value for node in statement.nodes() for name, value in node.values}
        answers = [("corpusdb", verdict.ours), ("DuckDB", verdict.duckdb), ("SQLite", verdict.sqlite)]
        lines = [statement.spelled(OURS), f"  with {values}"] if values else [statement.spelled(OURS)]
        return "\n".join([*lines, *(f"  {name}: {told(one, verdict)}" for name, one in answers)])


def told(answer: Answer, verdict: Verdict) -> str:
    """The number of rows, and some that one of the other two has not."""
    if answer.rows is None:
        return answer.error
    other = verdict.duckdb if answer is verdict.ours else verdict.ours
    rows = list((Counter(answer.rows) - Counter(other.rows or [])).elements()) or answer.rows
    return f"{len(answer.rows)} rows: {json.dumps(rows[:4], ensure_ascii=False, default=str)}"
