"""Documents: by id, key and condition, drawn, with tokens; what is in a corpus; checks."""

from __future__ import annotations

import corpora
import numpy as np
import pytest

import corpusdb


def test_a_document_has_attributes_and_its_fields(db: corpusdb.Corpus) -> None:
    document = db["https://a.example/3"]
    assert (document.id, document.key, document.source, document.is_kept) == (3, "https://a.example/3", "web", True)
    assert document.text == corpora.prose(3)
    assert (document["quality"], document["site"], document.get("nothing")) == (0.03, "a.example", None)
    assert document.fields == {"quality": 0.03, "site": "a.example", "year": 2003}
    assert set(document) >= {"quality", "site", "year"}
    assert document.tokens["own"] == len(db.tokens(3, "own"))
    assert document == db.document(3) == db[3] != db[4]
    assert repr(document).startswith("<corpusdb.Document 3 'https://a.example/3' (web, kept)")
    assert "<pre " in document._repr_html_()


def test_a_removed_document_names_its_witness(db: corpusdb.Corpus) -> None:
    document = db["copy-1"]
    assert not document.is_kept and document.standing == "near"
    assert document.match is not None and document.cluster is not None
    assert (document.match.kind, document.match.witness_key) == ("near", "https://a.example/1")
    assert document.match.jaccard is not None and 0.8 < document.match.jaccard < 1
    assert document.cluster.members == [document.id]
    assert "near of document 1" in document._repr_html_()


def test_what_there_is_not_is_told(db: corpusdb.Corpus) -> None:
    with pytest.raises(corpusdb.KeyNotFound, match="no document has the key nothing") as missing:
        db["nothing"]
    assert isinstance(missing.value, KeyError)
    with pytest.raises(corpusdb.NotFound, match="ids 0 to below 44"):
        db.document(44)
    with pytest.raises(corpusdb.NotFound):
        db.tokens(0, "nothing")
    with pytest.raises(corpusdb.CorpusError):
        db.tokens(44)
    assert "nothing" not in db and "copy-0" in db and 43 in db and 44 not in db


def test_documents_are_selected_counted_and_drawn(db: corpusdb.Corpus, caplog: pytest.LogCaptureFixture) -> None:
    ids = db.select("quality >= 0.3")
    assert ids.dtype == np.uint64 and ids.tolist() == list(range(30, 40))
    assert ids.flags.owndata or ids.base is not None
    assert (db.count("quality >= 0.3"), db.count(), len(db)) == (10, 44, 40)
    drawn = db.sample(5, seed=1)
    assert len(drawn) == 5 and [d.id for d in drawn] == [d.id for d in db.sample(5, seed=1)]
    assert all(document.is_kept for document in drawn)
    with caplog.at_level("WARNING", logger="corpusdb"):
        new = db.sample(5, seed="random")
    seed = int(caplog.messages[-1].removeprefix("drawn with seed "))
    assert [d.id for d in new] == [d.id for d in db.sample(5, seed=seed)]
    assert {d.source for d in db.sample(3, "source = 'mirror'")} == {"mirror"}
    assert [d.id for d in db.documents("source = 'mirror'")] == [40, 41, 42, 43]
    assert sum(1 for _ in db.documents()) == 44


def test_newer_content_has_the_key(w: corpusdb.Writer) -> None:
    w.ingest([{"url": "a", "text": corpora.prose(1)}], source="web", id_field="url")
    w.ingest([{"url": "a", "text": corpora.prose(2)}], source="web", id_field="url")
    assert w.find_key("a") == [0, 1]
    assert w["a"].text == corpora.prose(2)
    assert w.document(0).standing == "superseded"


def test_tokens_are_numpy_s(db: corpusdb.Corpus) -> None:
    ids = db.tokens(5)
    assert ids.dtype == np.uint32 and ids.flags.writeable
    assert db.tokenizer("own").decode(ids) == corpora.prose(5)
    shown = db.shown_tokens(5, "own")
    assert [token["id"] for token in shown] == ids.tolist()
    assert all(token["trained"] for token in shown)
    # A duplicate is not encoded.
    with pytest.raises(corpusdb.CorpusError):
        db.tokens(40)


def test_a_corpus_tells_what_is_in_it(db: corpusdb.Corpus) -> None:
    info = db.info()
    assert (info.documents, info.kept) == (44, 40)
    assert [source.name for source in info.sources] == ["web", "mirror"]
    assert info.policy_settings.threshold == 0.8
    assert [tokenizer.name for tokenizer in info.tokenizers] == ["own"]
    assert [snapshot.name for snapshot in info.snapshots] == ["first"]
    assert "<table>" in info._repr_html_()
    assert info.forecast is None
    twice = db.info(forecast=2 * info.bytes).forecast
    assert twice is not None and (twice.documents, twice.kept) == (88, 80)
    large = db.info(forecast="1TB").forecast
    assert large is not None and large.bytes == 10**12 and large.disk_bytes > twice.disk_bytes
    policy = corpusdb.explain_dedup(documents=1000, bytes_each="4kB").forecast
    assert policy is not None and policy.bytes == 4_000_000


def test_a_corpus_is_checked(db: corpusdb.Corpus) -> None:
    for depth in ("quick", "full", "deep"):
        report = db.check(depth)
        assert report and report.faults == [] and report.documents == 44
    with pytest.raises(corpusdb.BadInput, match="depth: expected one of `quick`, `full`, `deep`, got `shallow`"):
        db.check("shallow")
    assert len(db.digest()) == 64


def test_a_corpus_in_numbers(db: corpusdb.Corpus) -> None:
    stats = db.stats()
    assert (stats.all.documents, stats.kept.documents) == (db.count(), db.count("kept"))
    assert {group.source for group in stats.groups} == {"mirror", "web"}
    lengths = sorted(row[0] for row in db.sql("SELECT bytes FROM documents WHERE kept"))
    kept = next(it for it in stats.columns if it.column == "bytes" and it.of_kept)
    assert (kept.min, kept.p50, kept.max) == (lengths[0], lengths[(len(lengths) + 1) // 2 - 1], lengths[-1])
    mirror = db.stats("quality IS NULL", source="mirror").losses[0]
    assert (mirror.near, mirror.exact, mirror.near_rate) == (corpora.NEAR, corpora.EXACT, 0.75)
    assert db.stats(snapshot="first").all == stats.all
    with pytest.raises(corpusdb.BadQuery):
        db.stats("nope")


def test_a_reader_asked_for_a_name_of_a_writer_says_how_to_open_one(db: corpusdb.Corpus) -> None:
    for ask in (
        lambda: db.ingest,  # type: ignore[attr-defined]
        lambda: db.fields.add,  # type: ignore[attr-defined]
        lambda: db.tokenizers.train,  # type: ignore[attr-defined]
        lambda: db.snapshots.create,  # type: ignore[attr-defined]
        lambda: db.contamination.add,  # type: ignore[attr-defined]
        lambda: db.signals.add,  # type: ignore[attr-defined]
    ):
        with pytest.raises(AttributeError, match='only a writer has it: open the corpus with corpusdb.open'):
            ask()
    assert not hasattr(db, "ingest")
    with pytest.raises(AttributeError, match="no attribute 'ingset'"):
        db.ingset  # type: ignore[attr-defined]


def test_columns_types_and_the_first_documents(db: corpusdb.Corpus) -> None:
    assert {"id", "key", "source", "text", "quality", "site"} <= set(db.columns)
    assert list(db.schema) == db.columns and db.schema["bytes"] == "Int64"
    assert [row["id"] for row in db.head(3).to_dicts()] == [0, 1, 2]
    assert db.describe() == db.stats()


def test_a_notebook_shows_tables_of_named_things_and_pairs(db: corpusdb.Corpus) -> None:
    fields = db.fields._repr_html_()
    assert ">quality</th>" in fields and ">name</th>" in fields
    assert "no snapshot" in db.snapshots._repr_html_() or ">commit</th>" in db.snapshots._repr_html_()
    assert ">own</th>" in db.tokenizers._repr_html_() and "no suites; add one" in db.contamination._repr_html_()
    pair = next(pair for pair in db.duplicates() if pair.kind == "near")
    page = pair._repr_html_()
    assert "similarity 0." in page and "<ins> changed</ins>" in page
