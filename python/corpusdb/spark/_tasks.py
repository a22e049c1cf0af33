"""What each task of the cluster does: the kernel over the Arrow batches of a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from corpusdb._options import InitOptions

__all__ = ["BAND", "Task", "bands", "close", "components", "decide", "encode", "fingerprint", "near", "similar", "standings", "verify"]

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

#: Bytes of the hash of a band.
BAND = 5


def _plain(answer: Any, columns: list[str] | None = None) -> pa.RecordBatch:
    """An answer of the kernel in the types that Spark has: no unsigned numbers, no values of fixed or large size."""
    batch = pa.record_batch(answer)
    batch = batch if columns is None else batch.select(columns)
    return pa.RecordBatch.from_arrays([_as_spark(column) for column in batch.columns], names=batch.schema.names)


def _as_spark(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_unsigned_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_large_binary(kind):
        return column.cast(pa.binary())
    return column.cast(pa.string()) if pa.types.is_large_string(kind) else column


def _together(batches: Iterator[pa.RecordBatch]) -> pa.Table | None:
    """All rows of the partition; none when there is not even a batch."""
    found = list(batches)
    return pa.Table.from_batches(found) if found else None


def _whole(function: str, *given: Any, **named: Any) -> Task:
    """A function of the kernel over all rows of the partition, if there are any."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import kernel

        rows = _together(batches)
        if rows is not None and rows.num_rows:
            yield _plain(getattr(kernel, function)(rows, *given, **named))

    return task


def fingerprint(policy: InitOptions, names: dict[str, Any]) -> Task:
    """Texts to what is compared of them."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import kernel

        for batch in batches:
            yield _plain(kernel.fingerprint(batch, policy, **names))

    return task


def encode(tokenizer: bytes, texts: str) -> Task:
    """The column of texts, which is the last, to their token ids; null stays null."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow.compute as pc

        from corpusdb import kernel

        loaded = kernel.load_tokenizer(tokenizer)
        for batch in batches:
            column = batch.column(batch.num_columns - 1)
            given = pa.RecordBatch.from_arrays([column.fill_null("")], names=["text"])
            lists = pa.record_batch(kernel.encode(given, loaded)).column("ids").cast(pa.list_(pa.int32()))
            place = pc.if_else(column.is_valid(), pa.array(range(batch.num_rows), pa.int64()), pa.scalar(None, pa.int64()))
            yield pa.RecordBatch.from_arrays([*batch.columns[:-1], lists.take(place)], names=[*batch.schema.names[:-1], texts])

    return task


def standings() -> Task:
    """Documents of a corpus to the digest of how they stand, a part of it a row."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import _native

        for batch in batches:
            # Spark has no numbers without a sign.
            part = _native.standings_digest(batch).to_bytes(8, "little")
            yield pa.RecordBatch.from_arrays([pa.array([part], pa.binary())], names=["part"])

    return task


def bands() -> Task:
    """One row a band: the bucket (number of the band, then its hash) and the document."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np

        for batch in batches:
            if batch.num_rows == 0:
                continue
            hashes = b"".join(batch.column("bands").to_pylist())
            rows = np.frombuffer(hashes, np.uint8).reshape(batch.num_rows, -1, BAND)
            count = rows.shape[1]
            buckets = np.empty((batch.num_rows, count, BAND + 1), np.uint8)
            buckets[:, :, 0] = np.arange(count, dtype=np.uint8)
            buckets[:, :, 1:] = rows
            flat = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(BAND + 1), batch.num_rows * count, [None, pa.py_buffer(buckets.tobytes())]
            )
            documents = pa.array(np.repeat(np.arange(batch.num_rows), count))
            yield pa.RecordBatch.from_arrays(
                [flat.cast(pa.binary()), batch.column("rank").take(documents)], names=["bucket", "rank"]
            )

    return task


def close(policy: InitOptions) -> Task:
    """Pairs with their sketches to those that are close enough for their texts to be compared."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import kernel

        for batch in batches:
            yield _plain(kernel.close(batch, policy))

    return task


def near(policy: InitOptions, most: int) -> Task:
    """Members of crowded buckets, whole buckets of them, to close pairs and to what is open."""
    return _whole("near", policy, most=most)


def similar(policy: InitOptions, most: int) -> Task:
    """Members of crowded buckets with their texts, whole buckets of them, to edges and to what is open."""
    return _whole("similar", policy, most=most)


def verify(policy: InitOptions) -> Task:
    """Pairs with their texts to exact overlaps."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import kernel

        for batch in batches:
            yield _plain(kernel.verify(batch, policy))

    return task


def components() -> Task:
    """Pairs to what they connect within this task: each node with the best rank that it reaches."""
    return _whole("components")


def decide(policy: InitOptions) -> Task:
    """Whole components, rows of members and rows of edges (those with a right side), to what became of the members."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow.compute as pc

        from corpusdb import kernel

        rows = _together(batches)
        if rows is None or rows.num_rows == 0:
            return
        is_member = pc.is_null(rows["right"])
        members = rows.filter(is_member).rename_columns(
            ["rank" if name == "left" else name for name in rows.column_names]
        )
        answer = kernel.decide(members, rows.filter(pc.invert(is_member)), policy)
        yield _plain(answer, ["rank", "standing", "witness", "shared", "removed_shingles", "witness_shingles", "jaccard"])

    return task
