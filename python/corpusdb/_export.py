"""Documents as files that other programs read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from corpusdb import _native
from corpusdb._call import call
from corpusdb._progress import ProgressOption
from corpusdb._report import Report

__all__ = ["Export", "ExportedFile", "Exporting"]


class ExportedFile(Report):
    """A file of an export."""

    _absent = {"partition": {}}

    name: str
    bytes: int
    rows: int
    blake3: str
    #: The values that its directory stands for, by column; none: documents without a value.
    partition: dict[str, str | None]


class Export(Report):
    """What an export wrote, as its manifest says."""

    _classes = {"files": ExportedFile}

    #: Rows and bytes of all files.
    rows: int
    bytes: int
    #: The commit that the corpus stood at.
    commit: int
    format: str
    compression: str
    #: Each with `name` and `type`.
    columns: list[Report]
    #: Every file, in the order in which they were written.
    files: list[ExportedFile]


class Exporting:
    """What a corpus can do with files that are not rows of a recipe: it has a handle."""

    _handle: _native.Handle

    def export(
        self,
        to: str | os.PathLike[str],
        where: str | None = None,
        *,
        format: str | None = None,
        columns: str | Iterable[str] | None = None,
        compression: str | None = None,
        shard_bytes: int | str | None = None,
        partition_by: str | Iterable[str] = (),
        all: bool = False,
        snapshot: str | None = None,
        duplicates: bool = False,
        separator: str | None = None,
        force: bool = False,
        threads: int | None = None,
        progress: ProgressOption = None,
    ) -> Export:
        """Writes kept documents to a file or a directory of files; the manifest is the answer.

        `where` narrows them down by a SQL condition. The name says the form (`.jsonl`, `.parquet`, `.arrow`, `.csv`,
        `.txt`; with `.zst` or `.gz` behind lines), or `format` does. With `partition_by` or `shard_bytes`, or under a name
        without an ending, a directory is made. The other options are those of `corpusdb export`.

        The output appears when it is whole. An export that was stopped goes on behind the files that it had finished. The
        same corpus and options give the same bytes. Raises `corpusdb.AlreadyExists` unless told to `force`.
        """
        return Export.from_json(call(
            "export", self._handle, progress=progress, threads=threads, to=to, where=where, format=format,
            columns=_several(columns), compression=compression, shard_bytes=shard_bytes,
            partition_by=_several(partition_by), all=all, snapshot=snapshot, duplicates=duplicates,
            separator=separator, force=force,
        ))

    def export_size(
        self,
        where: str | None = None,
        *,
        all: bool = False,
        snapshot: str | None = None,
        duplicates: bool = False,
    ) -> tuple[int, int]:
        """Documents that `export` would write, and bytes of their texts; nothing is written."""
        estimate = json.loads(call(
            "export", self._handle, to="estimate", where=where, all=all, snapshot=snapshot, duplicates=duplicates,
            dry_run=True,
        ))
        return estimate["documents"], estimate["text_bytes"]


def _several(names: str | Iterable[str] | None) -> list[str] | None:
    """One name, or several; None where nothing is said."""
    return [names] if isinstance(names, str) else None if names is None else list(names)
