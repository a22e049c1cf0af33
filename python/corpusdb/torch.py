"""Tools for torch beside `Plan.loader`: datasets for a `DataLoader`, a collate function, states."""

from corpusdb._torch import EpochBatches, EpochRows, flattened, state_of

__all__ = ["EpochBatches", "EpochRows", "flattened", "state_of"]
