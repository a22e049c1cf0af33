"""Memory: many calls of every kind leave nothing behind."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import corpora
import pytest

import corpusdb


def resident() -> int:
    """Bytes of this process in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise AssertionError


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a process holds")
@pytest.mark.parametrize(
    ("call", "times"),
    [
        (lambda db: db.sql("SELECT id, text FROM documents").to_pyarrow(), 150),
        (lambda db: db.sql("SELECT id, text FROM documents").__arrow_c_stream__(), 150),
        (lambda db: db.sql("SELECT id, text FROM documents").fetchall(), 150),
        (lambda db: [db.document(n).text for n in range(40)], 50),
        (lambda db: (db.tokens(0), db.select("kept"), db.count("quality > 0.5")), 300),
        (lambda db: list(db.duplicates()), 200),
        (lambda db: db.tokenizer("own").encode_batch([corpora.prose(n) for n in range(20)]), 50),
    ],
    ids=["arrow", "unread", "tuples", "documents", "arrays", "duplicates", "encode"],
)
def test_many_calls_are_flat(db: corpusdb.Corpus, call: Callable[[corpusdb.Corpus], object], times: int) -> None:
    for _ in range(times // 3):
        call(db)
    gc.collect()
    before = resident()
    for _ in range(times):
        call(db)
    gc.collect()
    assert resident() - before < 24 << 20


def test_a_long_iterator_is_never_held_whole(w: corpusdb.Writer) -> None:
    """Of 60,000 records of 2 kB, which would be 120 MB, a few lots are held; here counted, not weighed."""
    ahead = 0
    given = 0

    class Text(str):
        def __del__(self) -> None:
            nonlocal ahead
            ahead -= 1

    most = 0

    def records():  # type: ignore[no-untyped-def]
        nonlocal ahead, given, most
        for n in range(5000):
            ahead += 1
            given += 1
            most = max(most, ahead)
            yield {"text": Text(f"{n} " * 50)}

    w.ingest(records(), source="web")
    assert given == 5000 and most <= 2
