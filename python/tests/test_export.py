"""Exports: files that pyarrow reads, what is refused, and the way into another corpus."""

from __future__ import annotations

import json
from pathlib import Path

import corpora
import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
import pytest

import corpusdb


def test_tables_are_what_sql_answers(db: corpusdb.Corpus, tmp_path: Path) -> None:
    columns = ["key", "source", "text", "quality", "site", "year", "meta"]
    expected = db.sql(f"SELECT {', '.join(columns)} FROM documents WHERE kept AND year > 2010 ORDER BY id").to_dicts()
    written = db.export(tmp_path / "a.parquet", "year > 2010")
    assert (written.rows, written.format, written.commit) == (len(expected), "parquet", db.info().commit)
    assert parquet.read_table(tmp_path / "a.parquet").to_pylist() == expected
    assert [column.name for column in written.columns] == columns
    db.export(tmp_path / "a.arrow", "year > 2010", columns=columns)
    with pa.OSFile(str(tmp_path / "a.arrow")) as file:
        assert pa.ipc.open_file(file).read_all().to_pylist() == expected
    assert db.export_size("year > 2010") == (len(expected), sum(len(row["text"].encode()) for row in expected))


def test_partitions_are_read_by_others(db: corpusdb.Corpus, tmp_path: Path) -> None:
    written = db.export(tmp_path / "out", format="parquet", partition_by=["source", "site"], all=True)
    table = dataset.dataset(tmp_path / "out", partitioning="hive").to_table(columns=["key", "source", "site"])
    found = sorted(tuple(row.values()) for row in table.to_pylist())
    assert found == sorted(db.sql("SELECT key, source, site FROM documents").fetchall())
    assert {(file.partition["source"], file.partition["site"]) for file in written.files} == {
        ("web", "a.example"), ("web", "b.example"), ("mirror", None),
    }


def test_what_was_exported_comes_in_again(db: corpusdb.Corpus, tmp_path: Path) -> None:
    db.export(tmp_path / "web.jsonl.zst", "source = 'web'", threads=1)
    db.export(tmp_path / "web.parquet", "source = 'web'", compression="snappy")
    for name, options in [("web.jsonl.zst", {"drop_fields": "source"}), ("web.parquet", {"meta_field": "meta"})]:
        again = tmp_path / name.replace(".", "-")
        corpusdb.create(again, fields={"quality": float, "site": "keyword", "year": int}).close()
        with corpusdb.open(again, mode="w", memory="128MiB") as w:
            assert w.ingest(str(tmp_path / name), source="web", id_field="key", **options).kept == corpora.PAGES  # type: ignore[arg-type]
            statement = "SELECT key, source, text, meta, quality, site, year FROM documents ORDER BY id"
            assert w.sql(statement).fetchall() == db.sql(f"{statement} LIMIT {corpora.PAGES}").fetchall()


def test_what_stands_there_is_kept_unless_told(db: corpusdb.Corpus, tmp_path: Path) -> None:
    to = tmp_path / "a.jsonl"
    to.write_text("mine")
    with pytest.raises(corpusdb.AlreadyExists, match="force="):
        db.export(to)
    assert to.read_text() == "mine"
    assert db.export(to, force=True).rows == corpora.PAGES
    assert json.loads(to.read_text().splitlines()[0])["key"] == "https://a.example/0"
    for wrong, error in [
        ({"format": "xml"}, corpusdb.BadInput),
        ({"columns": "nothing"}, corpusdb.NotFound),
        ({"snapshot": "none"}, corpusdb.NotFound),
        ({"where": "nothing > 1"}, corpusdb.BadQuery),
        ({"partition_by": "year"}, corpusdb.NotFound),
        ({"separator": "x"}, corpusdb.BadInput),
    ]:
        with pytest.raises(error):
            db.export(tmp_path / "b.jsonl", **wrong)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.jsonl.manifest.json", "a.jsonl"]


def test_a_snapshot_and_pairs(db: corpusdb.Corpus, tmp_path: Path) -> None:
    assert db.export(tmp_path / "s.csv", snapshot="first", columns=["key"]).snapshot == "first"
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 1 + corpora.PAGES
    pairs = db.export(tmp_path / "p.parquet", duplicates=True)
    assert pairs.rows == corpora.NEAR + corpora.EXACT
    found = parquet.read_table(tmp_path / "p.parquet").to_pylist()
    assert [(row["key"], row["witness_key"]) for row in found] == [(d.key, d.witness.key) for d in db.duplicates()]


def test_progress_is_told_and_stops_an_export(db: corpusdb.Corpus, tmp_path: Path) -> None:
    seen: list[str] = []
    db.export(tmp_path / "a.txt", progress=lambda progress: seen.append(progress.stage))
    assert set(seen) <= {"documents", "files"} and (tmp_path / "a.txt").read_text().count("\n") == corpora.PAGES
