"""Datasets of torch over a plan: batches for a `DataLoader` with any number of workers, and rows by their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from corpusdb._batch import Batch, State
from corpusdb._loader import Loader, checked_state
from corpusdb.errors import WrongState

if TYPE_CHECKING:
    from corpusdb._plan import Plan

__all__ = ["EpochBatches", "EpochRows", "flattened", "state_of"]

#: What the state of a worker has beside that of a loader: its turn, of how many, from which batch on.
_WORKER = "worker"


class EpochBatches(IterableDataset[Batch]):  # type: ignore[misc, unused-ignore]
    """The batches of an epoch, whole: for `DataLoader(dataset, batch_size=None)`.

    With workers each reads every how-many-th batch, so that the loader gives those and in that order which it gives
    without. A state that was loaded decides where the next iteration begins; every other one begins with the epoch.
    """

    def __init__(self, plan: Plan, *, epoch: int = 0, **options: Any) -> None:
        super().__init__()
        self._loader: Loader = plan.loader(epoch=epoch, **options)
        #: What was loaded and not begun with yet.
        self._pending: State | None = None
        #: The loader under way, of this process.
        self._under_way: Loader | None = None

    def __iter__(self) -> Iterator[Batch]:
        info = get_worker_info()
        if self._under_way is not None:
            self._under_way.close()
        loader = self._fresh()
        pending, self._pending = self._pending, None
        if pending is not None:
            loader.load_state_dict(pending)
        if info is not None:
            # Without the state of this very worker, all of them begin at the same batch.
            told = (pending or {}).get(_WORKER)
            turn, workers, first = told or (info.id, info.num_workers, loader.state_dict()["next_batch"])
            if workers != info.num_workers:
                raise WrongState(
                    f"this is the state of one of {workers} workers, and there are {info.num_workers} now: "
                    "corpusdb.torch.state_of makes it one for any number"
                )
            loader._share = (turn, workers, first)
        self._under_way = loader
        return _Given(loader)

    def __len__(self) -> int:
        """Batches of this rank in the epoch."""
        with self._fresh() as loader:
            return len(loader)

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration gives. What was loaded of that same epoch is still begun with."""
        self._loader.set_epoch(epoch)
        if self._pending is not None and self._pending["epoch"] != epoch:
            self._pending = None

    def state_dict(self) -> State:
        """Where it stands: as `Loader.state_dict`, and in a worker with its turn."""
        if self._under_way is None:
            return dict(self._pending) if self._pending is not None else self._loader.state_dict()
        state = self._under_way.state_dict()
        if self._under_way._share is not None:
            state[_WORKER] = list(self._under_way._share)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration begins where the state stands: one of a loader, of any world, or of this very worker."""
        checked_state(state, self._loader.plan)
        self._pending = dict(state)
        if self._under_way is not None:
            self._under_way.close()
            self._under_way = None

    def _fresh(self) -> Loader:
        made: Loader = Loader.__new__(Loader)
        made.__setstate__(self._loader._options())
        return made

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        kept["_under_way"] = None
        return kept


class _Given(Iterator[Batch]):
    """The batches of a loader; closes it at the end."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        try:
            batch: Batch = next(self._loader)
        except StopIteration:
            self._loader.close()
            raise
        return batch


class EpochRows(Dataset[Batch]):  # type: ignore[misc, unused-ignore]
    """The rows of an epoch by their numbers, as dictionaries of tensors of one dimension."""

    def __init__(self, plan: Plan, *, epoch: int = 0, views: Sequence[str] | None = None) -> None:
        self._plan, self._epoch = plan, epoch
        self._views = None if views is None else list(views)

    def __len__(self) -> int:
        return self._plan.rows(self._epoch)

    def __getitem__(self, number: int) -> Batch:
        count = len(self)
        if not -count <= number < count:
            raise IndexError(f"there is no row {number}: there are {count}")
        return self.__getitems__([number % count])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Batch]:
        """Many rows at once, as a `DataLoader` asks for them."""
        return self._plan.rows_at(numbers, epoch=self._epoch, views=self._views, as_="torch")

    def set_epoch(self, epoch: int) -> None:
        """Gives the rows of another epoch from now on."""
        self._epoch = epoch


def flattened(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A collate function: rows of an epoch end to end as one, `[1, tokens]`, for training without padding.

    Every value is one that goes along the tokens. Positions that begin at 0 again say where documents begin. Rows that
    may have pads are better given by `loader(layout="flat")`, which leaves them out.
    """
    names = [name for name, value in rows[0].items() if torch.is_tensor(value) and value.ndim == 1]
    return {name: torch.cat([row[name] for row in rows]).unsqueeze(0) for name in names}


def state_of(state: Mapping[str, Any]) -> State:
    """The state of a loader out of that of torchdata's `StatefulDataLoader`: for another number of workers or ranks.

    It stands after the last batch that any of the workers gave.
    """
    found = [one for one in _states(state)]
    if not found:
        raise WrongState("this holds no state of a corpusdb dataset")
    last = max(found, key=lambda one: (one["epoch"], one["next_batch"]))
    return {name: last[name] for name in ("version", "plan", "epoch", "next_batch")}


def _states(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if {"version", "plan", "epoch", "next_batch"} <= value.keys():
            yield value
        else:
            for inner in value.values():
                yield from _states(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _states(inner)
