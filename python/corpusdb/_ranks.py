"""Which rank of how many this process is: as it is said, else as torch's launchers say it, else the only one."""

from __future__ import annotations

import os
import sys

__all__ = ["placed"]


def placed(rank: int | None, world: int | None) -> tuple[int, int]:
    """(rank, world): each as given, or that of `torch.distributed`, or of RANK and WORLD_SIZE, or 0 of 1."""
    if rank is None or world is None:
        told_rank, told_world = _told()
        rank = told_rank if rank is None else rank
        world = told_world if world is None else world
    if world < 1 or not 0 <= rank < world:
        raise ValueError(f"there is no rank {rank} of {world}: the first is 0")
    return rank, world


def _told() -> tuple[int, int]:
    # Not imported for this: a process group that is up has imported it.
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size())
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
