"""Polars, DuckDB, pandas and datasets: rows go to them without a copy, and theirs are ingested."""

from __future__ import annotations

from pathlib import Path

import datasets
import duckdb
import pandas as pd
import polars as pl
import pytest

import corpora
import corpusdb


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora.build(tmp_path_factory.mktemp("shared") / "crawl")


@pytest.fixture
def w(tmp_path: Path):  # type: ignore[no-untyped-def]
    corpusdb.create(tmp_path / "corpus", fields={"quality": float}).close()
    with corpusdb.open(tmp_path / "corpus", mode="w", memory="128MiB") as opened:
        yield opened


def test_rows_reach_polars_without_a_copy(crawl: Path) -> None:
    with corpusdb.open(crawl) as db:
        rows = db.sql("SELECT id, quality, year FROM documents ORDER BY id")
        rows._rows.peek(1)
        (ours,) = rows._rows.addresses()
        frame = rows.to_polars()
    for name, addresses in zip(("id", "quality", "year"), ours, strict=True):
        column = frame[name].to_arrow()
        values = column.buffers()[1]
        assert (values.address, column.offset, len(column)) == (addresses[0], 0, 44), name
    assert frame["id"].to_numpy(allow_copy=False).ctypes.data == ours[0][0]
    assert frame["id"].to_list() == list(range(44))


def test_rows_outlive_the_corpus_in_polars(crawl: Path) -> None:
    with corpusdb.open(crawl) as db:
        frame = db.sql("SELECT id, text, source FROM documents ORDER BY id").to_polars()
        lazy = pl.from_arrow(db.sql("SELECT id FROM documents"))
    assert frame["text"][0] == corpora.prose(0) and len(lazy) == 44  # type: ignore[arg-type]


def test_rows_reach_pandas_and_duckdb(crawl: Path) -> None:
    with corpusdb.open(crawl) as db:
        frame = db.sql("SELECT id, quality FROM documents WHERE kept ORDER BY id").to_pandas()
        assert isinstance(frame, pd.DataFrame) and frame["id"].tolist() == list(range(40))
        rows = db.sql("SELECT id, source FROM documents")
        assert duckdb.sql("SELECT source, count(*) FROM rows GROUP BY 1 ORDER BY 1").fetchall() == [("mirror", 4), ("web", 40)]


def records() -> list[dict[str, object]]:
    return [{"url": str(n), "text": corpora.prose(n), "quality": n / 10} for n in range(20)]


def test_tables_of_others_are_ingested(w: corpusdb.Writer) -> None:
    frame = pl.DataFrame(records())
    assert w.ingest(frame, source="polars", id_field="url").kept == 20
    assert w.document(3)["quality"] == 0.3
    assert w.ingest(frame.lazy().collect(), source="polars", id_field="url").unchanged == 20
    assert w.ingest(pd.DataFrame(records()), source="pandas", id_field="url").exact_duplicates == 20
    relation = duckdb.sql("SELECT * FROM frame WHERE quality < 1")
    assert w.ingest(relation, source="duckdb", id_field="url").exact_duplicates == 10


def test_datasets_are_ingested(w: corpusdb.Writer) -> None:
    data = datasets.Dataset.from_list(records())
    assert w.ingest(data, source="all", id_field="url").kept == 20
    assert w.ingest(data, source="all", id_field="url").unchanged == 20
    chosen = data.shuffle(seed=1).select(range(5))
    report = w.ingest(chosen, source="some", id_field="url")
    assert report.read == 5
    assert {document.key for document in w.documents("source = 'some'")} == set(chosen["url"])
    stream = data.to_iterable_dataset()
    assert w.ingest(stream, source="stream", id_field="url").read == 20
    with pytest.raises(TypeError, match="one of its splits"):
        w.ingest(datasets.DatasetDict({"train": data}), source="x")


def test_values_of_others_are_joined(w: corpusdb.Writer) -> None:
    w.ingest(records(), source="web", id_field="url")
    scores = pl.DataFrame({"url": ["3", "4"], "score": [30.0, 40.0]})
    assert w.fields.set("quality", scores, key="url", value="score").changed == 2
    assert w["3"]["quality"] == 30.0
