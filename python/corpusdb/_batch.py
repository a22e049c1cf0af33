"""Batches and rows of a loader: dictionaries of arrays that know the documents they are made of.

A pickle has plain values and a call of `rebuilt_batch` or `rebuilt_arrow_batch`, so that `torch.load` can read batches
as it reads weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corpusdb import _html
from corpusdb._reports import RowReport
from corpusdb.errors import CorpusError

if TYPE_CHECKING:
    import pyarrow as pa

    from corpusdb import _native

__all__ = ["ArrowBatch", "Batch", "RowList", "RowText", "State", "rebuilt_arrow_batch", "rebuilt_batch"]

#: The position of a loader: `version`, `plan` (hexadecimal), `epoch`, `next_batch`.
State = dict[str, Any]

Ints = npt.NDArray[np.int64]

_NONE: Ints = np.empty(0, np.int64)
_NOTHING = (_NONE, _NONE, _NONE, _NONE, _NONE)


def _cut(values: Ints, ends: Ints) -> list[Ints]:
    """`values` in parts that end at `ends`."""
    return np.split(values, ends[:-1].tolist()) if len(ends) else []


class RowText(str):
    """The text of a row, document by document: what is trained on, and the rest between ⟦ and ⟧.

    In a notebook what is trained on is bold and the rest dim.
    """

    #: The row: its source, its documents by key, and its text in parts that are trained on or not.
    report: RowReport
    _html: str

    def __new__(cls, report: RowReport, html: str) -> RowText:
        lines = []
        for number, parts in itertools.groupby(report.parts or [], key=lambda part: part.segment):
            if number is None:
                pads = sum(part.length for part in parts)
                lines.append(f"⟦{pads:,} pad{'s' if pads != 1 else ''}⟧")
                continue
            segment = report.segments[number]
            last = segment.offset + segment.length - 1
            lines.append(f"{segment.key}, tokens {segment.offset} to {last} of {segment.document_length}:")
            lines.append("".join(part.text if part.trained else f"⟦{part.text}⟧" for part in parts))
        made = super().__new__(cls, "\n".join(lines))
        made.report, made._html = report, html
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return RowText, (self.report, self._html)

    def _repr_html_(self) -> str:
        return _html.shown(self._html)


class _Origin:
    """Where the rows of a batch come from: the base of both kinds of batches."""

    #: Number of the global batch in its epoch.
    number: int = 0
    #: The epoch.
    epoch: int = 0
    #: The state of the loader after this batch: load it to resume behind the batch, whichever loader or worker gave it.
    state: State | None = None
    #: Computes the parts of `_told` when they are first needed; None after that.
    _origin: _native.Origin | None = None
    #: Row numbers, source numbers of the rows, documents and offsets of all segments, and where each row's segments
    #: end.
    _told: tuple[Ints, Ints, Ints, Ints, Ints] | None = None
    _source_names: tuple[str, ...] = ()
    #: Opens what the batch was read from.
    _reading: Callable[[], AbstractContextManager[_native.Reader]] | None = None

    def _made_of(
        self,
        made: tuple[Any, ...],
        names: tuple[str, ...],
        reading: Callable[[], AbstractContextManager[_native.Reader]],
    ) -> None:
        _, self.number, _, self._origin = made
        self._source_names = names
        self._reading = reading

    def _parts(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        # Read in the reverse of the order in which they are set: if another thread has cleared `_origin` meanwhile,
        # `_told` is set.
        origin, told = self._origin, self._told
        if told is None:
            told = _NOTHING if origin is None else origin.tell()
            self._told, self._origin = told, None
        return told

    @property
    def rows(self) -> Ints:
        """The numbers of its rows in the epoch."""
        return self._parts()[0]

    @property
    def sources(self) -> list[str | None]:
        """The source of each row; None for a row of pads."""
        return [None if at < 0 else self._source_names[at] for at in self._parts()[1].tolist()]

    @property
    def documents(self) -> list[Ints]:
        """For each row, the document ids of its segments."""
        _, _, documents, _, ends = self._parts()
        return _cut(documents, ends)

    @property
    def offsets(self) -> list[Ints]:
        """For each row, where each segment begins in its document: in tokens, with BOS and EOS counted."""
        _, _, _, offsets, ends = self._parts()
        return _cut(offsets, ends)

    @property
    def document_keys(self) -> list[list[str]]:
        """For each row, the keys of its documents. They are looked up on access, so the loader must be open."""
        _, _, documents, _, ends = self._parts()
        if not len(ends):
            return []
        ids, places = np.unique(documents, return_inverse=True)
        with self._read("keys: read document_keys") as reader:
            keys = reader.keys(ids.tolist())
        named = [keys[at] for at in places.tolist()]
        bounds = [0, *ends.tolist()]
        return [named[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]

    def text(self, row: int = 0) -> RowText:
        """The text of a row, by its place in the batch. It is looked up, so the loader must be open."""
        number = int(self.rows[row])
        with self._read("texts: call text") as reader:
            (report,), html = reader.texts(self.epoch, [number])
        return RowText(RowReport.from_json(report), html)

    def _repr_html_(self) -> str:
        """What notebooks show: a band for each row, a colour for each document, and the texts of the first rows."""
        head, _, rest = repr(self).removeprefix("<corpusdb.").removesuffix(">").partition(": ")
        shapes = _html.paragraph(f"<b>{_html.line(head)}</b>: {_html.line(rest)}")
        return _html.shown(shapes + self._bands(self.rows.tolist()))

    def _bands(self, rows: list[int]) -> str:
        """Rows of its epoch as bands; or why there are none."""
        if not rows:
            return ""
        try:
            with self._read("rows: show it") as reader:
                return reader.glance(self.epoch, rows)
        except (CorpusError, ValueError) as error:
            return _html.note(f"no bands: {error}")

    def _read(self, what: str) -> AbstractContextManager[_native.Reader]:
        if self._reading is None:
            raise ValueError(f"an unpickled batch cannot look up {what} in the loader's process, before pickling")
        return self._reading()

    def _kept(self) -> dict[str, Any]:
        """What a pickle has beside the values. The loader, which looks up keys, is left out."""
        return {
            "number": self.number,
            "epoch": self.epoch,
            "state": self.state,
            "parts": [part.astype(np.int64).tobytes() for part in self._parts()],
            "sources": list(self._source_names),
        }

    def _remember(self, kept: Mapping[str, Any]) -> None:
        """Restores what was pickled."""
        self.number, self.epoch, self.state = kept["number"], kept["epoch"], kept["state"]
        rows, sources, documents, offsets, ends = (np.frombuffer(part, np.int64).copy() for part in kept["parts"])
        self._told = rows, sources, documents, offsets, ends
        self._source_names = tuple(kept["sources"])


class RowList(list["Batch"]):
    """Rows of an epoch, each as a batch of one row. A notebook shows a band for each."""

    def _repr_html_(self) -> str:
        if not self:
            return _html.shown(_html.paragraph("no rows"))
        numbers = [int(number) for row in self for number in row.rows]
        head = f"{len(self):,} row{'s' if len(self) != 1 else ''} of epoch {self[0].epoch}"
        return _html.shown(_html.paragraph(f"<b>{head}</b>") + self[0]._bands(numbers))


class Batch(_Origin, dict[str, Any]):
    """A batch: a dictionary of tensors by name, so that `model(**batch)` works. It knows the documents of its rows.

    Arrays and tensors own their memory: you may write to them and keep them after the loader and the corpus are closed.
    """

    def to(self, device: Any, *, non_blocking: bool = False) -> Batch:
        """The same batch with its torch tensors on a device."""
        return self._with(
            {
                name: value.to(device, non_blocking=non_blocking) if hasattr(value, "to") else value
                for name, value in self.items()
            }
        )

    def pin_memory(self) -> Batch:
        """The same batch in pinned memory; `DataLoader(pin_memory=True)` calls it."""
        return self._with(
            {name: value.pin_memory() if hasattr(value, "pin_memory") else value for name, value in self.items()}
        )

    def __repr__(self) -> str:
        """Shapes and types; `dict(batch)` shows the values."""
        named = [f"{name} {_shape(value)}" for name, value in self.items()]
        return f"<corpusdb.Batch {self.number} of epoch {self.epoch}: {', '.join(named)}>"

    def __copy__(self) -> Batch:
        return self._with(self)

    def _with(self, values: Mapping[str, Any]) -> Batch:
        other = Batch(values)
        other.__dict__.update(self.__dict__)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt_batch, (dict(self), self._kept())


def _shape(value: Any) -> str:
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or kind is None:
        return str(value)
    return f"{str(kind).removeprefix('torch.')}{list(shape)}"


def rebuilt_batch(values: dict[str, Any], kept: dict[str, Any]) -> Batch:
    """Unpickles a batch."""
    batch = Batch(values)
    batch._remember(kept)
    return batch


class ArrowBatch(_Origin):
    """A batch as an Arrow record batch. Libraries that read `__arrow_c_array__` take it without a copy."""

    def __init__(self, record_batch: Any) -> None:
        self._record_batch = record_batch

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The capsules of schema and array. You may call it any number of times."""
        capsules: tuple[object, object] = self._record_batch.__arrow_c_array__(requested_schema)
        return capsules

    def __arrow_c_schema__(self) -> object:
        """The capsule of the schema."""
        return self._record_batch.__arrow_c_schema__()

    def to_pyarrow(self) -> pa.RecordBatch:
        """The batch as a `pyarrow.RecordBatch` over the same memory."""
        import pyarrow as pa

        return pa.record_batch(self)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<corpusdb.ArrowBatch {self.number} of epoch {self.epoch}: {len(self):,} rows; .to_pyarrow()>"

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            import pyarrow as pa
        except ModuleNotFoundError as error:
            raise TypeError("an Arrow batch is pickled by PyArrow, which is not installed") from error
        batch, written = self.to_pyarrow(), pa.BufferOutputStream()
        with pa.ipc.new_stream(written, batch.schema) as stream:
            stream.write_batch(batch)
        return rebuilt_arrow_batch, (written.getvalue().to_pybytes(), self._kept())


def rebuilt_arrow_batch(written: bytes, kept: dict[str, Any]) -> ArrowBatch:
    """Unpickles an Arrow batch."""
    import pyarrow as pa

    with pa.ipc.open_stream(written) as stream:
        batch = ArrowBatch(stream.read_next_batch())
    batch._remember(kept)
    return batch
