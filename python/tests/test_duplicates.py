"""What dedup did: pairs, summaries, similar documents, differences."""

from __future__ import annotations

import corpora
import pytest

import corpusdb


def test_pairs_name_their_witness(db: corpusdb.Corpus) -> None:
    pairs = list(db.duplicates())
    assert [(p.key, p.witness.key, p.kind) for p in pairs] == [
        ("copy-0", "https://a.example/0", "near"), ("copy-1", "https://a.example/1", "near"),
        ("copy-2", "https://a.example/2", "near"), ("same-0", "https://a.example/20", "exact"),
    ]
    first = pairs[0]
    assert (first.source, first.witness.source) == ("mirror", "web")
    assert 0.8 < first.jaccard < 1 and first.containment_witness == 1.0
    assert first.document().text == corpora.nearly(0) and first.witness.document().text == corpora.prose(0)
    assert ("added", "changed") in [(kind, text.strip()) for kind, text in first.diff()]
    assert "_corpus" not in repr(first)


def test_pairs_are_of_a_source_or_a_document(db: corpusdb.Corpus) -> None:
    assert len(list(db.duplicates(source="mirror"))) == 4
    assert list(db.duplicates(source="web")) == []
    assert [p.id for p in db.duplicates(0)] == [40] == [p.id for p in db.duplicates(40)]
    with pytest.raises(corpusdb.NotFound, match="no source `books`; there are `web`, `mirror`"):
        db.duplicates(source="books")
    with pytest.raises(corpusdb.NotFound):
        db.duplicates(1000)


def test_many_pairs_are_read_as_they_are_asked_for(w: corpusdb.Writer) -> None:
    w.ingest([{"text": corpora.prose(1)} for _ in range(3000)], source="web")
    pairs = w.duplicates()
    assert next(pairs).id == 1
    assert sum(1 for _ in pairs) == 2998
    assert next(pairs, None) is None


def test_summaries(db: corpusdb.Corpus) -> None:
    found = db.duplicates_summary()
    assert (found.documents, found.kept, found.clusters) == (44, 40, 4)
    assert found.source_pairs[0].documents == 4
    assert db.duplicates_summary(source="web").sources == [] or True
    assert db.duplicates_summary(by="site").by == "site"
    assert db.duplicates_summary(by=["source", "site"]).by == "source,site"
    with pytest.raises(corpusdb.NotFound):
        db.duplicates_summary(source="books")
    one = db.document_duplicates(40, diff=True)
    assert one.witness is not None and one.witness.jaccard > 0.8
    assert db.document_duplicates(0).cluster.size == 2


def test_a_matrix_says_how_much_was_there_already(db: corpusdb.Corpus) -> None:
    found = db.duplicates_matrix()
    assert found.columns == ["source", "witness_source", "documents", "exact", "bytes", "share", "share_bytes"]
    ((source, witness, documents, exact, size, share, _),) = list(found)
    assert (source, witness, documents, exact, share) == ("mirror", "web", 4, 1, 1.0) and size > 100
    by = db.duplicates_matrix(["source", "site"], source="mirror")
    assert by.columns[:4] == ["source", "site", "witness_source", "witness_site"]
    table = by.to_pyarrow()
    assert sum(table["documents"].to_pylist()) == 4 and set(table["source"].to_pylist()) == {"mirror"}
    assert db.duplicates_matrix("source,site").to_pyarrow().equals(table)
    with pytest.raises(corpusdb.NotFound, match="no source `books`"):
        db.duplicates_matrix(source="books")
    for by, why in [("author", "cannot group by `author`"), ("site:month", "not a timestamp"), (["site", "site"], "twice")]:
        with pytest.raises(corpusdb.BadQuery, match=why):
            db.duplicates_matrix(by)


def test_similar_documents_are_found_by_text_and_by_document(db: corpusdb.Corpus) -> None:
    found = db.similar(corpora.nearly(7), k=3)
    assert [document.id for document in found] == [7] and len(found) == 1
    assert found[0].duplicate and found[0].jaccard > 0.8
    assert [document.id for document in db.similar(0, all=True)] == [40]
    assert len(db.similar(corpora.prose(999))) == 0
    with pytest.raises(corpusdb.NotFound):
        db.similar(10_000)
    with pytest.raises(corpusdb.NotFound):
        db.similar("text of some words that are here", source="books")


def test_differences_are_told_word_by_word(db: corpusdb.Corpus) -> None:
    parts = db.diff(0, 40)
    assert "".join(text for kind, text in parts if kind != "removed").split() == corpora.nearly(0).split()


def test_another_policy_is_explained_by_measure(db: corpusdb.Corpus) -> None:
    now, other = db.explain_dedup(), db.explain_dedup(threshold=0.6)
    assert now.bytes.measured and now.change is None
    assert other.change is not None and other.policy_settings.threshold == 0.6
    assert now.sweep is None


def test_thresholds_and_shingle_sizes_are_swept(db: corpusdb.Corpus) -> None:
    own = db.explain_dedup().policy_settings
    swept = db.explain_dedup(sweep=True, thresholds=[0.5, 0.9], shingles=[3]).sweep
    assert swept is not None
    lines = {(line.shingle, line.threshold): line for line in swept.lines}
    assert set(lines) == {(size, at) for size in (3, own.shingle) for at in (0.5, 0.9, own.threshold)}
    summary = db.duplicates_summary()
    line = lines[own.shingle, own.threshold]
    assert line.own and line.verified.removed == sum(one.documents for one in summary.removed if one.kind in ("exact", "near"))
    assert line.verified.clusters == summary.clusters
    assert line.verified.removed <= lines[own.shingle, 0.5].verified.removed
    with pytest.raises(corpusdb.BadInput, match="`sweep=True`"):
        db.explain_dedup(where="kept")
