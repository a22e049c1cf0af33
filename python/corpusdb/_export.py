"""Documents as files that other programs read."""

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
    """What a corpus can do with files that are not rows of a recipe: it has a handle."""

    _handle: _native.Handle

    @expand_keywords(ExportOptions)
    def export(
        self,
        to: str | os.PathLike[str],
        where: str | None = None,
        *,
        force: bool = False,
        threads: int | None = None,
        progress: ProgressOption = None,
        **options: Unpack[ExportOptions],
    ) -> Export:
        """Writes kept documents to a file or a directory of files; the manifest is the answer.

        `where` narrows them down by a SQL condition. The name says the form (`.jsonl`, `.parquet`, `.arrow`, `.csv`,
        `.txt`; with `.zst` or `.gz` behind lines), or `format` does. With `partition_by` or `shard_bytes`, or under a
        name without an ending, a directory is made.

        The output appears when it is whole. An export that was stopped goes on behind the files that it had finished. The
        same corpus and options give the same bytes. Raises `corpusdb.AlreadyExists` unless told to `force`.
        """
        return Export.from_json(call(
            "export", self._handle, progress=progress, threads=threads, to=to, where=where, force=force, **options
        ))

    def export_size(
        self, where: str | None = None, *, all: bool = False, snapshot: str | None = None, duplicates: bool = False
    ) -> tuple[int, int]:
        """Documents that `export` would write, and bytes of their texts; nothing is written."""
        estimate = json.loads(call(
            "export", self._handle, to="estimate", where=where, all=all, snapshot=snapshot, duplicates=duplicates,
            dry_run=True,
        ))
        return estimate["documents"], estimate["text_bytes"]
