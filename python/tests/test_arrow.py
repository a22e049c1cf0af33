"""Arrow in and out: streams of any string type, zero copy, what outlives what."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpora
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corpusdb


def table(count: int, strings: Any = None) -> pa.Table:
    rows = corpora.pages(count)
    made = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    if strings is None:
        return made
    for at, name in enumerate(("url", "text")):
        made = made.set_column(at, name, made[name].cast(strings))
    return made


@pytest.mark.parametrize("strings", [pa.string(), pa.large_string(), pa.string_view()])
def test_tables_come_to_what_their_parquet_files_come_to(tmp_path: Path, strings: Any) -> None:
    pq.write_table(table(50), tmp_path / "pages.parquet")
    seen = []
    for given in (tmp_path / "pages.parquet", table(50, strings), table(50, strings).to_reader(7)):
        path = tmp_path / f"corpus-{len(seen)}"
        corpusdb.create(path, fields={"quality": float})
        with corpusdb.open(path, mode="w") as w:
            assert w.ingest(given, source="web", id_field="url").kept == 50
            seen.append([(d.key, d.text, d.fields) for d in w.documents()])
    assert seen[1:] == seen[:1] * 2


def test_batches_arrays_and_streams_of_others_are_taken(w: corpusdb.Writer) -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table(3).__arrow_c_stream__(requested_schema)

    assert w.ingest(Stream(), source="a", id_field="url").kept == 3
    assert w.ingest(table(3).to_batches()[0], source="b", id_field="url").added == 3
    with pytest.raises(corpusdb.BadInput, match="title"):
        w.ingest(pa.table({"title": ["x"]}), source="c")


def test_a_stream_that_fails_ends_the_ingest_and_keeps_what_came(w: corpusdb.Writer) -> None:
    batch = table(5).to_batches()[0]

    def batches() -> Iterator[pa.RecordBatch]:
        yield batch
        raise RuntimeError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(batch.schema, batches())
    with pytest.raises(corpusdb.BadInput, match="the source is gone"):
        w.ingest(reader, source="web", id_field="url")
    assert w.count() == 5


def test_rows_reach_pyarrow_without_a_copy(db: corpusdb.Corpus) -> None:
    rows = db.sql("SELECT id, quality, length(text) AS n, text FROM documents")
    rows._rows.peek(1)
    (ours,) = rows._rows.addresses()
    read = pa.RecordBatchReader.from_stream(rows).read_next_batch()
    for column, addresses in zip(read.columns, ours, strict=True):
        theirs = [buffer.address for buffer in column.buffers()[1:] if buffer is not None]
        assert theirs[: len(addresses)] == addresses


def test_rows_are_read_as_often_as_somebody_asks(db: corpusdb.Corpus) -> None:
    rows = db.sql("SELECT id, text FROM documents ORDER BY id")
    first = pa.table(rows)
    assert first.num_rows == 44 and rows.arrow() == rows.to_pyarrow() == first == pa.table(rows)
    assert rows.fetchall() == rows.fetchall() == list(zip(*first.to_pydict().values(), strict=True))
    a, b = iter(rows), iter(rows)
    assert (next(a), next(a), next(b)) == (rows.fetchall()[0], rows.fetchall()[1], rows.fetchall()[0])
    assert rows.fetchone() == rows.fetchone() and "https" not in repr(rows)
    matrix = db.duplicates_matrix()
    assert matrix.fetchall() == matrix.fetchall() and matrix.arrow().num_rows == len(matrix.fetchall()) > 0
    stream = db.sql("SELECT 1").to_reader()
    assert stream.read_all().num_rows == 1


def test_a_stream_outlives_the_corpus_and_may_stay_unread(crawl_path: Path) -> None:
    db = corpusdb.open(crawl_path)
    rows = db.sql("SELECT id, text FROM documents ORDER BY id")
    unread = db.sql("SELECT id, text FROM documents").__arrow_c_stream__()
    ids, encoder, pairs = db.select("kept"), db.tokenizer(), db.duplicates()
    tokens = db.tokens(0)
    db.close()
    del db
    gc.collect()
    assert rows.to_pyarrow()["id"].to_pylist() == list(range(44))
    del unread, rows
    gc.collect()
    assert len(ids) == 40 and encoder.decode(tokens) == corpora.prose(0)
    assert len(list(pairs)) == 4


def test_a_stream_dropped_in_the_middle_harms_nothing(db: corpusdb.Corpus) -> None:
    reader = db.sql("SELECT a.id, b.text FROM documents a CROSS JOIN documents b").to_reader()
    assert reader.read_next_batch().num_rows > 0
    del reader
    gc.collect()
    assert db.count() == 44


def test_what_fails_while_rows_are_read_is_the_library_s_error(db: corpusdb.Corpus) -> None:
    statement = "SELECT 1 / (id - 30) FROM documents"
    with pytest.raises(corpusdb.BadQuery, match="the query failed: .*[Dd]ivide by zero"):
        db.sql(statement).to_pyarrow()
    with pytest.raises(corpusdb.BadQuery, match="[Dd]ivide by zero"):
        db.sql(statement).fetchall()
