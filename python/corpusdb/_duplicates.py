"""Removed documents with their witnesses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corpusdb import _html

if TYPE_CHECKING:
    from corpusdb import _native
    from corpusdb._document import Document
    from corpusdb._types import OpenCorpus

__all__ = ["DuplicatePair", "Duplicates", "Witness"]

#: Pairs that are read at a time, at first and at most.
_FIRST, _MOST = 16, 1024
#: Characters of two texts that a notebook shows side by side, at most.
_SHOWN = 2000


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
        marks = {"removed": "del", "added": "ins"}
        parts, left = [], _SHOWN
        for kind, text in self.diff():
            shown, mark = _html.line(text[:left]), marks.get(kind)
            parts.append(f"<{mark}>{shown}</{mark}>" if mark else shown)
            left -= len(text)
            if left <= 0:
                parts.append("…")
                break
        head = f"{self.kind} duplicate {self.key} of {self.witness.key}: similarity {self.jaccard:.3f}"
        return _html.paragraph(f"<b>{_html.line(head)}</b>") + _html.paragraph("".join(parts))

    def diff(self) -> list[tuple[str, str]]:
        """How its text differs from the witness's, word by word: see `Corpus.diff`."""
        return self._corpus.diff(self.witness.id, self.id)


class Duplicates:
    """Pairs in the order of the removed documents' ids, read as the loop asks for them."""

    __slots__ = ("_corpus", "_ready", "_pairs", "_count")

    def __init__(self, corpus: OpenCorpus, pairs: _native.Pairs) -> None:
        self._corpus = corpus
        self._pairs = pairs
        self._ready: Iterator[tuple[int, str, str, int, str, str, str, float, float, float]] = iter(())
        self._count = _FIRST

    def __iter__(self) -> Duplicates:
        return self

    def __repr__(self) -> str:
        return (
            "<corpusdb.Duplicates: an iterator over pairs>\n"
            "  next: for pair in duplicates: pair.key, pair.witness.key, pair.jaccard, pair.diff()"
        )

    def __next__(self) -> DuplicatePair:
        pair = next(self._ready, None)
        if pair is None:
            self._ready = iter(self._pairs.next_pairs(self._count))
            self._count = min(self._count * 2, _MOST)
            pair = next(self._ready)
        number, key, source, witness, witness_key, witness_source, kind, jaccard, removed, other = pair
        found = Witness(witness, witness_key, witness_source, self._corpus)
        return DuplicatePair(number, key, source, found, kind, jaccard, removed, other, self._corpus)
