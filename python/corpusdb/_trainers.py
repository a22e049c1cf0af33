"""What trainers say and do beside iterating: the rank of this process, steps skipped by number, batches split again.

A trainer that splits again what a rank has, or that collates whole batches into others, would lose or repeat data
without a word. The calls that are under way tell: they are looked at where an iteration begins.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from corpusdb.errors import BadInput

if TYPE_CHECKING:
    from corpusdb._loader import Loader

__all__ = [
    "LoaderAttributes", "SkippableSteps", "StepNumbers", "only_batch", "placed", "refuse_collating",
    "refuse_other_plan", "refuse_splitting", "trainer_epoch",
]

#: The module of accelerate that prepares loaders, and its classes that divide what a dataset gives among processes.
_ACCELERATE = "accelerate.data_loader"
_SPLITTERS = ("DataLoaderDispatcher", "IterableDatasetShard")
_SKIPPERS = ("SkipDataLoader",)


class LoaderAttributes:
    """What trainers ask of a `DataLoader`, for the loader.

    `accelerate.skip_first_batches`, and transformers' Trainer with it, make a `DataLoader` of `dataset` and what is
    left of `batch_sampler`: so a run that resumes reads none of the steps that it skips.
    """

    #: Batches come as they are: nothing collates rows.
    batch_size = None
    sampler = None
    drop_last = False
    #: The loader reads in a thread of this process.
    num_workers = 0
    prefetch_factor = None
    pin_memory = False
    #: Whether the batch that was given last ends its epoch. accelerate steps the optimizer then, also where it has not
    #: accumulated as many batches as it was told.
    end_of_dataloader = False
    #: Rows of the last batch that are there twice: none.
    remainder = 0

    def _show_accelerate(self: Any, *, is_last: bool) -> None:
        """Shows accelerate the loader that gives batches, as its own loaders do: it accumulates over no epoch's end."""
        accelerate = sys.modules.get("accelerate.state")
        if accelerate is None:
            return
        state = accelerate.GradientState()
        if all(known is not self for known in state.dataloader_references):
            state._add_dataloader(self)
        self.end_of_dataloader = is_last

    def _hide_accelerate(self: Any) -> None:
        """Takes the loader from accelerate, once an iteration has ended."""
        accelerate = sys.modules.get("accelerate.state")
        state = None if accelerate is None else accelerate.GradientState()
        if state is not None and any(known is self for known in state.dataloader_references):
            state._remove_dataloader(self)
            self.end_of_dataloader = False

    @property
    def dataset(self: Any) -> SkippableSteps:
        """The steps of the iteration by number. Its length is the number of rows on all ranks."""
        return SkippableSteps(self)

    @property
    def batch_sampler(self: Any) -> StepNumbers:
        """The numbers of the steps of the iteration."""
        return StepNumbers(self)

    @property
    def collate_fn(self) -> Callable[[Sequence[Any]], Any]:
        """A step is a batch already."""
        return only_batch


class SkippableSteps:
    """The steps of a loader's iteration by their numbers."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return self._loader._rows_to_come()

    def __getitem__(self, number: int) -> Any:
        return self._loader._take_step(number)

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        return [self._loader._take_step(number) for number in numbers]


class StepNumbers:
    """The numbers of the steps of a loader's iteration, one a batch, as a trainer skips them."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[list[int]]:
        if not self._loader._is_chosen:
            raise BadInput(
                "steps are to be skipped of a loader that was not told the epoch: call loader.set_epoch(epoch) before, "
                "or load its state with loader.load_state_dict(state), which skips them"
            )
        return ([number] for number in range(len(self._loader)))

    def __len__(self) -> int:
        return len(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch, as `Loader.set_epoch` does."""
        self._loader.set_epoch(epoch)


def only_batch(batches: Sequence[Any]) -> Any:
    """The one batch of a step: what a `DataLoader` over the steps of a loader collates."""
    (batch,) = batches
    return batch


def _calls() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


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


def placed(
    rank: int | None, world: int | None, *, before: tuple[int, int] | None = None, is_used: bool = False
) -> tuple[int, int]:
    """(rank, world): each as given, or from `torch.distributed`, or from RANK and WORLD_SIZE, or `before`, or (0, 1).

    A trainer may start its processes after a loader was made, and some launchers say no RANK: so what is not given is
    asked again at the first use. With `is_used` a rank that nobody tells is an error.
    """
    if rank is None or world is None:
        told_rank, told_world = _told(before, is_used)
        rank = told_rank if rank is None else rank
        world = told_world if world is None else world
    if world < 1:
        raise ValueError(f"world must be at least 1, got {world}")
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} is out of range: world {world} has ranks 0 to {world - 1}")
    return rank, world


def _distributed() -> Any:
    """`torch.distributed`, where this process has a process group; else None."""
    # torch is not imported for this: a process with a process group has imported it already.
    distributed = sys.modules.get("torch.distributed")
    begun = distributed is not None and distributed.is_available() and distributed.is_initialized()
    return distributed if begun else None


#: The plans that this process has of each recipe and corpus, in the order in which their loaders were first used.
_planned_here: dict[str, list[str]] = {}


def refuse_other_plan(path: str, shards: Sequence[str], recipe: str, plan: str) -> None:
    """Refuses a plan that is not stored, and that another rank has another one of: a commit came between the two.

    Where ranks have no process group, nobody can compare what they planned at a moment of their own: that is refused.
    The first rank that comes writes its plan where the process group has met, and the others compare theirs. Nobody
    waits: a loader may be of one rank alone.
    """
    distributed = _distributed()
    # The moment that a recipe without a snapshot was planned at is what may differ.
    asked = "\n".join(line for line in recipe.splitlines() if not line.startswith("snapshot = \"commit-"))
    if distributed is None and asked != recipe.rstrip("\n"):
        raise BadInput(
            "every rank plans this recipe by itself, and a commit between two of them gives them different rows: store "
            "the plan before the run (`corpusdb epoch plan`), and let every rank ask for it by its number, "
            "corpus.plan(1); or begin torch.distributed first, through which ranks compare their plans"
        )
    store = getattr(getattr(distributed, "distributed_c10d", None), "_get_default_store", None)
    if store is None:
        return
    of = hashlib.blake2b(repr((path, tuple(shards), asked)).encode(), digest_size=16).hexdigest()
    plans = _planned_here.setdefault(of, [])
    if plan not in plans:
        plans.append(plan)
    # A recipe that is planned again has another plan on every rank.
    first = store().compare_set(f"corpusdb/plan/{of}/{plans.index(plan)}", "", plan)
    first = first.decode() if isinstance(first, bytes) else str(first)
    if first != plan:
        raise BadInput(
            f"rank {distributed.get_rank()} has plan {plan[:12]} of this recipe, and another rank has {first[:12]}: a "
            "commit came between them, and rows would come twice or never. Store the plan before the run (`corpusdb "
            "epoch plan`), and let every rank ask for it by its number: corpus.plan(1)"
        )


def _told(before: tuple[int, int] | None, is_used: bool) -> tuple[int, int]:
    distributed = _distributed()
    if distributed is not None:
        return int(distributed.get_rank()), int(distributed.get_world_size())
    rank, world = os.environ.get("RANK"), int(os.environ.get("WORLD_SIZE", "1"))
    if rank is None and before is not None:
        return before
    if rank is None and world > 1 and is_used:
        raise ValueError(
            f"WORLD_SIZE says {world} processes, but RANK is not set and torch.distributed has not begun: name rank= "
            "and world=, or use the loader once the trainer has begun its processes"
        )
    return int(rank or 0), world
