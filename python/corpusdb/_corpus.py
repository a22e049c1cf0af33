"""A corpus that is open for reading: the moment of its last commit."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack

from corpusdb import _html, _native
from corpusdb._call import call, expand_keywords
from corpusdb._contamination import Contamination
from corpusdb._document import Document
from corpusdb._duplicates import Duplicates
from corpusdb._export import Exporting
from corpusdb._fields import Fields
from corpusdb._native import one_line
from corpusdb._options import DedupExplainOptions, ReportOptions, SimilarOptions
from corpusdb._plan import Planning
from corpusdb._progress import ProgressOption, listening
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
    Reject,
    SimilarReport,
    Stats,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Corpus"]

#: Values of `?` and `$1` in their order, or of `$name` by name.
Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any] | None
#: Documents that are read at a time while many are.
_DOCUMENTS = 64
#: Names of sources, fields and the like that are shown.
_NAMES = 8


class Corpus(Planning, Exporting):
    """A corpus that is open for reading.

    It shows the last commit at the time of opening, also beside a writer, and goes on showing it. Iterating gives its
    kept documents, `len` counts them; `corpus[key]` is the newest document of a key, kept or not, and `key in corpus`
    says whether there is one.

    Use it in a `with` statement, or call `close`; what was handed out (rows, arrays, documents) stays whole. Threads may
    share it; processes open their own: after a fork every call is refused with `corpusdb.Forked`. Pickled, it is its
    path and options, and is opened again where it is unpickled.
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
        self._handle = _native.Handle(
            self._path, write=self._mode == "w", memory=self._memory, threads=threads, shards=self._shards
        )

    @property
    def path(self) -> str:
        """The directory."""
        return self._path

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._handle.is_closed

    def close(self) -> None:
        """Gives the corpus back; again is nothing."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), self._path, self._memory, self._threads, self._shards)

    # Looking -----------------------------------------------------------------------------------------------------------

    def sql(
        self,
        statement: str,
        parameters: Parameters = None,
        *,
        snapshot: str | None = None,
        files: bool = False,
    ) -> Table:
        """Runs one SELECT over the tables of the corpus (docs/reference/sql.md has them all).

        `parameters` are the values of `?` or `$1` in the statement, in their order, or those of `$name` by name:
        `sql("SELECT id FROM documents WHERE source = $s", {"s": source})`. They are bound as values and never become
        part of the statement, so they need no quotes. A value is a number, text, bytes, a date or time, None, or a list
        of these for `IN ($values)`.

        With `snapshot`, `documents` holds only what it keeps; its columns are today's, `kept` too. With `files`, the
        statement may read files of this machine: `read_parquet('scores.parquet')`, `read_csv`, `read_json`.

        Raises `corpusdb.BadQuery` when the statement cannot be run.
        """
        return Table(_native.sql(self._handle, statement, parameters, snapshot, files), statement)

    def count(
        self, where: str | None = None, parameters: Parameters = None, *, snapshot: str | None = None
    ) -> int:
        """Documents that satisfy a SQL condition over `documents`; all stored ones without.

        `parameters` are values for the condition, as `sql` has them. With `snapshot`, of those that it keeps; the columns
        of the condition are today's, `kept` too.
        """
        return self._handle.count(where, parameters, snapshot)

    def select(
        self, where: str | None = None, parameters: Parameters = None, *, snapshot: str | None = None
    ) -> NDArray[np.uint64]:
        """Ids of the documents that satisfy a SQL condition, ascending; of all stored ones without.

        `parameters` and `snapshot` are as `count` has them.
        """
        return _native.select(self._handle, where, parameters, snapshot)

    def sample(
        self,
        n: int = 5,
        where: str | None = "kept",
        parameters: Parameters = None,
        *,
        seed: int = 0,
        snapshot: str | None = None,
    ) -> list[Document]:
        """`n` documents of a condition, uniform without replacement; the same every time for the same seed.

        `parameters` and `snapshot` are as `count` has them; with a snapshot a `where` of `kept` alone is left out.
        """
        where = None if snapshot is not None and where == "kept" else where
        return list(self._read(_native.sample(self._handle, n, where, parameters, seed, snapshot)))

    def document(self, document: int) -> Document:
        """The document of that id, with everything that is known of it."""
        (shown,) = _native.show(self._handle, [_id(document)])
        return Document.from_json(shown)

    def documents(self, where: str | None = None, parameters: Parameters = None) -> Iterator[Document]:
        """Each document that satisfies a SQL condition, ascending by id, read as they are asked for.

        `parameters` are values for the condition, as `sql` has them.
        """
        return self._read(self.select(where, parameters))

    def __iter__(self) -> Iterator[Document]:
        """Each kept document, ascending by id, read as they are asked for."""
        return self.documents("kept")

    def _read(self, ids: Sequence[int] | NDArray[np.uint64]) -> Iterator[Document]:
        for start in range(0, len(ids), _DOCUMENTS):
            for shown in _native.show(self._handle, [int(id) for id in ids[start : start + _DOCUMENTS]]):
                yield Document.from_json(shown)

    def find_key(self, key: str) -> list[int]:
        """Ids of the documents that had a key, newest last."""
        return _native.find_key(self._handle, key)

    def __getitem__(self, key: str | int) -> Document:
        """The newest document of a key; with a number, the document of that id.

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
        return isinstance(key, int) and 0 <= key < self._handle.counts()[1]

    def __len__(self) -> int:
        """Kept documents, as many as iterating gives. `count()` is how many are stored, kept or not."""
        return self._handle.counts()[2]

    def __bool__(self) -> bool:
        return True

    def tokens(self, document: int, tokenizer: str | None = None) -> NDArray[np.uint32]:
        """The stored token ids of a document, by that tokenizer or the first one."""
        return _native.tokens(self._handle, _id(document), tokenizer)

    def shown_tokens(self, document: int, tokenizer: str | None = None) -> list[dict[str, Any]]:
        """The tokens of a document: `id`, `text`, whether it is `trained` on, and its `weight` in the loss."""
        shown: list[dict[str, Any]] = json.loads(_native.shown_tokens(self._handle, _id(document), tokenizer))["tokens"]
        return shown

    def info(self) -> Info:
        """Policy, counts, sources, tokenizers, fields, commits, snapshots and plans."""
        return Info.from_json(call("info", self._handle))

    def stats(
        self, where: str | None = None, *, source: str | None = None, snapshot: str | None = None
    ) -> Stats:
        """The corpus in numbers: by source and language, quantiles of lengths and declared numbers, why documents are
        not kept and records not read.

        Of the documents of a condition, of a source, of those that were stored when a snapshot was made. All numbers
        are exact, and no text is read.
        """
        return Stats.from_json(call("stats", self._handle, where=where, source=source, snapshot=snapshot))

    @expand_keywords(ReportOptions)
    def report(self, *, progress: ProgressOption = None, **options: Unpack[ReportOptions]) -> CorpusReport:
        """The corpus as a data card tells it: sizes before and after dedup, lengths, duplicates with examples, what is
        not kept and why, declared numbers by source, domains, commits and snapshots.

        A file is written whole or not at all, and a page takes no file of another kind's place. What is filled in by hand
        in a description stays.
        """
        return CorpusReport.from_json(call("report", self._handle, progress=progress, **options))

    def rejects(self, limit: int = 1000) -> list[Reject]:
        """The first records that could not be read, by source, path and number."""
        return [Reject(reject) for reject in _native.rejects(self._handle, limit)[0]]

    # Duplicates --------------------------------------------------------------------------------------------------------

    def duplicates(self, document: int | None = None, *, source: str | None = None) -> Duplicates:
        """Removed duplicates with what they matched: all, of one document, or of what was removed from a source."""
        return Duplicates(self, _native.duplicates(self._handle, None if document is None else _id(document), source))

    def duplicates_summary(
        self, *, largest: int = 10, source: str | None = None, by: str | Sequence[str] | None = None
    ) -> DuplicatesSummary:
        """All duplicates in numbers, with the largest clusters.

        `by` counts by a field in the place of the source, or by several; a timestamp may have a unit behind it, as in
        `published:month`.
        """
        return DuplicatesSummary.from_json(
            call("duplicates", self._handle, limit=largest, source=source, by=_names(by) or None)
        )

    def duplicates_matrix(self, by: str | Sequence[str] = "source", *, source: str | None = None) -> Table:
        """How many documents of each group were removed, and which group their witnesses are in.

        A row is a pair of groups: the values of the removed documents under the names of `by`, those of the witnesses
        under `witness_` and the name; `documents`, `exact` among them, `bytes`, and their `share` and `share_bytes` of the
        group of the removed. `by` and `source` are as `duplicates_summary` has them. No document is read.
        """
        names = _names(by)
        return Table(_native.duplicates_matrix(self._handle, names, source), f"duplicates by {', '.join(names)}")

    def document_duplicates(self, document: int, *, limit: int = 20, diff: bool = False) -> DocumentDuplicates:
        """A document among its duplicates: its witness or what it removed, the bands they share, its cluster."""
        return DocumentDuplicates.from_json(
            call("duplicates", self._handle, document=f"id:{_id(document)}", limit=limit, diff=diff)
        )

    @expand_keywords(SimilarOptions)
    def similar(self, to: str | int, k: int = 10, **options: Unpack[SimilarOptions]) -> SimilarReport:
        """The stored documents most similar to a text, or to the document of an id; nothing is ingested."""
        text, document = (to, None) if isinstance(to, str) else (None, f"id:{_id(to)}")
        return SimilarReport.from_json(
            call("similar", self._handle, text=text, document=document, k=k, **options)
        )

    def diff(self, a: int, b: int) -> list[tuple[str, str]]:
        """The texts of two documents, word by word: parts of kind `same`, `removed` (only in the first) or `added`."""
        return [(part["part"], part["text"]) for part in json.loads(_native.diff(self._handle, _id(a), _id(b)))]

    @expand_keywords(DedupExplainOptions)
    def explain_dedup(self, **options: Unpack[DedupExplainOptions]) -> DedupExplanation:
        """What the policy comes to in this corpus, measured; or what another one would change. Nothing is written."""
        return DedupExplanation.from_json(call("dedup explain", self._handle, **options))

    # Tokenizers, fields, snapshots, checks -----------------------------------------------------------------------------

    @property
    def tokenizers(self) -> Tokenizers:
        """The tokenizers of the corpus."""
        return Tokenizers(self._handle)

    def tokenizer(self, name: str | None = None) -> Tokenizer:
        """The tokenizer of that name, or the first, to encode and decode with."""
        return Tokenizer(_native.encoder(self._handle, name))

    @property
    def fields(self) -> Fields:
        """The declared fields of the corpus."""
        return Fields(self._handle)

    @property
    def signals(self) -> Signals:
        """The scores of texts that can be stored, and which of them are."""
        return Signals(self._handle)

    @property
    def contamination(self) -> Contamination:
        """Suites of evaluation items, and what of them is in the corpus."""
        return Contamination(self._handle)

    @property
    def snapshots(self) -> Snapshots:
        """The snapshots of the corpus: what each holds, and what changed between them."""
        return Snapshots(self._handle)

    def check(self, depth: str = "full", *, progress: ProgressOption = None) -> CheckReport:
        """What is not as it must be.

        `quick` looks at journal, bitmaps and counters, `full` at the checksums of every file too, and `deep` computes
        everything that is derived again.
        """
        with listening(progress) as listener:
            return CheckReport.from_json(_native.check(self._handle, depth, listener))

    def digest(self, *, progress: ProgressOption = None) -> str:
        """One hash over what the corpus means; equal for equal input, however it was split or interrupted."""
        with listening(progress) as listener:
            return _native.digest(self._handle, listener)

    # Shown -------------------------------------------------------------------------------------------------------------

    #: What to ask next, as the end of what is shown of it.
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
            # Closed, or of another process: the head says so.
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
            return _html.paragraph(_html.line(repr(self)))
        info = self.info()
        tokenizers = [tokenizer.name for tokenizer in info.tokenizers]
        names = ["source", "documents", "kept", "bytes", "kept bytes", *(f"kept tokens {name}" for name in tokenizers)]
        counts = [
            [source.documents, source.kept, source.bytes, source.kept_bytes]
            + [source.tokens.get(name) or 0 for name in tokenizers]
            for source in info.sources
        ]
        rows: list[list[str | int]] = [[source.name, *row] for source, row in zip(info.sources, counts, strict=True)]
        rows.append(["total", *map(sum, zip(*counts, strict=True))])
        head = f"<b>{_html.line(self._path)}</b>: {self._counts()}<br><small>{_html.line(info.policy)}</small>"
        return _html.paragraph(head) + _html.table(names, rows, names=1, thousands=True)


def _id(document: int) -> int:
    """An id, or why it is none."""
    try:
        number = operator.index(document)
    except TypeError:
        key = f", not a key: corpus[{document!r}] finds the document of one" if isinstance(document, str) else ""
        raise TypeError(f"document: expected an id (a number){key}, got {type(document).__name__}") from None
    if number < 0:
        raise NotFound(f"no document {number}: ids begin at 0")
    return number


def _shard_paths(shards: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    if isinstance(shards, str | os.PathLike):
        raise ValueError(f"shards is a list of directories; [{os.fspath(shards)!r}] is one")
    return tuple(os.fspath(shard) for shard in shards)


def _reopen(
    kind: type[Corpus], path: str, memory: int | str | None, threads: int | None, shards: tuple[str, ...] = ()
) -> Corpus:
    return kind(path, memory=memory, threads=threads, shards=shards)


def _listed(names: list[str]) -> str:
    """The first names of many, on one line that a terminal does not obey."""
    shown = ", ".join(names[:_NAMES])
    return one_line(shown if len(names) <= _NAMES else f"{shown}, ... {len(names) - _NAMES:,} more")


def _names(by: str | Sequence[str] | None) -> list[str]:
    if by is None:
        return []
    return by.split(",") if isinstance(by, str) else list(by)
