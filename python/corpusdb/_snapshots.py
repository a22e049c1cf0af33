"""Durable names of moments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from corpusdb import _native
from corpusdb._call import call
from corpusdb._named import Named
from corpusdb.reports import GroupChanges, Snapshot, SnapshotDetails, SnapshotDiff, SnapshotDropReport

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
        return Snapshot.each(call("snapshot list", self._handle))

    def show(self, name: str) -> SnapshotDetails:
        """What a snapshot keeps of every source, and the stored plans that draw from it."""
        return SnapshotDetails.from_json(call("snapshot show", self._handle, name=name))

    def diff(self, earlier: str, later: str | None = None, *, by: str = "source") -> SnapshotDiff:
        """What changed from a snapshot to a later one, or to now: added, kept again, removed and why, in all and by group.

        `by` counts by a declared field that is no float, or by `language`, in the place of the source; values of fields are
        today's.
        """
        in_all, *groups = call("snapshot diff", self._handle, earlier=earlier, later=later, by=by).splitlines()
        diff = json.loads(in_all)
        del diff["type"]
        return SnapshotDiff({**diff, "groups": [GroupChanges.from_json(group).to_dict() for group in groups]})

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

    def drop(self, name: str, *, force: bool = False) -> SnapshotDropReport:
        """Forgets a snapshot; no document and no token goes with it.

        Refused while stored plans draw from it, unless `force`: these pin their documents and give the same rows as
        before, but no recipe can name the snapshot any more.
        """
        return SnapshotDropReport.from_json(call("snapshot drop", self._handle, name=name, force=force))


def _changed(changes: _native.Changes) -> Iterator[ChangedDocument]:
    count = _FIRST
    while found := changes.next_changes(count):
        for one in found:
            yield ChangedDocument(*one)
        count = min(count * 2, _MOST)
