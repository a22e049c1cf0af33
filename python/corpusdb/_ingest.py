"""The input of `ingest`: paths, Arrow, or records."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

__all__ = ["Input", "Arrow", "Paths", "Records", "told_apart"]

#: Paths and patterns; anything with `__arrow_c_stream__` or `__arrow_c_array__`; a `datasets.Dataset`; mappings.
Input: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Iterable[Mapping[str, Any]] | object"


class Paths(list[str]):
    """Files, directories, patterns."""


class Arrow:
    """A stream of record batches."""

    def __init__(self, stream: object) -> None:
        self.stream = stream


class Records:
    """An iterator of mappings."""

    def __init__(self, records: Iterator[object]) -> None:
        self.records = records


def told_apart(data: Input) -> Paths | Arrow | Records:
    """Finds out whether `data` is paths, Arrow or records.

    Raises `TypeError` for anything else.
    """
    if isinstance(data, (str, os.PathLike)):
        return Paths([os.fspath(data)])
    if isinstance(data, (list, tuple)) and data and all(isinstance(item, (str, os.PathLike)) for item in data):
        return Paths(os.fspath(item) for item in data)
    if type(data).__module__.partition(".")[0] == "datasets":
        return _of_datasets(data)
    if hasattr(data, "__arrow_c_stream__"):
        return Arrow(data)
    if hasattr(data, "__arrow_c_array__"):
        import pyarrow

        return Arrow(pyarrow.RecordBatchReader.from_batches(*_one_batch(pyarrow.record_batch(data))))
    if isinstance(data, Mapping):
        raise TypeError(f"a {type(data).__name__} is one record: give a list or another iterable of records")
    if isinstance(data, Iterable):
        return Records(iter(data))
    raise TypeError(
        f"cannot ingest a {type(data).__name__}: give paths, data with __arrow_c_stream__ (pyarrow, Polars, pandas, "
        "DuckDB, datasets), or an iterable of mappings"
    )


def _one_batch(batch: Any) -> tuple[Any, list[Any]]:
    return batch.schema, [batch]


def _of_datasets(data: Any) -> Arrow | Records:
    """A `datasets.Dataset` or `IterableDataset` as Arrow batches of its selected rows."""
    import pyarrow

    if isinstance(data, dict) or not hasattr(data, "with_format"):
        raise TypeError(f"cannot ingest a datasets.{type(data).__name__}: give one of its splits")
    batches = data.with_format("arrow").iter(batch_size=1000)
    first = next(batches, None)
    if first is None:
        return Records(iter(()))

    def all_batches() -> Iterator[Any]:
        yield from first.to_batches()
        for table in batches:
            yield from table.to_batches()

    return Arrow(pyarrow.RecordBatchReader.from_batches(first.schema, all_batches()))
