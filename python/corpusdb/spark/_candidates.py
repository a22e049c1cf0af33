"""Which documents are compared: band keys shuffled alone, and pairs of buckets without a crowded one being squared."""

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

#: Members up to which all pairs of a bucket are named at once, and beyond which a bucket is crowded.
FEW, CROWDED = 8, 64
_SEVERAL = f"members > {FEW} AND members <= {CROWDED}"

BUCKETS = "bucket binary, rank binary, members long"
_SEATS = "bucket binary, rank binary, live boolean, bound binary, cluster binary"


def of_new(rows: DataFrame, column: str, job: Job) -> DataFrame:
    """The rows whose document, by the rank in a column, is not one of those that are settled."""
    from pyspark.sql import functions as F

    return rows if job.first_new is None else rows.where(F.col(column) >= F.lit(bytearray(job.first_new)))


def buckets(leaders: DataFrame, job: Job) -> DataFrame:
    """Members of buckets that have two or more, one of them not settled; only keys and ranks are shuffled."""
    from pyspark.sql import functions as F

    found = leaders.where("bands IS NOT NULL").select("rank", "bands")
    found = found.mapInArrow(_tasks.bands(), "bucket binary, rank binary")
    sizes = found.groupBy("bucket").agg(F.count("*").alias("members"), F.max("rank").alias("last")).where("members > 1")
    sizes = of_new(sizes, "last", job).select("bucket", "members")
    return found.join(sizes, "bucket").select("bucket", "rank", "members")


def links(members: DataFrame) -> DataFrame:
    """Mode `lsh`: the best-ranked member of a bucket is linked to every other one."""
    from pyspark.sql import functions as F

    best = members.groupBy("bucket").agg(F.min("rank").alias("left"))
    both = members.join(best, "bucket").where("left < rank")
    return both.selectExpr("left", "rank AS right").distinct()


def first_pairs(members: DataFrame) -> DataFrame:
    """All pairs of small buckets, and of others that are not crowded the first member with every other one."""
    few = members.where(f"members <= {FEW}")
    left, right = few.selectExpr("bucket", "rank AS left"), few.selectExpr("bucket", "rank AS right")
    pairs = left.join(right, "bucket").where("left < right").select("left", "right")
    return pairs.unionByName(links(members.where(_SEVERAL))).distinct()


def left_out(members: DataFrame) -> DataFrame:
    """Who has candidates that `first_pairs` leaves out: all but the first of buckets that are neither small nor crowded."""
    from pyspark.sql import functions as F

    several = members.where(_SEVERAL)
    best = several.groupBy("bucket").agg(F.min("rank").alias("best"))
    return several.join(best, "bucket").where("rank <> best").select("rank").distinct()


def other_pairs(members: DataFrame, state: DataFrame, is_transitive: bool) -> DataFrame:
    """The pairs that `first_pairs` leaves out, where they still matter."""
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
    """The pairs whose sketches are close enough for their texts to be compared."""
    sketches = leaders.where("sketch IS NOT NULL")
    pairs = pairs.join(sketches.selectExpr("rank AS left", "sketch AS left_sketch"), "left")
    pairs = pairs.join(sketches.selectExpr("rank AS right", "sketch AS right_sketch"), "right")
    pairs = pairs.select("left", "right", "left_sketch", "right_sketch")
    return pairs.mapInArrow(_tasks.close(policy), PAIRS)


def seats(members: DataFrame, leaders: DataFrame, state: DataFrame, job: Job) -> DataFrame:
    """Members of crowded buckets with their sketches and what is known of them so far.

    `state` has `rank`, `standing` and `witness` of those about whom something is known. In the transitive modes everyone
    looks for others until all of a bucket are connected; else only those that may be kept are compared with those behind
    them, and those that are removed look for a better witness.
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
            # Nothing is of interest to those that are settled: nobody has a better rank than this.
            is_settled = F.col("rank") < F.lit(bytearray(job.first_new))
            nobody = F.lit(bytearray(len(job.first_new)))
            found = found.withColumn("bound", F.when(is_settled, nobody).otherwise(F.col("bound")))
    found = found.join(leaders.select("rank", "sketch"), "rank")
    return found.select("bucket", "rank", "sketch", "live", "bound", "cluster")


def crowded_pairs(found: DataFrame, policy: InitOptions, most: int, parts: int) -> DataFrame:
    """The close pairs of the first `most` live members of each crowded bucket, and, without a right side, who is open."""
    return found.repartition(parts, "bucket").mapInArrow(_tasks.near(policy, most), PAIRS)


def crowded_edges(found: DataFrame, opened: DataFrame, leaders: DataFrame, texts: DataFrame, most: int, job: Job) -> DataFrame:
    """As `crowded_pairs`, by the texts of members, of buckets in which somebody is open after the round before: similar
    pairs, and, without a right side, who is open now."""
    waiting = opened.select("rank").distinct().selectExpr("rank", "true AS waits")
    found = found.join(waiting, "rank", "left").where("live OR waits")
    still = found.where("waits").select("bucket").distinct()
    found = found.drop("waits").join(still, "bucket").join(leaders.select("rank", "order"), "rank").join(texts, "order").drop("order")
    # A pair may share several buckets.
    return found.repartition(job.partitions, "bucket").mapInArrow(_tasks.similar(job.policy, most), EDGES).distinct()
