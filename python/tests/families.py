"""Families of similar documents, and what a corpus decides about them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import corpora

import corpusdb

SOURCES = ("web", "books")
KEEPS = ("first", "longest", "source-priority:books", "field:year")


def family(seed: int, count: int) -> list[dict[str, Any]]:
    """Documents of two sources with edits, exact copies, other spellings, short and empty texts among them."""
    draw = random.Random(seed)
    texts: list[str] = []
    for number in range(count):
        kind, earlier = draw.randrange(10), draw.choice(texts) if texts else "a first text"
        words = earlier.split()
        if kind < 2:
            text = earlier
        elif kind < 6:
            for _ in range(draw.randrange(1, 5)):
                words[draw.randrange(len(words))] = f"edit{draw.randrange(20)}"
            text = " ".join(words)
        elif kind == 6:
            text = earlier.upper() + " !"
        elif kind == 7:
            text = draw.choice(["\u200b", "one two", "three four five"])
        else:
            text = corpora.prose(seed * 1000 + number, draw.randrange(8, 90))
        texts.append(text)
    cut = count // 2
    return [
        {"number": n, "key": f"k{n}", "source": SOURCES[n >= cut], "text": text, "year": draw.choice([None, 1999, 2000, 2001])}
        for n, text in enumerate(texts)
    ]


def told(rows: Any) -> list[tuple[Any, ...]]:
    """Key, standing, witness, similarity and cluster of each row of an answer, in the order of the documents."""
    found = sorted(rows.collect(), key=lambda row: row["order"])
    return [(row["key"], row["standing"], row["witness"], row["jaccard"], row["cluster"]) for row in found]


def ingested(path: Path, documents: list[dict[str, Any]], policy: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Key, standing, witness, similarity and cluster of each document, as a corpus has them."""
    corpusdb.create(path, fields={"year": int}, **policy).close()
    with corpusdb.open(path, mode="w", memory="128MiB") as w:
        for source in SOURCES:
            w.ingest((d for d in documents if d["source"] == source), source=source, id_field="key")
        rows = w.sql("SELECT d.key, d.standing, o.key, d.jaccard, c.key FROM documents d LEFT JOIN documents o ON d.dup_of = o.id "
                     "LEFT JOIN documents c ON d.cluster = c.id ORDER BY d.id").fetchall()
    return rows
