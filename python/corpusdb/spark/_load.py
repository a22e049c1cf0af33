"""What was decided on a cluster, written so that a corpus loads it: documents with their decisions, and what made them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpusdb._call import keyword_json
from corpusdb._options import InitOptions
from corpusdb.spark._against import Compared
from corpusdb.spark._dedup import Deduplicated
from corpusdb.spark._run import text_and_key

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["DECISIONS", "write_load"]

#: The layouts that this release writes and reads: with the second one stored documents stand otherwise.
FORMAT, FORMAT_OF_CHANGES = 1, 2

#: Modes in which a load leaves stored documents as they are.
TRANSITIVE = ("components", "lsh")

#: Stored documents in one file, about.
CHANGED_ROWS = 1_000_000

#: Directories of shards have five digits.
MOST_SHARDS = 10_000

#: Columns with what was decided; all others are of the document.
DECISIONS = (
    "_order", "_standing", "_kind", "_witness", "_witness_source", "_witness_id", "_jaccard", "_shared", "_removed_shingles",
    "_witness_shingles", "_cluster",
)


def write_load(
    df: DataFrame,
    done: Deduplicated | Compared,
    policy: InitOptions | None,
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
    shards: int | None = None,
) -> None:
    """Writes the documents of a frame with what was decided about them, for `corpusdb bulk-load` or `Writer.bulk_load`.

    Frame, policy, `order`, `text`, `key` and `source` are those that `dedup` or `against` was given. All other columns of
    the frame become fields of the documents; the column of the order does not. `source_name` is the source of documents
    where no column names it. `tokenizers` names, by their hashes, those that the corpus must have
    (`corpus.tokenizers.show(name).hash`). Of these `ids` names those whose token ids are in the frame, by the columns
    that `encode` made: they are not made again.

    `directory` is one that program and tasks reach; it must be new. Its files have about `part_rows` documents each. The
    manifest is written last: without it a directory is not whole. The layout is on the page `docs/reference/loads.md`.

    With `shards` the documents are parted among as many corpora, by a hash of source and key of the kept document that
    they are or that they are removed for, so that no witness is in another corpus; each loads its own
    (`corpusdb bulk-load crawl-3 DIRECTORY --shard 3`), and `corpusdb epoch plan --shards` plans over all of them.

    What `against` answered is loaded into the corpus that it was decided against, as it was then, and what it says of
    stored documents (`changed`) comes along. In modes `components` and `lsh` a load cannot make stored documents stand
    otherwise: where `changed` has rows, `corpusdb.BadInput` is raised, and the new documents are to be ingested instead.
    """
    from pyspark.sql import functions as F

    from corpusdb import _native
    from corpusdb.errors import BadInput

    if shards is not None and not 1 <= shards <= MOST_SHARDS:
        raise BadInput(f"{shards} shards are none: their number is from 1 to {MOST_SHARDS}")
    made = _native.policy_json(keyword_json(**(policy or {})))
    settings: dict[str, Any] = json.loads(made)
    changed = 0
    if isinstance(done, Compared):
        if shards is not None:
            raise BadInput("what was decided against a corpus is loaded into that corpus, and is not parted into shards")
        changed = done.changed.count()
        mode = settings["mode"]
        if changed and mode in TRANSITIVE:
            raise BadInput(
                f"{changed} stored documents stand otherwise because of the new ones (`changed`), which a load cannot make them "
                f"in mode {mode!r}: ingest the new documents; where all of these are `superseded`, those whose keys the corpus "
                "has are enough, and the others can be decided again and loaded"
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
    documents = _documents(df, text, key, source, order, lists, shards is not None)
    counted = done.rows.agg(F.count("*").alias("documents"), F.max("order").alias("last")).collect()[0]
    count, last = int(counted["documents"]), int(counted["last"] or 0)
    parts = max(1, -(-count // ((shards or 1) * part_rows)))
    width = last // parts + 1
    decisions = _decisions(done, source_name if source is not None else None)
    if shards is not None:
        if decisions.where("_key IS NULL").limit(1).count():
            raise BadInput("a document has no key, by which documents are parted into shards")
        decisions = decisions.withColumn("shard", _shard(shards, source_name, source is not None))
        found = {int(row["shard"]): int(row["count"]) for row in decisions.groupBy("shard").count().collect()}
    decided = documents.join(decisions.drop("_key", "_source"), "_order")
    decided = decided.withColumn("part", F.expr(f"lpad(CAST(_order DIV {width} AS string), 6, '0')"))
    for name in lists.values():
        decided = decided.withColumn(name, F.expr(f"CASE WHEN _standing = 'kept' THEN {name} END"))
    folders = ["part"] if shards is None else ["shard", "part"]
    rows = decided.repartition(parts * (shards or 1), *folders).sortWithinPartitions(*folders, "_order")
    rows.write.partitionBy(*folders).mode("error").parquet(f"{directory}/documents")
    manifest: dict[str, Any] = {
        "format": FORMAT_OF_CHANGES if changed else FORMAT,
        "signature_version": _native.signature_version(),
        "policy": settings,
        "documents": count,
        "source": source_name,
        "tokenizers": [
            {"name": name, "hash": hash, **({"ids": lists[ids[name]]} if name in ids else {})} for name, hash in hashes.items()
        ],
    }
    if isinstance(done, Compared):
        manifest["against"] = {"documents": done.stored, "standings": done.standings}
        if changed:
            manifest["against"]["changed"] = changed
            stood = _changed(done, source_name if source is not None else None)
            stood = stood.coalesce(1 + changed // CHANGED_ROWS).sortWithinPartitions("id")
            stood.write.mode("error").parquet(f"{directory}/changed")
    if shards is not None:
        manifest["shards"] = [found.get(shard, 0) for shard in range(shards)]
    told = df.sparkSession.createDataFrame([(json.dumps(manifest),)], "value string")
    told.coalesce(1).write.mode("error").text(f"{directory}/manifest")


def _documents(
    df: DataFrame, text: str, key: str | None, source: str | None, order: str, lists: Mapping[str, str], in_shards: bool
) -> DataFrame:
    """The columns of documents by the names that they have in a load; `lists` has those of columns with token ids."""
    from pyspark.sql import functions as F

    from corpusdb.errors import BadInput

    columns = text_and_key(text, key, order)
    if source is not None:
        columns.append(F.col(source).cast("string").alias("source"))
    taken = {name for name in (text, key, source, order, *lists) if name is not None}
    reserved = {"text", "key", "source", "part", *DECISIONS, *(["shard"] if in_shards else [])}
    others = [name for name in df.columns if name not in taken]
    # Names of columns differ by more than their case, as Spark sees them.
    wrong = sorted(name for name in others if name.lower() in reserved or name.lower().startswith("_ids"))
    if wrong:
        raise BadInput(
            f"the frame has a column {wrong[0]!r}, which means something else in a load: give it another name, or drop it"
        )
    columns.extend(F.col(f"`{name}`") for name in others)
    columns.extend(F.col(f"`{name}`").cast("array<int>").alias(to) for name, to in lists.items())
    return df.select(*columns, F.col(order).cast("long").alias("_order"))


def _decisions(done: Deduplicated | Compared, source_name: str | None) -> DataFrame:
    """The columns of decisions."""
    from pyspark.sql import functions as F

    # By key and source a document's shard is told; they are among its own columns too, and these go before it is written.
    others = [F.col(name).alias(f"_{name}") for name in ("order", "cluster", "key", "source")]
    return done.rows.select(*others, *_standing(isinstance(done, Compared), source_name))


def _changed(done: Compared, source_name: str | None) -> DataFrame:
    """Stored documents that stand otherwise, by their numbers."""
    from pyspark.sql import functions as F

    return done.changed.select(F.col("order").alias("id"), "key", "source", *_standing(True, source_name))


def _standing(is_against: bool, source_name: str | None) -> list[Column]:
    """The columns of a standing. A witness without a source has that name; without one documents have no sources."""
    from pyspark.sql import functions as F

    named = [F.col(name).alias(f"_{name}") for name in ("standing", "kind", "witness")]
    if source_name is None:
        named.append(F.lit(None).cast("string").alias("_witness_source"))
    else:
        of_witness = F.coalesce(F.col("witness_source"), F.lit(source_name))
        named.append(F.when(F.col("witness").isNotNull(), of_witness).alias("_witness_source"))
    stored = "CASE WHEN witness_is_stored THEN witness_order END" if is_against else "CAST(NULL AS long)"
    named.append(F.expr(stored).alias("_witness_id"))
    named.extend(F.col(name).alias(f"_{name}") for name in ("jaccard", "shared", "removed_shingles", "witness_shingles"))
    return named


def _shard(shards: int, source_name: str, has_sources: bool) -> Column:
    """The shard of a document: by the first 32 bits of MD5 over source, a zero byte and key of the kept document that it is
    or that it is removed for."""
    from pyspark.sql import functions as F

    source = F.lit(source_name)
    if has_sources:
        of = F.when(F.col("_witness").isNull(), F.col("_source")).otherwise(F.col("_witness_source"))
        source = F.coalesce(of, source)
    key = F.coalesce(F.col("_witness"), F.col("_key"))
    hashed = F.substring(F.md5(F.concat(source, F.lit("\0"), key)), 1, 8)
    number = F.conv(hashed, 16, 10).cast("long")
    return F.lpad((number % shards).cast("string"), 5, "0")
