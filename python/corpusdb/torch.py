"""Tools for torch beside `Plan.loader`: datasets for a `DataLoader`, a collate function, states, a trial of a model."""

from corpusdb._packing import check_model
from corpusdb._states import state_of
from corpusdb._torch import EpochBatches, EpochRows, flattened

__all__ = ["EpochBatches", "EpochRows", "check_model", "flattened", "state_of"]
