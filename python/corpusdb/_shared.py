"""Where a dataset's next iteration begins, in memory that the dataset shares with its copies in worker processes.

Workers that live on see what the trainer sets, and an ended iteration is known to all of them: no lock is needed, since
each worker writes only its own mark, and what follows from all marks is the same whoever works it out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from corpusdb.errors import BadInput

__all__ = ["SharedPosition"]

#: Workers of one dataset, at most.
_WORKERS = 1024
#: In place of the first epoch of an iteration, while it has not ended.
_BEGUN = -1


class SharedPosition:
    """(epoch, next batch) at which the next iteration begins, and the first epoch of that iteration."""

    def __init__(self, epoch: int) -> None:
        #: Number of positions that were set, epoch, next batch, first epoch of the iteration.
        self._head = torch.tensor([0, epoch, 0, epoch], dtype=torch.int64).share_memory_()
        #: For each worker: number of positions that were set, number of workers that have batches, first epoch of the
        #: iteration that it has given whole.
        self._marks = torch.full((_WORKERS, 3), _BEGUN, dtype=torch.int64).share_memory_()

    def get(self, epochs: int) -> tuple[int, int, int]:
        """(epoch, next batch, first epoch): behind the last iteration, of `epochs` epochs, if all workers gave it."""
        # The marks first: who begins an iteration writes what follows from them before a mark of its own.
        setting, workers, ended = self._marks[0].tolist()
        marks = self._marks[: max(0, workers)].tolist()
        head = self._head.tolist()
        is_ended = bool(marks) and ended == head[3] and all(mark == [head[0], workers, ended] for mark in marks)
        if is_ended:
            head[1:] = [head[3] + epochs, 0, head[3] + epochs]
        return head[1], head[2], head[3]

    def set(self, epoch: int, next_batch: int, first: int) -> None:
        """Sets where the next iteration begins. Marks of earlier iterations count no more."""
        self._head[1], self._head[2], self._head[3] = epoch, next_batch, first
        self._head[0] += 1

    @property
    def is_set(self) -> bool:
        """Whether a position was ever set."""
        return bool(self._head[0] > 0)

    def is_left(self) -> bool:
        """Whether an iteration was begun at the position, and some worker did not give it whole."""
        setting, workers, ended = self._marks[0].tolist()
        if workers < 1 or setting != int(self._head[0]):
            return False
        first = int(self._head[3])
        marks = self._marks[:workers].tolist()
        return ended == _BEGUN or (ended == first and any(mark != [setting, workers, first] for mark in marks))

    def begin(self, worker: int, workers: int, position: tuple[int, int, int]) -> Callable[[], None]:
        """A worker begins an iteration at a position from which `workers` workers have batches.

        Returns what it calls with its last batch of the iteration.
        """
        if worker >= workers:
            return lambda: None
        if workers > _WORKERS:
            raise BadInput(f"a dataset has at most {_WORKERS} workers, got {workers}")
        epoch, next_batch, first = position
        setting = int(self._head[0])
        self._head[1], self._head[2], self._head[3] = epoch, next_batch, first
        self._mark(worker, setting, workers, _BEGUN)
        return lambda: self._mark(worker, setting, workers, first)

    def _mark(self, worker: int, setting: int, workers: int, first: int) -> None:
        self._marks[worker, 0], self._marks[worker, 1] = setting, workers
        self._marks[worker, 2] = first

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A plain pickle is a copy: the workers of this process share its memory again.
        self._head.share_memory_()
        self._marks.share_memory_()
