"""Lightning over three epochs, each way in: every step counted against the plan, resumed in the second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning
import lightning.pytorch.loops.evaluation_loop
import pytest
import torch
from counted import Steps, model, steps_of
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import corpusdb.torch
from corpusdb import _calls
from corpusdb._plan import Plan
from corpusdb._versions import is_tried

OPTIONS: dict[str, Any] = {"rank": 0, "world": 1}


class Counted(lightning.LightningModule):
    """A model that keeps the ids of its steps, and may be stopped at one of them."""

    def __init__(self, stop: int | None = None) -> None:
        super().__init__()
        self.llama, self.stop, self.loaders = model(), stop, []

    def training_step(self, batch: Any, number: int) -> torch.Tensor:
        if len(self.llama.steps) == self.stop:
            raise InterruptedError
        loss: torch.Tensor = self.llama(**batch).loss
        return loss

    def validation_step(self, batch: Any, number: int) -> None:
        self.llama(**batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def trainer(directory: Path, **more: Any) -> lightning.Trainer:
    return lightning.Trainer(
        default_root_dir=directory, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
        enable_model_summary=False, **{"max_epochs": 3, "enable_checkpointing": False, **more},
    )


def of_loader(plan: Plan) -> Any:
    return plan.loader(**OPTIONS)


def of_data_loader(plan: Plan) -> Any:
    return DataLoader(plan.torch_dataset(**OPTIONS), batch_size=None)


def of_stateful(plan: Plan) -> Any:
    return StatefulDataLoader(plan.torch_dataset(**OPTIONS), batch_size=None)


def of_stateful_workers(plan: Plan) -> Any:
    return StatefulDataLoader(plan.torch_dataset(**OPTIONS), batch_size=None, num_workers=2)


def of_living_workers(plan: Plan) -> Any:
    return DataLoader(plan.torch_dataset(**OPTIONS), batch_size=None, num_workers=2, persistent_workers=True)


@pytest.mark.parametrize("way", [of_loader, of_data_loader, of_living_workers, of_stateful])
def test_three_epochs_are_those_of_the_plan(plan: Plan, wanted: Steps, tmp_path: Path, way: Any) -> None:
    counted = Counted()
    trainer(tmp_path).fit(counted, way(plan))
    assert counted.llama.steps == wanted


def test_rows_by_number_follow_the_epochs_of_their_sampler(plan: Plan, tmp_path: Path) -> None:
    rows = plan.torch_dataset(map_style=True, views=["labels"])
    counted = Counted()
    loader = DataLoader(rows, batch_size=12, sampler=rows.sampler(), collate_fn=corpusdb.torch.flattened)
    trainer(tmp_path).fit(counted, loader)
    sampler, expected = plan.torch_dataset(map_style=True).sampler(), []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        numbers = list(sampler)
        for first in range(0, len(numbers), 12):
            given = plan.rows_at(numbers[first : first + 12], epoch=epoch)
            expected.append([token for row in given for token in row["input_ids"].tolist()])
    assert counted.llama.steps == expected


@pytest.mark.parametrize("way", [of_loader, of_stateful, of_stateful_workers])
def test_a_run_resumes_in_the_second_epoch(plan: Plan, wanted: Steps, tmp_path: Path, way: Any) -> None:
    stop = len(steps_of(plan, 0)) + 3
    saving = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path, "{step}", every_n_train_steps=1, save_top_k=-1)
    counted = Counted(stop)
    with pytest.raises(InterruptedError):
        trainer(tmp_path, callbacks=[saving], enable_checkpointing=True).fit(counted, way(plan))
    assert counted.llama.steps == wanted[:stop]
    counted = Counted()
    trainer(tmp_path).fit(counted, way(plan), ckpt_path=str(tmp_path / f"step={stop}.ckpt"), weights_only=True)
    assert counted.llama.steps == wanted[stop:]


@pytest.mark.parametrize("way", [of_loader, of_data_loader, of_stateful, of_stateful_workers, of_living_workers])
def test_a_run_goes_on_behind_a_finished_epoch(plan: Plan, wanted: Steps, tmp_path: Path, way: Any) -> None:
    saving = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path, "last")
    counted = Counted()
    trainer(tmp_path, callbacks=[saving], enable_checkpointing=True, max_epochs=1).fit(counted, way(plan))
    assert counted.llama.steps == steps_of(plan, 0)
    counted = Counted()
    trainer(tmp_path).fit(counted, way(plan), ckpt_path=str(tmp_path / "last.ckpt"), weights_only=True)
    assert counted.llama.steps == wanted[len(steps_of(plan, 0)) :]


def test_the_names_that_are_read_are_those_of_the_installed_release() -> None:
    """A name that changes would begin a run that goes on with epoch 0 again."""
    loop = trainer(Path()).fit_loop
    assert type(loop).__module__.endswith(".loops.fit_loop") and "self" in loop.setup_data.__code__.co_varnames
    assert loop.epoch_progress.current.processed == 0
    assert hasattr(lightning.pytorch.loops.evaluation_loop, _calls._EVALUATOR)
    assert is_tried("lightning", _calls.TRIED["lightning"], "nothing")


def test_loaders_made_for_each_epoch_are_those_of_the_plan(plan: Plan, wanted: Steps, tmp_path: Path) -> None:
    class Reloading(Counted):
        def train_dataloader(self) -> Any:
            return of_loader(plan)

    counted = Reloading()
    trainer(tmp_path, reload_dataloaders_every_n_epochs=1).fit(counted)
    assert counted.llama.steps == wanted


def test_shorter_epochs_of_the_trainer_go_on_in_the_plan(plan: Plan, wanted: Steps, tmp_path: Path) -> None:
    counted = Counted()
    trainer(tmp_path, limit_train_batches=5).fit(counted, of_loader(plan))
    assert counted.llama.steps == wanted[:15]


def test_validations_begin_at_the_first_batch(plan: Plan, tmp_path: Path) -> None:
    counted = Counted()
    whole = steps_of(plan, 2)
    trainer(tmp_path, limit_val_batches=3).fit(
        counted, of_loader(plan), plan.loader(evaluation=True, epoch=2, **OPTIONS)
    )
    # Two batches of the check before training, then three after each epoch.
    assert counted.llama.evaluated == whole[:2] + 3 * whole[:3]


def test_fabric_sets_up_a_data_loader_of_the_dataset(plan: Plan, wanted: Steps) -> None:
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    loader = fabric.setup_dataloaders(of_data_loader(plan))
    given = [batch["input_ids"].flatten().tolist() for _ in range(3) for batch in loader]
    assert given == wanted
    # It takes nothing else than a DataLoader, and says so.
    with pytest.raises(TypeError, match="Only PyTorch DataLoader"):
        fabric.setup_dataloaders(plan.loader(**OPTIONS))
