"""Shares the beginning of a dataset's next iteration with its copies in worker processes, in shared memory.

Persistent workers see what the trainer sets, and all know when an iteration has ended. No lock is needed: each worker
writes only its own mark, and every process computes the same position from all marks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from corpusdb.errors import BadInput

__all__ = ["SharedPosition", "SharedTurn"]

#: Workers of one dataset, at most.
_WORKERS = 1024
#: Seconds that a worker waits for others that are being started.
_PATIENCE = 30.0
#: Stands for the first epoch of an iteration that has not ended.
_BEGUN = -1


class SharedPosition:
    """(epoch, next batch) at which the next iteration begins, and the first epoch of that iteration."""

    def __init__(self, epoch: int) -> None:
        #: Number of positions set so far, epoch, next batch, first epoch of the iteration.
        self._head = torch.tensor([0, epoch, 0, epoch], dtype=torch.int64).share_memory_()
        #: For each worker: number of positions set when it began, number of workers with batches, first epoch of the
        #: iteration that it has given completely, and 1 once it has given a batch of it.
        self._marks = torch.full((_WORKERS, 4), _BEGUN, dtype=torch.int64).share_memory_()

    def get(self, after: Callable[[int], int]) -> tuple[int, int, int]:
        """(epoch, next batch, first epoch): behind the last iteration, if all workers gave it.

        `after` is the epoch behind the iteration that begins with an epoch.
        """
        # The marks are read first: a worker that begins an iteration writes the position that follows from them before
        # its own mark.
        setting, workers, ended, _ = self._marks[0].tolist()
        marks = self._marks[: max(0, workers), :3].tolist()
        head = self._head.tolist()
        is_ended = bool(marks) and ended == head[3] and all(mark == [head[0], workers, ended] for mark in marks)
        if is_ended:
            head[1:] = [after(head[3]), 0, after(head[3])]
        return head[1], head[2], head[3]

    def set(self, epoch: int, next_batch: int, first: int) -> None:
        """Sets where the next iteration begins. Marks of earlier iterations count no more."""
        self._head[1], self._head[2], self._head[3] = epoch, next_batch, first
        self._head[0] += 1

    @property
    def is_set(self) -> bool:
        """Whether a position was ever set."""
        return bool(self._head[0] > 0)

    def is_untouched(self, worker: int) -> bool:
        """Whether a worker has begun nothing, and no position was set."""
        return not self.is_set and int(self._marks[worker, 0]) == _BEGUN

    def wait(self) -> None:
        """Waits until all workers have begun what one of them resumed: what follows depends on all of them."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            setting = int(self._head[0])
            marks = self._marks[: max(1, int(self._marks[0, 1]))].tolist()
            if all(mark[0] == setting for mark in marks):
                return
            time.sleep(0.001)

    def is_given(self) -> bool:
        """Whether some worker has given a batch of the iteration under way."""
        return bool((self._marks[: max(1, int(self._marks[0, 1])), 3] == 1).any())

    def is_left(self) -> bool:
        """Whether batches of an iteration at the position were given, and some worker did not give it whole."""
        setting, workers, ended, _ = self._marks[0].tolist()
        if workers < 1 or setting != int(self._head[0]) or not self.is_given():
            return False
        first = int(self._head[3])
        marks = self._marks[:workers, :3].tolist()
        return ended == _BEGUN or (ended == first and any(mark != [setting, workers, first] for mark in marks))

    def begin(self, worker: int, workers: int, position: tuple[int, int, int]) -> SharedTurn:
        """A worker begins an iteration at a position from which `workers` workers have batches."""
        if worker >= workers:
            return SharedTurn(None)
        if workers > _WORKERS:
            raise BadInput(f"a dataset has at most {_WORKERS} workers, got {workers}")
        epoch, next_batch, first = position
        setting = int(self._head[0])
        self._head[1], self._head[2], self._head[3] = epoch, next_batch, first
        mark = self._marks[worker]
        mark[3] = 0
        mark[0], mark[1], mark[2] = setting, workers, _BEGUN
        return SharedTurn(mark, first)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A plain pickle makes a copy, while workers of this process share its memory.
        self._head.share_memory_()
        self._marks.share_memory_()


class SharedTurn:
    """An iteration of a worker, as others see it: nobody sees that of a worker which has no batch."""

    def __init__(self, mark: torch.Tensor | None, first: int = 0) -> None:
        self._mark, self._first = mark, first

    def give(self) -> None:
        """The worker gives a batch."""
        if self._mark is not None:
            self._mark[3] = 1

    def end(self) -> None:
        """It has given its last one."""
        if self._mark is not None:
            self._mark[2] = self._first
