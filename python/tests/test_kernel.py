"""The kernel decides as an ingest of the same documents does, row for row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import corpora
from itertools import combinations

import pyarrow as pa
import pytest
from families import KEEPS, family, ingested

import corpusdb
from corpusdb import kernel

def computed(documents: list[dict[str, Any]], policy: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The same from the functions of the kernel alone."""
    table = pa.table({name: [d[name] for d in documents] for name in ("number", "key", "source", "text")}
                     | {"year": pa.array([d["year"] for d in documents], pa.int64())})
    made = kernel.fingerprint(table, policy, key="key", source="source", order="number", number="year")
    prints = pa.table(pa.record_batch(made))
    assert prints["order"].to_pylist() == list(range(len(documents)))
    edges = verified(table, prints, policy)
    outcomes = pa.record_batch(kernel.decide(prints, edges, policy)).to_pylist()
    keys = dict(zip(prints["rank"].to_pylist(), prints["key"].to_pylist(), strict=True))
    texts = dict(zip(prints["rank"].to_pylist(), table["text"].to_pylist(), strict=True))
    # Witnesses that no edge leads to are asked for.
    asked = [one for one in outcomes if one["witness"] is not None and one["kind"] == "near"]
    pairs = pa.table({"left_text": [texts[one["rank"]] for one in asked], "right_text": [texts[one["witness"]] for one in asked]},
                     schema=pa.schema({"left_text": pa.string(), "right_text": pa.string()}))
    told = pa.record_batch(kernel.verify(pairs, policy))["jaccard"].to_pylist()
    for one, jaccard in zip(asked, told, strict=True):
        assert one["jaccard"] in (None, jaccard)
        one["jaccard"] = jaccard
    return [(keys[o["rank"]], o["standing"], keys.get(o["witness"]), o["jaccard"], keys.get(o["cluster"])) for o in outcomes]


def verified(table: pa.Table, prints: pa.Table, policy: dict[str, Any]) -> pa.Table:
    """The pairs that share a band: close ones, verified."""
    texts, rows = table["text"].to_pylist(), prints.to_pylist()
    bands = [[row["bands"][at:at + 5] for at in range(0, len(row["bands"] or b""), 5)] for row in rows]
    pairs = [(a, b) for a in range(len(rows)) for b in range(a)
             if any(x == y for x, y in zip(bands[a], bands[b], strict=False))]
    of = pa.table({
        "left": pa.array([rows[a]["rank"] for a, _ in pairs], pa.binary()),
        "right": pa.array([rows[b]["rank"] for _, b in pairs], pa.binary()),
        "left_sketch": pa.array([rows[a]["sketch"] for a, _ in pairs], pa.binary()),
        "right_sketch": pa.array([rows[b]["sketch"] for _, b in pairs], pa.binary()),
        "left_text": pa.array([texts[a] for a, _ in pairs], pa.string()),
        "right_text": pa.array([texts[b] for _, b in pairs], pa.string()),
    })
    if policy["mode"] != "lsh":
        of = pa.table(pa.record_batch(kernel.close(of, policy)))
        assert "left_sketch" not in of.column_names
    return pa.table(pa.record_batch(kernel.verify(of, policy)))


@pytest.mark.parametrize("mode", ["witness", "components", "lsh", "exact", "none"])
def test_the_kernel_decides_as_an_ingest_does(mode: str, tmp_path: Path) -> None:
    seen = set()
    for at, keep in enumerate(KEEPS):
        policy = {"mode": mode, "threshold": 0.5, "keep": keep, "scope": ("global", "per-source")[at % 2]}
        documents = family(len(mode) * 10 + at, 120)
        expected = ingested(tmp_path / str(at), documents, policy)
        assert computed(documents, policy) == expected, policy
        seen |= {row[1] for row in expected}
    assert seen >= {"witness": {"kept", "exact", "near", "empty"}, "none": {"kept"}}.get(mode, {"kept", "exact"})


def test_encode_gives_the_ids_that_a_corpus_stores(tmp_path: Path) -> None:
    path = corpora.build(tmp_path / "crawl")
    with corpusdb.open(path) as db:
        file = tmp_path / "tokenizer.json"
        own = db.tokenizers["own"]
        db.tokenizers.export("own", file)
        texts = [corpora.prose(n) for n in range(4)]
        batch = pa.table({"key": ["a", "b", "c", "d"], "text": texts})
        answer = pa.record_batch(kernel.encode(batch, kernel.load_tokenizer(file)))
        assert answer.schema.names == ["key", "ids"]
        assert answer["ids"].to_pylist() == [own.encode(text).tolist() for text in texts]


def test_components_and_crowded_buckets() -> None:
    documents = pa.table({"number": list(range(6)), "text": [corpora.prose(1) + f" end{n}" for n in range(6)]})
    prints = pa.table(pa.record_batch(kernel.fingerprint(documents, order="number")))
    ranks = prints["rank"].to_pylist()
    members = prints.select(["rank", "sketch"]).append_column("bucket", pa.array([b"one"] * 6))
    found = pa.record_batch(kernel.near(members, most=2)).to_pylist()
    pairs = [(ranks.index(row["left"]), ranks.index(row["right"])) for row in found if row["right"] is not None]
    assert pairs == [(0, other) for other in range(1, 6)] + [(1, other) for other in range(2, 6)]
    assert [ranks.index(row["left"]) for row in found if row["right"] is None] == [3, 4, 5]
    policy = {"threshold": 0.9}
    edges = pa.table(pa.record_batch(kernel.similar(members.append_column("text", documents["text"]), policy, most=6))).to_pylist()
    assert {(ranks.index(edge["left"]), ranks.index(edge["right"])) for edge in edges} == set(combinations(range(6), 2))
    texts = pa.table({"left_text": [documents["text"][0]], "right_text": [documents["text"][5]]})
    (whole,) = pa.record_batch(kernel.verify(texts, policy)).to_pylist()
    (same,) = (edge for edge in edges if (edge["left"], edge["right"]) == (ranks[0], ranks[5]))
    assert {name: same[name] for name in whole if name != "similar"} == {name: whole[name] for name in whole if name != "similar"}
    assert pa.record_batch(kernel.similar(members.append_column("text", documents["text"]), {"threshold": 1.0}, most=6)).num_rows == 0
    links = pa.table({"left": [ranks[5], ranks[2]], "right": [ranks[1], ranks[4]]})
    named = pa.record_batch(kernel.components(links)).to_pylist()
    assert {(ranks.index(row["node"]), ranks.index(row["component"])) for row in named} == {(1, 1), (5, 1), (2, 2), (4, 2)}


def test_what_is_wrong_is_told_by_column_and_row() -> None:
    texts = pa.table({"text": ["a text", None], "number": [0, -1]})
    with pytest.raises(corpusdb.BadInput, match="no column `body`; there are: text, number"):
        kernel.fingerprint(texts, text="body")
    with pytest.raises(corpusdb.BadInput, match="column `text`, row 1 has no value"):
        kernel.fingerprint(texts)
    with pytest.raises(corpusdb.BadInput, match="column `number`, row 1: -1 is negative; the order starts at 0"):
        kernel.fingerprint(texts.set_column(0, "text", [["a", "b"]]), order="number")
    with pytest.raises(corpusdb.BadPolicy, match="name the column"):
        kernel.fingerprint(texts, {"keep": "field:year"}, order="number")
    with pytest.raises(corpusdb.BadPolicy, match="this policy compares turns"):
        kernel.fingerprint(texts, {"profile": "chat"})
    with pytest.raises(corpusdb.BadInput, match="a rank has 24 bytes, got 1"):
        kernel.components(pa.table({"left": [b"x"], "right": [b"y"]}))
    empty = pa.record_batch(kernel.fingerprint(texts.slice(0, 0), order="number"))
    assert empty.num_rows == 0
    assert empty.schema.names[:2] == ["order", "rank"]
