"""Rows of a statement: read once, as Arrow without a copy or as tuples."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from corpusdb import _native

__all__ = ["Table"]

#: What is shown of a table at most.
_ROWS, _COLUMNS, _CELL = 20, 20, 100


class Table:
    """The answer to a statement: its columns at once, its rows as they are read.

    It is an Arrow stream (`__arrow_c_stream__`), so whatever reads these takes it: `pyarrow.table(t)`,
    `polars.DataFrame(t)`, `duckdb.sql("FROM t")`. Rows are made while they are read, and read once; showing the first
    ones does not count. The rows outlive the corpus that was asked.
    """

    __slots__ = ("_rows", "_statement")

    def __init__(self, rows: _native.Rows, statement: str) -> None:
        self._rows = rows
        self._statement = statement

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._rows.columns

    @property
    def types(self) -> list[str]:
        """Types of the columns, in Arrow's words."""
        return self._rows.types

    @property
    def is_read(self) -> bool:
        """Whether the rows were read, or are being read by somebody else."""
        return self._rows.is_read

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def to_pyarrow(self) -> pyarrow.Table:
        """The rows as a `pyarrow.Table`, without a copy."""
        import pyarrow

        with self._reading():
            return pyarrow.RecordBatchReader.from_stream(self).read_all()

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """The rows as a `pyarrow.RecordBatchReader`, batch by batch, without a copy."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_stream(self)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a `polars.DataFrame`; numbers without a copy."""
        import polars

        with self._reading():
            return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a `pandas.DataFrame`, through pyarrow."""
        return self.to_pyarrow().to_pandas()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return list(self)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row as a tuple, or None without rows; the others are not read."""
        return next(iter(self), None)

    def to_dicts(self) -> list[dict[str, Any]]:
        """All rows as dictionaries."""
        names = self.columns
        return [dict(zip(names, row, strict=True)) for row in self]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        batches = iter(self._rows.next_rows, None)
        return itertools.chain.from_iterable(batches)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self._rows.ask_for_failure()
        try:
            yield
        except BaseException:
            # Who reads a stream has only words of an error: here is the error itself.
            failure = self._rows.failure()
            if failure is not None:
                raise failure from None
            raise

    def _first(self) -> list[tuple[Any, ...]] | None:
        return None if self.is_read else self._rows.peek(_ROWS + 1)

    def __repr__(self) -> str:
        from corpusdb.errors import CorpusError

        try:
            first = self._first()
        except CorpusError:
            first = None
        if first is None:
            return f"<corpusdb.Table {', '.join(self.columns)}: read>"
        names = self.columns[:_COLUMNS]
        lines = [names, *([_text(value) for value in row[:_COLUMNS]] for row in first[:_ROWS])]
        widths = [max(len(line[at]) for line in lines) for at in range(len(names))]
        shown = "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )
        return shown + ("\n…" if len(first) > _ROWS or len(self.columns) > _COLUMNS else "")

    def _repr_html_(self) -> str:
        first = self._first()
        if first is None:
            return f"<p>rows of <code>{html.escape(self._statement)}</code>, read</p>"
        shown = self.columns[:_COLUMNS]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_text(value))}</td>" for value in row[:_COLUMNS]) + "</tr>"
            for row in first[:_ROWS]
        )
        notes = []
        if len(first) > _ROWS:
            notes.append(f"the first {_ROWS} rows")
        if len(self.columns) > _COLUMNS:
            notes.append(f"{_COLUMNS} of {len(self.columns)} columns")
        note = f"<p>{', '.join(notes)}</p>" if notes else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _text(value: object) -> str:
    text = "" if value is None else str(value).replace("\n", " ")
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"
