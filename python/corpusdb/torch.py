"""Tools for torch beside `Plan.loader`: datasets for a `DataLoader`, collate functions, states, and models.

`check_model` tries a model on a packed batch, `start_new_rows` prepares one for an extended tokenizer.
"""

from corpusdb._collator import Collator
from corpusdb._embeddings import start_new_rows
from corpusdb._packing import check_model
from corpusdb._states import state_of
from corpusdb._torch import EpochBatches, EpochRows, flattened

__all__ = ["Collator", "EpochBatches", "EpochRows", "check_model", "flattened", "start_new_rows", "state_of"]
