"""Creates, opens, repairs and salvages corpora."""

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
    """Creates an empty corpus at `path`, and opens it for reading. `path` must be absent or an empty directory.

    To write, open it with `corpusdb.open(path, mode="w")`: a writer holds the lock until it is closed.

    The dedup policy is a profile with overrides: `web` for prose (the default), `code`, `chat`, or a published one.
    `fields` declares the fields of records to index: `fields={"quality": float, "domain": "keyword"}`;
    `Writer.fields.add` declares further ones.

    Raises `corpusdb.AlreadyExists`, `corpusdb.BadInput` for a bad value of an option, `corpusdb.BadPolicy` for options
    that cannot be combined, `corpusdb.BadName`.
    """
    _native.refuse_forked()
    # Checked first, so that no corpus is made that could then not be opened.
    _native.Handle.check_options(memory=memory, threads=threads)
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
    """Opens a corpus for reading, or with `mode="w"` for writing. Readers may be open beside the one writer.

    `memory` is about how much memory caches and operations may take: bytes, or a text such as "4GiB"; by default a
    quarter of the machine's memory or of the container's limit. `threads` is the number of background threads of a
    writer (default: one a core). `shards` are further corpora to read, in this order: plans, loaders and exports of the
    opened corpus then draw from the documents of all.

    Raises `corpusdb.NotFound` if `path` is not a corpus, `corpusdb.Locked` if another writer is open,
    `corpusdb.BadInput` if one corpus is named twice.
    """
    if mode == "r":
        return Corpus(path, memory=memory, threads=threads, shards=shards)
    if mode == "w":
        return Writer(path, memory=memory, threads=threads, shards=shards)
    raise ValueError(f'mode must be "r" (read) or "w" (write), got {mode!r}')


@expand_keywords(DedupExplainOptions)
def explain_dedup(**options: Unpack[DedupExplainOptions]) -> DedupExplanation:
    """What a dedup policy finds, stores and costs, to choose one. The options are those of `create`."""
    return DedupExplanation.from_json(call("dedup explain", **options))


def repair(path: str | os.PathLike[str], *, progress: ProgressOption = None) -> RepairReport:
    """Repairs a damaged corpus: recomputes columns, indexes, sketches, token ids and other derived data.

    Damage to other data cannot be repaired: the report lists it as `lost`, and then nothing was changed. A repair that
    was stopped continues at the next call.

    Raises `corpusdb.Locked` if a writer is open.
    """
    return RepairReport.from_json(call("check", path=path, progress=progress, repair=True))


def salvage(
    path: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: ProgressOption = None
) -> SalvageReport:
    """Copies the intact documents of a damaged corpus into a new corpus at `target`, which decides all of them again.

    Copied are documents with keys, fields and sources, snapshots, tokenizers, and suites; removed documents are removed
    in the copy, too. The report lists what was not copied. A failure leaves nothing at `target`.

    Raises `corpusdb.AlreadyExists` if `target` exists.
    """
    return SalvageReport.from_json(call("check", path=path, progress=progress, salvage=target))
