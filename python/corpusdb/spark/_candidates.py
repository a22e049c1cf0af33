"""Finds the pairs to compare. Only band keys are shuffled, and crowded buckets do not give all their pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpusdb._options import InitOptions
from corpusdb.spark import _tasks
from corpusdb.spark._job import EDGES, PAIRS, Job
from corpusdb.spark._schema import filled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "BUCKETS", "CROWDED", "FEW", "buckets", "close_pairs", "crowded_edges", "crowded_pairs", "first_pairs", "left_out",
    "links", "of_new", "other_pairs", "seats",
]

#: A bucket with up to FEW members gives all its pairs at once; one with more than CROWDED members is crowded.
FEW, CROWDED = 8, 64
_SEVERAL = f"members > {FEW} AND members <= {CROWDED}"

BUCKETS = "bucket binary, rank binary, members long"
_SEATS = "bucket binary, rank binary, live boolean, bound binary, cluster binary"


def of_new(rows: DataFrame, column: str, job: Job) -> DataFrame:
    """The rows whose document is not settled yet, by the rank in a column."""
    from pyspark.sql import functions as F

    return rows if job.first_new is None else rows.where(F.col(column) >= F.lit(bytearray(job.first_new)))


def buckets(leaders: DataFrame, job: Job) -> DataFrame:
    """The members of buckets with two or more members, one of them not settled. Only keys and ranks are shuffled."""
    from pyspark.sql import functions as F

    found = leaders.where("bands IS NOT NULL").select("rank", "bands")
    found = found.mapInArrow(_tasks.bands(), "bucket binary, rank binary")
    sizes = found.groupBy("bucket").agg(F.count("*").alias("members"), F.max("rank").alias("last")).where("members > 1")
    sizes = of_new(sizes, "last", job).select("bucket", "members")
    return found.join(sizes, "bucket").select("bucket", "rank", "members")


def links(members: DataFrame) -> DataFrame:
    """Mode `lsh`: links the best-ranked member of a bucket to every other member."""
    from pyspark.sql import functions as F

    best = members.groupBy("bucket").agg(F.min("rank").alias("left"))
    both = members.join(best, "bucket").where("left < rank")
    return both.selectExpr("left", "rank AS right").distinct()


def first_pairs(members: DataFrame) -> DataFrame:
    """All pairs of small buckets. Other buckets that are not crowded give pairs of the first member with the others."""
    few = members.where(f"members <= {FEW}")
    left, right = few.selectExpr("bucket", "rank AS left"), few.selectExpr("bucket", "rank AS right")
    pairs = left.join(right, "bucket").where("left < right").select("left", "right")
    return pairs.unionByName(links(members.where(_SEVERAL))).distinct()


def left_out(members: DataFrame) -> DataFrame:
    """The documents with candidates that `first_pairs` leaves out."""
    from pyspark.sql import functions as F

    several = members.where(_SEVERAL)
    best = several.groupBy("bucket").agg(F.min("rank").alias("best"))
    return several.join(best, "bucket").where("rank <> best").select("rank").distinct()


def other_pairs(members: DataFrame, state: DataFrame, is_transitive: bool) -> DataFrame:
    """The pairs that `first_pairs` leaves out and that still matter."""
    known = members.where(_SEVERAL).select("bucket", "rank").join(state, "rank", "left")
    if is_transitive:
        left = known.selectExpr("bucket", "rank AS left", "coalesce(witness, rank) AS one")
        right = known.selectExpr("bucket", "rank AS right", "coalesce(witness, rank) AS other")
        pairs = left.join(right, "bucket").where("left < right AND one <> other")
    else:
        left = known.where("coalesce(standing, 'kept') = 'kept'").selectExpr("bucket", "rank AS left")
        right = known.selectExpr("bucket", "rank AS right", "coalesce(witness, rank) AS bound")
        pairs = left.join(right, "bucket").where("left < bound")
    return pairs.select("left", "right").distinct()


def close_pairs(pairs: DataFrame, leaders: DataFrame, policy: InitOptions) -> DataFrame:
    """The pairs whose sketches are close enough to compare the texts."""
    sketches = leaders.where("sketch IS NOT NULL")
    pairs = pairs.join(sketches.selectExpr("rank AS left", "sketch AS left_sketch"), "left")
    pairs = pairs.join(sketches.selectExpr("rank AS right", "sketch AS right_sketch"), "right")
    pairs = pairs.select("left", "right", "left_sketch", "right_sketch")
    return pairs.mapInArrow(_tasks.close(policy), PAIRS)


def seats(members: DataFrame, leaders: DataFrame, state: DataFrame, job: Job) -> DataFrame:
    """The members of crowded buckets with their sketches and their present state.

    `state` has `rank`, `standing` and `witness` of documents with a known state. In the transitive modes every member
    is compared with others until all members of a bucket are connected. In other modes members that may be kept are
    compared with the members behind them, and removed members with better-ranked witnesses.
    """
    from pyspark.sql import functions as F

    crowded = members.where(f"members > {CROWDED}").select("bucket", "rank")
    found = crowded.join(state, "rank", "left")
    if job.is_transitive:
        found = found.selectExpr(*filled(_SEATS, bucket="bucket", rank="rank", live="true", cluster="coalesce(witness, rank)"))
        several = found.groupBy("bucket").agg(F.min("cluster").alias("one"), F.max("cluster").alias("other"))
        found = found.join(several.where("one <> other").select("bucket"), "bucket")
    else:
        live = "coalesce(standing, 'kept') = 'kept'"
        found = found.selectExpr(*filled(_SEATS, bucket="bucket", rank="rank", live=live, bound="witness"))
        if job.first_new is not None:
            # No member matters to a settled one: no rank is better than the lowest bytes.
            is_settled = F.col("rank") < F.lit(bytearray(job.first_new))
            nobody = F.lit(bytearray(len(job.first_new)))
            found = found.withColumn("bound", F.when(is_settled, nobody).otherwise(F.col("bound")))
    found = found.join(leaders.select("rank", "sketch"), "rank")
    return found.select("bucket", "rank", "sketch", "live", "bound", "cluster")


def crowded_pairs(found: DataFrame, policy: InitOptions, most: int, parts: int) -> DataFrame:
    """The close pairs of the first `most` live members of crowded buckets. Rows without `right` are open members."""
    return found.repartition(parts, "bucket").mapInArrow(_tasks.near(policy, most), PAIRS)


def crowded_edges(found: DataFrame, opened: DataFrame, leaders: DataFrame, texts: DataFrame, most: int, job: Job) -> DataFrame:
    """Like `crowded_pairs`, but compares texts, and only in buckets with members that were open after the last round.

    The rows are similar pairs; rows without `right` are members that are open now.
    """
    waiting = opened.select("rank").distinct().selectExpr("rank", "true AS waits")
    found = found.join(waiting, "rank", "left").where("live OR waits")
    still = found.where("waits").select("bucket").distinct()
    found = found.drop("waits").join(still, "bucket").join(leaders.select("rank", "order"), "rank").join(texts, "order").drop("order")
    # A pair may share several buckets.
    return found.repartition(job.partitions, "bucket").mapInArrow(_tasks.similar(job.policy, most), EDGES).distinct()
