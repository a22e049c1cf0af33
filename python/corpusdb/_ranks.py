"""Finds the rank of this process in a run, and checks that all ranks have the same plan."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from corpusdb.errors import BadInput

__all__ = ["placed", "refuse_other_plan"]

#: The plans of this process by recipe and corpus, in the order in which their loaders were first used.
_planned_here: dict[str, list[str]] = {}


def placed(
    rank: int | None, world: int | None, *, before: tuple[int, int] | None = None, is_used: bool = False
) -> tuple[int, int]:
    """(rank, world): each as given, or from `torch.distributed`, or from RANK and WORLD_SIZE, or `before`, or (0, 1).

    A trainer may start its processes after a loader was made, and some launchers say no RANK: so what is not given is
    asked again at the first use. With `is_used` a rank that nobody tells is an error.
    """
    if rank is None or world is None:
        own_rank, own_world = _launched(before, is_used)
        rank = own_rank if rank is None else rank
        world = own_world if world is None else world
    if world < 1:
        raise ValueError(f"world must be at least 1, got {world}")
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} is out of range: world {world} has ranks 0 to {world - 1}")
    return rank, world


def refuse_other_plan(path: str, shards: Sequence[str], recipe: str, plan: str) -> None:
    """Refuses a plan that is not stored, and that another rank has another one of: a commit came between the two.

    Where ranks have no process group, nobody can compare what they planned at a moment of their own: that is refused.
    The first rank that comes writes its plan where the process group has met, and the others compare theirs. Nobody
    waits: a loader may be of one rank alone.
    """
    distributed = _distributed()
    # Planning adds such a line to a recipe that names no snapshot: its moment may differ between ranks.
    asked = "\n".join(line for line in recipe.splitlines() if not line.startswith("snapshot = \"commit-"))
    if distributed is None and asked != recipe.rstrip("\n"):
        raise BadInput(
            "every rank plans this recipe by itself, and a commit between two of them gives them different rows: store "
            "the plan before the run (`corpusdb epoch plan`), and let every rank ask for it by its number, "
            "corpus.plan(1); or begin torch.distributed first, through which ranks compare their plans"
        )
    store = getattr(getattr(distributed, "distributed_c10d", None), "_get_default_store", None)
    if store is None:
        return
    of = hashlib.blake2b(repr((path, tuple(shards), asked)).encode(), digest_size=16).hexdigest()
    plans = _planned_here.setdefault(of, [])
    if plan not in plans:
        plans.append(plan)
    # If the recipe is planned again, every rank has a further plan.
    first = store().compare_set(f"corpusdb/plan/{of}/{plans.index(plan)}", "", plan)
    first = first.decode() if isinstance(first, bytes) else str(first)
    if first != plan:
        raise BadInput(
            f"rank {distributed.get_rank()} has plan {plan[:12]} of this recipe, and another rank has {first[:12]}: a "
            "commit came between them, and rows would come twice or never. Store the plan before the run (`corpusdb "
            "epoch plan`), and let every rank ask for it by its number: corpus.plan(1)"
        )


def _distributed() -> Any:
    """`torch.distributed`, where this process has a process group; else None."""
    # torch is not imported here: a process with a process group has imported it already.
    distributed = sys.modules.get("torch.distributed")
    begun = distributed is not None and distributed.is_available() and distributed.is_initialized()
    return distributed if begun else None


def _launched(before: tuple[int, int] | None, is_used: bool) -> tuple[int, int]:
    """(rank, world) of the process group, or of the launcher's environment."""
    distributed = _distributed()
    if distributed is not None:
        return int(distributed.get_rank()), int(distributed.get_world_size())
    rank, world = os.environ.get("RANK"), int(os.environ.get("WORLD_SIZE", "1"))
    if rank is None and before is not None:
        return before
    if rank is None and world > 1 and is_used:
        raise ValueError(
            f"WORLD_SIZE says {world} processes, but RANK is not set and torch.distributed has not begun: name rank= "
            "and world=, or use the loader once the trainer has begun its processes"
        )
    return int(rank or 0), world
