"""Making and opening corpora."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, Unpack, overload

from corpusdb import _native
from corpusdb._call import call, expand_keywords
from corpusdb._corpus import Corpus
from corpusdb._fields import FieldKind, kind_name
from corpusdb._options import DedupExplainOptions, InitOptions
from corpusdb._progress import ProgressOption
from corpusdb._writer import Writer
from corpusdb.reports import DedupExplanation, RepairReport, SalvageReport

__all__ = ["create", "explain_dedup", "open", "repair", "salvage"]


@expand_keywords(InitOptions)
def create(
    path: str | os.PathLike[str],
    *,
    fields: Mapping[str, FieldKind] | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    **options: Unpack[InitOptions],
) -> Corpus:
    """Makes an empty corpus at `path`, which must be absent or an empty directory, and opens it for reading.

    To write, open it with `corpusdb.open(path, mode="w")`: who writes holds the lock until it is closed.

    The dedup policy is a profile (`web` for prose, the default; `code`, `chat`, or the published `bigcode`, `fineweb`,
    `slimpajama`; `web@1` and `chat@1` have the words of earlier releases) with overrides by keywords, which are the
    flags of `corpusdb init`. `fields` declares the fields of the records that are indexed: `fields={"quality": float,
    "domain": "keyword"}`; `Writer.fields.add` declares further ones.

    Raises `corpusdb.AlreadyExists`, `corpusdb.BadInput` for a value that an option cannot have, `corpusdb.BadPolicy` for
    options that do not go together, `corpusdb.BadName`.
    """
    _native.refuse_forked()
    call("init", corpus=path, fields={name: kind_name(kind) for name, kind in (fields or {}).items()}, **options)
    return Corpus(path, memory=memory, threads=threads)


@overload
def open(
    path: str | os.PathLike[str],
    mode: Literal["r"] = "r",
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    shards: Sequence[str | os.PathLike[str]] = (),
) -> Corpus: ...
@overload
def open(
    path: str | os.PathLike[str],
    mode: Literal["w"],
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    shards: Sequence[str | os.PathLike[str]] = (),
) -> Writer: ...
def open(
    path: str | os.PathLike[str],
    mode: Literal["r", "w"] = "r",
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    shards: Sequence[str | os.PathLike[str]] = (),
) -> Corpus:
    """Opens a corpus: for reading, also beside a writer, or with `mode="w"` for writing, alone.

    `memory` is about how much caches and work in memory may take (bytes, or "4GiB"; by default a quarter of the
    machine's, or of the container's limit), `threads` how many work in the background of a writer (one a core).
    `shards` are corpora beside it, in their order, which are read: plans, loaders and exports of the opened one then
    draw from the documents of all.

    Raises `corpusdb.NotFound` where there is no corpus, `corpusdb.Locked` when another one writes, `corpusdb.BadInput`
    when one corpus is named twice.
    """
    if mode == "r":
        return Corpus(path, memory=memory, threads=threads, shards=shards)
    if mode == "w":
        return Writer(path, memory=memory, threads=threads, shards=shards)
    raise ValueError(f'mode {mode!r} is neither "r" (read) nor "w" (write)')


@expand_keywords(DedupExplainOptions)
def explain_dedup(**options: Unpack[DedupExplainOptions]) -> DedupExplanation:
    """What a dedup policy finds, stores and costs, before it is chosen: the options are those of `create`."""
    return DedupExplanation.from_json(call("dedup explain", **options))


def repair(path: str | os.PathLike[str], *, progress: ProgressOption = None) -> RepairReport:
    """Makes again what is damaged of a corpus and follows from other rows: columns, indexes, sketches, token ids and
    the like. What is damaged and follows from nothing else is in the report as `lost`, and then nothing was changed.
    One that was stopped goes on.

    Raises `corpusdb.Locked` when somebody writes.
    """
    return RepairReport.from_json(call("check", path=path, progress=progress, repair=True))


def salvage(
    path: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: ProgressOption = None
) -> SalvageReport:
    """Copies what is whole of a damaged corpus into a new one at `target`, where all is decided again: documents with
    keys, fields and sources, tokenizers, suites; what was removed is removed there too. What is not copied is listed.

    Raises `corpusdb.AlreadyExists` where something stands at `target`.
    """
    return SalvageReport.from_json(call("check", path=path, progress=progress, salvage=target))
