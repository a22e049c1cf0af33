"""One document, with all that is stored about it."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

from corpusdb import _html
from corpusdb._native import one_line
from corpusdb.errors import NotFound
from corpusdb.reports import DocumentDetails

__all__ = ["Document", "document_id"]


def document_id(document: object) -> int:
    """The id as a number; raises for anything else."""
    try:
        if isinstance(document, bool):
            raise TypeError
        number = operator.index(document)  # type: ignore[arg-type]
    except TypeError:
        key = f", not a key: corpus[{document!r}] finds a document by its key" if isinstance(document, str) else ""
        raise TypeError(f"document: expected an id (a number){key}, got {type(document).__name__}") from None
    if number < 0:
        raise NotFound(f"document id {number} is out of range: ids start at 0")
    return number


class Document(DocumentDetails, Mapping[str, Any]):
    """A stored document. Its attributes are `.text`, `.key`, `.standing` and the others below.

    As a mapping it has the fields of its record, with declared fields: `document["url"]`, `dict(document)`.
    """

    @property
    def is_kept(self) -> bool:
        """Whether the document is kept."""
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
        values = [
            (name, value)
            for name, value in self._values().items()
            # The field of a signal has the same value.
            if name.removeprefix("signals.") == name or name.removeprefix("signals.") not in self.fields
        ]
        text = self.text if len(self.text) <= 2000 else self.text[:1999] + "…"
        fields = _html.table([], values, names=1) if values else ""
        return _html.shown(_html.paragraph(_html.line(head)) + fields + _html.text(text))
