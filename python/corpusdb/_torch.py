"""torch datasets over a plan: batches for a `DataLoader` with any number of workers, and rows by number."""

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

#: The key that the state of a worker has in addition: (turn, number of workers, batch at which they began).
_WORKER = "worker"


class EpochBatches(IterableDataset[Batch]):  # type: ignore[misc, unused-ignore]
    """The batches of an epoch, for `DataLoader(dataset, batch_size=None)`.

    N workers read every N-th batch each, so that the `DataLoader` gives the same batches in the same order as without
    workers. The next iteration begins at the state that was loaded, if any, otherwise at the start of the epoch.
    """

    def __init__(self, plan: Plan, *, epoch: int = 0, **options: Any) -> None:
        super().__init__()
        self._loader: Loader = plan.loader(epoch=epoch, **options)
        #: A state that was loaded, until the next iteration begins there.
        self._pending: State | None = None
        #: The loader of the present iteration, in this process.
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
            # Without a state of their own, all workers begin at the same batch.
            told = (pending or {}).get(_WORKER)
            turn, workers, first = told or (info.id, info.num_workers, loader.state_dict()["next_batch"])
            if workers != info.num_workers:
                raise WrongState(
                    f"the state belongs to one of {workers} workers, but the loader has {info.num_workers} now: "
                    "corpusdb.torch.state_of turns it into a state for any number"
                )
            loader._share = (turn, workers, first)
        self._under_way = loader
        return _Given(loader)

    def __len__(self) -> int:
        """The number of batches of this rank in the epoch."""
        with self._fresh() as loader:
            return len(loader)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration. A loaded state of the same epoch stays in force."""
        self._loader.set_epoch(epoch)
        if self._pending is not None and self._pending["epoch"] != epoch:
            self._pending = None

    def state_dict(self) -> State:
        """The position, as `Loader.state_dict` has it; in a worker also its turn."""
        if self._under_way is None:
            return dict(self._pending) if self._pending is not None else self._loader.state_dict()
        state = self._under_way.state_dict()
        if self._under_way._share is not None:
            state[_WORKER] = list(self._under_way._share)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begins the next iteration at a state: that of a loader, with any number of ranks, or of the same worker."""
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
    """The batches of a loader. Closes the loader at the end."""

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
    """The rows of an epoch by number, as dictionaries of tensors of one dimension."""

    def __init__(self, plan: Plan, *, epoch: int = 0, views: Sequence[str] | None = None) -> None:
        self._plan, self._epoch = plan, epoch
        self._views = None if views is None else list(views)

    def __len__(self) -> int:
        return self._plan.rows(self._epoch)

    def __getitem__(self, number: int) -> Batch:
        count = len(self)
        if not -count <= number < count:
            raise IndexError(f"row {number} is out of range: the epoch has {count} rows")
        return self.__getitems__([number % count])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Batch]:
        """Several rows at once; a `DataLoader` calls it."""
        return self._plan.rows_at(numbers, epoch=self._epoch, views=self._views, as_="torch")

    def set_epoch(self, epoch: int) -> None:
        """Switches to the rows of another epoch."""
        self._epoch = epoch


def flattened(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A collate function for training without padding: joins rows of an epoch end to end, as `[1, tokens]`.

    It joins the tensors of one dimension, which have a value for each token. Positions start at 0 where a document
    starts. For rows with pads use `loader(layout="flat")`, which leaves the pads out.
    """
    names = [name for name, value in rows[0].items() if torch.is_tensor(value) and value.ndim == 1]
    return {name: torch.cat([row[name] for row in rows]).unsqueeze(0) for name in names}


def state_of(state: Mapping[str, Any]) -> State:
    """Turns the state of torchdata's `StatefulDataLoader` into a loader's state, for any number of workers and ranks.

    The state is after the last batch that any of the workers gave.
    """
    found = [one for one in _states(state)]
    if not found:
        raise WrongState("this is not a state of a loader, or of a DataLoader, over a corpusdb dataset")
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
