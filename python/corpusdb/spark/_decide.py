"""Decides components: each by one task, or in rounds over ranks if it is too large for one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpusdb.spark._components import components
from corpusdb.spark._job import Job
from corpusdb.spark._ranks import by_rounds
from corpusdb.spark._schema import filled
from corpusdb.spark._stages import Stages
from corpusdb.spark._whole import OUTCOMES, by_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["decided"]


def decided(
    stages: Stages, name: str, edges: DataFrame, count: int, leaders: DataFrame, opened: DataFrame, job: Job
) -> DataFrame:
    """The outcome of every document that has an edge or is open. The standing is null while it is not known yet."""
    named = components(stages, name, edges, count, job.task_rows)
    if job.is_transitive:
        return stages.keep(f"{name}-outcomes", OUTCOMES, lambda: _best(named, edges))
    is_open = opened.select("rank").distinct().selectExpr("rank", "true AS is_open")
    nodes = named.selectExpr("node AS rank", "component").join(is_open, "rank", "left")
    nodes = nodes.selectExpr("rank", "component", "coalesce(is_open, false) AS open")
    placed = edges.join(named.selectExpr("node AS left", "component"), "left")
    sizes = placed.groupBy("component").count().where(f"count > {job.task_rows}").select("component")
    large = stages.keep(f"{name}-large", "component binary", lambda: sizes)
    is_split = stages.rows > 0
    if is_split:
        whole_nodes, whole_edges = (rows.join(large, "component", "left_anti") for rows in (nodes, placed))
    else:
        whole_nodes, whole_edges = nodes, placed
    made = by_task(whole_nodes, whole_edges, leaders, job.parts(2 * count), job)
    if is_split:
        large_nodes, large_edges = nodes.join(large, "component"), placed.join(large, "component")
        made = made.unionByName(by_rounds(stages, name, large_nodes, large_edges, leaders, job))
    # An open document without an edge may still get one.
    alone = is_open.join(named.selectExpr("node AS rank"), "rank", "left_anti")
    made = made.unionByName(alone.selectExpr(*filled(OUTCOMES, rank="rank")))
    return stages.keep(f"{name}-outcomes", OUTCOMES, lambda: made)


def _best(named: DataFrame, edges: DataFrame) -> DataFrame:
    """In the transitive modes the best document of a component is kept, and is the witness of all others."""
    links = edges.selectExpr(
        "right AS node", "left AS component", "shared", "right_shingles AS removed_shingles",
        "left_shingles AS witness_shingles", "jaccard",
    )
    told = named.where("node <> component").join(links, ["node", "component"], "left")
    removed = told.selectExpr(*filled(
        OUTCOMES, rank="node", standing="'near'", witness="component", shared="shared",
        removed_shingles="removed_shingles", witness_shingles="witness_shingles", jaccard="jaccard",
    ))
    kept = named.where("node = component").selectExpr(*filled(OUTCOMES, rank="node", standing="'kept'"))
    return removed.unionByName(kept)
