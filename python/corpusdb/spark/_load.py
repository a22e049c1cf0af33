"""Writes documents with the decisions of a cluster, in a form that a corpus loads."""

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

#: The layouts that this release writes and reads. The second one also changes the standing of stored documents.
FORMAT, FORMAT_OF_CHANGES = 1, 2

#: Modes in which a load cannot change stored documents.
TRANSITIVE = ("components", "lsh")

#: About how many changed stored documents are in one file.
CHANGED_ROWS = 1_000_000

#: The most shards: their directories have five digits.
MOST_SHARDS = 10_000

#: The columns with decisions; all others belong to the document.
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
    """Writes the documents of a frame with their decisions, for `corpusdb bulk-load` or `Writer.bulk_load`.

    `df`, `policy`, `order`, `text`, `key` and `source` are the same as in the call of `dedup` or `against`. All other
    columns of the frame, except the one of the order, become fields of the documents. `source_name` is the source of
    documents without a source column. `tokenizers` maps the names of the tokenizers that the corpus must have to their
    hashes (`corpus.tokenizers.show(name).hash`). `ids` maps names of these tokenizers to the columns that `encode`
    made: the load stores these token ids instead of computing them.

    `directory` must be new, and accessible to the program and its tasks. Its files have about `part_rows` documents
    each. The manifest is written last: a directory without it is not complete. `docs/reference/loads.md` describes the
    layout.

    `shards` divides the documents among as many corpora. The shard is a hash of source and key of the kept document, or
    for a removed document of its witness: so a document and its witness are in the same corpus. Each corpus loads its
    own shard (`corpusdb bulk-load crawl-3 DIRECTORY --shard 3`), and `corpusdb epoch plan --shards` plans over all of
    them.

    The answer of `against`, with its changes of stored documents (`changed`), is loaded into the corpus that it was
    decided against, which must not have changed since. In modes `components` and `lsh` a load cannot change stored
    documents: if `changed` has rows, it raises `corpusdb.BadInput`; ingest the new documents instead.
    """
    from pyspark.sql import functions as F

    from corpusdb import _native
    from corpusdb.errors import BadInput

    if shards is not None and not 1 <= shards <= MOST_SHARDS:
        raise BadInput(f"shards must be between 1 and {MOST_SHARDS}, got {shards}")
    made = _native.policy_json(keyword_json(**(policy or {})))
    settings: dict[str, Any] = json.loads(made)
    changed = 0
    if isinstance(done, Compared):
        if shards is not None:
            raise BadInput("documents decided against a corpus are loaded into that corpus: leave shards out")
        changed = done.changed.count()
        mode = settings["mode"]
        if changed and mode in TRANSITIVE:
            raise BadInput(
                f"the new documents change {changed} stored ones (`changed`), which a load cannot do in mode {mode!r}: "
                "ingest the new documents instead; if all changes are `superseded`, ingest only the documents whose "
                "keys the corpus has, then decide the others again and load them"
            )
        if done.rows.where("source IS NULL").limit(1).count():
            raise BadInput(
                "a new document has no source, so it was not compared within one: set the source of every document"
            )
    directory = os.fspath(directory).rstrip("/")
    ids, hashes = dict(ids or {}), dict(tokenizers or {})
    if absent := sorted(ids.keys() - hashes.keys()):
        raise BadInput(f"`ids` has the tokenizer {absent[0]!r}, but `tokenizers` does not: add it with its hash")
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
            raise BadInput("a document has no key: shards need the key of every document")
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
    """The columns of documents, by their names in a load. `lists` has the names of columns with token ids."""
    from pyspark.sql import functions as F

    from corpusdb.errors import BadInput

    columns = text_and_key(text, key, order)
    if source is not None:
        columns.append(F.col(source).cast("string").alias("source"))
    taken = {name for name in (text, key, source, order, *lists) if name is not None}
    reserved = {"text", "key", "source", "part", *DECISIONS, *(["shard"] if in_shards else [])}
    others = [name for name in df.columns if name not in taken]
    # Spark ignores the case of column names.
    wrong = sorted(name for name in others if name.lower() in reserved or name.lower().startswith("_ids"))
    if wrong:
        raise BadInput(
            f"the frame has a column {wrong[0]!r}, a name that is reserved in a load: rename the column, or drop it"
        )
    columns.extend(F.col(f"`{name}`") for name in others)
    columns.extend(F.col(f"`{name}`").cast("array<int>").alias(to) for name, to in lists.items())
    return df.select(*columns, F.col(order).cast("long").alias("_order"))


def _decisions(done: Deduplicated | Compared, source_name: str | None) -> DataFrame:
    """The columns of decisions."""
    from pyspark.sql import functions as F

    # Key and source choose the shard. They are also among the document's own columns, so they are dropped before
    # writing.
    others = [F.col(name).alias(f"_{name}") for name in ("order", "cluster", "key", "source")]
    return done.rows.select(*others, *_standing(isinstance(done, Compared), source_name))


def _changed(done: Compared, source_name: str | None) -> DataFrame:
    """The changed stored documents, by their ids."""
    from pyspark.sql import functions as F

    return done.changed.select(F.col("order").alias("id"), "key", "source", *_standing(True, source_name))


def _standing(is_against: bool, source_name: str | None) -> list[Column]:
    """The columns of a standing. `source_name` is the source of witnesses without one; None if there are no sources."""
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
    """The shard of a document: from the first 32 bits of MD5 over source, a zero byte and key of its witness, or of the
    document itself if it has no witness."""
    from pyspark.sql import functions as F

    source = F.lit(source_name)
    if has_sources:
        of = F.when(F.col("_witness").isNull(), F.col("_source")).otherwise(F.col("_witness_source"))
        source = F.coalesce(of, source)
    key = F.coalesce(F.col("_witness"), F.col("_key"))
    hashed = F.substring(F.md5(F.concat(source, F.lit("\0"), key)), 1, 8)
    number = F.conv(hashed, 16, 10).cast("long")
    return F.lpad((number % shards).cast("string"), 5, "0")
