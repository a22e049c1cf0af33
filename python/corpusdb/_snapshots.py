"""Durable names of moments."""

from __future__ import annotations

import json
from collections.abc import Iterator

from corpusdb import _native
from corpusdb._reports import Snapshot
from corpusdb.errors import NotFound

__all__ = ["Snapshots", "WriterSnapshots"]


class Snapshots:
    """The snapshots of a corpus, in the order of their names."""

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def list(self) -> list[Snapshot]:
        """All of them."""
        return [Snapshot(record) for record in json.loads(_native.snapshots(self._handle))]

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())

    def __getitem__(self, name: str) -> Snapshot:
        for snapshot in self:
            if snapshot.name == name:
                return snapshot
        known = ", ".join(snapshot.name for snapshot in self)
        raise NotFound(f"no snapshot `{name}`: there is {known or 'none'}")

    def __repr__(self) -> str:
        return repr(self.list())


class WriterSnapshots(Snapshots):
    """The snapshots of a corpus that is open for writing."""

    def create(self, name: str) -> Snapshot:
        """Names the present moment, durably."""
        return Snapshot.from_json(_native.create_snapshot(self._handle, name))
