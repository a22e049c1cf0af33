"""Plans, computed from a recipe and a snapshot: explain, build, verify, extend, and read with loaders."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec

from corpusdb import _html, _native
from corpusdb._batch import Batch, RowList
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
    loader: Callable[Concatenate[str, tuple[str, ...], str, _native.Plan | None, _native.Reader, Options], Loader],
) -> Callable[[Callable[..., Loader]], Callable[Concatenate[Plan, Options], Loader]]:
    """Gives a method of plans the keywords of a loader, for type checkers and for `help`."""
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
    """A plan: it and the number of an epoch determine every byte of that epoch. `Corpus.plan` makes it.

    A stored plan can be pickled: the pickle holds path and hash, and the corpus is opened when it is first needed.
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
        #: None in an unpickled plan, until first needed.
        self._native_plan, self._handle = native, handle
        self._process = os.getpid()
        self._reader: tuple[int, _native.Reader] | None = None

    # ---- what it is ----

    @property
    def number(self) -> int | None:
        """The number under which it is stored; None if it is not stored, because its corpus is open for reading."""
        return self._number

    @property
    def hash(self) -> str:
        """blake3 of the plan, in hexadecimal. States and manifests name the plan by it."""
        return self._hash

    @property
    def path(self) -> str:
        """The directory of its corpus."""
        return self._path

    @property
    def epochs(self) -> int:
        """How many epochs it has: the passes of its sources (`max_repeats`) reach to the end of the last one."""
        return self._read().epochs() if self._native_plan is None else self._native_plan.epochs

    @property
    def recipe(self) -> str:
        """The recipe with every default, as TOML."""
        return self._planned().recipe

    def to_dict(self) -> dict[str, Any]:
        """The whole plan as plain values, as the corpus stores it."""
        values: dict[str, Any] = json.loads(self._planned().json)
        return values

    def explain(self, *, steps: int | None = None, sweep: bool = False) -> Explanation:
        """Computes rows, tokens, shares, losses, padding and steps of epoch 0. Writes nothing.

        For recipes with `order.kind = "length-grouped"`: `steps` shows how the rows of the first `steps` mega-batches
        (at most 64) are grouped, step by step, in `grouping`; `sweep=True` tries other multipliers of the mega-batch, in
        `sweep`: pads, the largest batch, and what is left to chance.
        """
        if steps is not None and steps < 0:
            raise ValueError(f"steps must be a number of mega-batches from 1 to 64, got {steps}")
        text, values = self._planned().explain(self._opened(), steps=steps, sweep=sweep)
        return Explanation(json.loads(values), text)

    # ---- files ----

    def build(
        self,
        out: str | os.PathLike[str],
        *,
        epoch: int = 0,
        record: bool = True,
        threads: int | None = None,
        progress: ProgressOption = None,
    ) -> Manifest:
        """Writes an epoch to the directory `out`, in the format of the recipe, and returns the manifest.

        A build that was stopped continues after its last finished shard. It leaves an entry in the table `outputs`,
        unless `record=False`; a warning says why it has none.
        """
        with listening(progress) as listener:
            answer, missed = self._planned().build(
                self._opened(), out, epoch=epoch, record=record, threads=threads, listener=listener
            )
        if missed is not None:
            warnings.warn(f"not recorded: {missed}", stacklevel=2)
        return Manifest.from_json(answer)

    def verify(self, directory: str | os.PathLike[str], *, progress: ProgressOption = None) -> Verification:
        """Reads a built epoch back and checks it against the plan and the corpus."""
        with listening(progress) as listener:
            answer = self._planned().verify(self._opened(), directory, listener=listener)
        return Verification.from_json(answer)

    # ---- rows ----

    def rows(self, epoch: int = 0) -> int:
        """The number of rows of an epoch, with rows of pads."""
        return self._counts(epoch)[0]

    def batches(self, epoch: int = 0) -> int:
        """The number of global batches of an epoch; of rows, if the recipe has no batches."""
        return self._counts(epoch)[1]

    def row(
        self,
        number: int,
        *,
        epoch: int = 0,
        views: Sequence[str] | None = None,
        as_: Literal["torch", "numpy"] = "numpy",
    ) -> Batch:
        """One row: arrays of one dimension, with its documents, offsets, keys and source."""
        return self.rows_at([number], epoch=epoch, views=views, as_=as_)[0]

    def rows_at(
        self,
        numbers: Sequence[int],
        *,
        epoch: int = 0,
        views: Sequence[str] | None = None,
        as_: Literal["torch", "numpy"] = "numpy",
    ) -> list[Batch]:
        """Rows by their numbers, in the given order. Rows near each other are found in one pass.

        It is a list; a notebook shows it as bands.
        """
        if any(number < 0 for number in numbers) or epoch < 0:
            raise IndexError("row and epoch numbers start at 0, got a negative one")
        reader = self._read()
        names = tuple(reader.sources())
        rows = RowList()
        for made in reader.rows(epoch, list(numbers), None if views is None else list(views), False, "int64"):
            values = {name: value if isinstance(value, int) else value[0] if value.ndim > 1 else value
                      for name, value in made[0].items()}
            row = Batch(as_torch(values) if as_ == "torch" else values)
            row._made_of(made, names, lambda: contextlib.nullcontext(reader))
            row.epoch = epoch
            rows.append(row)
        return rows

    # ---- extend and drop ----

    def extend(
        self,
        *,
        consumed: int,
        epoch: int = 0,
        recipe: RecipeLike | None = None,
        progress: ProgressOption = None,
    ) -> Plan:
        """Plans the rest of this plan, after `consumed` rows from the beginning of `epoch` on, with new documents.

        Within a pass, no consumed document comes again and no other one is lost. `recipe` may have other weights,
        sources, row length or packing (default: the recipe of this plan).
        """
        text = None if recipe is None else recipe_text(recipe)
        with listening(progress) as listener:
            native = _native.extend_plan(
                self._opened(), self._stored(), consumed=consumed, epoch=epoch, recipe=text, listener=listener
            )
        return Plan(native, self._opened(), self._path, self._shards)

    def drop(self) -> None:
        """Drops the plan. Epochs that were built from it cannot be verified any more."""
        call("epoch drop", self._opened(), plan=self._stored())

    # ---- training ----

    @_with_options_of(Loader)
    def loader(self, **options: Any) -> Loader:
        """A loader for one rank: gives batches in the trainer's process, and reads ahead in a thread.

        `rank` and `world` are by default those of torch.distributed, or RANK and WORLD_SIZE.

        By default a batch is made for any model of transformers, as `contract="transformers"`: the segments of all rows
        end to end without pads, as `[1, tokens]`, the boundaries of documents in every form that attention and
        convolutions read, and `use_cache=False`, without which such models do not part documents by positions.
        `contract` names another trainer: its batches have the keys, types and shapes of that trainer's own collator.
        `layout="rows"` gives rows with their pads, as `[rows, length]`, and the same keys. `views` are the columns
        beside `input_ids` in rows, if you want others. `ids` is the type of `input_ids` alone.

        A batch is that of the recipe. Where it has no `[batch]`, each rank gets `rows` rows in a step. A last step that
        has no row for some rank, pads counted, is left out for all of them (`rows_left_out` counts); `uneven=True`
        gives it, and allows a number of ranks that does not divide the batch. The loader keeps at most `prefetch`
        batches ready. The reader takes up to `memory` bytes and uses `threads` threads.

        An iteration is `epochs` epochs from `epoch` on, and the next one follows behind it; with `endless=True` it is
        all epochs of the plan. `EpochsOver` says that the plan has no further one. With `evaluation=True` every
        iteration begins at the first batch of `epoch`. What the loader could not give is refused here.

        `files` names one or several directories that `build` of this plan wrote. An epoch found there takes its ids
        from the files, which is several times as fast; other epochs take them from the store. The batches are the same.
        The recipe's format must be `raw`, `litdata` or `megatron`, with rows of one length. `views=[]` with files is
        fastest: ids come as the files hold them, the loader reads `prefetch` pieces of 1 MiB ahead (or batches, if
        these are larger), and looks up the documents of a batch only when you ask for them.

        What the loader gives leaves an entry for each rank and epoch in the table `outputs`, unless `record=False` or the
        corpus cannot be written to; a run that goes on extends it.
        """
        return Loader(self._path, self._shards, self.hash, self._unstored(), self._read(), **options)

    def torch_dataset(self, *, epoch: int = 0, map_style: bool = False, **options: Any) -> EpochBatches | EpochRows:
        """A dataset for trainers that require a `DataLoader`.

        By default it is an `IterableDataset` of whole batches, for `DataLoader(dataset, batch_size=None)` with any
        number of workers; `options` are those of `loader`. With `map_style` it is a `Dataset` of rows, with the option
        `views`.
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
        """The rows of an epoch for Hugging Face `datasets`.

        It is a `Dataset` over Arrow batches in memory; with `directory`, over a mapped file there; with `streaming`, an
        `IterableDataset` that reads the rows as the trainer asks for them. `views` are the columns beside `input_ids`.
        """
        from corpusdb._hf import dataset, streamed

        if streaming:
            return streamed(self, epoch, views)
        return dataset(self, epoch, views, directory)

    # ---- internals ----

    def _opened(self) -> _native.Handle:
        """A handle for reading: that of the corpus that made the plan, or a handle of its own once that is closed."""
        if self._handle is None or self._process != os.getpid() or self._handle.is_closed:
            self._handle = _native.Handle(self._path, write=False, memory=MEMORY, shards=self._shards)
            self._process = os.getpid()
        return self._handle

    def _planned(self) -> _native.Plan:
        """The native plan; an unpickled plan finds it in the corpus at the first call."""
        if self._native_plan is None:
            handle = self._opened()
            numbers = [number for number, known, _ in _native.stored_plans(handle) if known == self._hash]
            if not numbers:
                why = "it was dropped, or another corpus is at this path"
                raise NotFound(f"{self._path} has no plan {self._hash[:16]}: {why}")
            self._native_plan = _native.stored_plan(handle, numbers[0])
        return self._native_plan

    def _unstored(self) -> _native.Plan | None:
        """The native plan for a reader, if the plan is not stored, so that the reader cannot find it in the corpus."""
        return self._planned() if self.number is None else None

    def _stored(self) -> int:
        if self.number is None:
            raise CorpusError("this plan is not stored: open the corpus with mode=\"w\" and plan the recipe again")
        return self.number

    def _read(self) -> _native.Reader:
        # A forked child opens its own reader: a worker of a map-style dataset needs it.
        if self._reader is None or self._reader[0] != os.getpid():
            reader = _native.Reader(
                self._path, self.hash, plan=self._unstored(), memory=MEMORY, threads=2, shards=self._shards
            )
            self._reader = os.getpid(), reader
        return self._reader[1]

    def _counts(self, epoch: int) -> tuple[int, int]:
        if epoch < 0:
            raise IndexError(f"epoch {epoch} is out of range: epochs start at 0")
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

    def _repr_html_(self) -> str:
        first, next_calls = repr(self).split("\n", 1)
        first = first.removeprefix("<corpusdb.").removesuffix(">")
        try:
            plan = self.to_dict()
        except CorpusError as error:
            # An unpickled plan whose corpus is gone, or which was dropped.
            return _html.shown(_html.paragraph(f"{_html.line(first)}: {_html.line(str(error))}"))
        names = ["documents", "tokens", "rows", "max_repeats"]
        most = max((source["rows"] for source in plan["sources"]), default=0) or 1
        rows = [
            [source["name"], *(source[name] for name in names), _html.strip(source["rows"] / most, at)]
            for at, source in enumerate(plan["sources"])
        ]
        head = _html.paragraph(f"<b>{_html.line(first)}</b>") + _html.paragraph(
            f"{plan['budget']:,} {_html.line(plan['recipe']['mix']['unit'])} an epoch, rows of {plan['capacity']:,}, "
            f"snapshot {_html.line(plan['snapshot']['name'])}, tokenizer {_html.line(plan['tokenizer']['name'])}"
        )
        heads = ["source", *(name.replace("_", " ") for name in names), "rows of a pass"]
        return _html.shown(head + _html.table(heads, rows, names=1, thousands=True) + _html.note(next_calls.strip()))


def _found_again(path: str, plan: str, number: int, shards: tuple[str, ...] = ()) -> Plan:
    """Unpickles a plan without opening the corpus: a worker that reads rows opens a reader for that."""
    found: Plan = Plan.__new__(Plan)
    found._begin(path, shards, plan, number, None, None)
    return found


class Planning:
    """The planning calls of a corpus: a base class of `Corpus`. Only a writer stores plans."""

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
        """Computes the plan of a recipe (a path, TOML text, or a mapping), or finds the stored plan with a number.

        A corpus opened for writing stores the plan, with a snapshot of the last commit unless the recipe names one. For
        a plan that is stored already it returns the stored one. A corpus opened for reading stores nothing.

        `epochs` is the number of epochs for which marks are stored (default for a recipe: 1). Loaders open an epoch
        with marks at once; for other epochs each loader walks over the rows first.

        If the plan draws documents that were removed since its snapshot, there is a warning; with `strict` it raises
        `corpusdb.Stale`, and nothing is stored. `exclude_removed = true` under `[select]` leaves these documents out.
        """
        if epochs is not None and epochs < 0:
            raise ValueError(f"epochs must be a number of epochs from 0 on, got {epochs}")
        if epochs is not None and self._mode != "w":
            raise ReadOnly("only a writer stores marks of epochs: open the corpus with mode=\"w\"")
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
        """Warns, or with `strict` raises, if the plan draws documents that were removed since its snapshot."""
        removed = plan.removed(self._handle)
        if not removed:
            return
        told = f"the plan draws {removed:,} documents that were removed since snapshot `{plan.snapshot}`"
        way_out = "`exclude_removed = true` under [select] leaves them out"
        if strict:
            raise Stale(f"{told}: {way_out}; nothing was planned")
        warnings.warn(f"{told}: {way_out}, and `strict=True` raises an error instead", stacklevel=3)

    def plans(self) -> list[Plan]:
        """The stored plans, in order of their numbers."""
        return [self.plan(number) for number, _, _ in _native.stored_plans(self._handle)]
