"""One document: everything that is known of it."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

from corpusdb._native import one_line
from corpusdb._report import Report

__all__ = ["Cluster", "Document", "Match"]


class Match(Report):
    """The document that explains why another one is not kept."""

    #: How the two relate: `exact`, `near` or `superseded`.
    kind: str
    #: Id, key and source of the witness, or of the successor.
    witness: int
    witness_key: str
    witness_source: str
    #: Exact Jaccard similarity; none for a successor.
    jaccard: float | None
    #: Share of this document's shingles that the witness has, and of the witness's that this one has.
    containment_removed: float | None
    containment_witness: float | None


class Cluster(Report):
    """A witness and the documents it removed."""

    #: The witness, which names the cluster.
    id: int
    #: Documents, the witness included.
    size: int
    #: The first 20 removed ones.
    members: list[int]


class Document(Report, Mapping[str, Any]):
    """A stored document: `.text`, `.key`, `.standing` and what else is known of it are attributes.

    As a mapping it gives the fields that it came with, the declared ones included: `document["url"]`, `dict(document)`.
    """

    _classes = {"match": Match, "cluster": Cluster}

    _absent = {"blocked_by": [], "chat_template": None}

    #: Its number, given in the order of commits and never again.
    id: int
    #: The key it was ingested with; without one, the file and the number of its record.
    key: str
    #: The source it belongs to.
    source: str
    #: The file it was read from, and the records before it there.
    path: str | None
    number: int
    #: The commit that added it.
    commit: int
    #: Length of its text: UTF-8 bytes, characters, words after normalisation.
    bytes: int
    chars: int
    words: int
    #: `kept`, or why it is not: `exact`, `near`, `superseded`, `removed`, `purged`, `blocked`, `empty`.
    standing: str
    #: The document that explains why it is not kept.
    match: Match | None
    #: The removed documents that keep it out, when it is blocked: the first 20.
    blocked_by: list[Report]
    #: The chat template that wrote its text, if one did.
    chat_template: Report | None
    #: Its cluster; none for a document that is neither kept nor a duplicate.
    cluster: Cluster | None
    #: Tokens of each tokenizer; none where it was never encoded.
    tokens: dict[str, int | None]
    #: Its language, when known.
    language: str | None
    #: Values of declared fields; none where it has none.
    fields: dict[str, Any]
    #: The other fields, as they were read.
    metadata: dict[str, Any]
    #: Its text.
    text: str

    @property
    def is_kept(self) -> bool:
        """Whether it is kept."""
        return self.standing == "kept"

    def _values(self) -> dict[str, Any]:
        return {**self.metadata, **{name: value for name, value in self.fields.items() if value is not None}}

    def __getitem__(self, name: str) -> Any:
        return self._values()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __bool__(self) -> bool:
        return True

    def _summary(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:59] + "…"
        return one_line(f"<corpusdb.Document {self.id} {self.key!r} ({self.source}, {self.standing}) {text!r}>")

    __repr__ = _summary

    def _repr_html_(self) -> str:
        head = f"document {self.id}: {self.key} (source {self.source}, {self.standing}, {self.bytes:,} bytes)"
        if self.match is not None:
            similar = "" if self.match.jaccard is None else f", similarity {self.match.jaccard:.3f}"
            head += f"; {self.match.kind} of document {self.match.witness} ({self.match.witness_key}{similar})"
        values = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
            for name, value in self._values().items()
        )
        text = self.text if len(self.text) <= 2000 else self.text[:1999] + "…"
        return f"<p>{html.escape(head)}</p><table>{values}</table><pre>{html.escape(text)}</pre>"
