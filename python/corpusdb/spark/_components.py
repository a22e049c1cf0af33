"""Connected components with DataFrames: within each task first, then by large and small stars until nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpusdb.spark import _tasks
from corpusdb.spark._stages import Stages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["components"]

_NAMED = "node binary, component binary"
_STARS = "left binary, right binary"


def components(stages: Stages, name: str, pairs: DataFrame, count: int, most: int) -> DataFrame:
    """Every node of the pairs `left` and `right` with its component: the best rank in it.

    One task handles up to `most` pairs. If there are more, each task contracts its own pairs to stars, and these go
    through rounds. A large star links the worse-ranked neighbours of a node to its best neighbour; a small star links a
    node and its better-ranked neighbours to the best of these. Both keep the components as they are. The rounds end
    when every node is linked to one root, and no root is linked to another.
    """
    if count <= most:
        one = pairs.select("left", "right").coalesce(1)
        return stages.keep(f"{name}-components", _NAMED, lambda: one.mapInArrow(_tasks.components(), _NAMED))
    stars = stages.keep(f"{name}-stars-0", _STARS, lambda: _contracted(pairs))
    number = 0
    while not _is_settled(stars):
        number += 1
        before = stars
        stars = stages.keep(f"{name}-stars-{number}", _STARS, lambda: _round(before))
    return stages.keep(f"{name}-components", _NAMED, lambda: _named(stars))


def _contracted(pairs: DataFrame) -> DataFrame:
    """The pairs of each task as stars: each node with the root that it reaches within the task."""
    found = pairs.select("left", "right").mapInArrow(_tasks.components(), _NAMED)
    return found.where("node <> component").selectExpr("node AS left", "component AS right").distinct()


def _round(stars: DataFrame) -> DataFrame:
    """One large star and one small star. In every pair `left` is worse than `right`."""
    from pyspark.sql import functions as F

    both = stars.unionByName(stars.selectExpr("right AS left", "left AS right"))
    best = both.groupBy("left").agg(F.min("right").alias("best"))
    best = best.selectExpr("left AS node", "least(left, best) AS best")
    # Large star: the neighbours of a node with a worse rank than the node go to its best neighbour.
    large = both.join(best, both.left == best.node).where("right > node")
    large = large.selectExpr("right AS left", "best AS right").where("left <> right").distinct()
    # Small star: a node and its better-ranked neighbours go to the best of these.
    least = large.groupBy("left").agg(F.min("right").alias("best"))
    named = least.selectExpr("left AS node", "best")
    small = large.join(named, large.left == named.node).selectExpr("right AS left", "best AS right")
    own = named.selectExpr("node AS left", "best AS right")
    return small.unionByName(own).where("left <> right").distinct()


def _is_settled(stars: DataFrame) -> bool:
    """Whether every node has one root, and no root has a root itself."""
    from pyspark.sql import functions as F

    many = stars.groupBy("left").agg(F.count("*").alias("roots")).where("roots > 1")
    if many.limit(1).count():
        return False
    roots = stars.selectExpr("right AS root").distinct()
    return not stars.join(roots, stars.left == roots.root, "left_semi").limit(1).count()


def _named(stars: DataFrame) -> DataFrame:
    nodes = stars.selectExpr("left AS node", "right AS component")
    return nodes.unionByName(stars.selectExpr("right AS node", "right AS component")).distinct()
