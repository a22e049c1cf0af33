"""Small corpora for tests: prose from a generator with a seed, so that every run sees the same documents."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import corpusdb

WORDS = (
    "amber bridge candle distant ember forest garden harbour island journey kettle lantern meadow northern orchard "
    "paper quiet river silver timber under valley window yellow zephyr acorn bramble cobble drizzle eleven fathom "
    "gravel hollow ivory jasper kindle ladder marble nettle opal pebble quill rafter saddle thistle umber velvet willow"
).split()


def prose(seed: int, words: int = 60) -> str:
    """A text of its own for each seed."""
    draw = random.Random(seed)
    return " ".join(draw.choice(WORDS) for _ in range(words))


def page(number: int, **fields: Any) -> dict[str, Any]:
    """A page with an address and a text that no other one has."""
    return {"url": f"https://a.example/{number}", "text": prose(number), "quality": number / 100, **fields}


def nearly(number: int) -> str:
    """The text of a page with one word changed: a near duplicate."""
    return prose(number) + " changed"


def pages(count: int) -> list[dict[str, Any]]:
    """Pages 0 to below `count`."""
    return [page(number) for number in range(count)]


#: Pages of the corpus that reading tests share: 40, of which the first three have near duplicates and one an exact one.
PAGES, NEAR, EXACT = 40, 3, 1


def build(path: Path) -> Path:
    """The corpus that reading tests share."""
    corpusdb.create(path, fields={"quality": float, "site": "keyword", "year": int}).close()
    with corpusdb.open(path, mode="w", memory="256MiB") as w:
        w.ingest((page(n, site="a.example" if n % 2 else "b.example", year=2000 + n) for n in range(PAGES)),
                 source="web", id_field="url")
        copies = [{"url": f"copy-{n}", "text": nearly(n)} for n in range(NEAR)]
        copies += [{"url": f"same-{n}", "text": prose(20 + n)} for n in range(EXACT)]
        w.ingest(copies, source="mirror", id_field="url")
        w.tokenizers.train("own", vocab_size=400)
        w.snapshots.create("first")
    return path


def digest(path: Path) -> str:
    """What the corpus means, in one hash."""
    with corpusdb.open(path) as db:
        return db.digest()
