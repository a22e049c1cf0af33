"""What a program of a user's looks like to a type checker: run by nobody, checked by mypy and pyright in strict mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import corpusdb


def make(path: Path) -> None:
    with corpusdb.create(path, profile="web", threshold=0.8, fields={"quality": float, "domain": "keyword"}) as new:
        assert_type(new, corpusdb.Corpus)
    with corpusdb.open(path, mode="w", memory="1GiB", threads=2) as w:
        assert_type(w, corpusdb.Writer)
        report = w.ingest("2026/*.jsonl.zst", source="web", id_field="url", progress=False)
        assert_type(report, corpusdb.IngestReport)
        assert_type(report.kept, int)
        w.ingest(({"text": text, "id": str(at)} for at, text in enumerate(["a", "b"])), source="notes")
        assert_type(w.remove(["key", 3], reason="asked for"), corpusdb.RemovalReport)
        assert_type(w.remove(3, purge=True), corpusdb.PurgeReport)
        assert_type(w.purge("key", dry_run=True), corpusdb.PurgeReport)
        assert_type(w.prove("proof.json"), corpusdb.Certificate)
        assert_type(w.dedup.redo(threshold=0.7, dry_run=True), corpusdb.RedoReport)
        assert_type(w.snapshots.create("june"), corpusdb.Snapshot)
        assert_type(w.tokenizers.train("own", vocab_size=4096).name, str)


def look(db: corpusdb.Corpus) -> Iterator[str]:
    assert_type(len(db), int)
    assert_type("key" in db, bool)
    for document in db:
        assert_type(document, corpusdb.Document)
        assert_type(document.match, corpusdb.Match | None)
        yield document.text
    assert_type(db["key"], corpusdb.Document)
    assert_type(db.sample(5), list[corpusdb.Document])
    assert_type(db.select("quality > 0.5"), NDArray[np.uint64])
    assert_type(db.tokens(17, "own"), NDArray[np.uint32])
    assert_type(db.info().kept, int)
    for pair in db.duplicates(source="web"):
        assert_type(pair.jaccard, float)


def ask(db: corpusdb.Corpus, source: str) -> list[tuple[Any, ...]]:
    table = db.sql("SELECT id FROM documents WHERE source = ? AND id < ?", [source, 10])
    assert_type(table, corpusdb.Table)
    db.sql("SELECT id FROM documents WHERE source = $source", {"source": source}).show()
    assert_type(table.columns, list[str])
    assert_type(table.fetchone(), tuple[Any, ...] | None)
    for row in table:
        assert_type(row, tuple[Any, ...])
    return table.fetchall()


def train(w: corpusdb.Writer) -> None:
    plan = w.plan("recipe.toml")
    assert_type(plan, corpusdb.Plan)
    assert_type(plan.build("rows"), corpusdb.Manifest)
    loader = plan.loader(rank=0, world=8)
    assert_type(loader, corpusdb.Loader)
    assert_type(loader.state_dict()["epoch"], Any)
    assert_type(plan.row(0), corpusdb.Batch)


def refused(path: str) -> str:
    try:
        corpusdb.open(path, mode="w")
    except corpusdb.Locked as locked:
        return locked.holder
    except corpusdb.BadInput as bad:
        return f"{bad.file}:{bad.line}"
    return ""
