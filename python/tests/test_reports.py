"""Reports: every field that a class names is there, and every field that is there is named."""

from __future__ import annotations

from typing import get_type_hints

import corpora
import pytest

import corpusdb
from corpusdb._report import Report


def told(w: corpusdb.Writer) -> list[Report]:
    """A report of each kind."""
    w.ingest(corpora.pages(5), source="web", id_field="url")
    poured = w.ingest([{"url": "copy", "text": corpora.nearly(0)}], source="mirror", id_field="url")
    w.tokenizers.train("own", vocab_size=400, by="source")
    snapshot = w.snapshots.create("now")
    removed = w.remove(4)
    changes = w.snapshots.diff("now")
    assert changes.removed_by and changes.groups[0].not_kept_by == []
    blocked = w.ingest([{"url": "again", "text": corpora.prose(4)}], source="web", id_field="url")
    document, similar = w["copy"], w.similar(corpora.nearly(0), all=True)
    assert blocked.kept == 0 and [one.id for one in w["again"].blocked_by] == [4]
    assert document.match is not None and document.cluster is not None and poured.refused == {}
    return [
        poured, snapshot, removed, document, document.match, document.cluster, similar, similar[0], w.info(),
        w.duplicates_summary(), w.document_duplicates(document.id), w.explain_dedup(), w.check("quick"),
        w.dedup.redo(), w.dedup.settle(), w.fields.set("quality", [{"id": 0, "quality": 1.0}], id="id"),
        changes, changes.earlier, changes.removed, changes.removed_by[0], changes.groups[0],
        w.snapshots.show("now"), w.snapshots.show("now").sources[0], w.snapshots.drop("now"),
        w.fields.add("url", str), w.fields["url"], w.signals.add(set="c4"), w.signals["word_count"],
        w.report(), w.stats(), w.stats().groups[0], w.stats().columns[0], w.stats().losses[0],
        w.tokenizers.check("own"), w.tokenizers.diff("own", "own"), w.tokenizers.analyse("own"),
        removed, w.restore(where="id = 4"), w.purge(0),
    ]


def test_classes_name_the_fields_of_their_reports(w: corpusdb.Writer) -> None:
    for report in told(w):
        named = {name for name in get_type_hints(type(report)) if not name.startswith("_")}
        assert named == set(vars(report)), type(report).__name__


def test_a_report_is_shown_in_terminal_and_notebook(w: corpusdb.Writer) -> None:
    for report in told(w):
        assert repr(report) and report._repr_html_().startswith("<")
        if not isinstance(report, corpusdb.Document):
            assert repr(report).startswith(type(report).__name__)
        with pytest.raises(AttributeError):
            report.nothing
