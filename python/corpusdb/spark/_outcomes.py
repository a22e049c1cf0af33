"""Decides the leaders of texts: candidates, exact overlaps and decisions, in rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpusdb.spark import _candidates, _tasks
from corpusdb.spark._decide import decided
from corpusdb.spark._job import EDGES, PAIRS, VERIFIED, Job
from corpusdb.spark._schema import filled, names
from corpusdb.spark._stages import Stages
from corpusdb.spark._whole import OUTCOMES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["outcomes_of"]

#: The factor by which each round reads more of a crowded bucket.
_GROWTH = 16
#: Sketches do not help if crowded buckets have more than this many close but dissimilar pairs for each of their
#: documents. Texts are compared instead.
_VAIN = 4
_KNOWN = "rank binary, standing string, witness binary"


def outcomes_of(stages: Stages, leaders: DataFrame, texts: DataFrame, job: Job) -> tuple[DataFrame, list[int]]:
    """The outcomes of the leaders with candidates, and the sizes of the largest buckets."""
    members = stages.keep("buckets", _candidates.BUCKETS, lambda: _candidates.buckets(leaders, job))
    sizes = members.select("bucket", "members").distinct().orderBy("members", ascending=False).limit(10).collect()
    largest = [int(row["members"]) for row in sizes]
    if job.mode == "lsh":
        outcomes = _linked(stages, leaders, members, job)
    else:
        outcomes = _Rounds(stages, leaders, texts, members, job).run(bool(largest) and largest[0] > _candidates.CROWDED)
    if job.is_transitive:
        outcomes = _with_overlaps(stages, outcomes, leaders, texts, job)
    return outcomes, largest


def _linked(stages: Stages, leaders: DataFrame, members: DataFrame, job: Job) -> DataFrame:
    """In mode `lsh` documents that share a bucket are similar, without a comparison."""
    links = stages.keep("links", PAIRS, lambda: _candidates.links(members))
    edges = links.selectExpr(*filled(EDGES, left="left", right="right"))
    return decided(stages, "0", edges, stages.rows, leaders, leaders.select("rank").limit(0), job)


class _Rounds:
    """Finds pairs, edges and decisions in rounds. Each reads more of crowded buckets, until no document is open."""

    def __init__(self, stages: Stages, leaders: DataFrame, texts: DataFrame, members: DataFrame, job: Job) -> None:
        self._stages, self._leaders, self._texts, self._members, self._job = stages, leaders, texts, members, job
        self._checked: DataFrame | None = None

    def run(self, is_crowded: bool) -> DataFrame:
        """The outcomes, once no document is open any more."""
        nobody = self._leaders.select("rank").limit(0)
        known = nobody.selectExpr(*filled(_KNOWN, rank="rank"))
        edges: DataFrame | None = None
        count, most, number, is_vain, waiting = 0, 1, 0, False, nobody
        while True:
            if number == 0:
                new, opened = _candidates.first_pairs(self._members), _candidates.left_out(self._members)
            else:
                new, opened = _candidates.other_pairs(self._members, known, self._job.is_transitive), nobody
            new, opened = _candidates.of_new(new, "right", self._job), _candidates.of_new(opened, "rank", self._job)
            new, close = _candidates.close_pairs(self._unchecked(new), self._leaders, self._job.policy), 0
            if is_crowded and not is_vain:
                found, waiting, close = self._crowd(number, most, known)
                new, opened = new.unionByName(found).distinct(), opened.unionByName(waiting).distinct()
            similar = self._similar(number, new)
            similar_pairs = self._stages.rows
            count += similar_pairs
            edges = similar if edges is None else edges.unionByName(similar)
            if is_crowded and is_vain:
                joined, waiting = self._crowd_by_texts(number, most, waiting, known)
                edges, opened = edges.unionByName(joined).distinct(), opened.unionByName(waiting).distinct()
                count += self._stages.rows
            outcomes = decided(self._stages, str(number), edges, count, self._leaders, opened, self._job)
            if not opened.limit(1).count():
                return outcomes
            is_vain = is_vain or (close > similar_pairs and close - similar_pairs > _VAIN * self._crowded())
            known, number, most = outcomes.select(*names(_KNOWN)), number + 1, most * _GROWTH

    def _crowded(self) -> int:
        """The number of documents in crowded buckets."""
        documents: int = self._members.where(f"members > {_candidates.CROWDED}").select("rank").distinct().count()
        return documents

    def _crowd_by_texts(self, number: int, most: int, opened: DataFrame, known: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The similar pairs of the first `most` members of crowded buckets with open members, and the documents still
        open."""
        seats = _candidates.seats(self._members, self._leaders, known, self._job)
        found = _candidates.crowded_edges(seats, opened, self._leaders, self._texts, most, self._job)
        crowd = self._stages.keep(f"crowd-texts-{number}", EDGES, lambda: found)
        return crowd.where("right IS NOT NULL"), crowd.where("right IS NULL").selectExpr("left AS rank")

    def _crowd(self, number: int, most: int, known: DataFrame) -> tuple[DataFrame, DataFrame, int]:
        """The close pairs of the first `most` members of crowded buckets, the documents that are still open, and the
        number of pairs."""
        seats = _candidates.seats(self._members, self._leaders, known, self._job)
        crowd = self._stages.keep(
            f"crowd-{number}", PAIRS, lambda: _candidates.crowded_pairs(seats, self._job.policy, most, self._job.partitions)
        )
        pairs = self._unchecked(crowd.where("right IS NOT NULL"))
        return pairs, crowd.where("right IS NULL").selectExpr("left AS rank"), pairs.distinct().count()

    def _unchecked(self, pairs: DataFrame) -> DataFrame:
        return pairs if self._checked is None else pairs.join(self._checked, names(PAIRS), "left_anti")

    def _similar(self, number: int, new: DataFrame) -> DataFrame:
        """The similar pairs of a round. All pairs of the round count as checked afterwards."""
        pairs = self._stages.keep(f"pairs-{number}", PAIRS, lambda: new)
        self._checked = pairs if self._checked is None else self._checked.unionByName(pairs)
        verified = _verified(pairs, self._stages.rows, self._leaders, self._texts, self._job)
        return self._stages.keep(f"edges-{number}", EDGES, lambda: verified.where("similar").select(*names(EDGES)))


def _verified(pairs: DataFrame, most: int, leaders: DataFrame, texts: DataFrame, job: Job) -> DataFrame:
    """The exact overlap of each pair. `most` is an upper bound of the number of pairs.

    Only texts of documents in a pair are shuffled: if a task can hold the ranks of all of them, each task gets these.
    """
    from pyspark.sql import functions as F

    wanted = pairs.selectExpr("left AS rank").unionByName(pairs.selectExpr("right AS rank")).distinct()
    wanted = wanted.join(leaders.select("rank", "order"), "rank")
    wanted = (F.broadcast(wanted) if 2 * most <= job.task_rows else wanted).join(texts, "order")
    # Texts are the first side of the join: an engine that keeps this side in memory holds each text once.
    both = wanted.selectExpr("rank AS right", "text AS right_text").join(pairs, "right")
    both = wanted.selectExpr("rank AS left", "text AS left_text").join(both, "left")
    return both.select("left", "right", "left_text", "right_text").mapInArrow(_tasks.verify(job.policy), VERIFIED)


def _with_overlaps(stages: Stages, outcomes: DataFrame, leaders: DataFrame, texts: DataFrame, job: Job) -> DataFrame:
    """Compares documents with witnesses that they have no edge to, so that the answer has their similarity."""
    asked = outcomes.where("standing = 'near' AND jaccard IS NULL")
    told = _verified(asked.selectExpr("witness AS left", "rank AS right"), stages.rows, leaders, texts, job)
    told = told.selectExpr(*filled(
        OUTCOMES, rank="right", standing="'near'", witness="left", shared="shared", removed_shingles="right_shingles",
        witness_shingles="left_shingles", jaccard="jaccard",
    ))
    others = outcomes.where("NOT (standing = 'near' AND jaccard IS NULL)")
    return stages.keep("outcomes", OUTCOMES, lambda: others.unionByName(told))
