"""New documents against a corpus: what an ingest into it decides, row for row, and what becomes of stored documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from families import SOURCES, family, told

import corpusdb

NEW = "number long, key string, source string, text string, year long"
EXPORT = "id long, key string, source string, text string, standing string, year long"


def exported(session: Any, documents: list[tuple[Any, ...]]) -> Any:
    """What an export of a corpus has, of documents as `ingest` tells them."""
    return session.createDataFrame([row[:6] for row in documents], EXPORT)


def arrived(session: Any, documents: list[dict[str, Any]]) -> Any:
    """New documents as a frame."""
    return session.createDataFrame([tuple(one[name] for name in ("number", "key", "source", "text", "year")) for one in documents], NEW)


def split(documents: list[dict[str, Any]], held: int, again: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The documents that a corpus holds, and the others with their places; of those some have keys of stored ones."""
    stored = sorted(({**one, "source": SOURCES[one["number"] % 2]} for one in documents[:held]), key=lambda one: one["source"] != SOURCES[0])
    new = sorted(({**one, "source": SOURCES[one["number"] % 2]} for one in documents[held:]), key=lambda one: one["source"] != SOURCES[0])
    new = [{**one, "number": at} for at, one in enumerate(new)]
    for source in SOURCES:
        keys = [one["key"] for one in stored if one["source"] == source]
        for one in [one for one in new if one["source"] == source][:again]:
            one.update(key=keys.pop(3), text=one["text"] + " again")
    return stored, new


def ingest(path: Path, documents: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The documents of a corpus after these were ingested too."""
    with corpusdb.open(path, mode="w", memory="128MiB") as w:
        for source in SOURCES:
            w.ingest((d for d in documents if d["source"] == source), source=source, id_field="key")
        return w.sql("SELECT d.id, d.key, d.source, d.text, d.standing, d.year, o.key, d.jaccard, c.key FROM documents d "
                     "LEFT JOIN documents o ON d.dup_of = o.id LEFT JOIN documents c ON d.cluster = c.id ORDER BY d.id").fetchall()


@pytest.mark.parametrize(
    ("mode", "keep", "again", "scope"),
    [("witness", "first", 0, "global"), ("witness", "first", 4, "per-source"), ("witness", "longest", 3, "global"),
     ("witness", "field:year", 0, "global"), ("components", "first", 2, "global"), ("components", "source-priority:books", 0, "global"),
     ("lsh", "first", 0, "global"), ("exact", "first", 2, "global"), ("none", "first", 1, "global")],
)
def test_new_documents_are_decided_as_an_ingest_into_the_corpus_decides(
    session: Any, mode: str, keep: str, again: int, scope: str, tmp_path: Path
) -> None:
    from corpusdb import spark

    policy: dict[str, Any] = {"mode": mode, "threshold": 0.5, "keep": keep, "scope": scope}
    stored, new = split(family(len(mode) + len(keep) + again, 160), 90, again)
    corpusdb.create(tmp_path / "corpus", fields={"year": int}, **policy).close()
    before = ingest(tmp_path / "corpus", stored)
    export = exported(session, before)
    came = arrived(session, new)
    done = spark.against(export.repartition(2), came.repartition(3), policy, order="number", key="key", source="source",
                         checkpoint=str(tmp_path / "job"))
    after = ingest(tmp_path / "corpus", new)
    rows = done.rows.collect()
    assert told(done.rows) == [(row[1], row[4], *row[6:]) for row in after[len(before):]]
    standings = {row[0]: row[4] for row in before}
    for row in done.changed.collect():
        assert standings[row["order"]] == row["before"]
        assert row["standing"] != row["before"] or row["witness_is_stored"] is False
        standings[row["order"]] = row["standing"]
    assert standings == {row[0]: row[4] for row in after[:len(before)]}
    if mode not in ("none", "exact"):
        assert {row["witness_is_stored"] for row in rows} == {None, True, False}
    numbers = {(row[1], row[0]) for row in before}
    assert all((row["witness"], row["witness_order"]) in numbers for row in rows if row["witness_is_stored"])


def test_stored_documents_that_stay_are_not_compared_with_each_other(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark
    from test_dedup import template

    policy: dict[str, Any] = {"threshold": 0.8}
    stored, new = split(template(600, 14), 580, 0)
    corpusdb.create(tmp_path / "corpus", fields={"year": int}, **policy).close()
    before = ingest(tmp_path / "corpus", stored)
    kept = sum(row[4] == "kept" for row in before)
    assert kept > 64
    export = exported(session, before)
    came = arrived(session, new)
    done = spark.against(export, came, policy, order="number", key="key", source="source", checkpoint=str(tmp_path / "job"))
    after = ingest(tmp_path / "corpus", new)
    assert told(done.rows) == [(row[1], row[4], *row[6:]) for row in after[580:]]
    assert done.largest_buckets[0] > 64
    assert done.changed.count() == 0
    pairs = sum(stage.rows for stage in done.stages if stage.name.startswith(("pairs-", "crowd-")))
    # Those of 20 new documents, and not of hundreds of stored ones.
    assert 0 < pairs <= 20 * (kept + 20) * 2


@pytest.mark.parametrize(("mode", "keep"), [("witness", "first"), ("witness", "longest"), ("components", "first")])
def test_texts_are_joined_against_a_corpus_too(
    session: Any, mode: str, keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corpusdb import spark
    from test_dedup import below

    # As soon as one close pair is not similar.
    monkeypatch.setattr("corpusdb.spark._outcomes._VAIN", 0)
    policy: dict[str, Any] = {"mode": mode, "keep": keep, "threshold": 0.73}
    documents = below(340)
    # Of some there is a second one with another word.
    copies = [{**one, "key": f"{one['key']}-copy", "text": one["text"].replace("word7 ", "other7 ")} for one in documents[:340:17]]
    documents = [{**one, "number": number} for number, one in enumerate(documents[:-1] + copies + documents[-1:])]
    stored, new = split(documents, 240, 0)
    corpusdb.create(tmp_path / "corpus", fields={"year": int}, **policy).close()
    before = ingest(tmp_path / "corpus", stored)
    done = spark.against(exported(session, before), arrived(session, new), policy, order="number", key="key", source="source",
                         checkpoint=str(tmp_path / "job"))
    after = ingest(tmp_path / "corpus", new)
    assert told(done.rows) == [(row[1], row[4], *row[6:]) for row in after[len(before):]]
    assert any(stage.name.startswith("crowd-texts-") and stage.rows for stage in done.stages), done.stages


def test_what_users_removed_is_refused(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark

    export = session.createDataFrame([(0, "a", "web", "some text", "removed")], "id long, key string, source string, text string, standing string")
    came = session.createDataFrame([(0, "b", "web", "another text", None)], NEW)
    with pytest.raises(corpusdb.BadInput, match=r"may block new ones \(1 removed\), but not what they block"):
        spark.against(export, came, order="number", key="key", source="source", checkpoint=str(tmp_path / "job"))
    none = export.where("standing = 'kept'")
    done = spark.against(none, came, order="number", key="key", source="source", checkpoint=str(tmp_path / "first"))
    assert [row["standing"] for row in done.rows.collect()] == ["kept"]
