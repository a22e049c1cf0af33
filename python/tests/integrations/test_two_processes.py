"""transformers' Trainer and Lightning with two processes: what each of them is given, counted against the plan."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from counted import Steps, steps_of

from corpusdb._plan import Plan

#: Two processes of transformers' Trainer, started as torchrun does; evaluated by the loader after each epoch.
TRANSFORMERS = """
class Loading(transformers.Trainer):
    def get_train_dataloader(self):
        return plan.loader()

    def get_eval_dataloader(self, eval_dataset=None):
        return plan.loader(evaluation=True, epoch=2)

llama = counted.model()
arguments = transformers.TrainingArguments(
    {out!r}, num_train_epochs=3, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no",
    eval_strategy="epoch", label_names=["labels"], ddp_backend="gloo",
)
rows = plan.torch_dataset(map_style=True)
Loading(llama, arguments, train_dataset=rows, eval_dataset=rows).train()
"""

#: Lightning starts the second process itself, after the loader was made.
LIGHTNING = """
class Counted(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.llama = llama

    def training_step(self, batch, number):
        return self.llama(**batch).loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)

llama = counted.model()
loader = {way}
trainer = lightning.Trainer(
    default_root_dir={out!r}, accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_progress_bar=False,
    enable_model_summary=False, max_epochs=3, enable_checkpointing=False,
)
trainer.fit(Counted(), loader)
"""

BEGIN = """
import json, os, sys
sys.path[:0] = {tests!r}
import corpusdb, counted, torch
from torch.utils.data import DataLoader
import {trainer}
plan = corpusdb.open({corpus!r}).plan({number})
"""

END = """
with open(os.path.join({out!r}, f"rank-{{torch.distributed.get_rank()}}.json"), "w") as file:
    json.dump([llama.steps, llama.evaluated], file)
"""


def ran(plan: Plan, place: Path, trainer: str, body: str, started: int, **names: Any) -> list[list[Steps]]:
    """The steps of training and evaluation of each of two processes, of which `started` are started here."""
    here = Path(__file__).parent
    names.update(
        tests=[str(here), str(here.parent)], corpus=plan.path, number=plan.number, out=str(place), trainer=trainer
    )
    script = place / "script.py"
    script.write_text("\n".join(part.format(**names) for part in (BEGIN, body, END)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    processes = []
    for rank in range(started):
        ranks = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        if started > 1:
            ranks |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(started)}
        processes.append(subprocess.Popen(
            [sys.executable, str(script)], env={**os.environ, **ranks}, text=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ))
    errors = [process.communicate(timeout=300)[1] for process in processes]
    files = [place / f"rank-{rank}.json" for rank in range(2)]
    assert all(file.exists() for file in files), "\n".join(errors)[-3000:]
    return [json.loads(file.read_text()) for file in files]


def each_row_once(plan: Plan, ranks: list[Steps]) -> None:
    """Both ranks have every step of their parts, and together each token of the plan."""
    for rank, steps in enumerate(ranks):
        assert steps == [step for epoch in range(3) for step in steps_of(plan, epoch, rank=rank, world=2)]
    whole = Counter(id for epoch in range(3) for step in steps_of(plan, epoch) for id in step)
    assert Counter(id for steps in ranks for step in steps for id in step) == whole


def test_two_processes_of_transformers_share_each_batch(plan: Plan, tmp_path: Path) -> None:
    ranks = ran(plan, tmp_path, "transformers", TRANSFORMERS, 2)
    each_row_once(plan, [trained for trained, _ in ranks])
    for rank, (_, evaluated) in enumerate(ranks):
        assert evaluated == 3 * steps_of(plan, 2, rank=rank, world=2)


@pytest.mark.parametrize("way", ["plan.loader()", "DataLoader(plan.torch_dataset(), batch_size=None, num_workers=1)"])
def test_two_processes_of_lightning_share_each_batch(plan: Plan, tmp_path: Path, way: str) -> None:
    ranks = ran(plan, tmp_path, "lightning", LIGHTNING, 1, way=way)
    each_row_once(plan, [trained for trained, _ in ranks])
