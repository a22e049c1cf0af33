"""Plans: what follows from a recipe and a snapshot, told, built, verified, extended, and read by loaders."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec

from corpusdb import _native
from corpusdb._batch import Batch
from corpusdb._call import call
from corpusdb._native import one_line
from corpusdb._loader import MEMORY, Loader, as_torch
from corpusdb._progress import ProgressOption, listening
from corpusdb._recipe import RecipeLike, recipe_text
from corpusdb.errors import CorpusError, NotFound, ReadOnly, Stale
from corpusdb.reports import Explanation, Manifest, Verification

if TYPE_CHECKING:
    import datasets

    from corpusdb._torch import EpochBatches, EpochRows

__all__ = ["Plan", "Planning"]

Options = ParamSpec("Options")


def _with_options_of(
    loader: Callable[Concatenate[str, tuple[str, ...], str, _native.Plan | None, Options], Loader],
) -> Callable[[Callable[..., Loader]], Callable[Concatenate[Plan, Options], Loader]]:
    """Gives a method of plans the keywords that a loader is made with, for checkers and for `help`."""
    keywords = [
        one for one in inspect.signature(loader).parameters.values() if one.kind is inspect.Parameter.KEYWORD_ONLY
    ]

    def method(call: Callable[..., Loader]) -> Callable[Concatenate[Plan, Options], Loader]:
        found = inspect.signature(call)
        own = [one for one in found.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        vars(call)["__signature__"] = found.replace(parameters=[*own, *keywords])
        return call

    return method


class Plan:
    """A plan: every byte of its epochs is a function of it and the number of the epoch.

    Made by `plan(...)` of a corpus. It may be pickled if it is stored: path and hash find it again, when something is
    first asked that only the corpus knows.
    """

    def __init__(self, native: _native.Plan, handle: _native.Handle, path: str, shards: tuple[str, ...]) -> None:
        beside = tuple(os.path.abspath(shard) for shard in shards)
        self._begin(os.path.abspath(path), beside, native.hash, native.number, native, handle)

    def _begin(
        self,
        path: str,
        shards: tuple[str, ...],
        plan: str,
        number: int | None,
        native: _native.Plan | None,
        handle: _native.Handle | None,
    ) -> None:
        self._path, self._shards, self._hash, self._number = path, shards, plan, number
        #: None until they are needed, of a plan that was pickled.
        self._native_plan, self._handle = native, handle
        self._reader: tuple[int, _native.Reader] | None = None

    # ---- what it is ----

    @property
    def number(self) -> int | None:
        """The number under which it is stored; none where it is not: a handle that reads stores nothing."""
        return self._number

    @property
    def hash(self) -> str:
        """blake3 of the plan, in hexadecimal: what states and manifests name it by."""
        return self._hash

    @property
    def path(self) -> str:
        """Where its corpus lies."""
        return self._path

    @property
    def recipe(self) -> str:
        """The recipe with every default, as TOML."""
        return self._planned().recipe

    def to_dict(self) -> dict[str, Any]:
        """Everything that it pins, as the command stores it."""
        values: dict[str, Any] = json.loads(self._planned().json)
        return values

    def explain(self) -> Explanation:
        """What epoch 0 will be: rows, tokens, shares, losses, padding, steps. Writes nothing."""
        text, values = self._planned().explain(self._opened())
        return Explanation(json.loads(values), text)

    # ---- files ----

    def build(
        self,
        out: str | os.PathLike[str],
        *,
        epoch: int = 0,
        threads: int | None = None,
        progress: ProgressOption = None,
    ) -> Manifest:
        """Writes an epoch to the directory `out`, in the format of the recipe; the manifest is the answer.

        A build that was stopped goes on after the shards that it had finished.
        """
        with listening(progress) as listener:
            answer = self._planned().build(self._opened(), out, epoch=epoch, threads=threads, listener=listener)
        return Manifest.from_json(answer)

    def verify(self, directory: str | os.PathLike[str], *, progress: ProgressOption = None) -> Verification:
        """Reads a written epoch back and checks it against the plan and the corpus."""
        with listening(progress) as listener:
            answer = self._planned().verify(self._opened(), directory, listener=listener)
        return Verification.from_json(answer)

    # ---- rows ----

    def rows(self, epoch: int = 0) -> int:
        """Rows of an epoch, those of pads included."""
        return self._counts(epoch)[0]

    def batches(self, epoch: int = 0) -> int:
        """Global batches of an epoch; rows where the recipe has no batches."""
        return self._counts(epoch)[1]

    def row(
        self,
        number: int,
        *,
        epoch: int = 0,
        views: Sequence[str] | None = None,
        as_: Literal["torch", "numpy"] = "numpy",
    ) -> Batch:
        """One row: its arrays, of one dimension, and its documents, offsets, keys and source."""
        return self.rows_at([number], epoch=epoch, views=views, as_=as_)[0]

    def rows_at(
        self,
        numbers: Sequence[int],
        *,
        epoch: int = 0,
        views: Sequence[str] | None = None,
        as_: Literal["torch", "numpy"] = "numpy",
    ) -> list[Batch]:
        """Rows by their numbers, in the order asked for. Those that are near each other are found together."""
        if any(number < 0 for number in numbers) or epoch < 0:
            raise IndexError("rows and epochs are numbered from 0")
        reader = self._read()
        names = tuple(reader.sources())
        rows = []
        for made in reader.rows(epoch, list(numbers), None if views is None else list(views), False, "tensors"):
            values = {name: value if isinstance(value, int) else value[0] if value.ndim > 1 else value
                      for name, value in made[0].items()}
            row = Batch(as_torch(values) if as_ == "torch" else values)
            row._made_of(made, names, reader.keys)
            row.epoch = epoch
            rows.append(row)
        return rows

    # ---- going on, and away ----

    def extend(
        self,
        *,
        consumed: int,
        epoch: int = 0,
        recipe: RecipeLike | None = None,
        progress: ProgressOption = None,
    ) -> Plan:
        """Plans what this plan has left once `consumed` rows were given from the beginning of `epoch` on, with whatever
        is new: nothing that was consumed comes again within its pass, nothing that was not is lost.

        `recipe` may have other weights, sources, row length or packing; without one that of this plan goes on.
        """
        text = None if recipe is None else recipe_text(recipe)
        with listening(progress) as listener:
            native = _native.extend_plan(
                self._opened(), self._stored(), consumed=consumed, epoch=epoch, recipe=text, listener=listener
            )
        return Plan(native, self._opened(), self._path, self._shards)

    def drop(self) -> None:
        """Forgets the plan. What was built of it cannot be verified any more."""
        call("epoch drop", self._opened(), plan=self._stored())

    # ---- training ----

    @_with_options_of(Loader)
    def loader(self, **options: Any) -> Loader:
        """Batches of one rank, in the trainer's process, read ahead by a thread.

        `rank` and `world` are those of torch.distributed or of RANK and WORLD_SIZE unless given. `views` are what comes
        beside `input_ids`: by default labels, and position ids or, where a row is one document, the attention mask.
        `layout="flat"` gives the segments of all rows end to end without pads, as `[1, tokens]`. `ids` is the type of
        ids, labels, positions and the attention mask. `prefetch` batches are ready at most. `epochs` follow on each
        other, and with `endless=True` all that there are. `uneven=True` divides batches among ranks that they do not
        divide among evenly. `memory` in bytes is what its reader may take, `threads` what it reads with.

        `files` names what `build` of this plan has made, a directory or several: an epoch that is there has its ids from
        those files, which is several times as fast, and every other one from the store. The batches are the same.
        The recipe's format must be `raw`, `litdata` or `megatron`, with rows of one length. With `views=[]` ids come as
        files hold them, fastest of all: what is read ahead is `prefetch` pieces of 1 MiB, or batches where they are
        larger, and what a batch is made of is found when it is asked for.
        """
        return Loader(self._path, self._shards, self.hash, self._unstored(), **options)

    def torch_dataset(self, *, epoch: int = 0, map_style: bool = False, **options: Any) -> EpochBatches | EpochRows:
        """For trainers that insist on a `DataLoader`.

        Without `map_style` an `IterableDataset` of whole batches, for `DataLoader(dataset, batch_size=None)` with any
        number of workers; `options` are those of `loader`. With it a `Dataset` of rows; its options are `views`.
        """
        from corpusdb._torch import EpochBatches, EpochRows

        if map_style:
            return EpochRows(self, epoch=epoch, **options)
        return EpochBatches(self, epoch=epoch, **options)

    def to_hf(
        self,
        *,
        epoch: int = 0,
        views: Sequence[str] | None = None,
        streaming: bool = False,
        directory: str | os.PathLike[str] | None = None,
    ) -> datasets.Dataset | datasets.IterableDataset:
        """Rows of an epoch for `datasets`: a `Dataset` over Arrow batches in memory, or, with `directory`, in a file
        there that is mapped; with `streaming` an `IterableDataset` that reads as it goes. `views` are columns of recipes."""
        from corpusdb._hf import dataset, streamed

        if streaming:
            return streamed(self, epoch, views)
        return dataset(self, epoch, views, directory)

    # ---- within ----

    def _opened(self) -> _native.Handle:
        if self._handle is None:
            self._handle = _native.Handle(self._path, write=False, memory=MEMORY, shards=self._shards)
        return self._handle

    def _planned(self) -> _native.Plan:
        """The plan itself; of one that was pickled it is looked for now."""
        if self._native_plan is None:
            handle = self._opened()
            numbers = [number for number, known, _ in _native.stored_plans(handle) if known == self._hash]
            if not numbers:
                raise NotFound(f"{self._path} has no plan {self._hash[:16]} any more")
            self._native_plan = _native.stored_plan(handle, numbers[0])
        return self._native_plan

    def _unstored(self) -> _native.Plan | None:
        """What a reader is given that cannot find the plan in the corpus."""
        return self._planned() if self.number is None else None

    def _stored(self) -> int:
        if self.number is None:
            raise CorpusError("this plan is not stored: plan the recipe with a corpus opened with mode=\"w\"")
        return self.number

    def _read(self) -> _native.Reader:
        # A plan is data: in the child of a fork it has a reader of its own, as a worker of a map-style dataset needs it.
        if self._reader is None or self._reader[0] != os.getpid():
            reader = _native.Reader(
                self._path, self.hash, plan=self._unstored(), memory=MEMORY, threads=2, shards=self._shards
            )
            self._reader = os.getpid(), reader
        return self._reader[1]

    def _counts(self, epoch: int) -> tuple[int, int]:
        if epoch < 0:
            raise IndexError("epochs are numbered from 0")
        return self._read().counts(epoch)

    def __reduce__(self) -> tuple[Any, ...]:
        return _found_again, (self._path, self.hash, self._stored(), self._shards)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and other.hash == self.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        stored = "not stored" if self.number is None else f"number {self.number}"
        head = one_line(f"<corpusdb.Plan {self.hash[:12]}, {stored}, of {self._path}>")
        return f"{head}\n  next: .explain(), .build(directory), .verify(directory), .loader(), .row(0), .recipe"


def _found_again(path: str, plan: str, number: int, shards: tuple[str, ...] = ()) -> Plan:
    """A plan that was pickled. Nothing is opened: a worker that reads rows has a reader for that."""
    found: Plan = Plan.__new__(Plan)
    found._begin(path, shards, plan, number, None, None)
    return found


class Planning:
    """What a corpus can do with recipes and plans: it has a handle and a path, and stores plans if it writes."""

    _handle: _native.Handle
    _path: str
    _shards: tuple[str, ...] = ()
    _mode = "r"

    def plan(
        self,
        recipe: RecipeLike | int,
        *,
        epochs: int | None = None,
        strict: bool = False,
        progress: ProgressOption = None,
    ) -> Plan:
        """A plan of a recipe (a path, a text of TOML, or a mapping), or the stored one of that number.

        A corpus opened for writing stores what it plans, with a snapshot of this moment unless the recipe names one,
        and answers the stored plan when the same one is asked for again. One opened for reading stores nothing.

        `epochs` is along how many epochs marks are stored with the plan (1 for a recipe): an epoch that has them is
        opened at once, by any number of loaders, and every other one after a walk over its rows.

        A recipe that draws documents which were removed since its snapshot is planned with a warning; with `strict` it
        raises `corpusdb.Stale`, and nothing is stored. `exclude_removed = true` under `[select]` leaves them out.
        """
        if epochs is not None and epochs < 0:
            raise ValueError(f"epochs is along how many epochs marks are stored, and {epochs} is no such number")
        if epochs is not None and self._mode != "w":
            raise ReadOnly("marks along epochs are stored by who writes: open the corpus with mode=\"w\"")
        with listening(progress) as listener:
            if isinstance(recipe, int):
                native = _native.stored_plan(self._handle, recipe)
                if strict:
                    self._tell_removed(native, strict)
                if epochs is not None:
                    _native.mark_epochs(self._handle, recipe, epochs=epochs, listener=listener)
            else:
                along = None if self._mode != "w" else 1 if epochs is None else epochs
                text = recipe_text(recipe)
                if strict and along is not None:
                    # Before anything is stored.
                    self._tell_removed(_native.plan_recipe(self._handle, text, epochs=None, listener=listener), strict)
                native = _native.plan_recipe(self._handle, text, epochs=along, listener=listener)
                self._tell_removed(native, strict)
        return Plan(native, self._handle, self._path, self._shards)

    def _tell_removed(self, plan: _native.Plan, strict: bool) -> None:
        """Says how many documents a plan draws that were removed since its snapshot, or refuses it."""
        removed = plan.removed(self._handle)
        if not removed:
            return
        told = f"the plan draws {removed:,} documents that were removed since snapshot `{plan.snapshot}`"
        way_out = "`exclude_removed = true` under [select] leaves them out"
        if strict:
            raise Stale(f"{told}: {way_out}; nothing was planned")
        warnings.warn(f"{told}: {way_out}, `strict=True` refuses such a plan", stacklevel=3)

    def plans(self) -> list[Plan]:
        """The stored plans, in order of their numbers."""
        return [self.plan(number) for number, _, _ in _native.stored_plans(self._handle)]
