"""What a loader gives: batches and rows as dictionaries of arrays, with what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

    from corpusdb import _native

__all__ = ["ArrowBatch", "Batch", "State"]

#: Where a loader stands: `version`, `plan` (hexadecimal), `epoch`, `next_batch`.
State = dict[str, Any]

Ints = npt.NDArray[np.int64]

_NONE: Ints = np.empty(0, np.int64)
_NOTHING = (_NONE, _NONE, _NONE, _NONE, _NONE)


def _cut(values: Ints, ends: Ints) -> list[Ints]:
    """`values` in parts that end at `ends`."""
    return np.split(values, ends[:-1].tolist()) if len(ends) else []


class _Origin:
    """Where the rows of a batch come from. Told by its subclasses."""

    #: Number of the global batch in its epoch.
    number: int = 0
    #: The epoch.
    epoch: int = 0
    #: The state of the loader once this batch was given: resume after it, whatever gave it.
    state: State | None = None
    #: What tells the parts of `_told`, until somebody asks.
    _origin: _native.Origin | None = None
    #: Rows, the source of each by its number, documents and offsets of all segments, the ends of each row's.
    _told: tuple[Ints, Ints, Ints, Ints, Ints] | None = None
    _source_names: tuple[str, ...] = ()
    _look_up: Callable[[list[int]], list[str]] | None = None

    def _made_of(
        self, made: tuple[Any, ...], names: tuple[str, ...], look_up: Callable[[list[int]], list[str]] | None
    ) -> None:
        _, self.number, _, self._origin = made
        self._source_names = names
        self._look_up = look_up

    def _parts(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        # In the other order than they are set in: where another thread has taken the one away, the other is there.
        origin, told = self._origin, self._told
        if told is None:
            told = _NOTHING if origin is None else origin.tell()
            self._told, self._origin = told, None
        return told

    @property
    def rows(self) -> Ints:
        """Numbers of its rows in the epoch."""
        return self._parts()[0]

    @property
    def sources(self) -> list[str | None]:
        """The source of each row; none for a row of pads."""
        return [None if at < 0 else self._source_names[at] for at in self._parts()[1].tolist()]

    @property
    def documents(self) -> list[Ints]:
        """Of each row the document of each of its segments, by id."""
        _, _, documents, _, ends = self._parts()
        return _cut(documents, ends)

    @property
    def offsets(self) -> list[Ints]:
        """Of each row where in its document each segment begins, in tokens, BOS and EOS counted."""
        _, _, _, offsets, ends = self._parts()
        return _cut(offsets, ends)

    @property
    def document_keys(self) -> list[list[str]]:
        """Of each row the key of each document. Looked up when asked for, as long as the loader is open."""
        _, _, documents, _, ends = self._parts()
        if not len(ends):
            return []
        if self._look_up is None:
            raise ValueError("keys are looked up by the process whose loader gave the batch, before it is pickled")
        ids, places = np.unique(documents, return_inverse=True)
        keys = self._look_up(ids.tolist())
        named = [keys[at] for at in places.tolist()]
        bounds = [0, *ends.tolist()]
        return [named[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]

    def __getstate__(self) -> dict[str, Any]:
        self._parts()
        state = dict(self.__dict__)
        state.pop("_look_up", None)
        return state


class Batch(_Origin, dict[str, Any]):
    """A batch: a dictionary of tensors by name, so that `model(**batch)` works, with what it is made of.

    Arrays and tensors own their memory, may be written to, and outlive the loader and the corpus.
    """

    def to(self, device: Any, *, non_blocking: bool = False) -> Batch:
        """The same batch with its tensors on a device. Tensors of torch only."""
        return self._with(
            {
                name: value.to(device, non_blocking=non_blocking) if hasattr(value, "to") else value
                for name, value in self.items()
            }
        )

    def pin_memory(self) -> Batch:
        """The same batch in pinned memory, as a `DataLoader` asks for it."""
        return self._with(
            {name: value.pin_memory() if hasattr(value, "pin_memory") else value for name, value in self.items()}
        )

    def _with(self, values: Mapping[str, Any]) -> Batch:
        other = Batch(values)
        other.__dict__.update(self.__dict__)
        return other


class ArrowBatch(_Origin):
    """A batch as an Arrow record batch: anything that reads `__arrow_c_array__` takes it without a copy."""

    def __init__(self, record_batch: Any) -> None:
        self._record_batch = record_batch

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The capsules of schema and array; may be asked for any number of times."""
        capsules: tuple[object, object] = self._record_batch.__arrow_c_array__(requested_schema)
        return capsules

    def __arrow_c_schema__(self) -> object:
        """The capsule of the schema."""
        return self._record_batch.__arrow_c_schema__()

    def to_pyarrow(self) -> pa.RecordBatch:
        """The batch as PyArrow has it, over the same memory."""
        import pyarrow as pa

        return pa.record_batch(self)

    def __len__(self) -> int:
        return len(self.rows)
