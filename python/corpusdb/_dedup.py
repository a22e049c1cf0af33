"""Decides again which documents are kept."""

from __future__ import annotations

from typing import Unpack

from corpusdb import _native
from corpusdb._call import call, expand_keywords
from corpusdb._options import DedupRedoOptions
from corpusdb._progress import ProgressOption
from corpusdb.reports import RedoReport, SettleReport

__all__ = ["Dedup"]


class Dedup:
    """The dedup decisions of a corpus that is open for writing."""

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def __repr__(self) -> str:
        return "<corpusdb.Dedup>\n  next: .redo(threshold=..., dry_run=True), .settle(); corpus.explain_dedup()"

    @expand_keywords(DedupRedoOptions)
    def redo(self, *, progress: ProgressOption = None, **options: Unpack[DedupRedoOptions]) -> RedoReport:
        """Decides every document again under another policy, from stored sketches and texts; no input file is read.

        The present decisions stay in force until all new ones are made. After an interrupt the same call continues.
        Without an option the corpus's own policy is applied again.
        """
        return RedoReport.from_json(call("dedup redo", self._handle, progress=progress, **options))

    def settle(self, *, dry_run: bool = False, progress: ProgressOption = None) -> SettleReport:
        """Decides documents again whose candidates in crowded buckets were not all compared, for want of memory."""
        return SettleReport.from_json(call("dedup settle", self._handle, progress=progress, dry_run=dry_run))
