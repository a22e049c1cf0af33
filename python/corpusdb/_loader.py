"""The loader: an iterator over batches of a plan that reads ahead in a thread and resumes at any batch."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import math
import os
import threading
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, get_args

import numpy as np

from corpusdb import _accelerate, _native
from corpusdb._batch import ArrowBatch, Batch, State, rebuilt_batch
from corpusdb._benchmark import measured
from corpusdb._ranks import placed, refuse_other_plan
from corpusdb._states import VERSION, checked_state
from corpusdb._steps import LoaderAttributes
from corpusdb.errors import BadInput, Closed, CorpusError, EpochsOver, Forked, Infeasible, OutOfRange, WrongState
from corpusdb.reports import LoaderBenchmark

__all__ = ["As", "Contract", "Ids", "Layout", "Loader"]

#: The type of the arrays of a batch.
As = Literal["torch", "numpy", "arrow"]
#: `rows`: one row under the other. `flat`: the segments of all rows end to end, without pads.
Layout = Literal["rows", "flat"]
#: The trainer for which batches are made.
Contract = Literal["transformers", "trl", "megatron", "torchtitan", "olmo-core"]
#: The type of token ids.
Ids = Literal["int64", "int32", "uint16"]

#: Directories with built epochs: one or several.
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

#: Memory of a loader's reader in bytes, by default. It is small, because a machine may run many loaders.
MEMORY = 64 << 20
#: Threads of a loader's reader, by default.
THREADS = 2

_open: weakref.WeakSet[Loader] = weakref.WeakSet()


def _close_all() -> None:
    # At exit the process destroys the data that reader threads use, so they must stop before.
    for loader in list(_open):
        with contextlib.suppress(CorpusError):
            loader.close()


atexit.register(_close_all)


class Loader(LoaderAttributes):
    """An iterator over the batches of one rank. `Plan.loader` makes it.

    A thread of the library reads `prefetch` batches ahead. The state counts the batches that were given, not those read
    ahead; it is the same on every rank, and any number of ranks can resume from it.

    An iteration is `epochs` epochs, and `len` is the number of its batches: once they are taken it has ended, whether
    one more was asked for or not. `iter` goes on within an iteration, and begins the next one behind an ended one: so
    three loops over a loader are epochs 0, 1 and 2. It raises `EpochsOver` behind the last epoch of the plan.
    """

    def __init__(
        self,
        path: str,
        shards: tuple[str, ...],
        plan: str,
        unstored: _native.Plan | None,
        beside: _native.Reader,
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
        evaluation: bool = False,
        uneven: bool = False,
        memory: int = MEMORY,
        threads: int = THREADS,
        files: Files = (),
        record: bool = True,
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
        if evaluation and (endless or epochs > 1):
            raise ValueError("evaluation=True gives one epoch again and again: leave out epochs= and endless=")
        if endless and epochs > 1:
            raise ValueError("endless=True gives all epochs that the plan has: leave out epochs=")
        if as_ == "torch" and importlib.util.find_spec("torch") is None:
            raise ModuleNotFoundError("No module named 'torch'; `as_=\"numpy\"` needs no torch", name="torch")
        #: The rank and the world as the caller gave them, None if not given: then they are looked up at the first use,
        #: since a trainer may start its processes later.
        self._asked: tuple[int | None, int | None] = rank, world
        #: The rank and the world of the process that pickled the loader.
        self._before: tuple[int, int] | None = None
        rank, world = placed(rank, world)
        #: The rank of this process, and the number of ranks.
        self.rank, self.world = rank, world
        self._path, self._shards, self._plan, self._unstored = os.path.abspath(path), shards, plan, unstored
        self._views = None if views is None else list(views)
        self._contract, self._as, self._ids, self._rows = contract, as_, ids, rows
        # A caller who names views gets rows with pads, as `[rows, length]`; the batches of trainers have no pads.
        self._flat = layout == "flat" or (layout is None and views is None and as_ != "arrow")
        self._prefetch, self._epochs, self._endless, self._uneven = prefetch, epochs, endless, uneven
        self._evaluation = evaluation
        #: Whether a trainer iterates this loader itself, not a loader that wraps it.
        self._is_shown = True
        self._memory, self._threads, self._record = memory, threads, record
        named = [files] if isinstance(files, (str, os.PathLike)) else files
        self._files = [os.path.abspath(os.fspath(directory)) for directory in named]
        #: The epoch that trainers call their epoch 0.
        self._base = epoch
        #: The first epoch of the present iteration, or of the last one if it has ended.
        self._first = epoch
        self._epoch, self._next = epoch, 0
        #: The epoch and the batch at which this run resumed.
        self._began = (epoch, 0)
        self._ended = False
        #: Whether the position came from a state, which may stand at the end of an epoch.
        self._is_loaded = False
        #: Whether an epoch or a state was ever chosen: only then steps can be skipped by number.
        self._is_chosen = False
        self._closed = False
        #: In a worker: (turn, number of workers, batch at which the workers began this epoch).
        self._share: tuple[int, int, int] | None = None
        #: Cache of the number of steps by epoch.
        self._steps: dict[int, int] = {}
        self._check(beside)
        self._begin((os.getpid(), beside))

    def _begin(self, beside: tuple[int, _native.Reader] | None = None) -> None:
        """Sets the attributes that belong to the process and are not pickled."""
        #: A process and the plan's reader in it: there, loaders with the same options share its corpus.
        self._beside = beside
        self._lock = threading.RLock()
        self._reader: _native.Reader | None = None
        self._batches: _native.Batches | None = None
        self._names: tuple[str, ...] = ()
        #: Whether a batch was requested from the thread and not given yet.
        self._taking = False
        #: Steps of the present epoch that this reader has not given yet.
        self._left = 0
        #: Steps after the position that a trainer skips, so they are not read.
        self._skipped = 0
        #: The number of the step, within the iteration, that a trainer would ask for next if it asks by number.
        self._step: int | None = None
        self._process: int | None = None

    def _place(self) -> None:
        """Looks up the rank of this process, if none was given."""
        rank, world = placed(*self._asked, before=self._before, is_used=True)
        if (rank, world) != (self.rank, self.world):
            self.rank, self.world = rank, world
            self._steps.clear()

    def _check(self, reader: _native.Reader) -> None:
        """Fails for a request that no epoch could serve."""
        self._refuse_over(reader, self._first)
        reader.check(self._first, self._request(), self._files)

    def _request(self) -> dict[str, Any]:
        """The request for the batches of this rank, as the native reader takes it."""
        return {
            "rank": self.rank,
            "world": self.world,
            "uneven": self._uneven,
            "rows": self._rows,
            "views": self._views,
            "flat": self._flat,
            "kind": self._kind(),
            "contract": self._contract,
        }

    # ---- position ----

    @property
    def plan(self) -> str:
        """blake3 of the plan, in hexadecimal."""
        return self._plan

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._epoch

    @property
    def is_chosen(self) -> bool:
        """Whether an epoch or a state was ever chosen: only then steps of it can be skipped by number."""
        return self._is_chosen

    def state_dict(self) -> State:
        """The position of the loader. It counts batches that were given, not those read ahead; same on every rank.

        At the end of an epoch it is the beginning of the next one.
        """
        return self._state(self._epoch, self._next)

    def _state(self, epoch: int, next_batch: int) -> State:
        return {"version": VERSION, "plan": self._plan, "epoch": epoch, "next_batch": next_batch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues at the position of another loader of the same plan, with any number of ranks.

        Raises `WrongState` for the state of another plan or version, and for anything else than a state. For a batch
        beyond the end of the epoch it raises at once if the loader is open, otherwise at the first use.
        """
        epoch, next_batch = checked_state(state, self._plan)
        self._owned()
        with self._lock:
            self._stop()
            before = dict(self.__dict__)
            self._stand(epoch, next_batch)
            self._is_chosen = True
            try:
                if self._reader is not None:
                    self._settle(self._reader)
            except BaseException:
                self.__dict__.update(before)
                raise

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, counted from the loader's `epoch`, as trainers count from 0.

        The present epoch continues at its position, unless it has ended. An evaluation loader stays at its epoch. With
        `epochs` or `endless` it is refused: these loaders count their epochs themselves.
        """
        if epoch < 0:
            raise OutOfRange(f"epoch {epoch} is out of range: epochs start at 0")
        if self._evaluation:
            return
        if self._endless or self._epochs > 1:
            given = "endless=True" if self._endless else f"epochs={self._epochs}"
            raise BadInput(
                f"set_epoch({epoch}) on a loader with {given}, which counts its epochs itself: leave {given} out where "
                "the trainer counts them (Trainer with num_train_epochs, accelerate)"
            )
        self._owned()
        with self._lock:
            if self._is_loaded and self._next:
                self._settle(self._opened())
            self._is_chosen = True
            if self._base + epoch != self._epoch:
                self._warn_of_rest(self._base + epoch)
                self._stop()
                self._stand(self._base + epoch, 0)
            elif self._ended:
                self._stand(self._epoch, 0)

    def begin_at(self, epoch: int) -> None:
        """The first iteration is this epoch, counted from the loader's `epoch`; a loader that has begun stays.

        `Loader.batch_sampler.sampler.set_epoch` calls it: so Lightning says where a run goes on.
        """
        self._owned()
        with self._lock:
            if not self._evaluation and self._is_untouched():
                self._stand(self._base + epoch * self._epochs, 0)

    def _warn_of_rest(self, epoch: int) -> None:
        """Warns if the trainer goes on to the next epoch before the last batch of the present one."""
        if self._ended or not self._next or epoch != self._epoch + 1:
            return
        left = self._left_from(self._opened(), self._epoch, self._next)
        warnings.warn(
            f"{left} batches of epoch {self._epoch} are left behind: an epoch ends with its last batch, and `len` of "
            "the loader counts those of one epoch, which may have more than another",
            stacklevel=3,
        )

    def __len__(self) -> int:
        """The number of batches of this rank in the iteration, from its beginning; of the next one if it has ended."""
        if self._endless:
            raise TypeError("a loader with endless=True has no length: give the trainer a number of steps (max_steps)")
        with self._entered() as reader:
            return sum(self._steps_in(reader, epoch) for epoch in self._to_come(reader))

    def _to_come(self, reader: _native.Reader) -> range:
        """The epochs of the iteration that `iter` continues or begins; those of the last one, if there is no other."""
        self._settle(reader)
        begun = self._ended and not self._evaluation and self._epoch + self._epochs <= reader.epochs()
        first = self._epoch if begun else self._first
        self._refuse_over(reader, first)
        return range(first, first + self._epochs)

    def rows_to_come(self) -> int:
        """Rows of the iteration on all ranks, those of pads included."""
        with self._entered() as reader:
            return sum(reader.counts(epoch)[0] for epoch in self._to_come(reader))

    def _steps_in(self, reader: _native.Reader, epoch: int) -> int:
        if epoch not in self._steps:
            self._steps[epoch] = self._left_from(reader, epoch, 0)
        return self._steps[epoch]

    def _left_from(self, reader: _native.Reader, epoch: int, from_batch: int) -> int:
        """The number of steps of an epoch from a batch on."""
        return reader.steps(epoch, from_batch, self._request())

    @property
    def rows_left_out(self) -> int:
        """Rows at the ends of the epochs of the iteration that no rank gets, since they are fewer than ranks.

        A run that goes on from a state leaves out what is left behind that state, whatever number of ranks gave the
        batches before. With `uneven=True` some ranks get these rows, and others an empty batch.
        """
        with self._entered() as reader:
            return sum(
                reader.rows_left_out(epoch, self._began_at(epoch), self._request()) for epoch in self._to_come(reader)
            )

    def _began_at(self, epoch: int) -> int:
        """The batch of an epoch at which this run began: that of a loaded state, else the first one."""
        began, batch = self._began
        return batch if began == epoch else 0

    def _stand(self, epoch: int, next_batch: int) -> None:
        """Moves to a position and its iteration: iterations follow each other from the loader's epoch on."""
        self._epoch, self._next, self._ended, self._is_loaded = epoch, next_batch, False, next_batch > 0
        self._began = (epoch, next_batch)
        self._skipped, self._step = 0, None
        length = 1 if self._endless else self._epochs
        self._first = max(0, self._base + (epoch - self._base) // length * length)

    def _settle(self, reader: _native.Reader) -> None:
        """Turns a loaded position at the end of an epoch into the beginning of the next one."""
        if not self._is_loaded:
            return
        _, batches = reader.counts(self._epoch)
        if self._next > batches:
            raise WrongState(
                f"batch {self._next} of the state is out of range: epoch {self._epoch} has {batches} batches"
            )
        if self._share is None and not self._left_from(reader, self._epoch, self._next):
            self._stand(self._epoch + 1, 0)
        self._is_loaded = False

    def _refuse_over(self, reader: _native.Reader, first: int) -> None:
        """Fails if an iteration from epoch `first` on goes beyond the last epoch of the plan."""
        epochs, last = reader.epochs(), first + self._epochs - 1
        if last < epochs:
            return
        try:
            reader.counts(last)
            why = "no source has further passes"
        except Infeasible as error:
            why = str(error)
        asked = f"epoch {last} was asked for" if self._epochs == 1 else f"epochs {first} to {last} were asked for"
        held = "1 epoch" if epochs == 1 else f"{epochs} epochs"
        raise EpochsOver(f"the plan has {held}, counted from 0, and {asked}: {why}")

    # ---- batches ----

    def __iter__(self) -> Iterator[Any]:
        self._owned()
        with self._lock:
            if self._evaluation:
                if self._next or self._ended or self._batches is not None:
                    self._stop()
                    self._stand(self._first, 0)
            elif self._ended or (self._next == 0 and self._epoch == self._first != self._base and not self._batches):
                reader = self._opened()
                if self._endless and not self._ended and self._epoch >= reader.epochs():
                    # The state is that of a run that has had all epochs: nothing is left, and that is no error.
                    self._ended = True
                    return self
                self._refuse_over(reader, self._epoch)
                self._stand(self._epoch, 0)
        return self

    def _refuse_unbegun(self) -> None:
        """Fails if an iteration that begins here goes beyond the last epoch of the plan."""
        if not self._next and self._epoch == self._first:
            with self._entered() as reader:
                self._refuse_over(reader, self._first)

    def _is_untouched(self) -> bool:
        """Whether the loader has given nothing, and nobody has chosen a position."""
        is_begun = self._next or self._ended or self._epoch != self._base or self._batches is not None
        return not (is_begun or self._is_chosen or self._endless)

    def __next__(self) -> Any:
        # Without `_entered`: a context manager costs as much as a batch of ids.
        self._owned()
        with self._lock:
            reader = self._opened()
            while not self._ended:
                if self._taking:
                    # Ctrl-C or an error came after the request for a batch and before it was given, so it is read
                    # again.
                    self._stop()
                if self._batches is None:
                    self._batches = self._started(reader)
                self._taking = True
                made = self._batches.next()
                if made is not None:
                    return self._given(reader, made)
                self._batches, self._taking = None, False
                if self._share is not None and self._is_finished(reader):
                    # The position stays behind the last batch, since other workers may have further ones.
                    self._ended = True
                else:
                    self._pass_epoch(reader)
            if self._is_shown:
                _accelerate.hide(self)
        raise StopIteration

    def _started(self, reader: _native.Reader) -> _native.Batches:
        self._settle(reader)
        if self._epoch >= reader.epochs():
            self._refuse_over(reader, self._epoch)
        self._left = self._own_steps(reader)
        skip, stride = (self._skipped, 1) if self._share is None else self._to_skip(reader)
        return reader.start(
            self._epoch,
            self._next,
            self._request(),
            prefetch=self._prefetch,
            skip=skip,
            stride=stride,
            record=self._record,
        )

    def _own_steps(self, reader: _native.Reader) -> int:
        """The steps of the epoch that are left to this reader; in a worker only those of its turns."""
        left = self._left_from(reader, self._epoch, self._next)
        skip, stride = (self._skipped, 1) if self._share is None else self._to_skip(reader)
        return max(0, -(-(left - skip) // stride))

    def _to_skip(self, reader: _native.Reader) -> tuple[int, int]:
        """For a worker: (steps to skip, stride)."""
        assert self._share is not None
        turn, workers, first = self._share
        if self._next < first:
            raise WrongState("the state of this worker is before the batch at which the workers began")
        done = self._left_from(reader, self._epoch, first) - self._left_from(reader, self._epoch, self._next)
        return (turn - done) % workers, workers

    def _sharers(self, workers: int, epoch: int, next_batch: int) -> int:
        """How many of `workers` workers have a batch of the iteration from a position on; at least one."""
        with self._entered() as reader:
            last = reader.epochs() if self._endless else min(self._first + self._epochs, reader.epochs())
            steps = 0
            while steps < workers and epoch < last:
                steps += self._left_from(reader, epoch, next_batch)
                epoch, next_batch = epoch + 1, 0
        return max(1, min(steps, workers))

    def _pass_epoch(self, reader: _native.Reader) -> None:
        """Moves to the next epoch, or ends the iteration."""
        self._stop()
        if self._share is not None:
            turn, workers, first = self._share
            steps = self._left_from(reader, self._epoch, first)
            # Turns continue across the end of the epoch.
            self._share = (turn - steps) % workers, workers, 0
        self._epoch, self._next, self._skipped = self._epoch + 1, 0, 0
        self._ended = self._epoch >= (reader.epochs() if self._endless else self._first + self._epochs)

    def _is_finished(self, reader: _native.Reader) -> bool:
        """Whether a worker has given its last batch of the iteration."""
        assert self._share is not None
        if self._ended or self._own_steps(reader):
            return self._ended
        last = reader.epochs() if self._endless else self._first + self._epochs
        turn, workers, first = self._share
        for epoch in range(self._epoch, last - 1):
            turn, first = (turn - self._left_from(reader, epoch, first)) % workers, 0
            if self._steps_in(reader, epoch + 1) > turn:
                return False
        return True

    def _kind(self) -> str:
        return "arrow" if self._as == "arrow" else self._ids

    def _given(self, reader: _native.Reader, made: tuple[Any, ...]) -> Any:
        batch: Batch | ArrowBatch
        if self._as == "arrow":
            batch = ArrowBatch(made[0])
        else:
            batch = Batch(as_torch(made[0]) if self._as == "torch" else made[0])
        batch._made_of(made, self._names, self._entered)
        batch.epoch = self._epoch
        self._next, self._left, self._taking = made[2], self._left - 1, False
        self._skipped, self._step = 0, None
        # The last batch ends the epoch: a trainer that takes `len` batches asks for no further one.
        is_last = self._left < 1 and (self._share is None or not self._left_from(reader, self._epoch, self._next))
        if is_last:
            self._pass_epoch(reader)
        if self._is_shown:
            _accelerate.show(self, is_last=is_last)
        batch.state = self._state(self._epoch, self._next)
        if self._contract == "torchtitan":
            assert isinstance(batch, Batch)
            return batch, batch.pop("labels")
        return batch

    def take_step(self, number: int) -> Any:
        """The batch of a step of the iteration, by its number. Steps in order are read ahead."""
        with self._entered() as reader:
            if self._step != number:
                self._stop()
                epochs, skipped = self._to_come(reader), number
                for epoch in epochs:
                    if skipped < self._steps_in(reader, epoch):
                        self._stand(epoch, 0)
                        self._skipped = skipped
                        break
                    skipped -= self._steps_in(reader, epoch)
                else:
                    raise OutOfRange(f"step {number} is out of range: the iteration has {len(self)} steps")
            # A caller that asks by number may be ahead of the trainer, so accelerate is not shown these batches.
            shown, self._is_shown = self._is_shown, False
            try:
                batch = next(self)
            finally:
                self._is_shown = shown
            self._step = None if self._ended else number + 1
            return batch

    def benchmark(self, *, steps: int = 100, step_seconds: float = 0.0) -> LoaderBenchmark:
        """Takes batches from the loader's position on and measures: a smoke test before a run. The loader stays as it is.

        It takes `steps` steps of this rank, or as many as the epoch has left, as fast as it can; with
        `step_seconds` each is followed by a pause as long, in which the loader reads ahead as while a model computes.
        The report says the tokens a second, the share of the time in which the consumer waited for a batch, the share
        of places that are real tokens, the tokens of each rank, and the loss that a new model starts from.
        """
        if steps < 1 or not 0 <= step_seconds < math.inf:
            raise ValueError("steps must be at least 1, and step_seconds a number from 0 up")
        with self._entered() as reader:
            copy = self._copy()
            if copy._ended or copy._epoch >= reader.epochs():
                copy._stand(copy._first, 0)
            copy._record = False
            copy._settle(reader)
            epoch, begin, request = copy._epoch, copy._next, self._request()
            copy._endless, copy._epochs, copy._first = False, 1, epoch

            def rank_tokens(steps: int) -> list[int]:
                return reader.rank_tokens(epoch, begin, steps, request)

            return measured(copy, steps, step_seconds, rank_tokens, reader.vocabulary())

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
        """The reader, opened if necessary. The caller holds the lock."""
        if self._closed:
            raise Closed("this loader is closed: make another one from the plan")
        if self._reader is None:
            self._place()
            if self._unstored is not None and self.world > 1 and None in self._asked:
                refuse_other_plan(self._path, self._shards, self._unstored.recipe, self._plan)
            self._reader = self._new_reader()
            self._process = os.getpid()
            self._names = tuple(self._reader.sources())
            _open.add(self)
        return self._reader

    def _new_reader(self) -> _native.Reader:
        is_default = (self._memory, self._threads, self._files) == (MEMORY, THREADS, [])
        if is_default and self._beside is not None and self._beside[0] == os.getpid():
            return self._beside[1].share()
        return _native.Reader(
            self._path,
            self._plan,
            plan=self._unstored,
            memory=self._memory,
            threads=self._threads,
            shards=self._shards,
            files=self._files,
        )

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
            _accelerate.hide(self)
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
        # The process that unpickles may be a worker of this rank, or another rank: its process group decides.
        return {**self._options(), "_before": (self.rank, self.world)}

    def _options(self) -> dict[str, Any]:
        """The attributes for a copy at the same position: all except those that belong to the process."""
        kept = dict(self.__dict__)
        for name in (
            "_lock", "_reader", "_batches", "_names", "_taking", "_left", "_skipped", "_step", "_process", "_beside"
        ):
            del kept[name]
        kept["_steps"] = dict(self._steps)
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def _copy(self) -> Loader:
        """A loader at the same position, not opened."""
        made: Loader = Loader.__new__(Loader)
        made.__setstate__(self._options())
        made._beside, made._is_shown = self._beside, False
        return made

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

    if not _trusted:
        # Lets `torch.load` read saved batches: unpickling one makes a dictionary and numbers, and nothing else.
        _trusted.append(True)
        torch.serialization.add_safe_globals([rebuilt_batch])
    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in arrays.items()
    }


def _check_contract(contract: str, as_: str, layout: str | None, views: Sequence[str] | None) -> None:
    if as_ == "arrow":
        raise ValueError("a contract is one of tensors: leave as_=\"arrow\" out, or the contract")
    for name, value in (("layout", layout), ("views", views)):
        if value is not None:
            raise ValueError(f"the contract {contract!r} says the {name} of a batch: leave {name}={value!r} out")


#: Not empty once torch was told that batches may be loaded.
_trusted: list[bool] = []
