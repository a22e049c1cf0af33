"""Exports documents to files that other programs read."""

from __future__ import annotations

import json
import os
from typing import Unpack

from corpusdb import _native
from corpusdb._call import call, expand_keywords
from corpusdb._options import ExportOptions
from corpusdb._progress import ProgressOption
from corpusdb.reports import Export

__all__ = ["Exporting"]


class Exporting:
    """The exports of a corpus: a base class of `Corpus`."""

    _handle: _native.Handle

    @expand_keywords(ExportOptions)
    def export(
        self,
        to: str | os.PathLike[str],
        where: str | None = None,
        *,
        force: bool = False,
        record: bool = True,
        threads: int | None = None,
        progress: ProgressOption = None,
        **options: Unpack[ExportOptions],
    ) -> Export:
        """Writes kept documents to a file or a directory of files, and returns the manifest.

        `where` restricts the documents by a SQL condition. With `partition_by` or `shard_bytes`, or if `to` has no
        ending, the output is a directory.

        The output appears when it is complete. An interrupted export continues after its last finished file. The same
        corpus and options give the same bytes. Raises `corpusdb.AlreadyExists` if `to` exists, unless `force` is set.

        The export leaves an entry in the table `outputs`, which `who` reads, unless `record=False`; `recorded` is its
        number, None where the corpus cannot be written to.
        """
        return Export.from_json(call(
            "export", self._handle, progress=progress, threads=threads, to=to, where=where, force=force, record=record,
            **options
        ))

    def export_size(
        self, where: str | None = None, *, all: bool = False, snapshot: str | None = None, duplicates: bool = False
    ) -> tuple[int, int]:
        """How many documents `export` would write, and the bytes of their texts. Nothing is written."""
        estimate = json.loads(call(
            "export", self._handle, to="estimate", where=where, all=all, snapshot=snapshot, duplicates=duplicates,
            dry_run=True,
        ))
        return estimate["documents"], estimate["text_bytes"]
