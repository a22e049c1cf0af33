"""Rows of an epoch for Hugging Face `datasets`: in memory, in a mapped file, or streamed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from corpusdb._types import PlanRows

__all__ = ["dataset", "streamed"]

#: Global batches in one shard of a streamed dataset. A resumed dataset reads at most this many again.
_SHARD = 64


def dataset(
    plan: PlanRows, epoch: int, views: Sequence[str] | None, directory: str | os.PathLike[str] | None
) -> datasets.Dataset:
    """A `Dataset` over the Arrow batches of an epoch."""
    import datasets
    import pyarrow as pa

    if directory is None:
        batches = list(_record_batches(plan, epoch, views))
        table = pa.Table.from_batches(batches, _schema(plan, epoch, views))
        return datasets.Dataset(datasets.table.InMemoryTable(table))
    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    file = path / f"plan-{plan.hash[:16]}-epoch-{epoch}.arrow"
    schema = _schema(plan, epoch, views)
    # The file gets its name when it is complete.
    begun = file.with_suffix(".arrow.tmp")
    with pa.OSFile(str(begun), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for batch in _record_batches(plan, epoch, views):
            writer.write_batch(batch)
    begun.replace(file)
    return datasets.Dataset.from_file(str(file))


def streamed(plan: PlanRows, epoch: int, views: Sequence[str] | None) -> datasets.IterableDataset:
    """An `IterableDataset` that reads the batches as the trainer asks for them, in shards of `_SHARD` batches."""
    import datasets

    batches = plan.batches(epoch)
    shards = [(first, min(first + _SHARD, batches)) for first in range(0, batches, _SHARD)]
    # `datasets` divides lists among the arguments into shards, so `views` must not be a list.
    options = None if views is None else tuple(views)
    given = datasets.IterableDataset.from_generator(
        _examples,
        gen_kwargs={"plan": plan, "epoch": epoch, "views": options, "shards": shards},
        features=datasets.Features.from_arrow_schema(_schema(plan, epoch, views)),
    )
    assert isinstance(given, datasets.IterableDataset)
    return given


def _examples(
    plan: PlanRows, epoch: int, views: Sequence[str] | None, shards: list[tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    with plan.loader(epoch=epoch, rank=0, world=1, views=views, as_="arrow") as loader:
        for first, end in shards:
            loader.load_state_dict({**loader.state_dict(), "epoch": epoch, "next_batch": first})
            # If the recipe has no batches, a step is several rows, which count as batches here.
            for batch in loader:
                yield from batch.to_pyarrow().to_pylist()
                state = loader.state_dict()
                if state["epoch"] > epoch or state["next_batch"] >= end:
                    break


def _record_batches(plan: PlanRows, epoch: int, views: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    with plan.loader(epoch=epoch, rank=0, world=1, views=views, as_="arrow") as loader:
        for batch in loader:
            yield batch.to_pyarrow()


def _schema(plan: PlanRows, epoch: int, views: Sequence[str] | None) -> pa.Schema:
    with plan.loader(epoch=epoch, rank=0, world=1, views=views, as_="arrow", prefetch=1) as loader:
        return next(loader).to_pyarrow().schema
