"""Suites of evaluation items from Python: the same evidence as the command tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import corpusdb

QUESTION = "A baker sells 48 of her rolls in the morning, and then half as many rolls in the afternoon. How many in all?"


def test_suites_are_added_told_of_and_dropped(w: corpusdb.Writer, tmp_path: Path) -> None:
    items = tmp_path / "ours.jsonl"
    items.write_text(json.dumps({"id": "rolls", "ask": QUESTION, "answer": "72"}) + "\n")
    w.ingest([{"text": f"Homework. {QUESTION} Hand it in."}, {"text": "nothing of it is here"}], source="web")
    with pytest.raises(corpusdb.CorpusError, match="its fields are id, ask, answer"):
        w.contamination.add("ours", items)
    report = w.contamination.add("ours", items, question="ask")
    assert (report.items, report.searched, report.sighted) == (1, 2, 1)
    [found] = w.contamination.report()
    assert (found.suite, found.documents, found.contaminated_items) == ("ours", 1, 1)
    assert found.worst[0].item == "rolls"
    [evidence] = w.contamination.show(0)
    assert evidence.contaminated and evidence.score == 1.0
    assert evidence.quotes[0].startswith("A baker sells 48")
    assert w.contamination.show("ours") == [evidence]
    assert not w.contamination.show(0, tokens=500)[0].contaminated
    # Characters at which Python would end a line.
    [seen] = w.contamination.check(_one(tmp_path, f"a\u2028b\u2029c\x85d\x1ce {QUESTION}"))
    assert seen.evidence
    with pytest.raises(corpusdb.NotFound, match="no suite or document `our`; did you mean `ours`"):
        w.contamination.show("our")
    for bad in [1.5, True]:
        with pytest.raises(TypeError, match="expected an id"):
            w.contamination.show(bad)  # type: ignore[arg-type]
    for missing in [-1, 7]:
        with pytest.raises(corpusdb.NotFound, match=f"{missing}"):
            w.contamination.show(missing)
    with pytest.raises(corpusdb.BadInput, match="`score`: 2.0 is not between 0 and 1"):
        w.contamination.report(score=2.0)
    more = tmp_path / "more.jsonl"
    more.write_text("".join(json.dumps(one) + "\n" for one in [{"key": "a", "text": QUESTION}, {"key": "b", "text": "no"}]))
    [checked] = w.contamination.check(more, id_field="key")
    assert (checked.text, checked.contaminated, checked.evidence[0].document) == ("a", True, None)
    assert [suite.suite for suite in w.contamination.show()] == ["ours"]
    assert ": ours>" in repr(w.contamination)
    w.contamination.drop("ours")
    assert w.contamination.show() == []


def _one(folder: Path, text: str) -> Path:
    path = folder / "one.jsonl"
    path.write_text(json.dumps({"text": text, "id": "\u2028"}, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def test_pairs_are_reviewed_and_judged(w: corpusdb.Writer, tmp_path: Path) -> None:
    items = tmp_path / "ours.jsonl"
    items.write_text(json.dumps({"id": "rolls", "question": QUESTION, "answer": "72"}) + "\n")
    w.contamination.add("ours", items)
    w.ingest([{"text": f"Homework. {QUESTION} Hand it in."}, {"text": f"Exam! {QUESTION} No talking."}], source="web")
    first, second = w.contamination.review()
    assert (first.suite, first.item, first.verdict, first.source) == ("ours", "rolls", None, "web")
    [part] = first.parts
    [piece] = part.found
    [[start, end]] = piece.marks
    assert piece.text.encode()[start:end].decode() == QUESTION.rstrip("?")
    assert w.contamination.report()[0].precision is None
    report = w.contamination.judge(("ours", "rolls", first.document, "accepted"), ("ours", "rolls", second.document, "rejected"))
    assert (report.accepted, report.rejected, report.unchanged) == (1, 1, 0)
    assert w.contamination.review() == []
    assert {pair.verdict for pair in w.contamination.review(judged=True, sample=3)} == {"accepted", "rejected"}
    [found] = w.contamination.report()
    assert found.precision is not None
    assert (found.documents, found.precision.estimate) == (1, 0.5)
    rows = w.sql("SELECT document, verdict, contaminated FROM contamination ORDER BY document").to_pyarrow().to_pylist()
    told = {row["document"]: (row["verdict"], row["contaminated"]) for row in rows}
    assert told == {first.document: ("accepted", True), second.document: ("rejected", False)}
    assert w.contamination.judge(("ours", "rolls", second.document, None)).withdrawn == 1
    with pytest.raises(corpusdb.BadInput, match="has no item `buns`"):
        w.contamination.judge(("ours", "buns", 0, "rejected"))
    with pytest.raises(corpusdb.BadInput, match='must be "accepted", "rejected" or None, got "perhaps"'):
        w.contamination.judge(("ours", "rolls", 0, "perhaps"))
