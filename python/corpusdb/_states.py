"""States of loaders and datasets: positions of a run, as values from which any number of ranks can resume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from corpusdb._batch import State
from corpusdb.errors import WrongState

__all__ = ["STEPS", "VERSION", "WORKER", "checked_state", "state_of"]

#: Version of the state of a loader.
VERSION = 1
#: The key that a worker's state has in addition: (turn, number of workers, batch at which they began, first epoch of
#: the iteration).
WORKER = "worker"
#: The key for the steps of the epoch: (batches of a step, steps left).
STEPS = "steps"


def checked_state(state: object, plan: str) -> tuple[int, int]:
    """(epoch, next batch) of a loader's state. `plan` is the hash of the loader's plan.

    Raises `WrongState` for anything else than a state, or for the state of another version or plan.
    """
    if not isinstance(state, Mapping):
        raise WrongState(f"expected the state of a loader (a mapping), got {type(state).__name__}")
    keys = ("version", "plan", "epoch", "next_batch")
    missing = [key for key in keys if key not in state]
    if missing:
        raise WrongState(f"a loader's state needs {', '.join(keys)}; this one lacks {', '.join(missing)}")
    if state["version"] != VERSION or isinstance(state["version"], bool):
        raise WrongState(f"this release reads states of version {VERSION}, got version {state['version']!r}")
    if state["plan"] != plan:
        raise WrongState(
            f"the state belongs to plan {state['plan']!s:.16}, but this loader reads plan {plan[:16]}: "
            "make the loader from the plan of the state; to continue with new data, extend that plan"
        )
    for key in ("epoch", "next_batch"):
        value = state[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            raise WrongState(f"{key} of a loader's state must be a whole number from 0 on, got {value!r}")
    return state["epoch"], state["next_batch"]


def state_of(state: Mapping[str, Any]) -> State:
    """Turns the state of torchdata's `StatefulDataLoader` into a loader's state, for any number of workers and ranks.

    The state is after the last batch that was taken: it counts those taken since the snapshot, too.
    """
    found = list(_states(state, 0))
    if not found:
        raise WrongState("this is not a state of a loader, or of a DataLoader, over a corpusdb dataset")
    last, since = max(found, key=lambda one: (one[0]["epoch"], one[0]["next_batch"]))
    taken = {name: last[name] for name in ("version", "plan", "epoch", "next_batch")}
    if since:
        if STEPS not in last:
            raise WrongState(
                f"the state is of a snapshot {since} steps ago, by a release that does not say what a step is: "
                "let StatefulDataLoader take a snapshot at every step (snapshot_every_n_steps=1)"
            )
        step, left = last[STEPS]
        # The last step of an epoch leads to the next epoch.
        if since < left:
            taken["next_batch"] += since * step
        else:
            taken.update(epoch=last["epoch"] + 1, next_batch=(since - left) * step)
    return taken


def _states(value: Any, since: int) -> Iterator[tuple[Mapping[str, Any], int]]:
    """The states of loaders within a value, each with the number of steps taken since."""
    if isinstance(value, Mapping):
        if {"version", "plan", "epoch", "next_batch"} <= value.keys():
            yield value, since
        else:
            for inner in value.values():
                yield from _states(inner, value.get("_steps_since_snapshot", since))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _states(inner, since)
