"""Decides the documents of a frame as one corpus would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpusdb._options import InitOptions
from corpusdb.spark import _answer
from corpusdb.spark._job import PRINTS
from corpusdb.spark._run import begun, decisions, prints_of, selected
from corpusdb.spark._stages import Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Deduplicated", "dedup"]


@dataclass(frozen=True)
class Deduplicated:
    """The decisions of a job."""

    #: One row a document: `order`, `key`, `source`, `standing`, `kind`, `witness` (its key), `witness_source`,
    #: `witness_order`, `jaccard`, `shared`, `removed_shingles`, `witness_shingles` and `cluster` (key of the kept
    #: document).
    rows: DataFrame
    #: The stages of the job in order, with their numbers of rows.
    stages: list[Stage]
    #: The numbers of members of the largest buckets, largest first. Large buckets make single tasks slow.
    largest_buckets: list[int]


def dedup(
    df: DataFrame,
    policy: InitOptions | None = None,
    *,
    order: str,
    checkpoint: str,
    text: str = "text",
    key: str | None = None,
    source: str | None = None,
    task_rows: int = 2_000_000,
) -> Deduplicated:
    """Decides every document of a frame, as one corpus would that ingested them in the order of a column.

    `policy` has the options of `corpusdb.create`. `order` names a column of distinct whole numbers from 0 on: the
    document with the smaller number came first. `key` names the column of keys (default: the order), `source` the
    column of sources. A keep order `field:NAME` uses the column NAME. Two documents of a source must not have the same
    key: keep only the last one beforehand.

    Every stage is stored as Parquet below `checkpoint`, a directory that the program and its tasks can access. Call a
    stopped job again with the same frame and settings, and it continues after its last complete stage.

    One task gathers at most `task_rows` rows of pairs. Larger components are decided in rounds.
    """
    stages, job = begun(df, policy, checkpoint, task_rows, source, of="dedup")
    named = selected(df, job, text=text, key=key, source=source, order=order)
    prints = stages.keep("fingerprints", PRINTS, lambda: prints_of(named, job))
    _answer.refuse_repeated(stages, prints, has_keys=key is not None)
    rows, largest = decisions(stages, prints, named, job)
    return Deduplicated(rows, stages.done, largest)
