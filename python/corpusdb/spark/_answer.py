"""Turns the decisions about texts into an answer for every document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpusdb.spark._schema import filled, names
from corpusdb.spark._stages import Stages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["GROUPS", "RESULT", "all_kept", "answered", "groups", "refuse_repeated"]

GROUPS = "text_hash binary, leader binary"
RESULT = (
    "order long, key string, source string, standing string, kind string, witness string, witness_source string, "
    "witness_order long, jaccard double, shared long, removed_shingles long, witness_shingles long, cluster string"
)
_REPEATED = "what string, value string, times long"
#: The decision about a leader, by the names of its columns beside those of a document.
_OUTCOME = "o_witness binary, o_shared long, o_removed_shingles long, o_witness_shingles long, o_jaccard double"


def refuse_repeated(stages: Stages, prints: DataFrame, *, has_keys: bool) -> None:
    """Raises an error if two documents have the same order, or the same source and key."""
    from corpusdb.errors import BadInput

    def repeated() -> DataFrame:
        found = prints.groupBy("order").count().where("count > 1")
        found = found.selectExpr("'order' AS what", "CAST(order AS string) AS value", "count AS times")
        if has_keys:
            keys = prints.groupBy("source", "key").count().where("count > 1")
            found = found.unionByName(keys.selectExpr("'key' AS what", "key AS value", "count AS times"))
        return found.orderBy("what", "value", ascending=[False, True]).limit(1)

    for row in stages.keep("repeated", _REPEATED, repeated).collect():
        value = row["value"] if row["what"] == "order" else repr(row["value"])
        raise BadInput(
            f"{row['times']} documents have the {row['what']} {value}, but each needs its own: of repeated documents "
            "keep only the last one, and delete the checkpoint"
        )


def groups(prints: DataFrame, is_near: bool) -> DataFrame:
    """Each text with the best-ranked document that has it. In modes that compare texts, empty texts have no group."""
    from pyspark.sql import functions as F

    eligible = prints.where("tokens > 0") if is_near else prints
    return eligible.groupBy("text_hash").agg(F.min("rank").alias("leader"))


def all_kept(prints: DataFrame) -> DataFrame:
    """The answer in mode `none`."""
    return prints.selectExpr(*filled(RESULT, order="order", key="key", source="source", standing="'kept'", cluster="key"))


def answered(prints: DataFrame, groups: DataFrame, outcomes: DataFrame | None) -> DataFrame:
    """Gives documents with equal texts the witness: the best-ranked of them if it is kept, else its witness."""
    led = prints.select("order", "key", "source", "rank", "raw_hash", "text_hash", "tokens", "shingles")
    led = led.join(groups, "text_hash", "left")
    if outcomes is None:
        led = led.selectExpr("*", *filled(_OUTCOME))
    else:
        known = outcomes.selectExpr("rank AS leader", *(f"{name.removeprefix('o_')} AS {name}" for name in names(_OUTCOME)))
        led = led.join(known, "leader", "left")
    led = led.selectExpr(
        "*", "coalesce(o_witness, CASE WHEN rank <> leader THEN leader END) AS witness_rank", "o_witness IS NOT NULL AS is_led_on"
    )
    witnesses = prints.selectExpr("rank AS witness_rank", "raw_hash AS witness_raw", "key AS witness",
                                  "source AS witness_source", "order AS witness_order")
    told = led.join(witnesses, "witness_rank", "left").selectExpr(
        "*", "CASE WHEN witness_raw = raw_hash THEN 'exact' WHEN witness_raw IS NOT NULL THEN 'near' END AS kind"
    )
    own = "CASE WHEN is_led_on THEN {0} WHEN witness_raw IS NOT NULL THEN shingles END AS {1}"
    return told.selectExpr(
        "order", "key", "source", "coalesce(kind, CASE WHEN leader IS NULL THEN 'empty' ELSE 'kept' END) AS standing", "kind",
        "witness", "witness_source", "witness_order",
        "CASE WHEN is_led_on THEN o_jaccard WHEN witness_raw IS NOT NULL THEN 1.0D END AS jaccard",
        *(own.format(f"o_{name}", name) for name in ("shared", "removed_shingles", "witness_shingles")),
        "coalesce(witness, CASE WHEN leader IS NOT NULL THEN key END) AS cluster",
    )
