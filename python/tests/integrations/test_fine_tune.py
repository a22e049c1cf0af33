"""The example that fine-tunes a chat model: under each trainer a kill changes nothing, and all end with one loss."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "fine_tune.py"


def run(trainer: str, directory: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", str(EXAMPLE), trainer, str(directory), *more], capture_output=True, text=True
    )


def losses(done: subprocess.CompletedProcess[str]) -> tuple[int, float, float]:
    """(steps, loss before, loss after)."""
    assert done.returncode == 0, done.stderr
    found = re.search(r"(\d+) steps here, loss ([\d.]+) -> ([\d.]+)", done.stdout)
    assert found is not None, done.stdout
    return int(found[1]), float(found[2]), float(found[3])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, float, float]]:
    """Runs without a kill."""
    return {
        trainer: losses(run(trainer, tmp_path_factory.mktemp(trainer)))
        for trainer in ("trainer", "sft", "accelerate", "lightning")
    }


@pytest.mark.parametrize("trainer", ["trainer", "sft", "accelerate", "lightning"])
def test_a_kill_in_the_middle_changes_no_loss(
    trainer: str, whole: dict[str, tuple[int, float, float]], tmp_path: Path
) -> None:
    steps, before, after = whole[trainer]
    # In the second epoch, two steps behind a checkpoint.
    at = steps // 2 // 5 * 5 + 2
    assert run(trainer, tmp_path, "--kill-at", str(at)).returncode == -9
    rest, _, resumed = losses(run(trainer, tmp_path))
    assert rest == steps - at // 5 * 5, "it goes on behind the last checkpoint"
    assert abs(resumed - after) < 1e-6 and after < before - 0.1


def test_all_trainers_end_with_one_loss(whole: dict[str, tuple[int, float, float]]) -> None:
    counts = {steps for steps, _, _ in whole.values()}
    ends = [after for _, _, after in whole.values()]
    assert len(counts) == 1 and max(ends) - min(ends) < 1e-4, whole
