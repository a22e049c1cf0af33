"""The rows of a SQL statement at one commit, as Arrow without a copy or as tuples; can be read any number of times."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from corpusdb import _html
from corpusdb.errors import BadQuery, CorpusError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from corpusdb import _native

__all__ = ["Table"]

Made = TypeVar("Made")

#: Rows, columns, and characters of a cell that a notebook shows, at most; and the width of text without a terminal.
_ROWS, _COLUMNS, _CELL, _WIDTH = 20, 20, 100, 120
#: Rows at the end that a notebook shows of an answer that has at most `_COUNTED` rows.
_LAST, _COUNTED = 5, 1000
#: The words for the types of Arrow, by how their names begin.
_KINDS = {
    "Utf8": "text", "LargeUtf8": "text", "Int": "int", "UInt": "int", "Float": "float", "Decimal": "decimal",
    "Boolean": "bool", "Binary": "bytes", "LargeBinary": "bytes", "Timestamp": "time", "Date": "date", "Time": "time",
    "List": "list", "LargeList": "list", "Struct": "struct", "Map": "map", "Null": "null", "Dictionary": "text",
}


class Table:
    """The answer to a statement. The columns are known at once, the rows are computed as you read them.

    `show` prints the first rows, as a notebook or a prompt does. `df` gives a pandas frame, `pl` a Polars frame,
    `arrow` a pyarrow table; `fetchall`, `fetchone` and iterating give tuples. The table is an Arrow stream
    (`__arrow_c_stream__`), so libraries that read such streams take it: `duckdb.sql("FROM answer")`.

    A table belongs to one commit and can be read any number of times, even after the corpus was closed. Each reading
    runs the statement again on that commit, and reads the files that it names again. Once the corpus has a newer
    commit, reading raises `corpusdb.Stale`: run `sql` again.
    """

    __slots__ = ("_rows", "_statement")

    def __init__(self, rows: _native.Rows, statement: str) -> None:
        self._rows = rows
        self._statement = statement

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._rows.columns

    @property
    def types(self) -> list[str]:
        """The types of the columns, as Arrow names them."""
        return self._rows.types

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.stream().__arrow_c_stream__(requested_schema)

    # For other libraries ----------------------------------------------------------------------------------------------

    def arrow(self) -> pyarrow.Table:
        """All rows as a `pyarrow.Table`, without a copy. `to_pyarrow` is the same."""
        pyarrow = _library("pyarrow", "arrow()")
        return self._read_whole(lambda stream: pyarrow.RecordBatchReader.from_stream(stream).read_all())

    def df(self) -> pandas.DataFrame:
        """All rows as a `pandas.DataFrame`, through pyarrow. `to_pandas` is the same."""
        _library("pandas", "df()")
        _library("pyarrow", "df()")
        return self.arrow().to_pandas()

    def pl(self) -> polars.DataFrame:
        """All rows as a `polars.DataFrame`; numbers are not copied. `to_polars` is the same."""
        polars = _library("polars", "pl()")
        return self._read_whole(polars.DataFrame)

    to_pyarrow, to_pandas, to_polars = arrow, df, pl

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """The rows as a `pyarrow.RecordBatchReader`, batch by batch, without a copy."""
        return _library("pyarrow", "to_reader()").RecordBatchReader.from_stream(self)

    # Tuples -----------------------------------------------------------------------------------------------------------

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return list(self)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row as a tuple; None if the answer has no rows. Other rows are not read."""
        return next(iter(self._rows.peek(1)), None)

    def to_dicts(self) -> list[dict[str, Any]]:
        """All rows as dictionaries. Raises `corpusdb.BadQuery` if two columns have the same name."""
        names = self.columns
        for at, name in enumerate(names):
            if name in names[:at]:
                raise BadQuery(
                    f"two columns are called `{name}`, but the keys of a dictionary must differ: rename one "
                    f"(SELECT .. AS ..), or read tuples with fetchall()"
                )
        return [dict(zip(names, row, strict=True)) for row in self]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        batches = iter(self._rows.read().next_rows, None)
        return itertools.chain.from_iterable(batches)

    # Shown ------------------------------------------------------------------------------------------------------------

    def show(self, rows: int = _ROWS, *, width: int | None = None) -> None:
        """Prints the first `rows` rows, at most `width` characters wide (default: the width of the terminal)."""
        if rows < 0:
            raise ValueError(f"rows: expected a number from 0 on, got {rows}")
        print(self._text(rows, width))

    def _text(self, rows: int, width: int | None) -> str:
        if width is None:
            width = shutil.get_terminal_size((_WIDTH, 24)).columns
        text, is_all, is_cut = self._rows.show(rows, width)
        text = text.rstrip("\n")
        left = [f"the first {rows} rows"] * (not is_all) + ["what ends in … is cut"] * is_cut
        return f"{text}\n… {', '.join(left)}; df(), pl(), arrow() or iterating give all" if left else text

    def _read_whole(self, make: Callable[[_native.RowStream], Made]) -> Made:
        stream = self._rows.stream()
        stream.ask_for_failure()
        try:
            return make(stream)
        except BaseException:
            # The reader of a stream sees only the text of an error; here the error itself is raised.
            failure = stream.failure()
            if failure is not None:
                raise failure from None
            raise

    def __repr__(self) -> str:
        try:
            return self._text(_ROWS, None)
        except CorpusError as error:
            return f"<corpusdb.Table of {', '.join(self.columns)}: {error}>"

    def _repr_html_(self) -> str:
        try:
            read = self._rows.peek(_COUNTED + 1)
        except CorpusError as error:
            statement, why = _html.line(self._statement), _html.line(str(error))
            return _html.shown(_html.paragraph(f"rows of <code>{statement}</code>: {why}"))
        columns = self.columns[:_COLUMNS]
        is_whole = len(read) <= _COUNTED
        is_cut = len(read) > _ROWS + _LAST
        rows = [[_cell(value) for value in row[:_COLUMNS]] for row in (read[:_ROWS] if is_cut else read)]
        if is_cut and is_whole:
            rows.append(["⋮"] * len(columns))
            rows += [[_cell(value) for value in row[:_COLUMNS]] for row in read[-_LAST:]]
        count = f"{len(read):,}" if is_whole else f"more than {_COUNTED:,}"
        shape = f"{count} row{'s' * (len(read) != 1)} of {len(self.columns):,} column{'s' * (len(self.columns) != 1)}"
        notes = [shape if read else f"no rows of {', '.join(self.columns)}"]
        if is_cut:
            notes.append(f"the first {_ROWS} rows and the last {_LAST}" if is_whole else f"the first {_ROWS} rows")
        if len(self.columns) > _COLUMNS:
            notes.append(f"{_COLUMNS} of {len(self.columns)} columns")
        types = self.types[:_COLUMNS]
        if any(isinstance(cell, str) and len(cell) == _CELL and cell.endswith("…") for row in rows for cell in row):
            notes.append(f"texts of more than {_CELL} characters end in …: df(), pl(), arrow() or iterating give all")
        # Four digits may be a year, where no number of the column has five.
        plain = [
            not (is_amount and any(isinstance(value, int) and abs(value) >= 10_000 for value in column))
            for is_amount, column in zip(self._rows.amounts, map(list, zip(*rows, strict=True)), strict=False)
        ]
        kinds = [_kind(kind) for kind in types]
        table = _html.table(columns, rows, thousands=True, plain=plain, kinds=kinds)
        return _html.shown(table + _html.note("; ".join(notes)))


def _library(name: str, call: str) -> Any:
    """Imports an optional library."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        way_out = f"{call} needs {name}, which {sys.executable} does not have: install it (pip install {name})"
        raise ModuleNotFoundError(way_out, name=name) from None


def _kind(arrow: str) -> str:
    """A type of Arrow in a word."""
    return next((word for name, word in _KINDS.items() if arrow.startswith(name)), arrow[:20])


def _cell(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value).replace("\n", " ")
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"
