"""Steps of a loader by number, and the attributes that trainers expect of a `DataLoader`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from corpusdb.errors import BadInput

__all__ = ["LoaderAttributes", "SkippableSteps", "StepNumbers", "StepSource", "TrainerEpoch", "only_batch"]


class StepSource(Protocol):
    """A loader whose steps are taken by number: `Loader`."""

    def __len__(self) -> int:
        """The number of steps of the iteration."""

    @property
    def is_chosen(self) -> bool:
        """Whether an epoch or a state was ever chosen."""

    def rows_to_come(self) -> int:
        """Rows of the iteration on all ranks."""

    def take_step(self, number: int) -> Any:
        """The batch of a step of the iteration."""

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration."""

    def begin_at(self, epoch: int) -> None:
        """Chooses the epoch of the first iteration."""


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
    #: Whether the last batch given ends its epoch. accelerate then steps the optimizer, even before it has accumulated
    #: as many batches as configured.
    end_of_dataloader = False
    #: Rows that the last batch repeats: none.
    remainder = 0

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

    def __init__(self, loader: StepSource) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return self._loader.rows_to_come()

    def __getitem__(self, number: int) -> Any:
        return self._loader.take_step(number)

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        return [self._loader.take_step(number) for number in numbers]


class StepNumbers:
    """The numbers of the steps of a loader's iteration, one a batch, as a trainer skips them."""

    def __init__(self, loader: StepSource) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[list[int]]:
        if not self._loader.is_chosen:
            raise BadInput(
                "steps are to be skipped of a loader that was not told the epoch: call loader.set_epoch(epoch) before, "
                "or load its state with loader.load_state_dict(state), which skips them"
            )
        return ([number] for number in range(len(self._loader)))

    def __len__(self) -> int:
        return len(self._loader)

    @property
    def sampler(self) -> TrainerEpoch:
        """What Lightning tells its epoch, as it tells samplers of a `DataLoader`."""
        return TrainerEpoch(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch, as `Loader.set_epoch` does."""
        self._loader.set_epoch(epoch)


class TrainerEpoch:
    """The epoch of a trainer whose loops may be shorter than epochs of the plan: only the first one is followed.

    Lightning tells it before it begins an iteration, also where a run goes on with a new loader. Under
    `limit_train_batches` its next epoch goes on within that of the plan.
    """

    def __init__(self, loader: StepSource) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Begins a loader of which nothing was taken at this epoch."""
        self._loader.begin_at(epoch)


def only_batch(batches: Sequence[Any]) -> Any:
    """The one batch of a step: what a `DataLoader` over the steps of a loader collates."""
    (batch,) = batches
    return batch
