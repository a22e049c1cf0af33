"""A collate function that makes a trainer's batches from rows of built files, without a corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corpusdb import _native
from corpusdb._loader import Contract, as_torch

__all__ = ["Collator", "row_columns"]

#: Names of the columns of rows. MDS calls ids `tokens`.
_COLUMNS = {
    "ids": (("input_ids", "tokens"), np.int64),
    "seq_lengths": (("seq_lengths",), np.int64),
    "labels": (("labels",), np.int64),
    "loss_mask": (("loss_mask",), np.int64),
    "loss_weights": (("loss_weights",), np.float32),
}


class Collator:
    """A collate function for rows of the files that `epoch build` wrote: it makes the batches of a trainer.

    The batches are those that a loader of the plan gives with this `contract`. No corpus is needed: only the files, in
    `directory`, and their manifest, and a library that reads them. Rows are dictionaries with `input_ids` (`tokens` of
    MDS), `seq_lengths`, and `labels`, `loss_mask` and `loss_weights` where the files have them; other columns are passed
    over. The format is `parquet`, `arrow`, `jsonl` or `mds`.

    Raises `corpusdb.CorpusError` for a directory without a manifest, and for files of which the trainer cannot have such
    batches.
    """

    def __init__(self, directory: str | os.PathLike[str], contract: Contract = "transformers") -> None:
        self._begin(_native.manifest_text(directory), contract)

    def _begin(self, manifest: str, contract: Contract) -> None:
        self._manifest, self._contract = manifest, contract
        self._native = _native.Collator(manifest, contract)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """A batch of these rows: tensors by name; of torchtitan, a pair of inputs and labels."""
        batch = as_torch(self._native.batch([row_columns(row) for row in rows]))
        return (batch, batch.pop("labels")) if self._contract == "torchtitan" else batch

    def __getstate__(self) -> tuple[str, Contract]:
        return self._manifest, self._contract

    def __setstate__(self, state: tuple[str, Contract]) -> None:
        self._begin(*state)


def row_columns(row: Mapping[str, Any]) -> dict[str, npt.NDArray[Any] | None]:
    """The columns of a row as arrays, as the native collator takes them."""
    columns: dict[str, npt.NDArray[Any] | None] = {}
    for column, (names, kind) in _COLUMNS.items():
        name = next((name for name in names if name in row), None)
        columns[column] = None if name is None else np.ascontiguousarray(row[name], dtype=kind)
    for column in ("ids", "seq_lengths"):
        if columns[column] is None:
            raise ValueError(f"a row has no `{_COLUMNS[column][0][0]}`: give the rows as the files have them")
    return columns
