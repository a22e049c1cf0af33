"""Deciding again which documents are kept."""

from __future__ import annotations

from typing import Unpack

from corpusdb import _native
from corpusdb._call import call
from corpusdb._keywords import spelt_out
from corpusdb._policy import Decision, policy_settings
from corpusdb._progress import ProgressOption, listening
from corpusdb._reports import RedoReport, SettleReport

__all__ = ["Dedup"]


class Dedup:
    """The dedup decisions of a corpus that is open for writing."""

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def __repr__(self) -> str:
        return "<corpusdb.Dedup>\n  next: .redo(threshold=..., dry_run=True), .settle(), and of the corpus .explain_dedup()"

    @spelt_out(Decision)
    def redo(
        self, *, dry_run: bool = False, progress: ProgressOption = None, **settings: Unpack[Decision]
    ) -> RedoReport:
        """Decides every document again under another policy, from stored sketches and texts: nothing is read again.

        `normaliser="web"` goes over to the newest version of the words of `web`, `"web@1"` to that of earlier releases.
        The decisions in force stay until all others are made. After an interrupt the same call goes on. Without a
        setting the corpus's own policy is applied again.
        """
        with listening(progress) as listener:
            return RedoReport.from_json(_native.redo(self._handle, policy_settings(settings), dry_run, listener))

    def settle(self, *, dry_run: bool = False, progress: ProgressOption = None) -> SettleReport:
        """Compares what crowded buckets left out for want of memory, and decides those documents again."""
        return SettleReport.from_json(call("dedup settle", self._handle, progress=progress, dry_run=dry_run))
