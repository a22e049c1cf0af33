"""Mistakes that a type checker finds: each line that ends in an `# expected` comment is one, and no other is."""

from __future__ import annotations

import corpusdb

with corpusdb.open("crawl", mode="w") as w:
    w.ingest("a.jsonl", source=5)  # expected
    w.ingest("a.jsonl", sources="web")  # expected
    w.sql("SELECT 1", parameter=[1])  # expected
    w.export("a.jsonl", colums=["id"])  # expected
    w.dedup.redo(treshold=0.7)  # expected

corpusdb.create("crawl", treshold=0.7)  # expected
corpusdb.create("crawl", fields={"quality": "number"})  # expected
corpusdb.open("crawl", mode="a")  # expected
corpusdb.open("crawl").ingest("a.jsonl", source="web")  # expected
