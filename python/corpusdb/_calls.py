"""The calls under way: a trainer that splits again what a rank has, or that collates whole batches, is refused.

Either would lose or repeat data without a word. The calls are looked at where an iteration begins.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from corpusdb.errors import BadInput

__all__ = ["refuse_collating", "refuse_splitting", "trainer_epoch"]

#: The module of accelerate that prepares loaders, and its classes that divide what a dataset gives among processes.
_ACCELERATE = "accelerate.data_loader"
_SPLITTERS = ("DataLoaderDispatcher", "IterableDatasetShard")
_SKIPPERS = ("SkipDataLoader",)


def refuse_collating() -> None:
    """Refuses a `DataLoader` that would collate whole batches into a batch of batches. To be called by `__iter__`."""
    for call in _calls():
        if call.f_globals.get("__name__") == "torch.utils.data._utils.fetch":
            if call.f_locals.get("auto_collation"):
                raise BadInput(
                    "this dataset gives whole batches, and the DataLoader would collate several of them into one: "
                    "write DataLoader(dataset, batch_size=None). For transformers' Trainer return plan.loader() from "
                    "get_train_dataloader, or take rows: plan.torch_dataset(map_style=True) with "
                    "data_collator=corpusdb.torch.flattened"
                )
            return


def refuse_splitting(world: int, is_chosen: bool) -> None:
    """Refuses accelerate's division of what one rank has, and its skipping in an epoch that nobody has chosen.

    `world` is the number of ranks that the dataset divides batches among. To be called where an iteration begins, in
    every process.
    """
    for call in _calls():
        if call.f_globals.get("__name__") != _ACCELERATE:
            continue
        of = call.f_locals.get("self")
        kind = type(of).__name__
        if kind in _SPLITTERS:
            processes = getattr(of if hasattr(of, "num_processes") else getattr(of, "state", None), "num_processes", 1)
            if processes > 1 and (world > 1 or kind == "IterableDatasetShard"):
                raise BadInput(
                    f"accelerate would divide among its {processes} processes what this dataset has for one of them, "
                    "and give some rows to nobody: use loader = plan.loader() in every process, as it is or by "
                    "accelerator.prepare(loader), which does not change it. To let process 0 read for all, "
                    "plan.torch_dataset(rank=0, world=1) with dispatch_batches=True gives each process whole batches"
                )
        if kind in _SKIPPERS and not is_chosen:
            raise BadInput(
                "batches are to be skipped of a dataset that was not told the epoch: call dataset.set_epoch(epoch) "
                "before, or load a state with dataset.load_state_dict(batch.state). For transformers' Trainer return "
                "plan.loader() from get_train_dataloader, which resumes by itself"
            )


def trainer_epoch() -> int:
    """The epoch, counted from 0, that a trainer is about to begin, as the calls under way say; 0 if they say none.

    A run that was stopped at an epoch's end goes on with a new loader. Lightning tells no loader at which epoch, and
    loads no state of one; transformers' Trainer tells a `DataLoader` only what accelerate prepared.
    """
    for call in _calls():
        module, name = call.f_globals.get("__name__", ""), call.f_code.co_name
        of: Any = call.f_locals.get("self")
        if name in ("evaluate", "evaluation_loop") or type(of).__name__ == "_EvaluationLoop":
            return 0
        if module == "transformers.trainer" and name == "_run_epoch":
            return int(call.f_locals["epoch"])
        if module.endswith(".loops.fit_loop") and hasattr(of, "epoch_progress"):
            return int(of.epoch_progress.current.processed)
    return 0


def _calls() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back
