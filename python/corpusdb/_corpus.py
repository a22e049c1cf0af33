"""A corpus that is open for reading, at its last commit."""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, Unpack

from corpusdb import _html, _native
from corpusdb._call import call, expand_keywords
from corpusdb._contamination import Contamination
from corpusdb._document import Document, document_id
from corpusdb._duplicates import Duplicates
from corpusdb._export import Exporting
from corpusdb._fields import Fields
from corpusdb._native import one_line
from corpusdb._options import DedupExplainOptions, InfoOptions, ReportOptions, SimilarOptions
from corpusdb._plan import Planning
from corpusdb._progress import ProgressOption, listening, logger, safe_lines
from corpusdb._reader import Readable
from corpusdb._signals import Signals
from corpusdb._snapshots import Snapshots
from corpusdb._table import Table
from corpusdb._tokenizers import Tokenizer, Tokenizers
from corpusdb.errors import CorpusError, KeyNotFound, NotFound
from corpusdb.reports import (
    CheckReport,
    CorpusReport,
    DedupExplanation,
    DocumentDuplicates,
    DuplicatesSummary,
    Info,
    LogEntry,
    Reject,
    SimilarReport,
    Stats,
    WhoReport,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Corpus"]

logger = logging.getLogger("corpusdb")

#: Values for `?` and `$1` in order, or for `$name` by name.
Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any] | None
#: Documents that an iterator reads at a time.
_DOCUMENTS = 64
#: Names of sources, fields and so on that `repr` shows, at most.
_NAMES = 8


class Corpus(Readable, Planning, Exporting):
    """A corpus that is open for reading.

    It shows the last commit at the time of opening, even while a writer adds further ones. Iterating gives the kept
    documents, and `len` counts them. `corpus[key]` is the newest document with a key, kept or not, and `key in corpus`
    says whether one exists.

    Use it in a `with` statement, or call `close`; rows, arrays and documents that you got stay usable. Threads may
    share it. Each process opens its own: after a fork every call raises `corpusdb.Forked`. A pickle holds the path and
    the options; unpickling opens the corpus again.
    """

    _mode = "r"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        memory: int | str | None = None,
        threads: int | None = None,
        shards: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        self._path = os.fspath(path)
        self._shards = _shard_paths(shards)
        self._memory = memory
        self._threads = threads
        if self._mode == "w" and (note := _native.conversion_note(self._path)) is not None:
            logger.warning(safe_lines(note))
        self._handle = _native.Handle(
            self._path, write=self._mode == "w", memory=self._memory, threads=threads, shards=self._shards
        )

    @property
    def path(self) -> str:
        """The directory."""
        return self._path

    @property
    def is_current(self) -> bool:
        """Whether nothing was committed since it was opened, and its folder still stands at its path.

        Where it is false, open the corpus again. Until then it goes on showing the folder and the commit that it opened.
        """
        return _native.is_current(self._handle)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._handle.is_closed

    def close(self) -> None:
        """Closes the corpus. Closing it again has no effect."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), self._path, self._memory, self._threads, self._shards)

    # Looking ----------------------------------------------------------------------------------------------------------

    def sql(
        self,
        statement: str,
        parameters: Parameters = None,
        *,
        snapshot: str | None = None,
        files: bool = False,
    ) -> Table:
        """Runs one SELECT over the tables of the corpus (docs/reference/sql.md lists them).

        `parameters` are the values of `?` or `$1` in the statement, in order, or those of `$name` by name:
        `sql("SELECT id FROM documents WHERE source = $s", {"s": source})`. They are bound as values and never become
        part of the statement, so they need no quotes. A value is a number, text, bytes, a date or time, None, or a list
        of these for `IN ($values)`.

        With `snapshot`, the table `documents` has only the documents that the snapshot keeps; the values of its
        columns, `kept` too, are today's. With `files`, the statement may read files of this machine:
        `read_parquet('scores.parquet')`, `read_csv`, `read_json`.

        Raises `corpusdb.BadQuery` when the statement cannot be run.
        """
        return Table(_native.sql(self._handle, statement, parameters, snapshot, files), statement)

    def count(
        self, where: str | None = None, parameters: Parameters = None, *, snapshot: str | None = None
    ) -> int:
        """The number of documents that satisfy a SQL condition over `documents`; without one, of all stored documents.

        `parameters` are values for the condition, as in `sql`. With `snapshot`, only documents that the snapshot keeps
        are counted; the condition sees today's values, `kept` too.
        """
        return self._handle.count(where, parameters, snapshot)

    def select(
        self, where: str | None = None, parameters: Parameters = None, *, snapshot: str | None = None
    ) -> NDArray[np.uint64]:
        """The ids of the documents that satisfy a SQL condition, ascending; without one, of all stored documents.

        `parameters` and `snapshot` are as in `count`.
        """
        return _native.select(self._handle, where, parameters, snapshot)

    @property
    def columns(self) -> list[str]:
        """The columns of the table `documents`, with the declared fields."""
        return list(self.schema)

    @property
    def schema(self) -> dict[str, str]:
        """The columns of the table `documents` with their types, as Arrow names them."""
        table = self.sql("SELECT * FROM documents LIMIT 0")
        return dict(zip(table.columns, table.types, strict=True))

    def head(self, n: int = 5) -> Table:
        """The first `n` stored documents with all their columns; `sample` gives random ones."""
        return self.sql("SELECT * FROM documents WHERE id < $1 ORDER BY id", [n])

    def describe(self) -> Stats:
        """The corpus in numbers: the same as `stats()`."""
        return self.stats()

    def sample(
        self,
        n: int = 5,
        where: str | None = "kept",
        parameters: Parameters = None,
        *,
        seed: int | Literal["random"] = 0,
        snapshot: str | None = None,
    ) -> list[Document]:
        """Draws `n` documents that satisfy a condition, uniformly without replacement; a seed always draws the same.

        `seed="random"` draws a new seed, which the logger `corpusdb` tells. `parameters` and `snapshot` are as in
        `count`. With a snapshot, the default `where` means kept by the snapshot.
        """
        if seed == "random":
            seed = secrets.randbits(32)
            logger.warning("drawn with seed %d", seed)
        where = None if snapshot is not None and where == "kept" else where
        return list(self._read(_native.sample(self._handle, n, where, parameters, seed, snapshot)))

    def document(self, document: int) -> Document:
        """The document with an id, with all that is stored about it."""
        (shown,) = _native.show(self._handle, [document_id(document)])
        return Document.from_json(shown)

    def documents(self, where: str | None = None, parameters: Parameters = None) -> Iterator[Document]:
        """Each document that satisfies a SQL condition, ascending by id, read as the loop asks for it.

        `parameters` are values for the condition, as in `sql`.
        """
        return self._read(self.select(where, parameters))

    def __iter__(self) -> Iterator[Document]:
        """Each kept document, ascending by id, read as the loop asks for it."""
        return self.documents("kept")

    def _read(self, ids: Sequence[int] | NDArray[np.uint64]) -> Iterator[Document]:
        for start in range(0, len(ids), _DOCUMENTS):
            for shown in _native.show(self._handle, [int(id) for id in ids[start : start + _DOCUMENTS]]):
                yield Document.from_json(shown)

    def find_key(self, key: str) -> list[int]:
        """The ids of the documents that were ingested with a key, newest last."""
        return _native.find_key(self._handle, key)

    def __getitem__(self, key: str | int) -> Document:
        """The newest document with a key; for a number, the document with that id.

        Raises `corpusdb.KeyNotFound`, which is a `KeyError`.
        """
        if not isinstance(key, str):
            return self.document(key)
        found = self.find_key(key)
        if not found:
            raise KeyNotFound(f"no document has the key {key}")
        return self.document(found[-1])

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return bool(self.find_key(key))
        try:
            return 0 <= document_id(key) < self._handle.counts()[1]
        except (TypeError, NotFound):
            return False

    def __len__(self) -> int:
        """The number of kept documents, as iterating gives them. `count()` counts all stored ones, kept or not."""
        return self._handle.counts()[2]

    def __bool__(self) -> bool:
        return True

    def tokens(self, document: int, tokenizer: str | None = None) -> NDArray[np.uint32]:
        """The stored token ids of a document, from the named tokenizer or the first one."""
        return _native.tokens(self._handle, document_id(document), tokenizer)

    def shown_tokens(self, document: int, tokenizer: str | None = None) -> list[dict[str, Any]]:
        """The tokens of a document: `id`, `text`, `trained` (whether it counts in the loss) and its `weight` there."""
        shown: list[dict[str, Any]] = json.loads(_native.shown_tokens(self._handle, document_id(document), tokenizer))["tokens"]
        return shown

    @expand_keywords(InfoOptions)
    def info(self, **options: Unpack[InfoOptions]) -> Info:
        """Policy, counts, sources, tokenizers, fields, commits, snapshots and plans.

        With `forecast` its `forecast` says what a corpus with so many bytes of text would need.
        """
        return Info.from_json(call("info", self._handle, **options))

    def stats(
        self, where: str | None = None, *, source: str | None = None, snapshot: str | None = None
    ) -> Stats:
        """The corpus in numbers: counts by source and language, quantiles of lengths and of declared numbers, and why
        documents are not kept and records were rejected.

        `where`, `source` and `snapshot` (the documents stored when it was made) restrict the documents. All numbers are
        exact, and no text is read.
        """
        return Stats.from_json(call("stats", self._handle, where=where, source=source, snapshot=snapshot))

    @expand_keywords(ReportOptions)
    def report(self, *, progress: ProgressOption = None, **options: Unpack[ReportOptions]) -> CorpusReport:
        """The content of a data card.

        It has sizes before and after dedup, lengths, duplicates with examples, documents that are not kept and why,
        declared numbers by source, domains, commits and snapshots.

        A file is written complete or not at all, and replaces only a file of the same kind. Entries that people filled
        in by hand in a description are kept.
        """
        return CorpusReport.from_json(call("report", self._handle, progress=progress, **options))

    def rejects(self, limit: int = 1000) -> list[Reject]:
        """The first `limit` records that could not be read, by source, path and number."""
        return [Reject(reject) for reject in _native.rejects(self._handle, limit)[0]]

    def log(self, limit: int = 20) -> list[LogEntry]:
        """The newest verbs that were run on the corpus, newest first, and the command that undoes each, or why none does."""
        return LogEntry.each(call("log", self._handle, limit=limit))

    # Duplicates -------------------------------------------------------------------------------------------------------

    def duplicates(self, document: int | None = None, *, source: str | None = None) -> Duplicates:
        """Removed duplicates with their witnesses: all, those of one document, or those removed from a source."""
        return Duplicates(self, _native.duplicates(self._handle, None if document is None else document_id(document), source))

    def duplicates_summary(
        self, *, largest: int = 10, source: str | None = None, by: str | Sequence[str] | None = None
    ) -> DuplicatesSummary:
        """All duplicates in numbers, with the largest clusters.

        `by` groups by one or several fields instead of by source. A timestamp may have a unit behind it:
        `published:month`.
        """
        return DuplicatesSummary.from_json(
            call("duplicates", self._handle, limit=largest, source=source, by=_names(by) or None)
        )

    def duplicates_matrix(self, by: str | Sequence[str] = "source", *, source: str | None = None) -> Table:
        """How many documents of each group were removed, by the group of their witnesses.

        A row is a pair of groups. The columns of `by` have the values of the removed documents, and `witness_NAME`
        those of the witnesses. `documents`, `exact` (of these, the exact duplicates) and `bytes` count the removed
        documents; `share` and `share_bytes` are their shares of the removed documents' group. `by` and `source` are as
        in `duplicates_summary`. No document is read.
        """
        names = _names(by)
        return Table(_native.duplicates_matrix(self._handle, names, source), f"duplicates by {', '.join(names)}")

    def document_duplicates(self, document: int, *, limit: int = 20, diff: bool = False) -> DocumentDuplicates:
        """A document and its duplicates: its witness or the documents it removed, shared bands, and its cluster."""
        return DocumentDuplicates.from_json(
            call("duplicates", self._handle, document=f"id:{document_id(document)}", limit=limit, diff=diff)
        )

    @expand_keywords(SimilarOptions)
    def similar(self, to: str | int, k: int = 10, **options: Unpack[SimilarOptions]) -> SimilarReport:
        """The stored documents most similar to a text, or to the document with an id. Nothing is ingested."""
        text, document = (to, None) if isinstance(to, str) else (None, f"id:{document_id(to)}")
        return SimilarReport.from_json(
            call("similar", self._handle, text=text, document=document, k=k, **options)
        )

    def who(
        self, *documents: int | str, where: str | None = None, world: int = 1, progress: ProgressOption = None
    ) -> WhoReport:
        """Which exports, epochs, streams, backups and snapshots had documents, also after their purge.

        Name documents by their ids or keys, or by a SQL condition (`where`). The answer is made of the table `outputs`;
        of epochs it has the rows, batches and steps, and the ranks of `world`, as long as the plan can be opened.
        """
        named = [
            f"key:{one}" if isinstance(one, str) else f"id:{document_id(one)}" for one in documents
        ] or None
        return WhoReport.from_json(
            call("who", self._handle, progress=progress, documents=named, where=where, world=world)
        )

    def diff(self, a: int, b: int) -> list[tuple[str, str]]:
        """Compares two texts word by word: parts that are `same`, `removed` (only in the first) or `added`."""
        return [(part["part"], part["text"]) for part in json.loads(_native.diff(self._handle, document_id(a), document_id(b)))]

    @expand_keywords(DedupExplainOptions)
    def explain_dedup(
        self, *, progress: ProgressOption = None, **options: Unpack[DedupExplainOptions]
    ) -> DedupExplanation:
        """Measures the effect and the cost of the policy in this corpus, or of another one. Nothing is written.

        With `sweep=True` the answer's `sweep.lines` say what each threshold and shingle size would remove.
        """
        return DedupExplanation.from_json(call("dedup explain", self._handle, progress=progress, **options))

    # Tokenizers, fields, snapshots, checks ----------------------------------------------------------------------------

    @property
    def tokenizers(self) -> Tokenizers:
        """The tokenizers of the corpus."""
        return Tokenizers(self._handle)

    def tokenizer(self, name: str | None = None) -> Tokenizer:
        """The named tokenizer, or the first one, to encode and decode with."""
        return Tokenizer(_native.encoder(self._handle, name))

    @property
    def fields(self) -> Fields:
        """The declared fields of the corpus."""
        return Fields(self._handle)

    @property
    def signals(self) -> Signals:
        """The signals (scores of texts) that can be stored, and which ones are."""
        return Signals(self._handle)

    @property
    def contamination(self) -> Contamination:
        """Suites of evaluation items, and the evidence of their items in the corpus."""
        return Contamination(self._handle)

    @property
    def snapshots(self) -> Snapshots:
        """The snapshots of the corpus: what each one keeps, and what changed between them."""
        return Snapshots(self._handle)

    def check(self, depth: str = "full", *, progress: ProgressOption = None) -> CheckReport:
        """Checks the corpus and returns the faults.

        `quick` checks the journal, bitmaps and counters. `full` also checks the checksums of every file. `deep` also
        recomputes all derived data.
        """
        with listening(progress) as listener:
            return CheckReport.from_json(_native.check(self._handle, depth, listener))

    def digest(self, *, progress: ProgressOption = None) -> str:
        """One hash over the content of the corpus; equal for equal input, however it was split or interrupted."""
        with listening(progress) as listener:
            return _native.digest(self._handle, listener)

    # Shown ------------------------------------------------------------------------------------------------------------

    #: What to call next: the last line of `repr`.
    _next = "next: .info(), .stats(), .sql(\"SELECT ...\").df(), .sample(), for document in corpus, corpus[\"KEY\"]"

    def _counts(self) -> str:
        try:
            commit, documents, kept = self._handle.counts()
        except CorpusError as error:
            return type(error).__name__.lower()
        return f"commit {commit}, {documents:,} documents, {kept:,} kept"

    def __repr__(self) -> str:
        head = f"<corpusdb.{type(self).__name__} {self._path!r}: {self._counts()}>"
        try:
            info = self.info()
        except CorpusError:
            # The corpus is closed, or belongs to another process: the first line says so.
            return head
        parts = {
            "sources": [f"{source.name} ({source.kept:,} kept)" for source in info.sources],
            "fields": [f"{field.name} {field.kind}" for field in info.fields],
            "tokenizers": [tokenizer.name for tokenizer in info.tokenizers],
            "snapshots": [snapshot.name for snapshot in info.snapshots],
            "plans": [str(plan.number) for plan in info.epochs],
        }
        lines = [f"  {name:<10}  {_listed(names)}" for name, names in parts.items() if names]
        empty = "next: .ingest(...)" if self._mode == "w" else 'next: open it with mode="w" and call .ingest(...)'
        next_calls = self._next if info.documents else empty
        return "\n".join([head, *lines, f"  {next_calls}"])

    def _repr_html_(self) -> str:
        if self._counts().startswith(("closed", "forked")):
            return _html.shown(_html.paragraph(_html.line(repr(self))))
        info = self.info()
        tokenizers = [tokenizer.name for tokenizer in info.tokenizers]
        names = ["documents", "kept", "kept, removed", "bytes", "kept bytes", *(f"kept tokens {name}" for name in tokenizers)]
        counts = [
            [source.documents, source.kept, source.bytes, source.kept_bytes]
            + [source.tokens.get(name) or 0 for name in tokenizers]
            for source in info.sources
        ]
        most = max((source.documents for source in info.sources), default=0) or 1
        rows: list[list[str | int]] = [
            [source.name, *row[:2], _html.strip(source.kept / most, at, of=source.documents / most), *row[2:]]
            for at, (source, row) in enumerate(zip(info.sources, counts, strict=True))
        ]
        if len(counts) > 1:
            total = list(map(sum, zip(*counts, strict=True)))
            rows.append(["total", *total[:2], _html.Drawing(), *total[2:]])
        head = _html.paragraph(f"<b>{_html.line(self._path)}</b>: {self._counts()}") + _html.note(info.policy)
        table = _html.table(["source", *names], rows, names=1, thousands=True) if counts else ""
        return _html.shown(head + table + _html.note(self._next))


def _shard_paths(shards: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    if isinstance(shards, str | os.PathLike):
        raise ValueError(f"shards must be a list of directories: write [{os.fspath(shards)!r}]")
    return tuple(os.fspath(shard) for shard in shards)


def _reopen(
    kind: type[Corpus], path: str, memory: int | str | None, threads: int | None, shards: tuple[str, ...] = ()
) -> Corpus:
    return kind(path, memory=memory, threads=threads, shards=shards)


def _listed(names: list[str]) -> str:
    """The first names, on one line without control characters."""
    shown = ", ".join(names[:_NAMES])
    return one_line(shown if len(names) <= _NAMES else f"{shown}, ... {len(names) - _NAMES:,} more")


def _names(by: str | Sequence[str] | None) -> list[str]:
    if by is None:
        return []
    return by.split(",") if isinstance(by, str) else list(by)
