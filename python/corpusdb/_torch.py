"""torch datasets over a plan: batches for a `DataLoader` with any number of workers, and rows by number."""

from __future__ import annotations

import contextlib
import copy
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset, Sampler, get_worker_info
from torch.utils.data._utils.collate import collate, default_collate_fn_map

from corpusdb._accelerate import COLLATING, refuse_dividing, sampler_epoch
from corpusdb._batch import ArrowBatch, Batch, State, rebuilt_batch
from corpusdb._calls import epoch_under_way
from corpusdb._loader import Loader
from corpusdb._ranks import placed
from corpusdb._shared import SharedPosition, SharedTurn
from corpusdb._states import STEPS, WORKER, checked_state
from corpusdb._types import PlanRows
from corpusdb.errors import BadInput, OutOfRange, WrongState

__all__ = ["EpochBatches", "EpochRows", "EpochSampler", "flattened"]


class EpochBatches(IterableDataset[Batch]):  # type: ignore[misc, unused-ignore]
    """The batches of a plan, for `DataLoader(dataset, batch_size=None)`.

    N workers read every N-th batch each, so that the `DataLoader` gives the same batches in the same order as without
    workers. An iteration is `epochs` epochs, as that of a loader: the next one begins behind it once all its batches
    were given, otherwise where it began. Workers that live on share the position.
    """

    def __init__(self, plan: PlanRows, *, epoch: int = 0, **options: Any) -> None:
        super().__init__()
        self._loader: Loader = plan.loader(epoch=epoch, **options)
        self._position = SharedPosition(epoch)
        #: The number of epochs of the plan, if an iteration is all of them.
        self._plan_epochs = plan.epochs if self._loader._endless else None
        self._lengths: dict[int, int] = {}
        self._begin()

    def _begin(self) -> None:
        #: A worker's state, until its next iteration begins at it.
        self._pending: State | None = None
        #: The batches of the present iteration, in the process that iterates.
        self._under_way: _EpochIterator | None = None

    def __iter__(self) -> Iterator[Batch]:
        self._refuse_dividing()
        if self._under_way is not None:
            self._under_way.close()
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        loader = self._loader._copy()
        pending, self._pending = self._pending, None
        if pending is not None:
            position = self._resume(loader, pending, workers)
            sharers = self._sharers(loader, workers, position)
            turn = self._position.begin(worker, sharers, position)
            self._under_way = _EpochIterator(loader, turn, lambda: self._behind(worker, workers, position))
            return self._under_way
        if self._under_way is not None and self._under_way.is_resumed:
            self._position.wait()
        position = self._stand(loader, worker, workers, is_worker=info is not None)
        turn = self._position.begin(worker, self._sharers(loader, workers, position), position)
        self._under_way = _EpochIterator(loader, turn)
        return self._under_way

    @staticmethod
    def _sharers(loader: Loader, workers: int, position: tuple[int, int, int]) -> int:
        # Workers without batches are not waited for: they may begin after the others have ended. An error here is
        # raised with the first batch, since one from `iter` would end the worker without its message.
        with contextlib.suppress(Exception):
            return loader._sharers(workers, *position[:2]) if workers > 1 else 1
        return workers

    def _behind(
        self, worker: int, workers: int, position: tuple[int, int, int]
    ) -> tuple[Loader, SharedTurn] | None:
        """The next iteration, if the state that all workers resumed stands after the last batch of one."""
        self._position.wait()
        loader = self._loader._copy()
        with loader._entered() as reader:
            # A worker that gave a batch has ended after that, not at the state.
            first = self._position.get(self._after)[2]
            if first in (position[2], reader.epochs()) or self._position.is_given():
                loader.close()
                return None
        following = self._stand(loader, worker, workers, is_worker=True)
        return loader, self._position.begin(worker, self._sharers(loader, workers, following), following)

    def _stand(self, loader: Loader, worker: int, workers: int, *, is_worker: bool) -> tuple[int, int, int]:
        """Moves the loader of an iteration to the shared position."""
        position = self._present(worker)
        if loader._evaluation:
            position = loader._first, 0, loader._first
        elif worker == 0 and self._position.is_left():
            warnings.warn(
                f"the iteration before this one was left before its end, so epoch {position[0]} begins again where "
                "that one began: to go on behind a batch, dataset.load_state_dict(batch.state)",
                stacklevel=3,
            )
        epoch, next_batch, first = position
        loader._stand(epoch, next_batch)
        loader._first = first
        if is_worker:
            loader._share = worker, workers, next_batch
        return position

    def _present(self, worker: int = 0) -> tuple[int, int, int]:
        """The position at which the next iteration begins."""
        position = self._position.get(self._after)
        if self._position.is_untouched(worker) and position[0] == self._loader._base and self._plan_epochs is None:
            epoch = position[0] + epoch_under_way() * self._loader._epochs
            position = epoch, 0, epoch
        return position

    def _after(self, first: int) -> int:
        return first + self._loader._epochs if self._plan_epochs is None else self._plan_epochs

    def _resume(self, loader: Loader, state: State, workers: int) -> tuple[int, int, int]:
        """Moves the loader of an iteration to the state of the same worker."""
        turn, before, begun, first = state[WORKER]
        if before != workers:
            raise WrongState(
                f"the state belongs to one of {before} workers, but the loader has {workers} now: "
                "corpusdb.torch.state_of turns it into a state for any number"
            )
        loader._stand(state["epoch"], state["next_batch"])
        loader._first = first
        loader._share = turn, workers, begun
        # The state after the last batch of an iteration is the beginning of the next one.
        loader._ended = not loader._endless and state["epoch"] >= first + loader._epochs
        return first, 0, first

    def _refuse_dividing(self) -> None:
        self._loader._place()
        refuse_dividing(self, self._loader.world, self._position.is_set)

    def __len__(self) -> int:
        """The number of batches of this rank in the next iteration; in the last one, if there is no other."""
        first = self._loader._first if self._loader._evaluation else self._present()[2]
        if first not in self._lengths:
            with self._loader._copy() as loader, loader._entered() as reader:
                is_over = first + loader._epochs > reader.epochs()
                loader._stand(first - loader._epochs if is_over else first, 0)
                self._lengths[first] = len(loader)
        return self._lengths[first]

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, counted from the dataset's `epoch`, also for workers that live on.

        A loaded state of the same epoch stays in force. An evaluation dataset stays at its epoch. With `epochs` or
        `endless` it is refused: these datasets count their epochs themselves.
        """
        self._refuse_dividing()
        if self._loader._evaluation:
            return
        loader = self._loader._copy()
        loader.set_epoch(epoch)
        present = self._position.get(self._after)
        # Also if the epoch stays the same: it was chosen.
        self._position.set(*(present if present[0] == loader._epoch else (loader._epoch, 0, loader._epoch)))

    def state_dict(self) -> State:
        """The position, as `Loader.state_dict` has it; in a worker also its turn."""
        if self._under_way is not None:
            return self._under_way.state_dict()
        if self._pending is not None:
            return dict(self._pending)
        epoch, next_batch, _ = self._position.get(self._after)
        return self._loader._state(epoch, next_batch)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Begins the next iteration at a state: that of a loader, with any number of ranks, or of the same worker."""
        epoch, next_batch = checked_state(state, self._loader.plan)
        if self._under_way is not None:
            self._under_way.close()
            self._under_way = None
        if get_worker_info() is not None and WORKER in state:
            self._pending = dict(state)
            return
        loader = self._loader._copy()
        loader._stand(epoch, next_batch)
        if next_batch:
            with loader._entered() as reader:
                loader._settle(reader)
            loader.close()
        self._position.set(loader._epoch, loader._next, loader._first)

    def __getstate__(self) -> dict[str, Any]:
        # A started worker gets a pickled dataset, while running calls of trainers are those of this process.
        self._refuse_dividing()
        kept = dict(self.__dict__)
        kept["_under_way"] = None
        return kept


class _EpochIterator(Iterator[Batch]):
    """The batches of an iteration. Ends its turn with the last batch, and closes the loader.

    If it resumes the state of a worker that has had its last batch, it ends at once. If all workers have, `behind`
    gives the loader and the turn of the next iteration, and it gives the batches of that.
    """

    def __init__(
        self,
        loader: Loader,
        turn: SharedTurn,
        behind: Callable[[], tuple[Loader, SharedTurn] | None] | None = None,
    ) -> None:
        self._loader, self._turn, self._behind = loader, turn, behind
        self._process = os.getpid()
        self.is_resumed = behind is not None
        self._is_checked = self._is_behind = False
        with contextlib.suppress(Exception):
            if self.is_resumed and self._is_finished():
                self._finish()
            else:
                self._behind = None

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._behind is not None:
            following, self._behind = self._behind(), None
            if following is not None:
                self.close()
                self._loader, self._turn = following
                self._is_behind = True
        try:
            if not self._is_checked and not self._loader._ended:
                self._loader._refuse_unbegun()
                self._is_checked = True
            batch: Batch = next(self._loader)
        except StopIteration:
            self._finish()
            self.close()
            raise
        if not self._is_behind:
            self._turn.give()
        if self._is_finished():
            self._finish()
        return batch

    def _is_finished(self) -> bool:
        loader = self._loader
        if loader._share is None or loader._ended:
            return loader._ended
        if loader._left:
            return False
        with loader._entered() as reader:
            return loader._is_finished(reader)

    def _finish(self) -> None:
        if not self._loader._evaluation:
            self._turn.end()

    def state_dict(self) -> State:
        """The position of the loader, with its turn in a worker, and the steps of the epoch."""
        loader = self._loader
        state = loader.state_dict()
        if loader._share is not None:
            state[WORKER] = [*loader._share, loader._first]
        if not loader._closed:
            with loader._entered() as reader:
                if loader._epoch < reader.epochs():
                    state[STEPS] = [
                        reader.batches_of_step(loader._epoch, loader.world, loader._rows),
                        loader._left_from(reader, loader._epoch, loader._next),
                    ]
        return state

    def close(self) -> None:
        """Closes the loader, in the process that opened it."""
        if self._process == os.getpid():
            self._loader.close()


class EpochRows(Dataset[Batch]):  # type: ignore[misc, unused-ignore]
    """The rows of an epoch by number, as dictionaries of tensors of one dimension.

    The epoch is that of `set_epoch`, and of `sampler`. A seeded sampler of accelerate takes the dataset along: when it
    goes on to its epoch 1, these are the rows of the epoch after the dataset's `epoch`.
    """

    def __init__(self, plan: PlanRows, *, epoch: int = 0, views: Sequence[str] | None = None) -> None:
        self._plan, self._base = plan, epoch
        self._views = None if views is None else list(views)
        #: The epoch; the epoch of accelerate's sampler at the last look; the number of rows given, or -1 once the epoch
        #: was set; the first row given. Shared with persistent workers.
        self._present = torch.tensor([epoch, 0, 0, 0], dtype=torch.int64).share_memory_()
        plan.rows(epoch)

    @property
    def epoch(self) -> int:
        """The epoch whose rows these are."""
        return int(self._present[0])

    def sampler(self, *, shuffle: bool = True, seed: int = 0) -> EpochSampler:
        """Numbers of all rows, in another order each epoch; its `set_epoch` sets that of these rows too."""
        return EpochSampler(self, shuffle=shuffle, seed=seed)

    def __len__(self) -> int:
        # A sampler asks for the length when it begins an epoch.
        epoch = sampler_epoch(self)
        if epoch is not None and epoch != int(self._present[1]):
            self._present[1] = epoch
            self.set_epoch(epoch)
        return self._plan.rows(self.epoch)

    def __getitem__(self, number: int) -> Batch:
        count = self._plan.rows(self.epoch)
        if not -count <= number < count:
            raise IndexError(f"row {number} is out of range: the epoch has {count} rows")
        return self._rows_at([number % count])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Batch]:
        """Several rows at once; a `DataLoader` calls it."""
        self._warn_of_same_epoch(numbers)
        return self._rows_at(numbers)

    def _rows_at(self, numbers: Sequence[int]) -> list[Batch]:
        return self._plan.rows_at(numbers, epoch=self.epoch, views=self._views, as_="torch")

    def _warn_of_same_epoch(self, numbers: Sequence[int]) -> None:
        """Warns once if a second pass over the rows begins and nobody has ever set the epoch."""
        given = int(self._present[2])
        if given < 0 or not len(numbers):
            return
        if given == 0:
            self._present[3] = numbers[0]
        # A sampler for several ranks may repeat its first rows at the end of a pass.
        elif given * placed(None, None)[1] >= self._plan.rows(self.epoch) and int(self._present[3]) in numbers:
            self._present[2] = -1
            warnings.warn(
                f"rows of epoch {self.epoch} come again: call dataset.set_epoch(epoch) before each pass, or take "
                "dataset.sampler() and call its set_epoch, as trainers do; dataset.set_epoch(0) before the first pass "
                "says that the rows are to stay",
                stacklevel=3,
            )
            return
        self._present[2] += len(numbers)

    def set_epoch(self, epoch: int) -> None:
        """Switches to the rows of another epoch, counted from the dataset's `epoch`."""
        if epoch < 0:
            raise OutOfRange(f"epoch {epoch} is out of range: epochs start at 0")
        self._present[0], self._present[2] = self._base + epoch, -1

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A plain pickle makes a copy, while workers of this process share its memory.
        self._present.share_memory_()


class EpochSampler(Sampler[int]):  # type: ignore[misc, unused-ignore]
    """Numbers of the rows of an epoch. `EpochRows.sampler` makes it; trainers call its `set_epoch`."""

    def __init__(self, rows: EpochRows, *, shuffle: bool, seed: int) -> None:
        self._rows, self._shuffle, self._seed = rows, shuffle, seed

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[int]:
        count = len(self._rows)
        if not self._shuffle:
            return iter(range(count))
        order = torch.Generator().manual_seed(self._seed + self._rows.epoch)
        return iter(torch.randperm(count, generator=order).tolist())

    def set_epoch(self, epoch: int) -> None:
        """The next pass is over the rows of this epoch, counted from the dataset's `epoch`."""
        self._rows.set_epoch(epoch)


def flattened(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A collate function for training without padding: joins rows of an epoch end to end, as `[1, tokens]`.

    The batch has the keys that a loader's has by default: boundaries for every attention and `use_cache=False`, beside
    what the rows have for each token. A document begins where positions are 0, or where a row begins that has none.
    Pads that an attention mask names are left out; other pads are documents that nothing is learnt from.
    """
    joined: dict[str, list[Any]] = {}
    for row in rows:
        ids = row["input_ids"]
        mask = row.get("attention_mask")
        held = {name: value for name, value in row.items() if torch.is_tensor(value) and value.shape == ids.shape}
        held.pop("attention_mask", None)
        held.setdefault("position_ids", torch.arange(len(ids)))
        for name, value in held.items():
            joined.setdefault(name, []).append(value if mask is None else value[mask.bool()])
    batch: dict[str, Any] = {name: torch.cat(values).unsqueeze(0) for name, values in joined.items()}
    begins = batch["position_ids"][0] == 0
    ends = torch.cat([begins.nonzero().flatten(), torch.tensor([len(begins)])]).to(torch.int32)
    longest = int(ends.diff().max()) if len(ends) > 1 else 0
    return {
        **batch,
        "seq_idx": (begins.cumsum(0) - 1).to(torch.int32).unsqueeze(0),
        "cu_seq_lens_q": ends,
        "cu_seq_lens_k": ends,
        "max_length_q": longest,
        "max_length_k": longest,
        "use_cache": False,
    }


def _collated(batches: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Collates as torch does: rows become a batch, whole batches are an error."""
    if isinstance(batches[0], ArrowBatch) or any(batch.state is not None for batch in batches):
        raise BadInput(COLLATING)
    made = copy.copy(batches[0])
    made.update(collate([dict(row) for row in batches], collate_fn_map=collate_fn_map))
    return made


torch.serialization.add_safe_globals([rebuilt_batch])
default_collate_fn_map.update({Batch: _collated, ArrowBatch: _collated})
