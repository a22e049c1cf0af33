"""Protocols for corpora and plans, for files that the classes themselves import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from corpusdb._batch import Batch
from corpusdb._document import Document
from corpusdb._loader import Loader

__all__ = ["OpenCorpus", "PlanRows"]


class OpenCorpus(Protocol):
    """A corpus that shows its documents: `Corpus`."""

    def document(self, document: int) -> Document:
        """The document with an id."""

    def diff(self, a: int, b: int) -> list[tuple[str, str]]:
        """How the text of one document differs from that of another."""


class PlanRows(Protocol):
    """A plan whose rows are read: `Plan`."""

    @property
    def hash(self) -> str:
        """blake3 of the plan, in hexadecimal."""

    @property
    def epochs(self) -> int:
        """The number of its epochs."""

    @property
    def loader(self) -> Callable[..., Loader]:
        """Makes a loader for one rank."""

    def rows(self, epoch: int = 0) -> int:
        """The number of rows of an epoch."""

    def batches(self, epoch: int = 0) -> int:
        """The number of global batches of an epoch."""

    def rows_at(
        self, numbers: Sequence[int], *, epoch: int = 0, views: Sequence[str] | None = None, as_: Any = "numpy"
    ) -> list[Batch]:
        """Rows by their numbers, in the given order."""
