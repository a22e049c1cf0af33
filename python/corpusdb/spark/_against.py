"""New documents against those of a corpus: decided as an ingest into that corpus would decide them."""

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
#: Standings of documents that take part in decisions. The rest have no text to compare, or have left.
_ELIGIBLE = ("kept", "exact", "near")
_BLOCKING = ("removed", "blocked", "purged")


@dataclass(frozen=True)
class Compared:
    """What new documents came to, and what became of stored ones because of them."""

    #: One row a new document: the columns of `Deduplicated.rows`, and `witness_is_stored`. Where that is true,
    #: `witness_order` is the number of a stored document; else the order of a new one.
    rows: DataFrame
    #: One row for every stored document whose standing is another now, or whose witness is a new document: `order` is its
    #: number, `before` its standing in the export. Those whose key comes again are `superseded`.
    changed: DataFrame
    #: Documents that the corpus had: one more than the largest number of the export.
    stored: int
    #: How those of them stood that take part in decisions: a digest by which a load knows the corpus.
    standings: str
    #: What was made, in order, with the rows of each.
    stages: list[Stage]
    #: Members of the largest buckets, largest first.
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
    """Decides new documents as an ingest of them, in the order of a column, into a corpus would that exists.

    `stored` is read from `corpusdb export CORPUS --all --columns id,key,source,text,standing --to DIR --format parquet`
    (and the field that a keep order `field:NAME` looks at, by its name); `policy` is that of the corpus. The other words
    are those of `dedup`; `source` is needed, because keys are of sources. A new document with the key of a stored one
    takes its place; leave out those that come again unchanged, which an ingest skips.

    In keep order `first` and modes `witness` and `exact` stored documents that are kept stay so: no others are read, and
    they are not compared with each other, unless a key of one comes again. Elsewhere a new document may take the place of
    a stored one, and all are decided together.

    What users removed blocks equal documents, by rules that an export does not have: a frame with such documents is
    refused. Without their rows they block nothing.
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
    """The columns of new documents, with the order that these were given."""
    return [f"order - {offset} AS order" if name == "order" else name for name in names(schema)]


def _known(stages: Stages, stored: DataFrame) -> DataFrame:
    """What is stored, without texts."""
    from corpusdb.errors import BadInput

    columns = stored.selectExpr("CAST(id AS long) AS order", "CAST(key AS string) AS key", "CAST(source AS string) AS source",
                                "CAST(standing AS string) AS standing")
    known = stages.keep("stored", _STORED, lambda: columns)
    blocking = known.where(f"standing IN ({_quoted(_BLOCKING)})").groupBy("standing").count().orderBy("standing").collect()
    if blocking:
        counts = ", ".join(f"{row['count']} {row['standing']}" for row in blocking)
        raise BadInput(
            f"the export has {counts}: what they block is not in it. Leave their rows out, and they block nothing, or ingest into "
            "the corpus itself"
        )
    return known


def _standings(known: DataFrame) -> str:
    """The digest of how documents stand."""
    parts = known.selectExpr("order AS id", "standing").mapInArrow(_tasks.standings(), "part binary").collect()
    whole = sum(int.from_bytes(row["part"], "little") for row in parts) % (1 << 64)
    return f"{whole:016x}"


def _superseded(known: DataFrame, new: DataFrame, has_keys: bool) -> DataFrame:
    """Stored documents whose key comes again."""
    held = known.where("standing <> 'superseded'")
    if not has_keys:
        return held.limit(0)
    keys = new.select("source", "key").distinct()
    return held.join(keys, ["source", "key"], "left_semi").select(*names(_STORED))


def _with_first(job: Job, came: DataFrame) -> Job:
    """Where new documents begin; where there is none, behind all."""
    from pyspark.sql import functions as F

    first = came.agg(F.min("rank").alias("first")).collect()[0]["first"]
    return replace(job, first_new=bytes(first) if first is not None else b"\xff" * 24)


def _told(name: str, offset: int) -> str:
    if name != "witness_order":
        return name
    return f"CASE WHEN witness_order >= {offset} THEN witness_order - {offset} ELSE witness_order END AS witness_order"


def _changed(told: DataFrame, known: DataFrame, superseded: DataFrame) -> DataFrame:
    """Stored documents of another standing than before, or of another witness: such a one is new, as long as all others
    stand as before."""
    before = known.selectExpr("order", "standing AS before")
    changed = told.join(before, "order").where("standing <> before OR NOT witness_is_stored").select(*names(_CHANGED))
    gone = superseded.selectExpr(*filled(
        _CHANGED, before="standing", order="order", key="key", source="source", standing="'superseded'",
    ))
    return changed.unionByName(gone)


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)
