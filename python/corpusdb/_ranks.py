"""The rank and world of this process: as given, else from torch or its launcher, else rank 0 of world 1."""

from __future__ import annotations

import os
import sys

__all__ = ["placed"]


def placed(
    rank: int | None, world: int | None, *, before: tuple[int, int] | None = None, is_used: bool = False
) -> tuple[int, int]:
    """(rank, world): each as given, or from `torch.distributed`, or from RANK and WORLD_SIZE, or `before`, or (0, 1).

    A trainer may start its processes after a loader was made, and some launchers say no RANK: so what is not given is
    asked again at the first use. With `is_used` a rank that nobody tells is an error.
    """
    if rank is None or world is None:
        told_rank, told_world = _told(before, is_used)
        rank = told_rank if rank is None else rank
        world = told_world if world is None else world
    if world < 1:
        raise ValueError(f"world must be at least 1, got {world}")
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} is out of range: world {world} has ranks 0 to {world - 1}")
    return rank, world


def _told(before: tuple[int, int] | None, is_used: bool) -> tuple[int, int]:
    # torch is not imported for this: a process with a process group has imported it already.
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size())
    rank, world = os.environ.get("RANK"), int(os.environ.get("WORLD_SIZE", "1"))
    if rank is None and before is not None:
        return before
    if rank is None and world > 1 and is_used:
        raise ValueError(
            f"WORLD_SIZE says {world} processes, but RANK is not set and torch.distributed has not begun: name rank= and "
            "world=, or use the loader once the trainer has begun its processes"
        )
    return int(rank or 0), world
