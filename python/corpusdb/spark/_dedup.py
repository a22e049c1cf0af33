"""A frame of documents, decided as one corpus would decide them."""

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
    """What a job came to."""

    #: One row a document: `order`, `key`, `source`, `standing`, `kind`, `witness` (its key), `witness_source`,
    #: `witness_order`, `jaccard`, `shared`, `removed_shingles`, `witness_shingles` and `cluster` (the key of what is kept).
    rows: DataFrame
    #: What was made, in order, with the rows of each.
    stages: list[Stage]
    #: Members of the largest buckets, largest first: where work gathers in few tasks.
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
    """Decides every document of a frame as one corpus would that ingested them in the order of a column.

    `policy` has the words of `corpusdb.create`. `order` names a column of distinct whole numbers from 0 on: the smaller
    one came first. `key` names what documents are called in the answer (else their order), `source` where they are from;
    a keep order `field:NAME` looks at the column NAME. No two documents of a source may have one key: keep the last of
    each before.

    Every stage is kept as Parquet below `checkpoint`, a directory that program and tasks reach. A job that was stopped
    goes on behind its last whole stage when it is called again with the same frame and settings.

    At most `task_rows` rows of pairs are gathered by one task; components of more are decided by rounds.
    """
    stages, job = begun(df, policy, checkpoint, task_rows, source, of="dedup")
    named = selected(df, job, text=text, key=key, source=source, order=order)
    prints = stages.keep("fingerprints", PRINTS, lambda: prints_of(named, job))
    _answer.refuse_repeated(stages, prints, has_keys=key is not None)
    rows, largest = decisions(stages, prints, named, job)
    return Deduplicated(rows, stages.done, largest)
