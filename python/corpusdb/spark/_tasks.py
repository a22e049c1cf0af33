"""The tasks of a cluster: each calls the kernel on the Arrow batches of a partition."""

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
    """An answer of the kernel in types that Spark supports: no unsigned numbers, no fixed-size or large values."""
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
    """All rows of the partition; None if it has no batch."""
    found = list(batches)
    return pa.Table.from_batches(found) if found else None


def _whole(function: str, *given: Any, **named: Any) -> Task:
    """Calls a function of the kernel on all rows of the partition, if there are any."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import kernel

        rows = _together(batches)
        if rows is not None and rows.num_rows:
            yield _plain(getattr(kernel, function)(rows, *given, **named))

    return task


def fingerprint(policy: InitOptions, names: dict[str, Any]) -> Task:
    """Texts to their fingerprints."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import kernel

        for batch in batches:
            yield _plain(kernel.fingerprint(batch, policy, **names))

    return task


def encode(tokenizer: bytes, texts: str) -> Task:
    """The last column, which has the texts, to token ids. Null stays null."""

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
    """Documents of a corpus to parts of the digest of their standings, one row a batch."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import _native

        for batch in batches:
            # Spark has no unsigned numbers.
            part = _native.standings_digest(batch).to_bytes(8, "little")
            yield pa.RecordBatch.from_arrays([pa.array([part], pa.binary())], names=["part"])

    return task


def bands() -> Task:
    """Documents to one row a band: the bucket (number of the band, then its hash) and the rank of the document."""

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
    """Pairs with their sketches to the pairs that are close enough to compare the texts."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import kernel

        for batch in batches:
            yield _plain(kernel.close(batch, policy))

    return task


def near(policy: InitOptions, most: int) -> Task:
    """Members of complete crowded buckets to close pairs and open members."""
    return _whole("near", policy, most=most)


def similar(policy: InitOptions, most: int) -> Task:
    """Members of complete crowded buckets, with their texts, to edges and open members."""
    return _whole("similar", policy, most=most)


def verify(policy: InitOptions) -> Task:
    """Pairs with their texts to their exact overlaps."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from corpusdb import kernel

        for batch in batches:
            yield _plain(kernel.verify(batch, policy))

    return task


def components() -> Task:
    """Pairs to components within the task: each node with the best rank that it reaches."""
    return _whole("components")


def decide(policy: InitOptions) -> Task:
    """Complete components to the outcomes of their members. Rows with a `right` are edges, the others are members."""

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
