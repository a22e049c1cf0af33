"""What a loader gives before a run: tokens a second, waiting, fill, the tokens of each rank, the first loss."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from corpusdb.reports import LoaderBenchmark

__all__ = ["measured"]


def measured(
    loader: Any, steps: int, step_seconds: float, rank_tokens: Callable[[int], list[int]], vocabulary: int
) -> LoaderBenchmark:
    """Takes steps from a loader and closes it. `rank_tokens` says what each rank has of as many steps."""
    with loader:
        batches = iter(loader)
        begun = time.perf_counter()
        first = next(batches)
        ready = time.perf_counter()
        places, waited = [_places(first)], 0.0
        time.sleep(step_seconds)
        while len(places) < steps:
            asked = time.perf_counter()
            batch = next(batches, None)
            waited += time.perf_counter() - asked
            if batch is None:
                break
            places.append(_places(batch))
            time.sleep(step_seconds)
        seconds = time.perf_counter() - ready
    of_ranks, of_first = rank_tokens(len(places)), rank_tokens(1)
    tokens = of_ranks[loader.rank]
    return LoaderBenchmark(
        {
            "steps": len(places),
            "step_seconds": step_seconds,
            "first_batch_seconds": ready - begun,
            "seconds": seconds,
            "tokens": tokens,
            "tokens_per_second": (tokens - of_first[loader.rank]) / seconds if len(places) > 1 else None,
            "wait_share": waited / seconds if len(places) > 1 else None,
            # A contract may leave out the last token of a row, which is only predicted.
            "fill": min(1.0, tokens / sum(places)) if any(places) else None,
            "rank_tokens": of_ranks,
            "rank_spread": max(of_ranks) / min(of_ranks) - 1 if all(of_ranks) else None,
            "vocabulary": vocabulary,
            "expected_loss": math.log(vocabulary),
        }
    )


def _places(batch: Any) -> int:
    """The places for tokens in a batch, pads included, whatever its form."""
    if isinstance(batch, tuple):
        batch = batch[0]
    if isinstance(batch, dict):
        named = (batch[name] for name in ("input_ids", "tokens", "input") if name in batch)
        return int(math.prod(next(named).shape))
    ids = batch.to_pyarrow().column("input_ids")
    return len(ids.flatten())
