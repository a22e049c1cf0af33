"""The steps of every job: settings, input columns, fingerprints, groups of equal texts, and the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from corpusdb import _native
from corpusdb._call import keyword_json
from corpusdb._options import InitOptions
from corpusdb.spark import _answer, _tasks
from corpusdb.spark._job import PRINTS, Job
from corpusdb.spark._outcomes import outcomes_of
from corpusdb.spark._schema import names
from corpusdb.spark._stages import Stages

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["begun", "decisions", "prints_of", "selected", "text_and_key"]


def begun(
    df: DataFrame, policy: InitOptions | None, checkpoint: str, task_rows: int, source: str | None, *, of: str
) -> tuple[Stages, Job]:
    """Starts a job: its stages and its settings."""
    from corpusdb.errors import BadPolicy

    asked = keyword_json(**(policy or {}))
    settings: dict[str, Any] = json.loads(asked)
    mode, keep, scope = _native.policy_words(asked)
    if scope == "per-source" and source is None:
        raise BadPolicy("scope per-source compares within a source: name the column of sources with source=...")
    # A later release may have a newer normaliser under the name of a profile, so stages of another release are not
    # used.
    made = {"normaliser": json.loads(_native.policy_json(asked))["normaliser"], "signature_version": _native.signature_version()}
    stages = Stages(df.sparkSession, checkpoint, {**settings, **made, "job": of, "stages": 2})
    return stages, Job(cast(InitOptions, settings), mode, keep, task_rows, _partitions(df))


def selected(df: DataFrame, job: Job, *, text: str, key: str | None, source: str | None, order: str) -> DataFrame:
    """The input columns of a job, by the names that its tasks use."""
    from pyspark.sql import functions as F

    columns = [
        *text_and_key(text, key, order),
        (F.col(source) if source is not None else F.lit("")).cast("string").alias("source"),
        F.col(order).cast("long").alias("order"),
    ]
    if job.number is not None:
        columns.append(F.col(job.number).alias("number"))
    return df.select(*columns)


def text_and_key(text: str, key: str | None, order: str) -> list[Column]:
    """The text and the key of a document. Without a key column, the order is the key."""
    from pyspark.sql import functions as F

    return [F.col(text).cast("string").alias("text"), F.col(key if key is not None else order).cast("string").alias("key")]


def prints_of(named: DataFrame, job: Job) -> DataFrame:
    """The fingerprint of each document."""
    columns = {name: name for name in ("text", "key", "source", "order")}
    columns |= {"number": "number"} if job.number is not None else {}
    return named.mapInArrow(_tasks.fingerprint(job.policy, columns), PRINTS)


def decisions(stages: Stages, prints: DataFrame, named: DataFrame, job: Job) -> tuple[DataFrame, list[int]]:
    """The answer for every document, and the sizes of the largest buckets."""
    if job.mode == "none":
        return stages.keep("result", _answer.RESULT, lambda: _answer.all_kept(prints)), []
    groups = stages.keep("texts", _answer.GROUPS, lambda: _answer.groups(prints, job.is_near))
    outcomes: DataFrame | None = None
    largest: list[int] = []
    if job.is_near:
        leading = prints.join(groups.selectExpr("leader AS rank"), "rank").select(*names(PRINTS))
        leaders = stages.keep("leaders", PRINTS, lambda: leading)
        outcomes, largest = outcomes_of(stages, leaders, named.selectExpr("order", "text"), job)
    return stages.keep("result", _answer.RESULT, lambda: _answer.answered(prints, groups, outcomes)), largest


def _partitions(df: DataFrame) -> int:
    """The session's number of shuffle partitions."""
    try:
        return int(str(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    except Exception:  # Some servers do not know the setting; each raises its own exceptions.
        return 8
