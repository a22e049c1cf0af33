"""Ingest of iterators of mappings: values, exceptions, threads, what is set aside."""

from __future__ import annotations

import datetime
import decimal
import json
import threading
import uuid
from collections import OrderedDict, UserDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpora
import numpy as np
import pytest

import corpusdb


def test_mappings_come_to_what_the_same_lines_of_a_file_come_to(tmp_path: Path) -> None:
    records = [corpora.page(n, tags=["a", "ä"], nested={"x": [1, None, True]}, none=None) for n in range(20)]
    records[7]["text"] = records[3]["text"]
    (tmp_path / "records").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records))
    digests = []
    for given in (tmp_path / "records", records, iter(records), (UserDict(r) for r in records)):
        path = tmp_path / f"corpus-{len(digests)}"
        corpusdb.create(path)
        with corpusdb.open(path, mode="w") as w:
            assert w.ingest(given, source="web", id_field="url", format="jsonl").kept == 19
            assert json.loads(w.sql("SELECT meta FROM documents WHERE id = 0").fetchall()[0][0])["tags"] == ["a", "ä"]
            digests.append([(d.id, d.key, d.standing, d.text, d.metadata) for d in w.documents()])
    assert digests[1:] == digests[:1] * 3


def test_values_of_python_are_stored_as_json_has_them(w: corpusdb.Writer) -> None:
    record: dict[str, Any] = {
        "text": corpora.prose(1), "truth": True, "large": 2**63, "huge": 2**80, "float": 1.5, "nan": float("nan"),
        "inner": [float("-inf"), {"a": None, "b": 10**22 + 0.0}], "pair": "\U0001f600",
        "bytes": "ä".encode(), "tuple": (1, 2), "set": {7}, "array": np.arange(3), "scalar": np.float32(0.5),
        "day": datetime.date(2026, 1, 2), "exact": decimal.Decimal("1.10"),
        "uuid": uuid.UUID(int=1), "path": Path("/a"), "ordered": OrderedDict(a=1), "none": None,
    }
    assert w.ingest([record], source="web").not_finite == 2
    assert w.document(0).metadata == {
        "truth": True, "large": 2**63, "huge": 2**80, "float": 1.5, "inner": [None, {"a": None, "b": 1e22}], "pair": "\U0001f600", "bytes": "ä", "tuple": [1, 2], "set": [7],
        "array": [0, 1, 2], "scalar": 0.5, "day": "2026-01-02", "exact": "1.10",
        "uuid": "00000000-0000-0000-0000-000000000001", "path": "/a", "ordered": {"a": 1}, "nan": None, "none": None,
    }


def test_the_members_of_a_set_are_stored_in_one_order(w: corpusdb.Writer) -> None:
    tags = {f"tag {n}" for n in range(60)}
    record = {"text": corpora.prose(1), "tags": tags, "frozen": frozenset([3, 10, 1]), "pairs": {(2, 1), (1, 2)}}
    w.ingest([record], source="web")
    assert w.document(0).metadata == {"tags": sorted(tags), "frozen": [1, 10, 3], "pairs": [[1, 2], [2, 1]]}


def test_a_record_that_cannot_be_stored_is_set_aside(w: corpusdb.Writer) -> None:
    deep: Any = 1
    for _ in range(600):
        deep = [deep]
    bad: list[dict[Any, Any]] = [
        {"text": corpora.prose(1), "field": ["half \udc00 of a pair"]},
        {"text": "half \ud800 of a pair"},
        {"text": corpora.prose(2), "object": object()},
        {"text": corpora.prose(3), 1: "x"},
        {"text": corpora.prose(4), "raw": b"\xff"},
        {"text": corpora.prose(5), "deep": deep},
        {"text": None},
        {"text": 3},
        {"url": "no text"},
    ]
    report = w.ingest([corpora.page(0), *bad, corpora.page(1)], source="web", name="mine")
    assert (report.kept, report.rejected) == (2, len(bad))
    rejects = w.rejects()
    assert [reject.number for reject in rejects] == list(range(1, 1 + len(bad)))
    assert {reject.path for reject in rejects} == {"mine"}
    reasons = [reject.reason for reject in rejects]
    assert reasons[0] == "field `field`: a string with lone surrogates is not Unicode text"
    assert "surrogate" in reasons[1] and "type object" in reasons[2] and "got int" in reasons[3]
    assert "bytes must be UTF-8" in reasons[4] and "nested deeper" in reasons[5]
    with pytest.raises(corpusdb.BadInput) as failed:
        w.ingest(iter(bad), source="web", on_error="fail", name="theirs")
    assert (failed.value.file, failed.value.record, failed.value.line) == ("theirs", 0, None)


def test_what_an_iterator_raises_comes_back_unchanged(w: corpusdb.Writer) -> None:
    class Own(Exception):
        pass

    error = Own("mine")

    def records() -> Iterator[dict[str, Any]]:
        yield from corpora.pages(5)
        raise error

    with pytest.raises(Own) as raised:
        w.ingest(records(), source="web", id_field="url")
    assert raised.value is error
    assert raised.value.__traceback__ is not None
    assert w.count() == 5
    assert w.ingest(corpora.pages(7), source="web", id_field="url").unchanged == 5


def test_what_is_no_mapping_is_a_type_error(w: corpusdb.Writer) -> None:
    with pytest.raises(TypeError, match=r"record 1 .* is of type str"):
        w.ingest(iter([corpora.page(0), "text"]), source="web")
    with pytest.raises(TypeError, match="cannot ingest a int"):
        w.ingest(3, source="web")
    with pytest.raises(TypeError, match="a dict is one record"):
        w.ingest(corpora.page(0), source="web")
    with pytest.raises(corpusdb.BadInput, match="title"):
        w.ingest([{"title": "x"}], source="other")


def test_an_iterator_runs_on_the_thread_that_calls(w: corpusdb.Writer) -> None:
    seen = set()

    def records() -> Iterator[dict[str, Any]]:
        for number in range(3000):
            seen.add(threading.get_ident())
            yield {"text": f"{number} is a number of its own", "n": number}

    w.ingest(records(), source="web")
    assert seen == {threading.get_ident()}


def test_an_iterator_cannot_write_to_what_ingests_it(w: corpusdb.Writer) -> None:
    def records() -> Iterator[dict[str, Any]]:
        yield corpora.page(0)
        assert w.count() == 0
        w.ingest([corpora.page(1)], source="web")

    with pytest.raises(corpusdb.CorpusError, match="is still running: its iterator"):
        w.ingest(records(), source="web")

    def closing() -> Iterator[dict[str, Any]]:
        yield corpora.page(0)
        w.close()

    with pytest.raises(corpusdb.CorpusError, match="is still running: its iterator"):
        w.ingest(closing(), source="web")
    assert not w.is_closed


def test_an_iterator_that_is_slow_does_not_hold_up_what_it_gave(w: corpusdb.Writer) -> None:
    assert w.ingest(iter(()), source="web").read == 0
    assert w.ingest([], source="web").read == 0
