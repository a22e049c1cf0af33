"""Decides components that fit into one task: gathers their rows and calls the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpusdb.spark import _tasks
from corpusdb.spark._job import Job
from corpusdb.spark._schema import filled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["OUTCOMES", "by_task"]

#: The outcome of a document. The standing is null while it is not known yet.
OUTCOMES = (
    "rank binary, standing string, witness binary, shared long, removed_shingles long, witness_shingles long, jaccard double"
)
#: Members (without `right`) and edges of components, in one frame, so that one shuffle gathers both.
_ROWS = (
    "component binary, left binary, right binary, text_hash binary, raw_hash binary, tokens long, shingles long, open boolean, "
    "shared long, left_shingles long, right_shingles long"
)


def by_task(nodes: DataFrame, edges: DataFrame, leaders: DataFrame, parts: int, job: Job) -> DataFrame:
    """The outcomes of `nodes` (`rank`, `component`, `open`), given all their `edges` with their `component`."""
    described = nodes.join(leaders.select("rank", "text_hash", "raw_hash", "tokens", "shingles"), "rank")
    members = described.selectExpr(*filled(
        _ROWS, component="component", left="rank", text_hash="text_hash", raw_hash="raw_hash", tokens="tokens",
        shingles="shingles", open="open",
    ))
    links = edges.selectExpr(*filled(
        _ROWS, component="component", left="left", right="right", shared="shared", left_shingles="left_shingles",
        right_shingles="right_shingles",
    ))
    rows = members.unionByName(links).repartition(parts, "component")
    return rows.mapInArrow(_tasks.decide(job.policy), OUTCOMES)
