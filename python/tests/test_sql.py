"""Statements: tuples, types, errors, how rows are shown."""

from __future__ import annotations

import datetime
import decimal
import sys
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import pyarrow as pa
import pytest

import corpusdb


def test_rows_come_as_tuples(db: corpusdb.Corpus) -> None:
    rows = db.sql("SELECT source, count(*) AS n FROM documents WHERE kept GROUP BY source ORDER BY 1")
    assert (rows.columns, rows.types[1]) == (["source", "n"], "Int64")
    assert rows.fetchall() == [("web", 40)]
    assert db.sql("SELECT id FROM documents ORDER BY id").fetchone() == (0,)
    assert db.sql("SELECT id FROM documents WHERE id > 100").fetchone() is None
    assert db.sql("SELECT id, key FROM documents WHERE id = 1").to_dicts() == [{"id": 1, "key": "https://a.example/1"}]
    assert [row[0] for row in db.sql("SELECT id FROM documents ORDER BY id")] == list(range(44))


def test_two_columns_of_one_name_are_both_there_or_refused(db: corpusdb.Corpus) -> None:
    table = db.sql("SELECT d.key, e.key, e.id FROM documents d JOIN documents e ON e.id = d.id + 1 WHERE d.id < 2")
    keys = [f"https://a.example/{n}" for n in range(3)]
    assert sorted(table.fetchall()) == [(keys[0], keys[1], 1), (keys[1], keys[2], 2)]
    assert table.arrow().column_names == ["key", "key", "id"]
    assert "https://a.example/1" in repr(table) and table._repr_html_().count(">key<small>") == 2
    with pytest.raises(corpusdb.BadQuery, match="two columns are called `key`"):
        table.to_dicts()


def test_values_of_every_type_are_python_s(db: corpusdb.Corpus) -> None:
    (row,) = db.sql("""
        SELECT NULL, true, CAST(1 AS TINYINT), CAST(2 AS SMALLINT), CAST(3 AS INT), 4, CAST(5 AS INT UNSIGNED),
               CAST(0.5 AS REAL), 1.5e0, 'text', CAST('raw' AS BYTEA), arrow_cast(NULL, 'Int8'), struct(1, 'x'),
               DATE '2026-01-02', TIMESTAMP '2026-01-02 03:04:05.678', TIME '03:04:05', CAST(1.25 AS DECIMAL(10, 2)),
               arrow_cast('dict', 'Dictionary(Int32, Utf8)'), INTERVAL '1' DAY
    """).fetchall()
    assert row[:18] == (
        None, True, 1, 2, 3, 4, 5, 0.5, 1.5, "text", b"raw", None, {"c0": 1, "c1": "x"},
        datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5, 678000), datetime.time(3, 4, 5),
        decimal.Decimal("1.25"), "dict",
    )
    assert isinstance(row[18], str) and "1 day" in row[18]


def test_tuples_are_what_pyarrow_makes_of_the_same_rows(db: corpusdb.Corpus) -> None:
    statement = "SELECT * FROM documents ORDER BY id"
    rows, read = db.sql(statement), db.sql(statement).to_pyarrow()
    assert [tuple(row.values()) for row in read.to_pylist()] == rows.fetchall()
    for name in ("duplicates", "sources", "commits", "removals", "epochs", "rejects", "tokenizers", "snapshots"):
        assert db.sql(f"SELECT * FROM {name}").fetchall() == [
            tuple(row.values()) for row in db.sql(f"SELECT * FROM {name}").to_pyarrow().to_pylist()
        ]


def test_columns_are_there_without_rows(db: corpusdb.Corpus) -> None:
    read = db.sql("SELECT id, text FROM documents WHERE id < 0").to_pyarrow()
    assert (read.num_rows, read.column_names) == (0, ["id", "text"])
    assert pa.schema(db.sql("SELECT id FROM documents")).names == ["id"]


def test_statements_that_cannot_be_run_are_refused(db: corpusdb.Corpus) -> None:
    for statement, words in [
        ("SELECT nothing FROM documents", "nothing"),
        ("DELETE FROM documents", "only one SELECT"),
        ("SELECT", "cannot run"),
    ]:
        with pytest.raises(corpusdb.BadQuery, match=words) as bad:
            db.sql(statement)
        assert isinstance(bad.value, ValueError)
    with pytest.raises(corpusdb.BadQuery, match="columns"):
        db.count("colour = 'red'")


def test_the_first_rows_are_shown_and_stay_to_be_read(db: corpusdb.Corpus) -> None:
    rows = db.sql("SELECT id, '<b>' || key AS key FROM documents ORDER BY id")
    page = rows._repr_html_()
    assert ">id<small>int</small></th>" in page and "&lt;b&gt;https://a.example/0" in page and "the first 20 rows" in page
    shown = repr(rows).splitlines()
    assert shown[1].startswith("| id ") and len(shown) == 25 and shown[-1].startswith("… the first 20 rows")
    assert len(rows.fetchall()) == 44
    assert rows._repr_html_() == page
    wide = db.sql("SELECT " + ", ".join(f"{n} AS c{n}" for n in range(30)))
    assert "20 of 30 columns" in wide._repr_html_()


def test_snapshots_and_files_are_asked_by_keyword(db: corpusdb.Corpus, tmp_path: Path) -> None:
    first = db.sql("SELECT count(*) FROM documents", snapshot="first").fetchall()
    assert first == [(db.count(snapshot="first"),)] == db.sql("SELECT count(*) FROM documents_at('first')").fetchall()
    with pytest.raises(corpusdb.CorpusError, match="no snapshot `never`; there is `first`"):
        db.sql("SELECT 1", snapshot="never")
    file = tmp_path / "scores.csv"
    file.write_text("key,score\nhttps://a.example/1,0.5\n")
    joined = f"SELECT d.id, s.score FROM documents d JOIN read_csv('{file}') s ON d.key = s.key"
    assert db.sql(joined, files=True).fetchall() == [(1, 0.5)]
    with pytest.raises(corpusdb.BadQuery, match="not allowed here"):
        db.sql(joined)
    with pytest.raises(corpusdb.BadQuery, match="absent.csv"):
        db.sql("SELECT * FROM read_csv('absent.csv')", files=True)


def test_a_table_is_of_the_commit_that_it_was_asked_of(w: corpusdb.Writer) -> None:
    w.ingest(corpora.pages(3), source="web", id_field="url")
    count, ids = w.sql("SELECT count(*) FROM documents"), w.sql("SELECT id FROM documents ORDER BY id")
    assert ids.fetchall() == ids.fetchall() == [(0,), (1,), (2,)]
    w.ingest([corpora.page(3)], source="web", id_field="url")
    # A reading that had begun goes on; another one would be of another commit.
    assert count.fetchall() == [(3,)]
    for table in (count, ids):
        with pytest.raises(corpusdb.Stale, match=r"this table belongs to commit \d+, but the corpus is at commit \d+"):
            table.arrow()
        assert "to commit" in repr(table) and "to commit" in table._repr_html_()
    assert w.sql("SELECT count(*) FROM documents").fetchall() == [(4,)]


def test_a_table_is_read_after_its_corpus_was_closed(crawl_path: Path, empty: Path, monkeypatch: Any) -> None:
    with corpusdb.open(crawl_path) as db:
        table = db.sql("SELECT count(*) FROM documents WHERE source = ?", ["web"])
        assert table.fetchall() == [(40,)]
    assert table.fetchall() == table.fetchall() == [(40,)]
    monkeypatch.chdir(empty.parent)
    with corpusdb.open(empty.name, mode="w") as w:
        w.ingest(corpora.pages(3), source="web", id_field="url")
        unread, read = w.sql("SELECT id FROM documents"), w.sql("SELECT id FROM documents")
        assert len(read.fetchall()) == 3
    monkeypatch.chdir("/")
    assert len(unread.fetchall()) == len(read.fetchall()) == 3
    with corpusdb.open(empty, mode="w") as w:
        w.ingest([corpora.page(3)], source="web", id_field="url")
    with pytest.raises(corpusdb.Stale, match="run the statement again"):
        unread.fetchall()


def test_a_table_is_printed_as_wide_as_asked(db: corpusdb.Corpus, capsys: Any) -> None:
    table = db.sql("SELECT id, text FROM documents ORDER BY id")
    table.show(2, width=40)
    shown = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 40 for line in shown[:-1]) and shown[3].startswith("| 0 ")
    assert shown[-1] == "… the first 2 rows, what ends in … is cut; df(), pl(), arrow() or iterating give all"
    table.show(100, width=40)
    assert capsys.readouterr().out.splitlines()[-1].startswith("… what ends in … is cut; df(), ")
    db.sql("SELECT id, source FROM documents ORDER BY id").show(2)
    assert capsys.readouterr().out.splitlines()[-1].startswith("… the first 2 rows; df(), ")
    db.sql("SELECT id, source FROM documents").show(100)
    assert "…" not in capsys.readouterr().out
    db.sql("SELECT id FROM documents WHERE id < 0").show()
    assert "id" in capsys.readouterr().out
    with pytest.raises(ValueError, match="rows: expected a number from 0 on, got -1"):
        table.show(-1)


def test_a_library_that_is_missing_is_named(db: corpusdb.Corpus, monkeypatch: Any) -> None:
    table = db.sql("SELECT id FROM documents")
    for name, call in [("pandas", table.df), ("polars", table.pl), ("pyarrow", table.arrow), ("pandas", table.to_pandas)]:
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ModuleNotFoundError, match=f"needs {name}.*pip install {name}"):
            call()


def test_parameters_are_values_and_never_text(db: corpusdb.Corpus) -> None:
    hostile = "web' OR 1 = 1 --"
    count = "SELECT count(*) FROM documents WHERE "
    for statement, parameters, found in [
        ("source = ?", ["web"], 40), ("source = $1", ("web",), 40), ("source = $s", {"s": "web"}, 40),
        ("source = $s", {"$s": "web"}, 40), ("source = ?", [hostile], 0), ("source = $s", {"s": hostile}, 0),
        ("source = ? AND id < ?", ["web", 10], 10), ("id >= $2 AND id < $1", [10, 5], 5),
        ("id < $n AND id >= $n - 3", {"n": 10}, 3), ("quality >= ?", [0.3], 10), ("quality IS NULL AND ?", [True], 4),
        ("key IN ($keys)", {"keys": ["copy-0", "same-0", "nothing"]}, 2), ("id IN (?, 7)", [[1, 2, None]], 3),
        ("id NOT IN ($1)", [np.arange(40)], 4), ("id IN ($1)", [[]], 0), ("id = ?", [np.uint64(3)], 1),
        ("source = ?", [None], 0), ("key = ?", ["copy-1"], 1), ("id < ?", [2**63], 44),
        ("text = ?", [corpora.prose(3)], 1), ("id IN (SELECT id FROM documents WHERE year = ? LIMIT 5)", [2003], 1),
    ]:
        assert db.sql(count + statement, parameters).fetchall() == [(found,)], (statement, parameters)
        assert db.count(statement, parameters) == len(db.select(statement, parameters)) == found
        assert len(list(db.documents(statement, parameters))) == len(db.sample(99, statement, parameters)) == found
    (row,) = db.sql("SELECT $i + 1, $t || '!', $d, $m, $b, $n, $l LIMIT $k", {
        "i": 1, "t": "it's", "d": datetime.date(2026, 1, 2), "b": b"raw", "n": None, "l": [1, 2], "k": 1,
        "m": datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    }).fetchall()
    assert row == (2, "it's!", datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 1, 4, 5, 6), b"raw", None, [1, 2])
    assert db.sql("SELECT count(*) FROM documents_at($1)", ["first"]).fetchall() == [(40,)]


def test_parameters_that_do_not_fit_are_named(db: corpusdb.Corpus) -> None:
    statement = "SELECT id FROM documents WHERE source = $s AND id < $n"
    for parameters, words in [
        (None, r"no value was given for `\$n`, `\$s`"), ({"s": "web"}, r"no value was given for `\$n`"),
        ({"s": "web", "n": 1, "m": 2}, r"a value was given for `\$m`, and it has `\$n`, `\$s`"),
        (["web", 3], r"no value was given for `\$n`"),
    ]:
        with pytest.raises(corpusdb.BadQuery, match=words):
            db.sql(statement, parameters)
    for wrong, words in [
        ("SELECT ? + $1", "`\\?` and `\\$1` cannot be combined"), ("SELECT 1", "it has no parameters"),
        ("SELECT id FROM documents WHERE key = ?", "`key` is text, and 1 is a number"),
    ]:
        with pytest.raises(corpusdb.BadQuery, match=words):
            db.sql(wrong, [1])
    for given, words in [
        ("web", "parameters: expected a list of values"), (5, "parameters: expected a list of values"),
        ([object()], r"parameters\[0\]: a value of type object cannot be a parameter"),
        ({"s": {"a": 1}}, r'parameters\["s"\]: a value of type dict'), ([1, [1, b""]], r"\[1\] is Binary"),
        ({1: 2}, "the names of parameters must be text, got int"), ([2**70], r"parameters\[0\]: the number is beyond 64 bits"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            db.sql("SELECT ?, ?" if isinstance(given, list) and len(given) == 2 else "SELECT ?", given)
    with pytest.raises(corpusdb.BadQuery, match="no value was given"):
        db.sql("SELECT ?")
    for condition, given in [("source = ?", None), ("source = $s", ["web"]), ("kept", {"s": 1})]:
        with pytest.raises(corpusdb.BadQuery, match="a value was given for|no value was given for"):
            db.count(condition, given)
    assert db.count("source = $s", {"s": "web"}, snapshot="first") == 40
