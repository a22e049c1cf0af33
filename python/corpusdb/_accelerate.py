"""Shows accelerate our loaders, and refuses what accelerate's loaders would do to whole batches.

`GradientState` lists every loader of accelerate that is iterating. One that would divide a rank's batches again, or
collate whole batches into others, would lose or repeat data silently: it is refused where an iteration begins.
"""

from __future__ import annotations

import sys
from typing import Any

from corpusdb._versions import is_tried
from corpusdb.errors import BadInput

__all__ = ["hide", "refuse_dividing", "sampler_epoch", "show"]

#: The first release that was tried, and the first one after those.
TRIED = ("1.15", "2")
#: The classes that divide a dataset among processes, and the one that skips what was read already.
_DISPATCHER, _SHARD, _SKIPPER = "DataLoaderDispatcher", "IterableDatasetShard", "SkipDataLoader"


def show(loader: Any, *, is_last: bool) -> None:
    """Shows accelerate the loader that gives batches, as its own loaders do: it accumulates over no epoch's end."""
    state = _state()
    if state is None:
        return
    if all(known is not loader for known in state.dataloader_references):
        state._add_dataloader(loader)
    loader.end_of_dataloader = is_last


def hide(loader: Any) -> None:
    """Takes the loader from accelerate, once an iteration has ended."""
    state = _state()
    if state is not None and any(known is loader for known in state.dataloader_references):
        state._remove_dataloader(loader)
        loader.end_of_dataloader = False


def refuse_dividing(dataset: object, world: int, is_chosen: bool) -> None:
    """Refuses what accelerate would do to the whole batches of a dataset.

    That is to divide among processes what one rank has, to collate batches, and to skip some in an epoch that nobody
    has chosen. `world` is the number of ranks that the dataset divides batches among.
    """
    loader, is_sharded = _loader_of(dataset)
    if loader is None or not is_tried("accelerate", TRIED, "that it divides or collates whole batches is not refused"):
        return
    kind, why = type(loader).__name__, None
    divider = loader.dataset if is_sharded else loader.state if kind == _DISPATCHER else None
    processes = getattr(divider, "num_processes", 1)
    if processes > 1 and (world > 1 or is_sharded):
        why = (
            f"accelerate would divide among its {processes} processes what this dataset has for one of them, "
            "and give some rows to nobody: use loader = plan.loader() in every process, as it is or by "
            "accelerator.prepare(loader), which does not change it. To let process 0 read for all, "
            "plan.torch_dataset(rank=0, world=1) with dispatch_batches=True gives each process whole batches"
        )
    elif loader.batch_size is not None:
        why = COLLATING
    elif kind == _SKIPPER and not is_chosen:
        why = (
            "batches are to be skipped of a dataset that was not told the epoch: call dataset.set_epoch(epoch) "
            "before, or load a state with dataset.load_state_dict(batch.state). For transformers' Trainer return "
            "plan.loader() from get_train_dataloader, which resumes by itself"
        )
    if why is not None:
        # accelerate would count it among the loaders that iterate, though it gives nothing.
        _state()._remove_dataloader(loader)
        raise BadInput(why)


def sampler_epoch(dataset: object) -> int | None:
    """The epoch of the sampler by which accelerate takes rows of a dataset, where it has one that counts epochs.

    accelerate and transformers set the epoch of a seeded sampler, but not that of the dataset, when they resume.
    """
    of: Any = _loader_of(dataset)[0]
    while of is not None:
        epoch = getattr(of, "epoch", None)
        if isinstance(epoch, int):
            return epoch
        inner = getattr(of, "batch_sampler", None)
        of = getattr(of, "sampler", None) if inner is None else inner
    return None


#: Why a `DataLoader` with a batch size is refused.
COLLATING = (
    "this dataset gives whole batches, and the DataLoader would collate several of them into one: "
    "write DataLoader(dataset, batch_size=None). For transformers' Trainer return plan.loader() from "
    "get_train_dataloader, or take rows: plan.torch_dataset(map_style=True) with "
    "data_collator=corpusdb.torch.flattened"
)


def _state() -> Any:
    """accelerate's `GradientState`, if the process has imported accelerate; else None."""
    module = sys.modules.get("accelerate.state")
    return None if module is None else module.GradientState()


def _loader_of(dataset: object) -> tuple[Any, bool]:
    """The loader of accelerate that iterates over a dataset, and whether it reads only a part of it."""
    state = _state()
    for loader in reversed([] if state is None else state.dataloader_references):
        held: Any = getattr(loader, "dataset", None)
        if held is dataset:
            return loader, False
        if type(held).__name__ == _SHARD and held.dataset is dataset:
            return loader, True
    return None, False
