"""What a cluster decided, loaded into a corpus, is what an ingest of the same files would have stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from families import SOURCES, family
from test_against import EXPORT, NEW, arrived, exported, ingest, split
from test_dedup import frame

import corpusdb
from corpusdb.errors import BadInput

NAMES = {"order": "number", "key": "key", "source": "source"}


def ingested(path: Path, load: Path, dropped: tuple[str, ...]) -> str:
    """The digest of a corpus after the ingest that a load stands for."""
    with corpusdb.open(path, mode="w", memory="128MiB") as w:
        folder = load / "documents" if (load / "documents").exists() else load
        w.ingest([str(folder / "*" / "*.parquet")], source="documents", source_from="source", id_field="key",
                 text_field="text", format="parquet", drop_fields=[*dropped, "part", "shard"])
        return w.digest()


def trained(place: Path, documents: list[dict[str, Any]]) -> Any:
    """Trains a tokenizer on documents, and writes it as `tokenizer.json`; answers its record."""
    corpusdb.create(place / "trained").close()
    with corpusdb.open(place / "trained", mode="w") as w:
        w.ingest(iter(documents), source="all", id_field="key")
        w.tokenizers.train("own", vocab_size=300)
        w.tokenizers.export("own", place / "tokenizer.json")
        return w.tokenizers.show("own")


@pytest.mark.parametrize(("mode", "keep"), [("witness", "first"), ("witness", "longest"), ("components", "field:year"), ("exact", "first")])
def test_a_load_is_the_ingest_of_its_files(session: Any, tmp_path: Path, mode: str, keep: str) -> None:
    from corpusdb import spark
    from corpusdb.spark._load import DECISIONS

    policy = {"mode": mode, "keep": keep, "threshold": 0.6}
    documents = family(len(keep), 120)
    df = frame(session, documents, 3)
    done = spark.dedup(df, policy, checkpoint=str(tmp_path / "stages"), **NAMES)
    load = tmp_path / "load"
    spark.write_load(df, done, policy, load, part_rows=50, **NAMES)
    files = sorted(load.glob("documents/*/*.parquet"))
    assert [file.parent.name for file in files] == ["part=000000", "part=000001", "part=000002"]

    corpusdb.create(tmp_path / "loaded", fields={"year": int}, **policy).close()
    with corpusdb.open(tmp_path / "loaded", mode="w", memory="128MiB") as w:
        tried = w.bulk_load(load, dry_run=True)
        assert (tried.added, tried.dry_run, len(w)) == (120, True, 0)
        report = w.bulk_load(load, check="all", batch_bytes=3000)
        assert report.added == 120 and report.compared == report.exact_duplicates + report.near_duplicates > 20
        assert (report.later > 0) == (keep != "first")
        assert w.check("deep").faults == []
        corpusdb.create(tmp_path / "ingested", fields={"year": int}, **policy).close()
        assert w.digest() == ingested(tmp_path / "ingested", load, DECISIONS)
        fields = json.loads(w.sql("SELECT meta FROM documents WHERE key = 'k5' LIMIT 1").fetchall()[0][0])
        assert set(fields) <= {"year"}
        again = w.bulk_load(str(load))
        assert (again.added, again.commits) == (0, 0)


@pytest.mark.parametrize(("mode", "keep"), [("witness", "longest"), ("components", "field:year"), ("lsh", "first"), ("exact", "first")])
def test_shards_are_what_an_ingest_of_each_would_be_and_are_planned_over_as_one(
    session: Any, tmp_path: Path, mode: str, keep: str
) -> None:
    from corpusdb import spark
    from corpusdb.spark._load import DECISIONS

    policy: dict[str, Any] = {"mode": mode, "keep": keep, "threshold": 0.6}
    documents = family(len(mode) + 3, 200)
    df = frame(session, documents, 3)
    done = spark.dedup(df, policy, checkpoint=str(tmp_path / "stages"), **NAMES)
    load = tmp_path / "load"
    spark.write_load(df, done, policy, load, shards=4, part_rows=30, **NAMES)
    trained(tmp_path, documents)
    paths, kept, loaded = [tmp_path / f"crawl-{shard}" for shard in range(4)], 0, 0
    for shard, path in enumerate(paths):
        corpusdb.create(path, fields={"year": int}, **policy).close()
        with corpusdb.open(path, mode="w", memory="128MiB") as w:
            with pytest.raises(BadInput, match="in 4 shards.*from 0 to 3"):
                w.bulk_load(load)
            with pytest.raises(BadInput, match="the shards 0 to 3, and no shard 4"):
                w.bulk_load(load, shard=4)
            report = w.bulk_load(load, shard=shard, check="all")
            assert w.bulk_load(load, shard=shard).added == 0
            with pytest.raises(BadInput, match="load it into a new corpus"):
                w.bulk_load(load, shard=(shard + 1) % 4)
            loaded += report.added
            # Decided by itself each shard is as it was decided among all.
            corpusdb.create(tmp_path / f"ingested-{shard}", fields={"year": int}, **policy).close()
            files = load / "documents" / f"shard={shard:05}"
            assert w.digest() == ingested(tmp_path / f"ingested-{shard}", files, DECISIONS)
            w.tokenizers.add("own", tmp_path / "tokenizer.json")
            kept += w.count("kept")
    assert loaded == 200
    with corpusdb.open(paths[0], mode="w", memory="128MiB", shards=paths[1:]) as w:
        plan = w.plan({"version": 1, "pack": {"length": 64, "kind": "greedy"}})
        assert sum(source["documents"] for source in plan.to_dict()["sources"]) == kept
        plan.build(tmp_path / "epoch")
        assert plan.verify(tmp_path / "epoch").passed


def test_shards_that_cannot_be_are_refused(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark

    documents = family(3, 20)
    df = frame(session, documents, 2)
    done = spark.dedup(df, {}, checkpoint=str(tmp_path / "stages"), **NAMES)
    with pytest.raises(BadInput, match="shards must be between 1 and 10000, got 0"):
        spark.write_load(df, done, {}, tmp_path / "load", shards=0, **NAMES)
    with pytest.raises(BadInput, match="a column 'shard', a name that is reserved"):
        spark.write_load(df.withColumnRenamed("year", "shard"), done, {}, tmp_path / "load", shards=2, **NAMES)
    spark.write_load(df, done, {}, tmp_path / "load", **NAMES)
    corpusdb.create(tmp_path / "corpus").close()
    with corpusdb.open(tmp_path / "corpus", mode="w", memory="128MiB") as w, pytest.raises(BadInput, match="not in shards"):
        w.bulk_load(tmp_path / "load", shard=0)


@pytest.mark.parametrize("mode", ["witness", "exact", "none"])
def test_what_was_decided_against_a_corpus_is_loaded_into_it(session: Any, tmp_path: Path, mode: str) -> None:
    from corpusdb import spark
    from corpusdb.spark._load import DECISIONS

    policy: dict[str, Any] = {"mode": mode, "threshold": 0.5}
    stored, new = split(family(len(mode) + 60, 160), 90, 0)
    load = tmp_path / "load"
    for name in ("ingested", "loaded"):
        corpusdb.create(tmp_path / name, fields={"year": int}, **policy).close()
        before = ingest(tmp_path / name, stored)
    held = exported(session, before)
    came = arrived(session, new)
    done = spark.against(held, came, policy, checkpoint=str(tmp_path / "stages"), **NAMES)
    spark.write_load(came, done, policy, load, part_rows=30, **NAMES)
    expected = ingested(tmp_path / "ingested", load, DECISIONS)
    with corpusdb.open(tmp_path / "loaded", mode="w", memory="128MiB") as w:
        report = w.bulk_load(load, check="all", batch_bytes=3000)
        assert (report.added, w.check("deep").faults, w.digest()) == (len(new), [], expected)
        with pytest.raises(BadInput, match="this one has 91 that are not from the load"):
            w.ingest([{"key": "more", "text": "one page more"}], source=SOURCES[0], id_field="key")
            w.bulk_load(load)
    corpusdb.create(tmp_path / "other", fields={"year": int}, **policy).close()
    ingest(tmp_path / "other", stored)
    with corpusdb.open(tmp_path / "other", mode="w", memory="128MiB") as w:
        w.remove(where="id = 3")
        with pytest.raises(BadInput, match="differ from those that the load was decided against"):
            w.bulk_load(load)


@pytest.mark.parametrize(
    ("mode", "keep", "scope"),
    [("witness", "first", "global"), ("witness", "longest", "global"), ("witness", "field:year", "per-source"),
     ("exact", "first", "global"), ("none", "first", "global")],
)
def test_crawls_that_come_again_are_loaded_one_after_the_other(
    session: Any, tmp_path: Path, mode: str, keep: str, scope: str
) -> None:
    from corpusdb import spark
    from corpusdb.spark._load import DECISIONS

    policy: dict[str, Any] = {"mode": mode, "keep": keep, "scope": scope, "threshold": 0.5}
    documents = family(len(mode) + len(keep), 270)
    stored, rest = split(documents[:180], 90, 12)
    for name in ("ingested", "loaded"):
        corpusdb.create(tmp_path / name, fields={"year": int}, **policy).close()
        before = ingest(tmp_path / name, stored)
    changed = 0
    for crawl in range(2):
        if crawl == 1:
            # Of the stored documents the newest under each key: what comes now supersedes some that came again before.
            newest = {(row[1], row[2]): row for row in before}
            held = [{"key": key, "source": source, "number": 0} for key, source in sorted(newest)]
            _, rest = split(documents[180:], 0, 0)
            for number, one in enumerate(rest[::5]):
                same = [other for other in held if other["source"] == one["source"]]
                one.update(key=same[number % len(same)]["key"], text=f"{one['text']} of crawl {crawl}")
            rest = list({(one["key"], one["source"]): one for one in rest}.values())
        came = arrived(session, rest)
        place, load = tmp_path / f"stages-{crawl}", tmp_path / f"load-{crawl}"
        done = spark.against(exported(session, before), came, policy, checkpoint=str(place), **NAMES)
        spark.write_load(came, done, policy, load, part_rows=30, **NAMES)
        changed += done.changed.where("standing <> 'superseded'").count()
        assert done.changed.where("standing = 'superseded'").count() >= 12
        expected = ingested(tmp_path / "ingested", load, DECISIONS)
        with corpusdb.open(tmp_path / "loaded", mode="w", memory="128MiB") as w:
            report = w.bulk_load(load, check="all", batch_bytes=3000)
            assert (report.added, w.check("deep").faults, w.digest()) == (len(rest), [], expected)
            assert w.bulk_load(load).commits == 0
        before = ingest(tmp_path / "loaded", [])
    assert changed > 0 or mode == "none"


def test_another_witness_of_a_stored_document_is_a_change(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark

    def words(name: str, count: int) -> list[str]:
        return [f"{name}{number}" for number in range(count)]

    # The second is like the first and like the third, which is the longest and unlike the first.
    common = words("common", 30)
    first, third = common[:24] + words("first", 10), common[6:] + words("thelastofthem", 12)
    policy: dict[str, Any] = {"threshold": 0.5, "keep": "longest"}
    stored = [{"key": key, "text": " ".join(text), "year": None, "source": "web"} for key, text in (("a", first), ("b", common))]
    corpusdb.create(tmp_path / "corpus", fields={"year": int}, **policy).close()
    before = ingest(tmp_path / "corpus", stored)
    assert [(row[1], row[4], row[6]) for row in before] == [("a", "kept", None), ("b", "near", "a")]
    held = exported(session, before)
    came = session.createDataFrame([(0, "c", "web", " ".join(third), None)], NEW)
    done = spark.against(held, came, policy, checkpoint=str(tmp_path / "stages"), **NAMES)
    assert [(row["key"], row["before"], row["standing"], row["witness"]) for row in done.changed.collect()] == [("b", "near", "near", "c")]
    spark.write_load(came, done, policy, tmp_path / "load", **NAMES)
    with corpusdb.open(tmp_path / "corpus", mode="w") as w:
        assert w.bulk_load(tmp_path / "load", check="all").compared == 1
    after = ingest(tmp_path / "corpus", [])
    assert [(row[1], row[4], row[6]) for row in after] == [("a", "kept", None), ("b", "near", "c"), ("c", "kept", None)]


def test_documents_without_a_source_have_that_of_the_load(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark
    from corpusdb.spark._load import DECISIONS

    policy: dict[str, Any] = {"threshold": 0.6}
    rows = [(0, "a", None, "one text of a page", None), (1, "b", "web", "one text of a page", None), (2, "c", None, "one text of a page", None)]
    df = session.createDataFrame(rows, NEW)
    done = spark.dedup(df, policy, checkpoint=str(tmp_path / "stages"), **NAMES)
    spark.write_load(df, done, policy, tmp_path / "load", **NAMES)
    corpusdb.create(tmp_path / "ingested", fields={"year": int}, **policy).close()
    corpusdb.create(tmp_path / "loaded", fields={"year": int}, **policy).close()
    with corpusdb.open(tmp_path / "loaded", mode="w") as w:
        w.bulk_load(tmp_path / "load", check="all")
        found = w.sql("SELECT key, source, standing FROM documents ORDER BY id").fetchall()
        assert found == [("a", "documents", "kept"), ("b", "web", "exact"), ("c", "documents", "exact")]
        assert w.digest() == ingested(tmp_path / "ingested", tmp_path / "load", DECISIONS)
    with pytest.raises(BadInput, match="a column 'source', a name that is reserved"):
        spark.write_load(df, done, policy, tmp_path / "other", order="number", key="key")
    held = session.createDataFrame([(0, "k", "documents", "some other text", "kept", None)], EXPORT)
    against = spark.against(held, df, policy, checkpoint=str(tmp_path / "against"), **NAMES)
    with pytest.raises(BadInput, match="a new document has no source"):
        spark.write_load(df, against, policy, tmp_path / "other", **NAMES)


def test_encode_leaves_null_and_casts_what_is_no_text(session: Any, tmp_path: Path) -> None:
    from corpusdb import kernel, spark

    trained(tmp_path, family(5, 60))
    own = kernel.load_tokenizer(tmp_path / "tokenizer.json")
    expected = [own.encode("12").tolist(), None, own.encode("7").tolist()]
    df = session.createDataFrame([(0, 12), (1, None), (2, 7)], "number long, words long")
    rows = spark.encode(df, (tmp_path / "tokenizer.json").read_bytes(), text="words").orderBy("number").collect()
    assert [row["ids"] for row in rows] == expected
    assert rows[0]["words"] == 12
    df = df.where("words IS NOT NULL")
    done = spark.dedup(df, checkpoint=str(tmp_path / "stages"), order="number", text="words")
    with pytest.raises(BadInput, match="the column 'ids', which the frame does not have"):
        spark.write_load(df, done, None, tmp_path / "load", order="number", text="words", tokenizers={"own": "00"}, ids={"own": "ids"})


def test_what_changes_stored_documents_of_components_is_no_load(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark

    policy: dict[str, Any] = {"mode": "components"}
    held = session.createDataFrame([(0, "a", "web", "some text of a page", "kept")], "id long, key string, source string, text string, standing string")
    came = session.createDataFrame([(0, "a", "web", "another text of the page", None)], NEW)
    done = spark.against(held, came, policy, checkpoint=str(tmp_path / "stages"), **NAMES)
    assert done.stored == 1
    with pytest.raises(BadInput, match="change 1 stored ones .* in mode 'components'"):
        spark.write_load(came, done, policy, tmp_path / "load", **NAMES)


def test_a_load_for_another_policy_and_a_frame_with_reserved_columns_are_refused(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark

    policy = {"threshold": 0.7}
    df = frame(session, family(3, 30), 2)
    done = spark.dedup(df, policy, order="number", checkpoint=str(tmp_path / "stages"))
    with pytest.raises(BadInput, match="a column 'key', a name that is reserved in a load"):
        spark.write_load(df, done, policy, tmp_path / "load", order="number")
    df = df.selectExpr("number", "text", "year", "source AS site")
    spark.write_load(df, done, policy, tmp_path / "load", order="number", source_name="crawl", tokenizers={"own": "00"})
    corpusdb.create(tmp_path / "other", threshold=0.8).close()
    corpusdb.create(tmp_path / "same", threshold=0.7).close()
    with corpusdb.open(tmp_path / "other", mode="w") as w:
        with pytest.raises(BadInput, match=r"policy .*threshold 0\.7.* and the corpus has .*threshold 0\.8"):
            w.bulk_load(tmp_path / "load")
        with pytest.raises(ValueError, match="check must be 'sample' or 'all'"):
            w.bulk_load(tmp_path / "load", check="some")  # type: ignore[arg-type]
    with corpusdb.open(tmp_path / "same", mode="w") as w:
        with pytest.raises(BadInput, match="tokenizer `own` 00, and the corpus has none of that name"):
            w.bulk_load(tmp_path / "load")
        manifest = next((tmp_path / "load" / "manifest").glob("[!_.]*"))
        manifest.write_text(manifest.read_text().replace('[{"name": "own", "hash": "00"}]', "[]"))
        assert w.bulk_load(tmp_path / "load").added == 30
        rows = w.sql("SELECT key, source, meta FROM documents WHERE id = 7").fetchall()
        assert [(key, source, json.loads(meta).get("site")) for key, source, meta in rows] == [("7", "crawl", "web")]


def test_token_ids_come_along(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark
    from corpusdb.spark._load import DECISIONS

    policy: dict[str, Any] = {"threshold": 0.6, "keep": "longest"}
    documents = family(31, 120)
    own = trained(tmp_path, documents).hash
    df = spark.encode(frame(session, documents, 3), tmp_path / "tokenizer.json", ids="of own")
    done = spark.dedup(df, policy, checkpoint=str(tmp_path / "stages"), **NAMES)
    with pytest.raises(BadInput, match="a column 'of own' already"):
        spark.encode(df, b"", ids="of own")
    with pytest.raises(BadInput, match="`ids` has the tokenizer 'own', but `tokenizers` does not"):
        spark.write_load(df, done, policy, tmp_path / "load", ids={"own": "of own"}, **NAMES)
    spark.write_load(df, done, policy, tmp_path / "load", tokenizers={"own": own}, ids={"own": "of own"}, **NAMES)
    for name in ("brought", "made"):
        corpusdb.create(tmp_path / name, fields={"year": int}, **policy).close()
        with corpusdb.open(tmp_path / name, mode="w", memory="128MiB") as w:
            w.tokenizers.add("own", tmp_path / "tokenizer.json")
    expected = ingested(tmp_path / "made", tmp_path / "load", (*DECISIONS, "_ids_0"))
    with corpusdb.open(tmp_path / "brought", mode="w", memory="128MiB") as w:
        report = w.bulk_load(tmp_path / "load", check="all", batch_bytes=3000)
        assert report.later > 0
        assert report.brought == w.sql("SELECT count(*) FROM documents WHERE kept").fetchall()[0][0] > 40
        assert (w.digest(), w.check("deep").faults) == (expected, [])
