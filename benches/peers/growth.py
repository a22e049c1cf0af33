"""Documents without end for incremental.py: a function of (seed, number), with the word frequencies of real text."""

import json
from collections import Counter
from functools import lru_cache

import numpy as np
import zstandard

import documents

SEED = 20240229
BLOCK = 100
LEAST, MOST = 80, 160
# From this length on two changed words leave a similarity of at least 0.8, below it one.
LONG = 100


def vocabulary(files):
    """Words and their counts in these files, most frequent first."""
    counts = Counter()
    for file in files:
        for record in documents.read(file):
            counts.update(documents.words(record["text"]))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


class Stream:
    """Documents by number. Of a hundred, the one numbered 50 is a near copy of an earlier one; of two hundred, the
    last is an exact copy of an earlier one; all others are drawn word by word."""

    def __init__(self, words, seed=SEED):
        self.words = np.array([word for word, _ in words], dtype=object)
        counts = np.array([count for _, count in words], dtype=np.float64)
        self.cumulative = np.cumsum(counts / counts.sum())
        self.seed = seed
        self.block = lru_cache(maxsize=64)(self._block)

    def _block(self, block):
        random = np.random.Generator(np.random.PCG64([self.seed, block]))
        lengths = random.integers(LEAST, MOST + 1, BLOCK)
        places = np.searchsorted(self.cumulative, random.random(int(lengths.sum())))
        drawn = self.words[np.minimum(places, len(self.words) - 1)]
        return np.split(drawn, np.cumsum(lengths)[:-1])

    def original(self, number):
        """The words of document `number`, were it no copy."""
        return self.block(number // BLOCK)[number % BLOCK].tolist()

    def copied(self, number, below, salt):
        """An original with a number under `below`, chosen by (number, salt), and the generator that chose it."""
        random = np.random.Generator(np.random.PCG64([self.seed, salt, number]))
        chosen = int(random.integers(0, below))
        while kind(chosen) != "original":
            chosen -= 1
        return chosen, random

    def near(self, words, random):
        """A copy with one or two words changed."""
        copy = list(words)
        changes = 1 + int(random.integers(0, 2)) if len(copy) >= LONG else 1
        for place in random.choice(len(copy), changes, replace=False):
            copy[place] = f"changed{int(random.integers(0, 1 << 30))}"
        return copy

    def base(self, number):
        """(words, kind) of document `number` of the corpus."""
        what = kind(number)
        if what == "original":
            return self.original(number), what
        chosen, random = self.copied(number, number, 1)
        words = self.original(chosen)
        return (words if what == "exact" else self.near(words, random)), what

    def new(self, number, stored):
        """(words, kind) of newcomer `number` to a corpus of `stored` documents: one in 20 is a near copy and one in
        100 an exact copy of a stored document."""
        if number % 20 == 10 or number % 100 == 99:
            chosen, random = self.copied(number, stored, stored)
            words = self.original(chosen)
            return (words, "exact") if number % 100 == 99 else (self.near(words, random), "near")
        # Far from every number of the corpus, and no two sizes alike.
        return self.original((1 << 40) + stored * 1_000 + number), "original"


def kind(number):
    if number % 200 == 199:
        return "exact"
    return "near" if number % 100 == 50 else "original"


def prose(words):
    """The words as sentences."""
    parts = list(words)
    for at in range(0, len(parts), 12):
        parts[at] = parts[at].capitalize()
        last = min(at + 11, len(parts) - 1)
        parts[last] += "."
        if at + 5 < last:
            parts[at + 5] += ","
    return " ".join(parts)


def write(path, items):
    """A .jsonl.zst of (id, words, kind); returns how many of each kind, and the bytes of text."""
    counts = Counter()
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file, zstandard.ZstdCompressor(level=3).stream_writer(file) as out:
        for name, words, what in items:
            text = prose(words)
            counts[what] += 1
            counts["bytes"] += len(text.encode())
            out.write((json.dumps({"id": name, "text": text}, ensure_ascii=False) + "\n").encode())
    partial.rename(path)
    return dict(counts)
