"""Finds the epoch that a trainer is about to begin, from the frames of its running calls.

Only this file reads frames of other libraries. Neither transformers nor Lightning tells a `DataLoader` over a dataset
of whole batches at which epoch a resumed run begins: without this it would begin with epoch 0 again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from corpusdb._versions import is_tried

__all__ = ["epoch_under_way"]

#: For each trainer the first release that was tried, and the first one after those.
TRIED = {"transformers": ("5.24", "6"), "lightning": ("2.6", "3"), "pytorch_lightning": ("2.6", "3")}
#: Methods of transformers that evaluate, and Lightning's class that does.
_EVALUATIONS, _EVALUATOR = ("evaluate", "evaluation_loop"), "_EvaluationLoop"


def epoch_under_way() -> int:
    """The epoch, counted from 0; 0 if no trainer's call is under way, and in an evaluation."""
    for call in _calls():
        module, name = call.f_globals.get("__name__", ""), call.f_code.co_name
        of: Any = call.f_locals.get("self")
        if name in _EVALUATIONS or type(of).__name__ == _EVALUATOR:
            return 0
        library = module.partition(".")[0]
        if library not in TRIED or not module.endswith((".trainer", ".loops.fit_loop")):
            continue
        lost = "dataset.set_epoch(epoch) tells a run that goes on where it begins"
        if not is_tried(library, TRIED[library], lost):
            return 0
        if library == "transformers" and name == "_run_epoch":
            return int(call.f_locals["epoch"])
        if hasattr(of, "epoch_progress"):
            return int(of.epoch_progress.current.processed)
    return 0


def _calls() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back
