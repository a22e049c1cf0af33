"""A corpus that is open for writing, by one process at a time."""

from __future__ import annotations

import logging
import operator
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from corpusdb import _native
from corpusdb._call import call, expand_keywords, keyword_json
from corpusdb._contamination import WriterContamination
from corpusdb._corpus import Corpus
from corpusdb._dedup import Dedup
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
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Writer"]

logger = logging.getLogger("corpusdb")


class Writer(Corpus):
    """A corpus that is open for writing: it holds the lock until it is closed.

    It reads what it has committed. Closing it gives the lock back whatever is still held: tables can be read afterwards,
    as long as nothing else was committed, and iterators that were not read to their end are over. Threads may share it: they read while one of them writes, and calls that write wait
    for one another. Every call that writes may be interrupted (Ctrl-C): it stops at its next safe point with the corpus
    consistent, and the same call again goes on.
    """

    _mode = "w"
    _next = "next: .ingest(...), .sql(\"SELECT ...\").df(), .dedup, .tokenizers, .snapshots; .close() gives the lock back"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a corpus open for writing cannot be pickled: one process writes; open it for reading elsewhere")

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
        """Ingests documents; what is there already is recognised, exact and near duplicates are removed.

        `data` is one of:

        * a path, a pattern or a list of them: JSON, CSV, Parquet, Arrow, web archives and texts, plain or compressed;
          directories, also of a dataset that `save_to_disk` wrote;
        * anything with `__arrow_c_stream__`: a table of pyarrow, Polars, pandas or DuckDB, a `datasets.Dataset`;
        * an iterable of mappings of fields. It is iterated on the calling thread, and what it raises comes back unchanged.

        `source` is the source the documents belong to; with `source_from` that of records which name none in this field.
        `id_field` names the field that identifies a record: new content under the same id supersedes the old.
        `text_field` names the text (by default the first of text, content, raw_content, document, body), and `map` has
        fields under other names, ours first: `{"text": "body", "language": "lang"}`. `name` stands where the path of a
        file would for what is in no file: give the same one when the same records come again. With `where` only records
        come in for which this SQL condition is true, over their fields as they are kept and over `key`, `source`, `text`,
        `bytes`, `chars` and `meta`: `"score > 0.5 AND lang = 'de'"`.

        Raises `corpusdb.BadInput` for what cannot be read; what was committed before stays.
        """
        given = told_apart(data)
        with listening(progress) as listener:
            told, alarms = _native.ingest(self._handle, given, name, keyword_json(source=source, **options), dry_run, listener)
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
        """Brings in documents with the decisions that `corpusdb.spark` made about them, without deciding again.

        `directory` is what `corpusdb.spark.write_load` wrote, here or in a store (`s3://` and the like). What is stored is
        what an ingest of the same files would have stored. The corpus must have the policy that they were decided with, and
        of other documents none but those that they were decided against. What the rows say is checked; how similar removed
        documents are to their witnesses, and the token ids that came along, of one in 64 of them, or with `check="all"` of
        all. Of a load that was written in shards the corpus takes `shard`, counted from 0. After an interrupt the same
        call goes on.

        Raises `corpusdb.BadInput` for a row that cannot be true, by file and row: nothing of its batch is stored, what was
        committed before stays.
        """
        if check not in ("sample", "all"):
            raise ValueError(f"check: {check!r} is not one of 'sample', 'all'")
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
        force: bool = False,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> RemovalReport | PurgeReport:
        """Removes documents, by id or key or by a SQL condition: they stay stored, and are neither kept nor come back.

        `block` says what the removal keeps out from now on, beside new content under the same keys: `exact` equal texts,
        `normalised` those equal but for case, spacing and punctuation, `similar` those as similar as duplicates are;
        `None` nothing. `reason`, the condition and the time are kept with the commit: the table `removals` has them.
        With `purge` they are erased, as `purge` does it.
        """
        if purge:
            return self.purge(
                documents,
                where=where,
                block=block,
                reason=reason,
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
        force: bool = False,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> PurgeReport:
        """Erases documents: text, tokens, fields and key are gone from the disk, and nothing brings them back.

        What is removed already is erased likewise, and a key that was purged before counts as `unchanged`. `block` and
        `reason` are those of `remove`, but for `similar`, which needs the text. Refused while snapshots or plans show the
        documents, unless `force`: the snapshots lose them, the plans cannot be opened any more. Without documents it
        finishes a purge that was stopped. `prove` searches every row and file afterwards.

        The corpus is opened again for it under its lock, so what was handed out and not read is given up, as by `close`.
        """
        ids: list[int] = []
        keys: list[str] = []
        if documents is not None or where is not None:
            ids, keys = self._named(documents, where)
        removal = _removal(block, reason)
        with listening(progress) as listener:
            told = _native.purge(self._handle, ids, keys, removal, where, (force, dry_run), listener)
        return PurgeReport.from_json(told)

    def prove(
        self, file: str | os.PathLike[str] | None = None, *, progress: ProgressOption = None
    ) -> Certificate:
        """Searches every row and every file of the corpus for all that was ever purged; true when nothing is left.

        `file` is written as the certificate: JSON, with every purged document by its number.
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
        """Takes removals back: the documents and what they blocked are decided again."""
        selected = self._selected(documents, where)
        with listening(progress) as listener:
            return RemovalReport.from_json(_native.restore(self._handle, selected, dry_run, listener))

    def drop_rejects(
        self,
        *,
        source: str | None = None,
        path: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> DropRejectsReport:
        """Forgets records that could not be read: all, those of `source`, those of a file or of the files in a directory.

        `path` is what `rejects` tells of them, or the beginning of it up to a `/`. What the files still give comes back
        when they are read again (`ingest(.., reread=True)`).
        """
        return DropRejectsReport.from_json(
            call("rejects drop", self._handle, progress=progress, source=source, path=path, dry_run=dry_run)
        )

    def _selected(self, documents: Any, where: str | None) -> list[int]:
        ids, keys = self._named(documents, where)
        for key in keys:
            found = self.find_key(key)
            if not found:
                raise KeyNotFound(f"nothing was changed: no document has the key {key}")
            ids.extend(found)
        return ids

    def _named(self, documents: Any, where: str | None) -> tuple[list[int], list[str]]:
        """The ids and the keys of documents that are named; the ids of those of a condition."""
        if (documents is None) == (where is None):
            raise TypeError("give documents (ids or keys) or where= (a SQL condition)")
        if where is not None:
            return self.select(where).tolist(), []
        if isinstance(documents, (int, str)) or not isinstance(documents, Iterable):
            documents = [documents]
        ids: list[int] = []
        keys: list[str] = []
        stored = self._handle.counts()[1]
        for at, document in enumerate(documents):
            if isinstance(document, str):
                keys.append(document)
                continue
            try:
                number = operator.index(document)
            except TypeError:
                kind = type(document).__name__
                raise TypeError(f"documents[{at}]: expected an id (a number) or a key (text), got {kind}") from None
            if 0 <= number < stored:
                ids.append(number)
            else:
                raise NotFound(f"no document {document}: the corpus holds ids 0 to below {stored}")
        return ids, keys

    @property
    def tokenizers(self) -> WriterTokenizers:
        """The tokenizers of the corpus: add, train, extend, drop."""
        return WriterTokenizers(self._handle)

    @property
    def dedup(self) -> Dedup:
        """Deciding again: `redo` under another policy, `settle` what was left out."""
        return Dedup(self._handle)

    @property
    def fields(self) -> WriterFields:
        """The declared fields of the corpus: add, set, compute, drop."""
        return WriterFields(self._handle)

    @property
    def signals(self) -> WriterSignals:
        """The scores of texts that can be stored: add, drop."""
        return WriterSignals(self._handle)

    @property
    def contamination(self) -> WriterContamination:
        """Suites of evaluation items: add, drop, and what of them is in the corpus."""
        return WriterContamination(self._handle)

    @property
    def snapshots(self) -> WriterSnapshots:
        """The snapshots of the corpus; `create` names the present moment, `rename` and `drop` take names away."""
        return WriterSnapshots(self._handle)

    def compact(self, *, progress: ProgressOption = None) -> CompactReport:
        """Rewrites the files into their most compact form; the bytes in tables before and after are in the answer.

        Ctrl-C stops it between pieces of some 256 MiB: nothing is lost, and what was compacted stays so.
        """
        return CompactReport.from_json(call("compact", self._handle, progress=progress))


def _several(names: str | Iterable[str]) -> list[str]:
    """One name, or several."""
    return [names] if isinstance(names, str) else list(names)


def _removal(block: str | None, reason: str | None) -> str:
    """What a removal is asked for with."""
    return keyword_json(block=block, no_block=block is None, reason=reason)
