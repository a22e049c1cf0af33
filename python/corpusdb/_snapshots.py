"""Durable names of moments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from corpusdb import _native
from corpusdb._call import call
from corpusdb._named import Named
from corpusdb._reports import DroppedSnapshot, Snapshot, SnapshotDetails, SnapshotDiff

__all__ = ["ChangedDocument", "Snapshots", "WriterSnapshots"]

#: Documents that are read at a time, at first and at most.
_FIRST, _MOST = 16, 1024


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """A document that is another matter in the later of two moments."""

    id: int
    key: str
    source: str
    #: `added`, `kept_again`, `removed` (it was kept) or `not_kept` (it came since).
    change: str
    #: Why it is not kept in the later moment.
    reason: str | None
    #: The kept document that it duplicates, where that is the reason.
    witness: int | None
    witness_key: str | None
    #: The newer document of its key, where that is the reason.
    successor: int | None


class Snapshots(Named[Snapshot]):
    """The snapshots of a corpus, in the order of their names."""

    _what = "snapshot"
    _next = "next: .show(name), .diff(earlier, later), .changes(...), and of a writer .create(name), .drop(name)"

    def _told(self, thing: Snapshot) -> str:
        return f"commit {thing.commit}, {thing.kept:,} documents kept"

    def list(self) -> list[Snapshot]:
        """All of them."""
        return [Snapshot(json.loads(line)) for line in call("snapshot list", self._handle).splitlines()]

    def show(self, name: str) -> SnapshotDetails:
        """What a snapshot keeps of every source, and the stored plans that draw from it."""
        return SnapshotDetails.from_json(call("snapshot show", self._handle, name=name))

    def diff(self, earlier: str, later: str | None = None, *, by: str = "source") -> SnapshotDiff:
        """What changed from a snapshot to a later one, or to now: added, kept again, removed and why, in all and by group.

        `by` counts by a declared field that is no float, or by `language`, in the place of the source; values of fields are
        today's.
        """
        return SnapshotDiff.from_json(_native.diff_snapshots(self._handle, earlier, later, by))

    def changes(self, earlier: str, later: str | None = None) -> Iterator[ChangedDocument]:
        """Each document that `diff` counts, ascending by id, read as they are asked for."""
        return _changed(_native.snapshot_changes(self._handle, earlier, later))


class WriterSnapshots(Snapshots):
    """The snapshots of a corpus that is open for writing."""

    def create(self, name: str) -> Snapshot:
        """Names the present moment, durably."""
        return Snapshot.from_json(call("snapshot create", self._handle, name=name))

    def rename(self, old: str, new: str) -> Snapshot:
        """Gives a snapshot another name; refused while a stored plan draws from it."""
        return Snapshot.from_json(call("snapshot rename", self._handle, old=old, new=new))

    def drop(self, name: str, *, force: bool = False) -> DroppedSnapshot:
        """Forgets a snapshot; no document and no token goes with it.

        Refused while stored plans draw from it, unless `force`: these pin their documents and give the same rows as
        before, but no recipe can name the snapshot any more.
        """
        return DroppedSnapshot.from_json(_native.drop_snapshot(self._handle, name, force))


def _changed(changes: _native.Changes) -> Iterator[ChangedDocument]:
    count = _FIRST
    while found := changes.next_changes(count):
        for one in found:
            yield ChangedDocument(*one)
        count = min(count * 2, _MOST)
