"""Snapshots: named states of the corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import overload

from corpusdb import _native
from corpusdb._call import call
from corpusdb._named import Named
from corpusdb._report import json_lines
from corpusdb.reports import GroupChanges, Snapshot, SnapshotDetails, SnapshotDiff, SnapshotDropReport

__all__ = ["ChangedDocument", "Snapshots", "WriterSnapshots"]

#: Documents that are read at a time, at first and at most.
_FIRST, _MOST = 16, 1024


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """A document whose state differs between two moments."""

    id: int
    key: str
    source: str
    #: `added`, `kept_again`, `removed` (it was kept before) or `not_kept` (new, but not kept).
    change: str
    #: Why it is not kept at the later moment; None if it is kept.
    reason: str | None
    #: Its witness (id and key), if it is a duplicate at the later moment.
    witness: int | None
    witness_key: str | None
    #: The newer document with its key, if it is superseded.
    successor: int | None


class Snapshots(Named[Snapshot]):
    """The snapshots of a corpus, in the order of their names."""

    _what = "snapshot"
    _next = "next: .show(name), .diff(earlier, later), .changes(...); of a writer: .create(name), .drop(name)"

    def _told(self, thing: Snapshot) -> str:
        return f"commit {thing.commit}, {thing.kept:,} documents kept"

    @overload
    def show(self, name: None = None) -> list[Snapshot]: ...
    @overload
    def show(self, name: str) -> SnapshotDetails: ...
    def show(self, name: str | None = None) -> list[Snapshot] | SnapshotDetails:
        """All snapshots, by name; or what one keeps, by source, and the stored plans that draw from it."""
        if name is None:
            return self._all()
        return SnapshotDetails.from_json(call("snapshot show", self._handle, name=name))

    def _all(self) -> list[Snapshot]:
        return Snapshot.each(call("snapshot show", self._handle))

    def diff(self, earlier: str, later: str | None = None, *, by: str = "source") -> SnapshotDiff:
        """Counts what changed from a snapshot to a later one, or to now: in total and by group.

        It counts documents added, kept again, and removed, with the reasons. `by` groups by a declared field that is
        not a float, or by `language`, instead of by source; the values of fields are today's.
        """
        in_all, *groups = json_lines(call("snapshot diff", self._handle, earlier=earlier, later=later, by=by))
        diff = json.loads(in_all)
        del diff["type"]
        return SnapshotDiff({**diff, "groups": [GroupChanges.from_json(group).to_dict() for group in groups]})

    def changes(self, earlier: str, later: str | None = None) -> Iterator[ChangedDocument]:
        """Each document that `diff` counts, ascending by id, read as the loop asks for it."""
        return _changed(_native.snapshot_changes(self._handle, earlier, later))


class WriterSnapshots(Snapshots):
    """The snapshots of a corpus that is open for writing."""

    def create(self, name: str) -> Snapshot:
        """Stores the present state of the corpus under a name."""
        return Snapshot.from_json(call("snapshot create", self._handle, name=name))

    def rename(self, old: str, new: str) -> Snapshot:
        """Renames a snapshot. Raises an error while a stored plan draws from it."""
        return Snapshot.from_json(call("snapshot rename", self._handle, old=old, new=new))

    def drop(self, name: str, *, force: bool = False) -> SnapshotDropReport:
        """Drops a snapshot. Its documents stay stored.

        Raises an error while stored plans draw from it, unless `force` is set. Such plans give the same rows as before,
        because they have their documents stored, but recipes cannot name the snapshot any more.
        """
        return SnapshotDropReport.from_json(call("snapshot drop", self._handle, name=name, force=force))


def _changed(changes: _native.Changes) -> Iterator[ChangedDocument]:
    count = _FIRST
    while found := changes.next_changes(count):
        for one in found:
            yield ChangedDocument(*one)
        count = min(count * 2, _MOST)
