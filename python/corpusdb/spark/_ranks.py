"""Decides components that are too large for one task, in rounds over ranks.

A round settles all documents without an undecided better-ranked neighbour: such a document is kept, or, if it is open,
it waits for later candidates. Then the neighbours of kept documents are removed, and the neighbours of waiting ones are
open. If a round settles less than a tenth of the edges, the rest are long chains of decisions. From then on each round
settles the best-ranked documents whose edges fit into one task, so that long chains need no more rounds than there are
full tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpusdb.spark._job import EDGES, Job
from corpusdb.spark._schema import filled, names
from corpusdb.spark._stages import Stages
from corpusdb.spark._whole import OUTCOMES, by_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["by_rounds"]

#: The state of a document (null, then `kept`, `near` or `waits`), and whether it is open: it may have candidates that
#: it was not compared with.
_STATES = "rank binary, state string, open boolean"


def by_rounds(
    stages: Stages, name: str, nodes: DataFrame, edges: DataFrame, leaders: DataFrame, job: Job
) -> DataFrame:
    """The outcomes of `nodes` (`rank`, `open`), given every edge between them."""
    first, links = nodes.selectExpr(*filled(_STATES, rank="rank", open="open")), edges.select(*names(EDGES))
    states = stages.keep(f"{name}-round-0", _STATES, lambda: first)
    rest = stages.keep(f"{name}-rest-0", EDGES, lambda: links)
    number, left, is_slow = 0, stages.rows, False
    while left:
        number, before, old, old_rest = number + 1, left, states, rest
        is_by_task = is_slow or left <= job.task_rows

        def settled() -> DataFrame:
            return _best_ranked(old, old_rest, leaders, before, job) if is_by_task else _foremost(old, old_rest)

        states = stages.keep(f"{name}-round-{number}", _STATES, lambda: _after(old, old_rest, settled()))
        undecided = states.where("state IS NULL").select("rank")
        rest = stages.keep(f"{name}-rest-{number}", EDGES, lambda: _between(old_rest, undecided))
        left = stages.rows
        is_slow = is_slow or 10 * left > 9 * before
    ended = states.selectExpr("rank", "coalesce(state, CASE WHEN open THEN 'waits' ELSE 'kept' END) AS state")
    return _explained(ended, links)


def _foremost(states: DataFrame, rest: DataFrame) -> DataFrame:
    """Settles all documents without an undecided better-ranked neighbour."""
    behind = rest.selectExpr("right AS rank").distinct()
    foremost = states.where("state IS NULL").join(behind, "rank", "left_anti")
    return foremost.selectExpr("rank", "CASE WHEN open THEN 'waits' ELSE 'kept' END AS now")


def _best_ranked(states: DataFrame, rest: DataFrame, leaders: DataFrame, left: int, job: Job) -> DataFrame:
    """Settles the best-ranked documents whose edges fit into one task, by one task."""
    from pyspark.sql import functions as F

    undecided = states.where("state IS NULL")
    if left > job.task_rows:
        some = rest.select("right").orderBy("right").limit(job.task_rows)
        last = F.lit(bytearray(some.agg(F.max("right").alias("last")).collect()[0]["last"]))
        undecided, rest = undecided.where(F.col("rank") <= last), rest.where(F.col("right") <= last)
    nodes = undecided.selectExpr("rank", "CAST('' AS binary) AS component", "open")
    made = by_task(nodes, rest.selectExpr("*", "CAST('' AS binary) AS component"), leaders, 1, job)
    return made.selectExpr("rank", "CASE WHEN standing = 'kept' THEN 'kept' WHEN standing IS NULL THEN 'waits' ELSE 'near' END AS now")


def _after(states: DataFrame, rest: DataFrame, settled: DataFrame) -> DataFrame:
    """All documents after some were settled: neighbours of kept ones are removed, those of waiting ones are open."""
    from pyspark.sql import functions as F

    led = rest.join(settled.where("now <> 'near'").withColumnRenamed("rank", "left"), "left")
    best = led.selectExpr("right", "now = 'kept' AS is_near").groupBy("right").agg(F.max(F.col("is_near").cast("int")).alias("near"))
    known = states.join(settled, "rank", "left").join(best.withColumnRenamed("right", "rank"), "rank", "left")
    return known.selectExpr(
        "rank", "coalesce(state, now, CASE WHEN near = 1 THEN 'near' END) AS state", "open OR coalesce(near = 0, false) AS open"
    )


def _between(rest: DataFrame, undecided: DataFrame) -> DataFrame:
    """The edges between undecided documents."""
    found = rest.join(undecided.selectExpr("rank AS left"), "left", "left_semi")
    return found.join(undecided.selectExpr("rank AS right"), "right", "left_semi").select(*names(EDGES))


def _explained(states: DataFrame, links: DataFrame) -> DataFrame:
    """Adds the witness of each removed document: its best-ranked kept neighbour."""
    from pyspark.sql import functions as F

    kept = links.join(states.where("state = 'kept'").selectExpr("rank AS left"), "left")
    best = kept.groupBy("right").agg(F.min("left").alias("left"))
    told = kept.join(best, ["right", "left"]).selectExpr(
        "right AS rank", "left AS witness", "shared", "right_shingles AS removed_shingles",
        "left_shingles AS witness_shingles", "jaccard",
    )
    standing = "CASE WHEN state <> 'waits' THEN state END AS standing"
    return states.selectExpr("rank", standing).join(told, "rank", "left").select(*names(OUTCOMES))
