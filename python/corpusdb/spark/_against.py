"""Decides new documents against those of a corpus, as an ingest into that corpus would."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from corpusdb._options import InitOptions
from corpusdb.spark import _answer, _tasks
from corpusdb.spark._job import PRINTS, Job
from corpusdb.spark._run import begun, decisions, prints_of, selected
from corpusdb.spark._schema import filled, names
from corpusdb.spark._stages import Stage, Stages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Compared", "against"]

_STORED = "order long, key string, source string, standing string"
_TOLD = f"{_answer.RESULT}, witness_is_stored boolean"
_CHANGED = f"before string, {_TOLD}"
#: Standings of documents that take part in decisions. Others have no text to compare, or were removed.
_ELIGIBLE = ("kept", "exact", "near")
_BLOCKING = ("removed", "blocked", "purged")


@dataclass(frozen=True)
class Compared:
    """The decisions about new documents, and the stored documents that they change."""

    #: One row a new document: the columns of `Deduplicated.rows`, and `witness_is_stored`. If that is true,
    #: `witness_order` is the id of a stored document, otherwise the order of a new one.
    rows: DataFrame
    #: One row for every stored document whose standing changes, or whose witness is a new document: `order` is its id,
    #: `before` its standing in the export. Documents whose key comes again are `superseded`.
    changed: DataFrame
    #: The number of documents of the corpus: the largest id of the export plus one.
    stored: int
    #: A digest of the standings of stored documents that take part in decisions. A load checks the corpus by it.
    standings: str
    #: The stages of the job in order, with their numbers of rows.
    stages: list[Stage]
    #: The numbers of members of the largest buckets, largest first.
    largest_buckets: list[int]


def against(
    stored: DataFrame,
    df: DataFrame,
    policy: InitOptions | None = None,
    *,
    order: str,
    source: str,
    checkpoint: str,
    text: str = "text",
    key: str | None = None,
    task_rows: int = 2_000_000,
) -> Compared:
    """Decides new documents as an ingest of them into an existing corpus would, in the order of a column.

    `stored` is read from `corpusdb export CORPUS --all --columns id,key,source,text,standing --to DIR --format parquet`
    (for a keep order `field:NAME`, with that field among the columns). `policy` is that of the corpus. The other
    options are those of `dedup`. `source` is required, because each source has its own keys. A new document with the
    key of a stored one supersedes it. Leave out documents that come again unchanged, as an ingest skips them.

    With keep order `first` and modes `witness` and `exact`, kept documents stay kept: only these are read, and they are
    not compared with each other, unless a key of one comes again. Otherwise a new document may take the place of a
    stored one, and all documents are decided together.

    Removed documents block equal ones, by rules that are not in an export. So a frame with removed, blocked or purged
    documents raises `corpusdb.BadInput`. If you leave their rows out, they block nothing.
    """
    stages, job = begun(df, policy, checkpoint, task_rows, source, of="against")
    old = selected(stored, job, text="text", key="key", source="source", order="id")
    known = _known(stages, stored)
    standings = _standings(known)
    new = selected(df, job, text=text, key=key, source=source, order=order)
    superseded = stages.keep("superseded", _STORED, lambda: _superseded(known, new, key is not None))
    is_settled = job.keep == "first" and not job.is_transitive and not superseded.where("standing = 'kept'").limit(1).count()
    taken = ("kept",) if is_settled else _ELIGIBLE
    last = known.selectExpr("max(order) AS last").collect()[0]["last"]
    offset = 0 if last is None else last + 1
    part = known.where(f"standing IN ({_quoted(taken)})").select("order").join(superseded.select("order"), "order", "left_anti")
    placed = f"CASE WHEN order >= 0 THEN order + {offset} ELSE order END AS order"
    others = [name for name in old.columns if name != "order"]
    named = old.join(part, "order").select(*others, "order").unionByName(new.selectExpr(*others, placed))
    prints = stages.keep("fingerprints", PRINTS, lambda: prints_of(named, job))
    came = prints.where(f"order >= {offset}")
    _answer.refuse_repeated(stages, came.selectExpr(*_as_given(PRINTS, offset)), has_keys=key is not None)
    if is_settled:
        job = _with_first(job, came)
    rows, largest = decisions(stages, prints, named, job)
    told = rows.selectExpr(*(_told(name, offset) for name in names(_answer.RESULT)), f"witness_order < {offset} AS witness_is_stored")
    result = told.where(f"order >= {offset}").selectExpr(*_as_given(_TOLD, offset))
    changed = stages.keep("changed", _CHANGED, lambda: _changed(told.where(f"order < {offset}"), known, superseded))
    return Compared(result, changed, offset, standings, stages.done, largest)


def _as_given(schema: str, offset: int) -> list[str]:
    """The columns of new documents, with their original order."""
    return [f"order - {offset} AS order" if name == "order" else name for name in names(schema)]


def _known(stages: Stages, stored: DataFrame) -> DataFrame:
    """The stored documents, without texts."""
    from corpusdb.errors import BadInput

    columns = stored.selectExpr("CAST(id AS long) AS order", "CAST(key AS string) AS key", "CAST(source AS string) AS source",
                                "CAST(standing AS string) AS standing")
    known = stages.keep("stored", _STORED, lambda: columns)
    blocking = known.where(f"standing IN ({_quoted(_BLOCKING)})").groupBy("standing").count().orderBy("standing").collect()
    if blocking:
        counts = ", ".join(f"{row['count']} {row['standing']}" for row in blocking)
        raise BadInput(
            f"the export has documents that may block new ones ({counts}), but not what they block: leave their rows "
            "out (then they block nothing), or ingest into the corpus itself"
        )
    return known


def _standings(known: DataFrame) -> str:
    """The digest of the standings of documents."""
    parts = known.selectExpr("order AS id", "standing").mapInArrow(_tasks.standings(), "part binary").collect()
    whole = sum(int.from_bytes(row["part"], "little") for row in parts) % (1 << 64)
    return f"{whole:016x}"


def _superseded(known: DataFrame, new: DataFrame, has_keys: bool) -> DataFrame:
    """The stored documents whose key comes again."""
    held = known.where("standing <> 'superseded'")
    if not has_keys:
        return held.limit(0)
    keys = new.select("source", "key").distinct()
    return held.join(keys, ["source", "key"], "left_semi").select(*names(_STORED))


def _with_first(job: Job, came: DataFrame) -> Job:
    """The job with the rank of the first new document; with the highest rank, if there are no new documents."""
    from pyspark.sql import functions as F

    first = came.agg(F.min("rank").alias("first")).collect()[0]["first"]
    return replace(job, first_new=bytes(first) if first is not None else b"\xff" * 24)


def _told(name: str, offset: int) -> str:
    if name != "witness_order":
        return name
    return f"CASE WHEN witness_order >= {offset} THEN witness_order - {offset} ELSE witness_order END AS witness_order"


def _changed(told: DataFrame, known: DataFrame, superseded: DataFrame) -> DataFrame:
    """The stored documents with another standing than before, or with a new document as witness."""
    before = known.selectExpr("order", "standing AS before")
    changed = told.join(before, "order").where("standing <> before OR NOT witness_is_stored").select(*names(_CHANGED))
    gone = superseded.selectExpr(*filled(
        _CHANGED, before="standing", order="order", key="key", source="source", standing="'superseded'",
    ))
    return changed.unionByName(gone)


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)
