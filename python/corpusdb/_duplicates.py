"""Removed documents with their witnesses."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corpusdb import _html
from corpusdb._native import one_line
from corpusdb.errors import CorpusError

if TYPE_CHECKING:
    from corpusdb import _native
    from corpusdb._document import Document
    from corpusdb._types import OpenCorpus

__all__ = ["DuplicatePair", "Duplicates", "Witness"]

#: Pairs that are read at a time, at first and at most.
_FIRST, _MOST = 16, 1024
#: Characters of two texts that a notebook shows side by side, at most, and pairs that are shown of many.
_CHARACTERS, _SHOWN = 2000, 10


@dataclass(frozen=True, slots=True)
class Witness:
    """The kept document for which a duplicate was removed."""

    id: int
    key: str
    source: str
    _corpus: OpenCorpus = field(repr=False, compare=False)

    def document(self) -> Document:
        """The witness as a `Document`."""
        return self._corpus.document(self.id)


@dataclass(frozen=True, slots=True)
class DuplicatePair:
    """A removed document with its witness."""

    id: int
    key: str
    source: str
    witness: Witness
    #: `exact` (equal bytes) or `near`.
    kind: str
    #: Exact Jaccard similarity.
    jaccard: float
    #: The share of its shingles that the witness has, too, and the share of the witness's shingles that it has.
    containment_removed: float
    containment_witness: float
    _corpus: OpenCorpus = field(repr=False, compare=False)

    def document(self) -> Document:
        """The removed document as a `Document`."""
        return self._corpus.document(self.id)

    def _repr_html_(self) -> str:
        head = f"{self.kind} duplicate, similarity {self.jaccard:.3f}"
        own, other = self.containment_removed, self.containment_witness
        shares = f"the kept text has {own:.1%} of its shingles, and it has {other:.1%} of those of the kept text"
        shown = _html.paragraph(f"<b>{_html.line(head)}</b>: {shares}")
        try:
            parts = self.diff()
        except CorpusError as error:
            return _html.shown(shown + _html.note(f"{self.key}, {self.witness.key}: {error}"))
        kept = _marked([part for part in parts if part[0] != "added"], "del")
        gone = _marked([part for part in parts if part[0] != "removed"], "ins")
        sides = [("kept", self.witness.source, self.witness.key, kept), ("removed", self.source, self.key, gone)]
        columns = "".join(
            f'<div>{_html.note(f"{standing}: {key} ({source})")}<pre tabindex="0">{text}</pre></div>'
            for standing, source, key, text in sides
        )
        return _html.shown(f'{shown}<div class="diff">{columns}</div>')

    def diff(self) -> list[tuple[str, str]]:
        """How its text differs from the witness's, word by word: see `Corpus.diff`."""
        return self._corpus.diff(self.witness.id, self.id)


def _marked(parts: list[tuple[str, str]], mark: str) -> str:
    """Parts of a text, those that the other one has not in `mark`; cut where it is long."""
    made, left = "", _CHARACTERS
    for kind, text in parts:
        shown = "\n".join(map(_html.line, text[:left].split("\n")))
        made += shown if kind == "same" else f"<{mark}>{shown}</{mark}>"
        left -= len(text)
        if left <= 0:
            return made + "…"
    return made


class Duplicates:
    """Pairs in the order of the removed documents' ids, read as the loop asks for them."""

    __slots__ = ("_corpus", "_ready", "_pairs", "_count")

    def __init__(self, corpus: OpenCorpus, pairs: _native.Pairs) -> None:
        self._corpus = corpus
        self._pairs = pairs
        self._ready: deque[tuple[int, str, str, int, str, str, str, float, float, float]] = deque()
        self._count = _FIRST

    def __iter__(self) -> Duplicates:
        return self

    #: What to call next: the last line of `repr`.
    _next = "next: for pair in duplicates: pair.key, pair.witness.key, pair.jaccard, pair.diff()"

    def __repr__(self) -> str:
        try:
            is_more = self._read_ahead(_SHOWN + 1)
        except CorpusError as error:
            return f"<corpusdb.Duplicates: {type(error).__name__.lower()}>"
        lines = [
            one_line(f"  {pair[7]:.3f}  {pair[6]:<5}  {pair[1]}  of  {pair[4]}")
            for pair in itertools.islice(self._ready, _SHOWN)
        ]
        head = f"<corpusdb.Duplicates: an iterator over pairs{'' if lines else ', of which none is left'}>"
        return "\n".join([head, *lines, *(["  …"] if is_more else []), f"  {self._next}"])

    def _repr_html_(self) -> str:
        try:
            is_more = self._read_ahead(_SHOWN + 1)
        except CorpusError as error:
            return _html.shown(_html.paragraph(_html.line(f"{repr(self)}: {error}")))
        pairs = list(itertools.islice(self._ready, _SHOWN))
        if not pairs:
            return _html.shown(_html.paragraph("no duplicate is left to be read"))
        rows = [[pair[1], pair[2], pair[6], _html.Amount(f"{pair[7]:.3f}"), pair[4], pair[5]] for pair in pairs]
        head = ["removed", "source", "kind", "similarity", "kept", "source"]
        more = f"the next {len(pairs)}, and more" if is_more else ""
        return _html.shown(_html.table(head, rows, names=1) + _html.note(more) + _html.note(self._next))

    def _read_ahead(self, count: int) -> bool:
        """Reads until `count` pairs are ready; whether there are as many."""
        while len(self._ready) < count:
            read = self._pairs.next_pairs(self._count)
            if not read:
                return False
            self._count = min(self._count * 2, _MOST)
            self._ready.extend(read)
        return True

    def __next__(self) -> DuplicatePair:
        if not self._read_ahead(1):
            raise StopIteration
        number, key, source, witness, witness_key, witness_source, kind, jaccard, removed, other = self._ready.popleft()
        found = Witness(witness, witness_key, witness_source, self._corpus)
        return DuplicatePair(number, key, source, found, kind, jaccard, removed, other, self._corpus)
