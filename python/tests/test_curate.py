"""A corpus that changes its mind: removal, redo, settle, values from outside, snapshots, compaction."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import corpora
import numpy as np
import pyarrow as pa
import pytest

import corpusdb


@pytest.fixture
def filled(w: corpusdb.Writer) -> corpusdb.Writer:
    w.ingest(corpora.pages(10), source="web", id_field="url")
    w.ingest([{"url": "copy", "text": corpora.nearly(0)}], source="mirror", id_field="url")
    return w


def test_documents_are_removed_and_restored(filled: corpusdb.Writer) -> None:
    report = filled.remove(0)
    assert (report.changed, report.no_longer_kept, report.kept_again) == (1, 1, 1)
    assert filled["copy"].is_kept
    assert filled.ingest([{"text": corpora.prose(0)}], source="other").kept == 0
    assert filled.restore([0, "https://a.example/1"]).changed == 1
    assert filled.remove(np.array([1, 2], dtype=np.uint64)).changed == 2
    assert filled.remove("https://a.example/3", block=None).changed == 1
    dry = filled.remove(where="source = 'web' AND quality > 0.05", dry_run=True)
    assert (dry.changed, dry.selection and dry.selection.documents, report.selection) == (4, dry.selected, None)
    assert filled.count("standing = 'removed'") == 3
    assert filled.remove([4], block="similar").changed == 1
    assert filled.ingest([{"text": corpora.nearly(4)}], source="other").kept == 0
    for which, words in [
        (1000, r"no document 1000: the corpus holds ids 0 to 1\d$"), ("nothing", "no document has the key nothing"),
    ]:
        with pytest.raises(corpusdb.NotFound, match=words):
            filled.remove(which)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give documents"):
        filled.remove()
    # What gives numbers or names as well when it is iterated over.
    kept = len(filled)
    frame = type("Frame", (list,), {"columns": ["id"]})(["id"])
    for thing in [b"\x05", bytearray(2), filled[5], {"5": 1}, frame, True, [True]]:
        with pytest.raises(TypeError, match="expected"):
            filled.remove(thing)  # type: ignore[arg-type]
    assert len(filled) == kept
    with pytest.raises(corpusdb.BadInput, match="is not one of exact, normalised, similar"):
        filled.remove(5, block="all")


def test_documents_are_purged_with_a_reason(filled: corpusdb.Writer) -> None:
    assert filled.remove(0, reason="not ours").changed == 1
    row = filled.sql("SELECT id, reason, time FROM removals").fetchall()[0]
    assert (row[0], row[1], row[2] is not None) == (0, "not ours", True)
    told = filled.purge([0, "https://a.example/1"], reason="asked for")
    assert (told.purged, told.removed, told.unchanged) == (2, 1, 0)
    assert [filled[id].text for id in (0, 1)] == ["", ""]
    assert filled.count("standing = 'purged'") == 2
    again = filled.ingest(corpora.pages(2), source="web", id_field="url")
    assert (again.added, again.purged) == (0, 2)
    filled.snapshots.create("now")
    with pytest.raises(corpusdb.CorpusError, match="snapshot `now` keeps 1"):
        filled.remove(2, purge=True)
    told = filled.purge(where="id = 2", force=True)
    assert (told.snapshots, told.shown_by.snapshots, told.shown_by.plans) == (1, [("now", 1)], [])
    assert told.selection is not None and [one.standing for one in told.selection.standings] == ["kept"]
    assert filled.check("deep").faults == []


def test_a_key_that_was_purged_was_purged_before(filled: corpusdb.Writer) -> None:
    key = "https://a.example/1"
    assert filled.purge(key).purged == 1
    again = filled.purge([key, 1])
    assert (again.selected, again.purged, again.unchanged) == (2, 0, 2)
    with pytest.raises(corpusdb.NotFound, match="no document has the key nothing"):
        filled.purge([key, "nothing"])
    with pytest.raises(TypeError, match=r"documents\[1\]: expected an id \(a number\) or a key \(text\), got NoneType"):
        filled.purge([1, None])  # type: ignore[list-item]


def test_readers_know_whether_they_are_current(w: corpusdb.Writer, tmp_path: Path) -> None:
    w.ingest([corpora.page(1)], source="web", id_field="url")
    path = Path(w.path)
    with corpusdb.open(path) as reader:
        assert reader.is_current
        w.ingest([corpora.page(2)], source="web", id_field="url")
        assert not reader.is_current and reader.count() == 1
    with corpusdb.open(path) as reader:
        w.close()
        path.rename(tmp_path / "moved")
        corpusdb.create(path).close()
        assert not reader.is_current and reader.count() == 2


def test_an_ingest_is_undone(w: corpusdb.Writer) -> None:
    w.ingest([corpora.page(at) for at in range(5)], source="web", id_field="url")
    kept = w.count("kept")
    w.ingest([corpora.page(at) for at in range(5, 9)], source="web", id_field="url")
    entry = w.log(1)[0]
    assert (entry.verb, entry.subject, entry.added) == ("ingest", "web", 4)
    assert w.undo(dry_run=True).documents == 4 and w.count("kept") == kept + 4
    report = w.undo()
    assert report.undone.commit == entry.commit and w.count("kept") == kept
    assert w.log(2)[1].undone_by == w.log(1)[0].commit
    with pytest.raises(corpusdb.BadInput, match="it was undone by commit"):
        w.undo(entry.commit)
    w.undo(w.log(1)[0].commit)
    assert w.count("kept") == kept + 4


def test_what_was_purged_is_in_no_file_while_the_writer_goes_on(w: corpusdb.Writer) -> None:
    """RocksDB's list of files has the first and last keys of tables, values of fields among them."""
    marks = [f"secret-{at:02}-of-a-person" for at in range(40)]
    pages = [{"url": mark, "site": mark, "text": f"{corpora.prose(at)} {mark}"} for at, mark in enumerate(marks)]
    w.ingest(pages, source="web", id_field="url")
    w.compact()
    unread, shown, pairs = w.sql("SELECT text FROM documents"), w.sql("SELECT key FROM documents"), w.duplicates()
    repr(shown)
    report = w.purge(where="source = 'web'", reason="asked for")
    assert (report.purged, report.held) == (40, False)
    left = [path for path in Path(w.path).rglob("*") if path.is_file() and b"of-a-person" in path.read_bytes()]
    assert [path.name for path in left if not path.name.startswith("LOG")] == []
    proof = w.prove(Path(w.path).parent / "proof.json")
    assert proof and (proof.purged, proof.found, proof.twins) == (40, 0, [])
    assert json.loads((Path(w.path).parent / "proof.json").read_text())["purged"] == 40
    # A table that nobody searches is no proof.
    other = Path(w.path) / "other.sst"
    other.write_bytes(b"packed")
    assert not w.prove()
    other.unlink()
    assert w.ingest([corpora.page(50)], source="other").kept == 1 and w.check("deep").faults == []
    # What was not read showed documents that are gone.
    for table in (unread, shown):
        with pytest.raises(corpusdb.Stale, match="belongs to commit"):
            table.fetchall()
    with pytest.raises(corpusdb.Closed, match="unread duplicates were dropped when"):
        next(pairs)


def test_a_purge_goes_on_beside_threads_that_read(filled: corpusdb.Writer) -> None:
    stop = threading.Event()

    def look() -> int:
        seen = 0
        while not stop.is_set():
            seen += filled.count("kept")
            try:
                seen += len(filled.sql("SELECT id FROM documents").fetchall())
            except (corpusdb.Stale, corpusdb.Closed):
                # A purge gives up what shows the moment before it.
                continue
        return seen

    with ThreadPoolExecutor(3) as pool:
        looking = [pool.submit(look) for _ in range(3)]
        for document in (4, 5, 6):
            assert filled.purge(document).purged == 1
        stop.set()
        assert all(looked.result(60) for looked in looking)
    filled.purge()
    assert filled.prove() and filled.count("standing = 'purged'") == 3


def test_dedup_is_decided_again(filled: corpusdb.Writer) -> None:
    tried = filled.dedup.redo(mode="exact", dry_run=True)
    assert (tried.dry_run, tried.kept_before, tried.kept_after) == (True, 10, 11)
    assert filled.count("kept") == 10
    assert filled.dedup.redo(mode="exact").kept_after == 11
    assert filled.info().policy_settings.mode == "exact" and filled.count("kept") == 11
    assert filled.dedup.redo(mode="witness", threshold=0.7).kept_after == 10
    assert filled.dedup.settle().crowded == 0
    assert filled.dedup.settle(dry_run=True).dry_run
    with pytest.raises(corpusdb.BadPolicy):
        filled.dedup.redo(threshold=7)


def test_a_dry_run_waits_for_nobody_who_reads_and_keeps_the_lock(filled: corpusdb.Writer) -> None:
    rows, reading = filled.sql("SELECT id FROM documents"), filled.duplicates()
    assert filled.dedup.redo(mode="exact", dry_run=True).kept_after == 11
    assert len(rows.fetchall()) == 11 and len(list(reading)) == 1

    def pages() -> Iterator[dict[str, str]]:
        # While it is tried, nobody else can take the corpus.
        with pytest.raises(corpusdb.Locked, match="this very process"):
            corpusdb.open(filled.path, mode="w")
        with corpusdb.open(filled.path) as beside:
            assert beside.count() == 11
        yield {"text": corpora.prose(99)}

    assert filled.ingest(pages(), source="tried", dry_run=True).kept == 1
    assert (filled.count(), filled.is_closed) == (11, False)
    with pytest.raises(corpusdb.BadPolicy):
        filled.dedup.redo(threshold=7, dry_run=True)
    assert filled.ingest([{"text": corpora.prose(99)}], source="real").kept == 1
    assert filled.check("deep").faults == []
    assert not list(Path(filled.path).glob("dry-run-*"))


@pytest.mark.parametrize("form", ["file", "arrow", "mappings"])
def test_fields_are_set_from_outside(filled: corpusdb.Writer, tmp_path: Path, form: str) -> None:
    values = [{"id": n, "score": float(n)} for n in range(5)] + [{"id": 99, "score": 1.0}]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values))
    given = {"file": tmp_path / "scores.jsonl", "arrow": pa.Table.from_pylist(values), "mappings": iter(values)}[form]
    report = filled.fields.set("quality", given, id="id", value="score")
    assert (report.records, report.changed, report.unknown, report.unknown_examples) == (6, 4, 1, ["99"])
    assert filled.document(3)["quality"] == 3.0
    keyed = [{"url": "https://a.example/7", "quality": 70.0}]
    assert filled.fields.set("quality", keyed, key="url", source="web", dry_run=True).changed == 1
    assert filled.fields.set("quality", keyed, key="url", source="web").changed == 1
    assert filled.sql("SELECT quality FROM documents WHERE id = 7").fetchall() == [(70.0,)]
    with pytest.raises(corpusdb.NotFound, match="no field"):
        filled.fields.set("colour", keyed, key="url")
    with pytest.raises(corpusdb.BadInput, match="needed"):
        filled.fields.set("quality", keyed)


def test_fields_are_added_set_computed_listed_and_dropped(filled: corpusdb.Writer) -> None:
    record = {"url": "new", "text": "a page of its own", "scores": {"edu": 0.5}, "when": "2024-05-01T12:00:00Z"}
    filled.ingest([record], source="late", id_field="url")
    assert filled.fields.add("edu", float, from_meta="scores.edu", dry_run=True).values == 1
    added = filled.fields.add("edu", float, from_meta="scores.edu")
    assert (added.kind, added.member, added.values, added.documents) == ("float", "scores.edu", 1, filled.count())
    filled.fields.add("when", "timestamp")
    filled.fields.add("good", bool)
    report = filled.fields.set(["edu", "good"], [{"key": "new", "edu": 0.75, "good": True}], key="key")
    assert (report.fields, report.matched, report.changed) == (["edu", "good"], 1, 1)
    assert filled.fields.set({"good": "bad"}, [{"key": "new", "bad": False}], key="key").changed == 1
    with pytest.raises(TypeError, match="single field"):
        filled.fields.set(["edu"], [], key="key", value="x")
    rows = filled.sql("SELECT edu, good, \"when\" FROM documents WHERE key = 'new'").fetchall()
    assert rows == [(0.75, False, datetime(2024, 5, 1, 12))]
    computed = filled.fields.compute("size", "chars + bytes")
    assert (computed.kind, computed.values) == ("int", filled.count())
    assert {field.name: field.kind for field in filled.fields if field.name not in ("quality", "site")} == {
        "edu": "float", "when": "timestamp", "good": "bool", "size": "int",
    }
    assert filled.fields["size"].expression == "chars + bytes" and filled.fields["good"].documents == 1
    assert filled.fields.drop("size").plans == []
    with pytest.raises(corpusdb.NotFound, match="no field `size`"):
        filled.fields["size"]
    with pytest.raises(corpusdb.BadName, match="is declared already"):
        filled.fields.add("edu", int)
    with pytest.raises(corpusdb.BadInput, match="date"):
        filled.fields.add("other", "date")  # type: ignore[arg-type]
    with pytest.raises(corpusdb.BadInput, match="each time"):
        filled.fields.compute("other", "random()")
    assert filled.check("deep")


def test_perplexities_are_computed_by_source_or_together(filled: corpusdb.Writer) -> None:
    filled.tokenizers.train("own", vocab_size=400)
    report = filled.fields.compute("ppl", perplexity="own", order=2)
    assert (report.kind, report.values) == ("float", filled.count("kept"))
    assert [model.source for model in report.models] == ["web"]
    model = report.models[0]
    assert model.documents == filled.count("kept") and len(model.ngrams) == len(model.discounts) == 2
    assert 1 < model.p5 <= model.p50 <= model.p95
    lowest, highest = filled.sql("SELECT min(ppl), max(ppl) FROM documents").fetchall()[0]
    assert lowest <= model.p5 and model.p95 <= highest
    assert filled.fields["ppl"].expression == "perplexity(own, order 2, by source)"
    assert filled.fields.compute("ppl", perplexity="own", order=2).changed == 0
    assert filled.fields.compute("ppl", perplexity="own", together=True).models[0].source is None
    for arguments in [{}, {"expression": "chars", "perplexity": "own"}]:
        with pytest.raises(TypeError, match="either an expression or perplexity"):
            filled.fields.compute("ppl", **arguments)
    with pytest.raises(corpusdb.BadInput, match="from 2 to 6"):
        filled.fields.compute("ppl", perplexity="own", order=1)
    assert filled.check("deep")


def test_what_an_iterator_of_values_raises_comes_back(filled: corpusdb.Writer) -> None:
    def values() -> Iterator[dict[str, float]]:
        yield {"id": 0, "quality": 1.0}
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        filled.fields.set("quality", values(), id="id")


def test_names_are_looked_up(filled: corpusdb.Writer) -> None:
    made = filled.snapshots.create("now")
    assert "now" in filled.snapshots and made in filled.snapshots
    assert "later" not in filled.snapshots and 5 not in filled.snapshots
    assert 5 in filled and np.uint64(5) in filled and "copy" in filled
    assert 99 not in filled and -1 not in filled and True not in filled and None not in filled


def test_snapshots_name_moments(filled: corpusdb.Writer) -> None:
    made = filled.snapshots.create("before")
    assert (made.name, made.kept, made.documents) == ("before", 10, 11)
    assert [snapshot.name for snapshot in filled.snapshots] == ["before"]
    assert filled.snapshots["before"] == made and len(filled.snapshots) == 1
    with pytest.raises(corpusdb.NotFound, match="there is `before`"):
        filled.snapshots["after"]
    with pytest.raises(corpusdb.BadName):
        filled.snapshots.create("before")


def test_what_changed_between_snapshots_is_told_and_listed(filled: corpusdb.Writer) -> None:
    filled.tokenizers.train("own", vocab_size=400)
    filled.snapshots.create("before")
    filled.remove(3)
    filled.ingest([{"url": "late", "text": corpora.prose(77)}, {"url": "again", "text": corpora.prose(5)}],
                  source="mirror", id_field="url")
    diff = filled.snapshots.diff("before")
    counts = (diff.added.documents, diff.kept_again.documents, diff.removed.documents, diff.not_kept.documents)
    assert counts == (1, 0, 1, 1) and diff.later.name == "now"
    assert diff.later.kept == diff.earlier.kept - 1 + 1
    assert [(loss.reason, loss.documents) for loss in diff.removed_by] == [("removed", 1)]
    assert {group.group: group.not_kept.documents for group in diff.groups} == {"mirror": 1, "web": 0}
    assert diff.added.tokens["own"] == len(filled.tokens(11, "own"))
    changes = list(filled.snapshots.changes("before"))
    assert [(one.id, one.change, one.reason, one.witness) for one in changes] == [
        (3, "removed", "removed", None), (11, "added", None, None), (12, "not_kept", "exact", 5),
    ]
    assert changes[2].witness_key == filled.document(5).key
    filled.snapshots.create("after")
    assert filled.snapshots.diff("before", "after").to_dict()["added"] == diff.to_dict()["added"]
    assert filled.snapshots.diff("before", "before").groups == []
    assert (filled.count(snapshot="before"), filled.count("id = 3", snapshot="after")) == (10, 0)
    assert list(filled.select("NOT kept", snapshot="before")) == [3]
    assert 3 in {document.id for document in filled.sample(20, snapshot="before")}
    for ask, words in [(lambda: filled.snapshots.diff("never"), "there are `after`, `before`"),
                       (lambda: filled.snapshots.show("never"), "there are `after`, `before`"),
                       (lambda: filled.count(snapshot="never"), "there are `after`, `before`")]:
        with pytest.raises(corpusdb.NotFound, match=words):
            ask()
    with pytest.raises(corpusdb.BadQuery, match="`before` and then `after`"):
        filled.snapshots.diff("after", "before")
    with pytest.raises(corpusdb.BadQuery, match="cannot group by `key`"):
        filled.snapshots.diff("before", by="key")


def test_snapshots_are_renamed_and_dropped(filled: corpusdb.Writer) -> None:
    filled.tokenizers.train("own", vocab_size=400)
    filled.snapshots.create("before")
    assert filled.snapshots.rename("before", "then").name == "then"
    plan = filled.plan({"version": 1, "snapshot": "then", "pack": {"length": 32}})
    shown = filled.snapshots.show("then")
    assert (shown.plans, [source.source for source in shown.sources]) == ([1], ["web"])
    assert (shown.kept, shown.tokens["own"]) == (10, filled.info().tokenizers[0].tokens)
    for refused in (lambda: filled.snapshots.rename("then", "other"), lambda: filled.snapshots.drop("then")):
        with pytest.raises(corpusdb.CorpusError, match="plan 1 draws from snapshot `then`"):
            refused()
    rows = plan.explain().rows
    dropped = filled.snapshots.drop("then", force=True)
    assert (dropped.name, dropped.plans, len(filled.snapshots)) == ("then", [1], 0)
    assert plan.explain().rows == rows and plan.explain().snapshot_dropped
    with pytest.raises(corpusdb.BadName, match="that was dropped"):
        filled.snapshots.create("then")


def test_a_corpus_is_compacted(filled: corpusdb.Writer) -> None:
    before = filled.digest()
    sizes = filled.compact()
    assert sizes.before > 0 and sizes.after > 0 and filled.digest() == before


def test_signals_are_stored_fed_listed_and_dropped(filled: corpusdb.Writer, tmp_path: Path) -> None:
    documents = filled.count()
    assert filled.signals.add("word_count", dry_run=True).documents == documents
    assert filled.signals["word_count"].state == "absent"
    added = filled.signals.add("word_count", set="c4")
    assert (added.signals, added.known) == (["c4_line_fraction", "c4_sentence_count", "word_count"], [])
    assert filled.signals.add(set="c4").known == ["c4_line_fraction", "c4_sentence_count"]
    filled.ingest([{"url": "late", "text": "It has five words here."}], source="late", id_field="url")
    row = filled.sql("SELECT word_count, c4_sentence_count FROM documents WHERE key = 'late'").fetchall()
    assert row == [(5, 1)]
    word_count = filled.signals["word_count"]
    assert (word_count.state, word_count.documents, word_count.set) == ("stored", documents + 1, "gopher")
    assert corpusdb.preset("c4") == "c4_sentence_count >= 5"
    assert filled.count(corpusdb.preset("c4")) == filled.count(corpusdb.preset("c4", on_text=True))
    assert filled.count("preset('c4')") == filled.count("preset('c4', 'text')") == filled.count(corpusdb.preset("c4"))
    told = filled.signals.report("c4", examples=1, html=tmp_path / "signals.html")
    assert told.documents.documents == filled.count("kept")
    assert told.removes.documents == filled.count("kept AND NOT preset('c4')")
    assert [(score.signal, score.origin) for score in told.scores] == [
        ("c4_line_fraction", "stored"), ("c4_sentence_count", "stored"),
    ]
    assert "Signals of" in (tmp_path / "signals.html").read_text()
    with pytest.raises(corpusdb.BadInput, match="`set`: \"c5\" is not one of gopher, c4"):
        filled.signals.report("c5")  # type: ignore[arg-type]
    with pytest.raises(corpusdb.BadInput, match="wordcount.*did you mean `word_count`"):
        filled.signals.add("wordcount")
    assert filled.signals.drop("word_count", set="c4").plans == []
    assert {signal.state for signal in filled.signals} == {"absent"}
