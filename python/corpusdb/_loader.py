"""The loader: gives batches of a plan in the trainer's process, reads ahead in a thread, and resumes at any batch."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, get_args

import numpy as np

from corpusdb import _native
from corpusdb._batch import ArrowBatch, Batch, State
from corpusdb._ranks import placed
from corpusdb.errors import Closed, CorpusError, Forked, OutOfRange, WrongState

__all__ = ["As", "Contract", "Ids", "Layout", "Loader", "checked_state"]

#: The type of the arrays of a batch.
As = Literal["torch", "numpy", "arrow"]
#: `rows`: one row under the other. `flat`: the segments of all rows end to end, without pads.
Layout = Literal["rows", "flat"]
#: The trainer whose batches a loader gives.
Contract = Literal["transformers", "trl", "megatron", "torchtitan", "olmo-core"]
#: The type of token ids.
Ids = Literal["int64", "int32", "uint16"]

#: Directories with built epochs: one or several.
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

#: Version of the state of a loader.
_VERSION = 1

#: Memory of a loader's reader in bytes, by default. It is small, because a machine may run many loaders.
MEMORY = 64 << 20

_open: weakref.WeakSet[Loader] = weakref.WeakSet()


def _close_all() -> None:
    # At exit the process destroys what the threads read with, so they must stop before.
    for loader in list(_open):
        with contextlib.suppress(CorpusError):
            loader.close()


atexit.register(_close_all)


def checked_state(state: object, plan: str) -> tuple[int, int]:
    """(epoch, next batch) of a loader's state. `plan` is the hash of the loader's plan.

    Raises `WrongState` for anything else than a state, or for the state of another version or plan.
    """
    if not isinstance(state, Mapping):
        raise WrongState(f"expected the state of a loader (a mapping), got {type(state).__name__}")
    keys = ("version", "plan", "epoch", "next_batch")
    missing = [key for key in keys if key not in state]
    if missing:
        raise WrongState(f"a loader's state needs {', '.join(keys)}; this one lacks {', '.join(missing)}")
    if state["version"] != _VERSION or isinstance(state["version"], bool):
        raise WrongState(f"this release reads states of version {_VERSION}, got version {state['version']!r}")
    if state["plan"] != plan:
        raise WrongState(
            f"the state belongs to plan {state['plan']!s:.16}, but this loader reads plan {plan[:16]}: "
            "make the loader from the plan of the state; to continue with new data, extend that plan"
        )
    for key in ("epoch", "next_batch"):
        value = state[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            raise WrongState(f"{key} of a loader's state must be a whole number from 0 on, got {value!r}")
    return state["epoch"], state["next_batch"]


class Loader:
    """An iterator over the batches of one rank. `Plan.loader` makes it.

    A thread of the library reads `prefetch` batches ahead. The state counts the batches that were given, not those read
    ahead; it is the same on every rank, and any number of ranks can resume from it. Iterating continues at the state of
    the loader; after the end of the epoch it starts the epoch again.
    """

    def __init__(
        self,
        path: str,
        shards: tuple[str, ...],
        plan: str,
        unstored: _native.Plan | None,
        *,
        epoch: int = 0,
        rank: int | None = None,
        world: int | None = None,
        views: Sequence[str] | None = None,
        contract: Contract | None = None,
        as_: As = "torch",
        layout: Layout | None = None,
        ids: Ids = "int64",
        rows: int = 8,
        prefetch: int = 4,
        epochs: int = 1,
        endless: bool = False,
        uneven: bool = False,
        memory: int = MEMORY,
        threads: int = 2,
        files: Files = (),
    ) -> None:
        if as_ not in ("torch", "numpy", "arrow"):
            raise ValueError(f"as_ must be \"torch\", \"numpy\" or \"arrow\", got {as_!r}")
        if layout not in (None, "rows", "flat"):
            raise ValueError(f"layout must be \"rows\" or \"flat\", got {layout!r}")
        if ids not in get_args(Ids):
            raise ValueError(f"ids must be one of {', '.join(get_args(Ids))}, got {ids!r}")
        if contract is not None:
            _check_contract(contract, as_, layout, views)
        if prefetch < 1 or epochs < 1 or threads < 1 or rows < 1 or epoch < 0:
            raise ValueError("prefetch, epochs, threads and rows must be at least 1, and epoch at least 0")
        if isinstance(views, str):
            raise ValueError(f"views must be a list of names: write [{views!r}]")
        rank, world = placed(rank, world)
        #: This rank, and the number of ranks.
        self.rank, self.world = rank, world
        self._path, self._shards, self._plan, self._unstored = os.path.abspath(path), shards, plan, unstored
        self._views = None if views is None else list(views)
        self._contract, self._as, self._ids, self._rows = contract, as_, ids, rows
        # Who names views of their own gets rows, as `[rows, length]`; the batches of trainers have none of their pads.
        self._flat = layout == "flat" or (layout is None and views is None and as_ != "arrow")
        self._prefetch, self._epochs, self._endless, self._uneven = prefetch, epochs, endless, uneven
        self._memory, self._threads = memory, threads
        named = [files] if isinstance(files, (str, os.PathLike)) else files
        self._files = [os.path.abspath(os.fspath(directory)) for directory in named]
        self._first, self._epoch, self._next = epoch, epoch, 0
        self._over = False
        self._closed = False
        #: In a worker: (turn, number of workers, batch at which the workers began this epoch).
        self._share: tuple[int, int, int] | None = None
        self._begin()

    def _begin(self) -> None:
        """Sets the attributes that belong to the process and are not pickled."""
        self._lock = threading.RLock()
        self._reader: _native.Reader | None = None
        self._batches: _native.Batches | None = None
        self._names: tuple[str, ...] = ()
        #: Whether a batch was requested from the thread and is not given yet.
        self._taking = False
        self._process: int | None = None

    # ---- position ----

    @property
    def plan(self) -> str:
        """blake3 of the plan, in hexadecimal."""
        return self._plan

    @property
    def epoch(self) -> int:
        """The present epoch."""
        return self._epoch

    def state_dict(self) -> State:
        """The position of the loader. It counts batches that were given, not those read ahead; same on every rank."""
        return {"version": _VERSION, "plan": self._plan, "epoch": self._epoch, "next_batch": self._next}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues at the position of another loader of the same plan, with any number of ranks.

        Raises `WrongState` for the state of another plan or version, and for anything else than a state. For a batch
        beyond the end of the epoch it raises at once if the loader is open, otherwise at the first use.
        """
        epoch, next_batch = checked_state(state, self._plan)
        self._owned()
        with self._lock:
            self._stop()
            self._epoch, self._next, self._over = epoch, next_batch, False
            if not self._first <= epoch < self._first + self._epochs:
                self._first = epoch
            if self._reader is not None:
                self._check_next(self._reader)

    def set_epoch(self, epoch: int) -> None:
        """Starts another epoch at its first batch. The present epoch continues at its position, unless it has ended."""
        if epoch < 0:
            raise OutOfRange(f"epoch {epoch} is out of range: epochs start at 0")
        self._owned()
        with self._lock:
            if epoch != self._epoch or self._over:
                self._stop()
                self._first, self._epoch, self._next, self._over = epoch, epoch, 0, False

    def __len__(self) -> int:
        """The number of batches of this rank in the present epoch, from its beginning."""
        with self._entered() as reader:
            return self._steps(reader, 0)

    def _steps(self, reader: _native.Reader, from_batch: int) -> int:
        steps, _ = reader.steps(self._epoch, from_batch, world=self.world, uneven=self._uneven, rows=self._rows)
        return steps

    @property
    def rows_left_out(self) -> int:
        """Rows at the end of the present epoch that no rank gets, since they are fewer than ranks.

        With `uneven=True` some ranks get them, and others an empty batch.
        """
        with self._entered() as reader:
            return reader.steps(self._epoch, 0, world=self.world, uneven=self._uneven, rows=self._rows)[1]

    # ---- batches ----

    def __iter__(self) -> Iterator[Any]:
        if self._over:
            with self._lock:
                self._stop()
                self._epoch, self._next, self._over = self._first, 0, False
        return self

    def __next__(self) -> Any:
        # Without `_entered`: a context manager costs as much as a batch of ids.
        self._owned()
        with self._lock:
            reader = self._opened()
            while not self._over:
                if self._taking:
                    # Ctrl-C or an error came before a requested batch was given, so it is read again.
                    self._stop()
                if self._batches is None:
                    self._batches = self._started(reader)
                self._taking = True
                made = self._batches.next()
                if made is not None:
                    batch = self._given(made)
                    self._next, self._taking = made[2], False
                    return batch
                self._batches, self._taking = None, False
                if not self._endless and self._epoch + 1 >= self._first + self._epochs:
                    self._over = True
                    break
                if self._share is not None:
                    turn, workers, first = self._share
                    steps = self._steps(reader, first)
                    # Turns continue across the end of the epoch.
                    self._share = (turn - steps) % workers, workers, 0
                self._epoch, self._next = self._epoch + 1, 0
        raise StopIteration

    def _started(self, reader: _native.Reader) -> _native.Batches:
        self._check_next(reader)
        skip, stride = (0, 1) if self._share is None else self._to_skip(reader)
        return reader.start(
            self._epoch,
            self._next,
            rank=self.rank,
            world=self.world,
            uneven=self._uneven,
            views=self._views,
            rows=self._rows,
            flat=self._flat,
            kind=self._kind(),
            contract=self._contract,
            prefetch=self._prefetch,
            skip=skip,
            stride=stride,
        )

    def _to_skip(self, reader: _native.Reader) -> tuple[int, int]:
        """(steps to skip, stride) of a worker."""
        assert self._share is not None
        turn, workers, first = self._share
        if self._next < first:
            raise WrongState("the state of this worker is before the batch at which the workers began")
        done = self._steps(reader, first) - self._steps(reader, self._next)
        return (turn - done) % workers, workers

    def _kind(self) -> str:
        return "arrow" if self._as == "arrow" else self._ids

    def _given(self, made: tuple[Any, ...]) -> Any:
        batch: Batch | ArrowBatch
        if self._as == "arrow":
            batch = ArrowBatch(made[0])
        else:
            batch = Batch(as_torch(made[0]) if self._as == "torch" else made[0])
        batch._made_of(made, self._names, self._keys)
        batch.epoch = self._epoch
        batch.state = {"version": _VERSION, "plan": self._plan, "epoch": self._epoch, "next_batch": made[2]}
        if self._contract == "torchtitan":
            assert isinstance(batch, Batch)
            return batch, batch.pop("labels")
        return batch

    def _keys(self, documents: list[int]) -> list[str]:
        with self._entered() as reader:
            return reader.keys(documents)

    def _check_next(self, reader: _native.Reader) -> None:
        if self._next > 0:
            _, batches = reader.counts(self._epoch)
            if self._next > batches:
                raise WrongState(
                    f"batch {self._next} of the state is out of range: epoch {self._epoch} has {batches} batches"
                )

    # ---- opening and closing ----

    def _owned(self) -> None:
        if self._process is not None and self._process != os.getpid():
            raise Forked(
                "this loader was opened before a fork, and its thread does not run in this process: make a loader "
                "here, or start workers with `spawn` or `forkserver`"
            )

    @contextlib.contextmanager
    def _entered(self) -> Iterator[_native.Reader]:
        self._owned()
        with self._lock:
            yield self._opened()

    def _opened(self) -> _native.Reader:
        """The reader. The caller holds the lock."""
        if self._closed:
            raise Closed("this loader is closed: make another one from the plan")
        if self._reader is None:
            self._reader = _native.Reader(
                self._path,
                self._plan,
                plan=self._unstored,
                memory=self._memory,
                threads=self._threads,
                shards=self._shards,
                files=self._files,
            )
            self._process = os.getpid()
            self._names = tuple(self._reader.sources())
            _open.add(self)
        return self._reader

    def _stop(self) -> None:
        self._taking = False
        if self._batches is not None:
            self._batches.stop()
            self._batches = None

    def close(self) -> None:
        """Stops reading ahead and closes the reader. Batches and the state stay usable. A second call has no effect."""
        self._owned()
        with self._lock:
            self._closed = True
            self._stop()
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            _open.discard(self)

    def __enter__(self) -> Loader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._unstored is not None:
            raise TypeError(
                "the plan of this loader is not stored, so other processes cannot find it: plan with a writer"
            )
        return self._options()

    def _options(self) -> dict[str, Any]:
        """The attributes for a copy at the same position: all but those that belong to the process."""
        kept = dict(self.__dict__)
        for name in ("_lock", "_reader", "_batches", "_names", "_taking", "_process"):
            del kept[name]
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def __repr__(self) -> str:
        return (
            f"<corpusdb.Loader of plan {self._plan[:12]}: epoch {self._epoch}, next batch {self._next}, "
            f"rank {self.rank} of {self.world}>"
        )


def as_torch(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays as torch tensors over the same memory. Numbers stay numbers."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error}; `as_=\"numpy\"` needs no torch", name=error.name) from error

    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in arrays.items()
    }


def _check_contract(contract: str, as_: str, layout: str | None, views: Sequence[str] | None) -> None:
    if contract not in get_args(Contract):
        raise ValueError(f"contract must be one of {', '.join(get_args(Contract))}, got {contract!r}")
    if as_ == "arrow":
        raise ValueError("a contract is one of tensors: leave as_=\"arrow\" out, or the contract")
    for name, value in (("layout", layout), ("views", views)):
        if value is not None:
            raise ValueError(f"the contract {contract!r} says the {name} of a batch: leave {name}={value!r} out")
