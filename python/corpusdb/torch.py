"""Tools for torch beside `Plan.loader`: datasets for a `DataLoader`, collate functions, states, a trial of a model."""

from corpusdb._collator import Collator
from corpusdb._packing import check_model
from corpusdb._states import state_of
from corpusdb._torch import EpochBatches, EpochRows, flattened

__all__ = ["Collator", "EpochBatches", "EpochRows", "check_model", "flattened", "state_of"]
