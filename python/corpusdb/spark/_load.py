"""What was decided on a cluster, written so that a corpus loads it: documents with their decisions, and what made them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from corpusdb._policy import PolicySettings, policy_settings
from corpusdb.spark._against import Compared
from corpusdb.spark._dedup import Deduplicated
from corpusdb.spark._run import text_and_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["DECISIONS", "write_load"]

#: The layout that this release writes and reads.
FORMAT = 1

#: Columns with what was decided; all others are of the document.
DECISIONS = (
    "_order", "_standing", "_kind", "_witness", "_witness_source", "_witness_id", "_jaccard", "_shared", "_removed_shingles",
    "_witness_shingles", "_cluster",
)


def write_load(
    df: DataFrame,
    done: Deduplicated | Compared,
    policy: PolicySettings | None,
    directory: str | os.PathLike[str],
    *,
    order: str,
    text: str = "text",
    key: str | None = None,
    source: str | None = None,
    source_name: str = "documents",
    tokenizers: Mapping[str, str] | None = None,
    ids: Mapping[str, str] | None = None,
    part_rows: int = 100_000,
) -> None:
    """Writes the documents of a frame with what was decided about them, for `corpusdb bulk-load` or `Writer.bulk_load`.

    Frame, policy, `order`, `text`, `key` and `source` are those that `dedup` or `against` was given. All other columns of
    the frame become fields of the documents; the column of the order does not. `source_name` is the source of documents
    where no column names it. `tokenizers` names, by their hashes, those that the corpus must have
    (`corpus.tokenizers.show(name).hash`). Of these `ids` names those whose token ids are in the frame, by the columns
    that `encode` made: they are not made again.

    `directory` is one that program and tasks reach; it must be new. Its files have about `part_rows` documents each. The
    manifest is written last: without it a directory is not whole. The layout is on the page `docs/reference/loads.md`.

    What `against` answered is loaded into the corpus that it was decided against, as it was then. Where stored documents
    stand otherwise because of the new ones (`changed` has rows), `corpusdb.BadInput` is raised: ingest these instead.
    """
    from pyspark.sql import functions as F

    from corpusdb import _native
    from corpusdb.errors import BadInput

    if isinstance(done, Compared):
        if changed := done.changed.count():
            raise BadInput(
                f"{changed} stored documents stand otherwise because of the new ones (`changed`), which a load cannot make them: "
                "ingest the new documents; where all of these are `superseded`, those whose keys the corpus has are enough, and "
                "the others can be decided again and loaded"
            )
        if done.rows.where("source IS NULL").limit(1).count():
            raise BadInput("a new document names no source, so that it was compared with none of the source that it would have")
    directory = os.fspath(directory).rstrip("/")
    ids, hashes = dict(ids or {}), dict(tokenizers or {})
    if absent := sorted(ids.keys() - hashes.keys()):
        raise BadInput(f"the token ids of {absent[0]!r} come without its hash: name it among `tokenizers`")
    if wrong := sorted(column for column in ids.values() if column not in df.columns or list(ids.values()).count(column) > 1):
        raise BadInput(f"`ids` names the column {wrong[0]!r}, which the frame does not have, or names it twice")
    lists = {column: f"_ids_{number}" for number, column in enumerate(ids.values())}
    documents = _documents(df, text, key, source, order, lists)
    counted = done.rows.agg(F.count("*").alias("documents"), F.max("order").alias("last")).collect()[0]
    count, last = int(counted["documents"]), int(counted["last"] or 0)
    parts = max(1, -(-count // part_rows))
    width = last // parts + 1
    decided = documents.join(_decisions(done, source_name if source is not None else None), "_order")
    decided = decided.withColumn("part", F.expr(f"lpad(CAST(_order DIV {width} AS string), 6, '0')"))
    for name in lists.values():
        decided = decided.withColumn(name, F.expr(f"CASE WHEN _standing = 'kept' THEN {name} END"))
    rows = decided.repartition(parts, "part").sortWithinPartitions("part", "_order")
    rows.write.partitionBy("part").mode("error").parquet(f"{directory}/documents")
    settings = policy_settings(policy if policy is not None else {})
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "signature_version": _native.signature_version(),
        "policy": json.loads(_native.policy_json(cast(PolicySettings, settings))),
        "documents": count,
        "source": source_name,
        "tokenizers": [
            {"name": name, "hash": hash, **({"ids": lists[ids[name]]} if name in ids else {})} for name, hash in hashes.items()
        ],
    }
    if isinstance(done, Compared):
        manifest["against"] = {"documents": done.stored}
    told = df.sparkSession.createDataFrame([(json.dumps(manifest),)], "value string")
    told.coalesce(1).write.mode("error").text(f"{directory}/manifest")


def _documents(
    df: DataFrame, text: str, key: str | None, source: str | None, order: str, lists: Mapping[str, str]
) -> DataFrame:
    """The columns of documents by the names that they have in a load; `lists` has those of columns with token ids."""
    from pyspark.sql import functions as F

    from corpusdb.errors import BadInput

    columns = text_and_key(text, key, order)
    if source is not None:
        columns.append(F.col(source).cast("string").alias("source"))
    taken = {name for name in (text, key, source, order, *lists) if name is not None}
    reserved = {"text", "key", "source", "part", *DECISIONS}
    others = [name for name in df.columns if name not in taken]
    wrong = sorted(name for name in others if name in reserved or name.startswith("_ids"))
    if wrong:
        raise BadInput(
            f"the frame has a column {wrong[0]!r}, which means something else in a load: give it another name, or drop it"
        )
    columns.extend(F.col(f"`{name}`") for name in others)
    columns.extend(F.col(f"`{name}`").cast("array<int>").alias(to) for name, to in lists.items())
    return df.select(*columns, F.col(order).cast("long").alias("_order"))


def _decisions(done: Deduplicated | Compared, source_name: str | None) -> DataFrame:
    """The columns of decisions. A witness without a source has that name; without one documents have no sources."""
    from pyspark.sql import functions as F

    named = [F.col(name).alias(f"_{name}") for name in ("order", "standing", "kind", "witness")]
    if source_name is None:
        named.append(F.lit(None).cast("string").alias("_witness_source"))
    else:
        of_witness = F.coalesce(F.col("witness_source"), F.lit(source_name))
        named.append(F.when(F.col("witness").isNotNull(), of_witness).alias("_witness_source"))
    stored = "CASE WHEN witness_is_stored THEN witness_order END" if isinstance(done, Compared) else "CAST(NULL AS long)"
    named.append(F.expr(stored).alias("_witness_id"))
    counts = ("jaccard", "shared", "removed_shingles", "witness_shingles", "cluster")
    return done.rows.select(*named, *(F.col(name).alias(f"_{name}") for name in counts))
