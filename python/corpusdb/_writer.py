"""A corpus that is open for writing, in one process at a time."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from corpusdb import _native
from corpusdb._call import call, expand_keywords, keyword_json
from corpusdb._contamination import WriterContamination
from corpusdb._corpus import Corpus
from corpusdb._dedup import Dedup
from corpusdb._document import document_id
from corpusdb._fields import WriterFields
from corpusdb._ingest import Input, told_apart
from corpusdb._native import one_line
from corpusdb._options import BulkLoadOptions, IngestOptions
from corpusdb._progress import ProgressOption, listening, safe_lines
from corpusdb._signals import WriterSignals
from corpusdb._snapshots import WriterSnapshots
from corpusdb._tokenizers import WriterTokenizers
from corpusdb.errors import KeyNotFound, NotFound
from corpusdb.reports import (
    Certificate,
    CompactReport,
    DropRejectsReport,
    IngestReport,
    LoadReport,
    PurgeReport,
    RemovalReport,
    SourceRenameReport,
    UndoReport,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Writer"]

logger = logging.getLogger("corpusdb")


class Writer(Corpus):
    """A corpus that is open for writing: it holds the lock until it is closed.

    It reads its own commits. Closing it always releases the lock. Afterwards tables can be read until another commit is
    made, and unfinished iterators raise `corpusdb.Closed`. Threads may share it: they read while one of them writes,
    and writing calls wait for one another. You can interrupt every writing call with Ctrl-C: it stops at its next safe
    point, the corpus stays consistent, and the same call continues.
    """

    _mode = "w"
    _next = "next: .ingest(...), .sql(\"SELECT ...\").df(), .dedup, .tokenizers, .snapshots; .close() releases the lock"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a writer cannot be pickled, because only one process writes: open the corpus for reading in the others"
        )

    @expand_keywords(IngestOptions)
    def ingest(
        self,
        data: Input,
        *,
        source: str,
        name: str = "records",
        dry_run: bool = False,
        progress: ProgressOption = None,
        **options: Unpack[IngestOptions],
    ) -> IngestReport:
        """Ingests documents. Records that are stored already are skipped, exact and near duplicates are removed.

        `data` is one of:

        * a path, a pattern or a list of them: JSON, CSV, Parquet, Arrow, web archives and texts, plain or compressed;
          directories, also of a dataset that `save_to_disk` wrote;
        * data with `__arrow_c_stream__`: a table of pyarrow, Polars, pandas or DuckDB, a `datasets.Dataset`;
        * an iterable of mappings of fields. It runs on the calling thread, and an exception that it raises is raised
          unchanged.

        `source` is the source of the documents. `name` takes the place of a file's path for data that is not in a file:
        use the same name when the same records come again.

        Raises `corpusdb.BadInput` for input that cannot be read. Earlier commits stay.
        """
        given = told_apart(data)
        with listening(progress) as listener:
            told, alarms = _native.ingest(self._handle, given, name, keyword_json(source=source, **options), dry_run,
            listener)
        for alarm in alarms:
            logger.warning("alarm of the ingest of %s: %s", one_line(source), safe_lines(alarm))
        return IngestReport.from_json(told)

    @expand_keywords(BulkLoadOptions)
    def bulk_load(
        self,
        directory: str | os.PathLike[str],
        *,
        check: Literal["sample", "all"] = "sample",
        progress: ProgressOption = None,
        **options: Unpack[BulkLoadOptions],
    ) -> LoadReport:
        """Loads documents with the decisions that `corpusdb.spark` made about them, without deciding again.

        `directory` is one that `corpusdb.spark.write_load` wrote, on disk or in an object store (`s3://` and so on).
        The result is the same as that of an ingest of the same files. The corpus must have the policy of the decisions,
        and no documents except those that the new ones were decided against.

        Every row is checked for consistency. The similarities of removed documents to their witnesses, and the token
        ids, are recomputed for one in 64 of them; with `check="all"`, for all. After an interrupt the same call
        continues.

        Raises `corpusdb.BadInput` for an inconsistent row, with its file and row. Its batch is not stored; earlier
        commits stay.
        """
        if check not in ("sample", "all"):
            raise ValueError(f"check must be 'sample' or 'all', got {check!r}")
        return LoadReport.from_json(call(
            "bulk-load", self._handle, progress=progress, directory=directory, check=check == "all", **options
        ))

    @overload
    def remove(
        self,
        documents: int | str | Iterable[int | str] | NDArray[np.uint64] | None = None,
        *,
        where: str | None = None,
        block: str | None = "exact",
        reason: str | None = None,
        purge: Literal[False] = False,
        copies: bool = False,
        force: bool = False,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> RemovalReport: ...

    @overload
    def remove(
        self,
        documents: int | str | Iterable[int | str] | NDArray[np.uint64] | None = None,
        *,
        where: str | None = None,
        block: str | None = "exact",
        reason: str | None = None,
        purge: Literal[True],
        copies: bool = False,
        force: bool = False,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> PurgeReport: ...

    def remove(
        self,
        documents: int | str | Iterable[int | str] | NDArray[np.uint64] | None = None,
        *,
        where: str | None = None,
        block: str | None = "exact",
        reason: str | None = None,
        purge: bool = False,
        copies: bool = False,
        force: bool = False,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> RemovalReport | PurgeReport:
        """Removes documents by id, by key or by a SQL condition. They stay stored, but are not kept any more.

        `block` is what the removal blocks from now on, in addition to new content under the same keys: `exact` blocks
        equal texts, `normalised` also texts that differ only in case, spacing and punctuation, `similar` all texts that
        would be duplicates; None blocks nothing. The table `removals` has the `reason`, the condition and the time.
        With `purge` the documents are erased, as by `purge`.
        """
        if purge:
            return self.purge(
                documents,
                where=where,
                block=block,
                reason=reason,
                copies=copies,
                force=force,
                dry_run=dry_run,
                progress=progress,
            )
        selected = self._selected(documents, where)
        removal = _removal(block, reason)
        with listening(progress) as listener:
            told = _native.remove(self._handle, selected, removal, where, dry_run, listener)
        return RemovalReport.from_json(told)

    def purge(
        self,
        documents: int | str | Iterable[int | str] | NDArray[np.uint64] | None = None,
        *,
        where: str | None = None,
        block: str | None = "exact",
        reason: str | None = None,
        copies: bool = False,
        force: bool = False,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> PurgeReport:
        """Erases documents: deletes text, tokens, fields and key from the disk, for good.

        Other documents may hold the same text: `copies_left` of the report counts and lists them. With `copies` these
        are erased too: those of the same bytes, equal under the normaliser, and near duplicates by the policy.

        Removed documents can be purged, too. A key that was purged before counts as `unchanged`. `block` and `reason`
        are as in `remove`, without `similar`, which needs the text. Raises an error while snapshots or plans have the
        documents, unless `force` is set: then the snapshots lose them, and the plans cannot be opened any more. A call
        without documents finishes a purge that was stopped. `prove` searches every row and file afterwards.

        A purge reopens the corpus under its lock, so unfinished iterators end, as by `close`.
        """
        ids: list[int] = []
        keys: list[str] = []
        if documents is not None or where is not None:
            ids, keys = self._named(documents, where)
        removal = _removal(block, reason)
        with listening(progress) as listener:
            told = _native.purge(self._handle, ids, keys, removal, where, (copies, force, dry_run), listener)
        return PurgeReport.from_json(told)

    def prove(
        self, file: str | os.PathLike[str] | None = None, *, progress: ProgressOption = None
    ) -> Certificate:
        """Searches every row and file of the corpus for all purged data. The answer is true if nothing was found.

        The certificate is written to `file`: JSON, with the number of every purged document.
        """
        path = None if file is None else os.fspath(file)
        with listening(progress) as listener:
            found = _native.prove_purge(self._handle, path, time.time_ns() // 1000, listener)
        return Certificate.from_json(found)

    def restore(
        self,
        documents: int | str | Iterable[int | str] | NDArray[np.uint64] | None = None,
        *,
        where: str | None = None,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> RemovalReport:
        """Undoes removals. The documents, and those that they blocked, are decided again."""
        selected = self._selected(documents, where)
        with listening(progress) as listener:
            return RemovalReport.from_json(_native.restore(self._handle, selected, where, dry_run, listener))

    def undo(
        self, commit: int | None = None, *, dry_run: bool = False, progress: ProgressOption = None
    ) -> UndoReport:
        """Undoes a verb: the last one that still stands, or that of a commit (`corpus.log()` lists them).

        Ingests, removals, restorations, redos and changes of fields are undone by the verbs that lead back, and can be
        undone again. A verb that a later one stands on is refused.
        """
        return UndoReport.from_json(call("undo", self._handle, progress=progress, commit=commit, dry_run=dry_run))

    def rename_source(
        self, old: str, new: str, *, force: bool = False, dry_run: bool = False, progress: ProgressOption = None
    ) -> SourceRenameReport:
        """Renames a source. A file that is ingested under the new name finds its documents unchanged.

        Raises an error while a stored plan draws from it, and unless `force` is set while purged documents of it block
        records by their keys, which are no longer stored: such blocks hold under the old name only.
        """
        return SourceRenameReport.from_json(
            call("source rename", self._handle, progress=progress, old=old, new=new, force=force, dry_run=dry_run)
        )

    def drop_rejects(
        self,
        *,
        source: str | None = None,
        path: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> DropRejectsReport:
        """Drops rejects (records that could not be read): all, those of a source, or those of a file or directory.

        `path` is a path as in `rejects`, or its beginning up to a `/`. When a file is read again
        (`ingest(.., reread=True)`), records that still cannot be read are stored as rejects again.
        """
        with listening(progress) as listener:
            report = _native.drop_rejects(self._handle, keyword_json(source=source, path=path), dry_run, listener)
        return DropRejectsReport.from_json(report)

    def _selected(self, documents: Any, where: str | None) -> list[int]:
        ids, keys = self._named(documents, where)
        for key in keys:
            found = self.find_key(key)
            if not found:
                raise KeyNotFound(f"no document has the key {key}; nothing was changed")
            ids.extend(found)
        return ids

    def _named(self, documents: Any, where: str | None) -> tuple[list[int], list[str]]:
        """The ids and keys that are named; none if a condition selects."""
        if (documents is None) == (where is None):
            raise TypeError("give documents (ids or keys) or where= (a SQL condition), not both")
        if where is not None:
            return [], []
        if isinstance(documents, (int, str)) or not isinstance(documents, Iterable):
            documents = [documents]
        elif isinstance(documents, (bytes, bytearray, Mapping)) or hasattr(documents, "columns"):
            # Iterating over these types would give bytes, or names of fields and columns.
            kind = type(documents).__name__
            raise TypeError(f"documents: expected ids (numbers) or keys (texts), got {kind}")
        ids: list[int] = []
        keys: list[str] = []
        stored = self._handle.counts()[1]
        for at, document in enumerate(documents):
            if isinstance(document, str):
                keys.append(document)
                continue
            try:
                number = document_id(document)
            except TypeError:
                kind = type(document).__name__
                raise TypeError(f"documents[{at}]: expected an id (a number) or a key (text), got {kind}") from None
            if number < stored:
                ids.append(number)
            else:
                has = f"the corpus holds ids 0 to {stored - 1}" if stored else "the corpus holds none"
                raise NotFound(f"no document {document}: {has}")
        return ids, keys

    @property
    def tokenizers(self) -> WriterTokenizers:
        """The tokenizers of the corpus: add, train, extend, drop."""
        return WriterTokenizers(self._handle)

    @property
    def dedup(self) -> Dedup:
        """Decides again: `redo` under another policy, `settle` documents whose candidates were not all compared."""
        return Dedup(self._handle)

    @property
    def fields(self) -> WriterFields:
        """The declared fields of the corpus: add, set, compute, drop."""
        return WriterFields(self._handle)

    @property
    def signals(self) -> WriterSignals:
        """The signals (scores of texts) of the corpus: add, drop."""
        return WriterSignals(self._handle)

    @property
    def contamination(self) -> WriterContamination:
        """Suites of evaluation items, and the evidence of their items in the corpus: add, judge, drop."""
        return WriterContamination(self._handle)

    @property
    def snapshots(self) -> WriterSnapshots:
        """The snapshots of the corpus: create, rename, drop."""
        return WriterSnapshots(self._handle)

    def compact(self, *, progress: ProgressOption = None) -> CompactReport:
        """Rewrites the files into their most compact form. The answer has the bytes of all tables before and after.

        Ctrl-C stops it between pieces of about 256 MiB. Nothing is lost, and finished pieces stay compact.
        """
        return CompactReport.from_json(call("compact", self._handle, progress=progress))


def _several(names: str | Iterable[str]) -> list[str]:
    """A name or several, as a list."""
    return [names] if isinstance(names, str) else list(names)


def _removal(block: str | None, reason: str | None) -> str:
    """The options of a removal as JSON."""
    return keyword_json(block=block, no_block=block is None, reason=reason)
