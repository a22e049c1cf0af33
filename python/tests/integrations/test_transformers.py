"""transformers' Trainer over three epochs, each way in: every step counted against the plan, resumed in the second."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest
from counted import Counting, Steps, model, steps_of
from torch.utils.data import DataLoader
from transformers import Trainer, TrainingArguments

from corpusdb import _calls, errors
from corpusdb._plan import Plan
from corpusdb._versions import is_tried
from corpusdb.torch import Collator, flattened

OPTIONS: dict[str, Any] = {"rank": 0, "world": 1}


def arguments(directory: Path, **more: Any) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(directory), report_to=[], use_cpu=True, disable_tqdm=True, label_names=["labels"],
        per_device_train_batch_size=4, logging_strategy="no",
        **{"num_train_epochs": 3, "save_strategy": "no", **more},
    )


class OfLoader(Trainer):
    """The loader itself."""

    plan: Plan

    def get_train_dataloader(self) -> Any:
        return self.plan.loader(**OPTIONS)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        return self.plan.loader(evaluation=True, epoch=2, **OPTIONS)


class OfPreparedDataLoader(OfLoader):
    """A `DataLoader` that accelerate has prepared."""

    workers = 0

    def get_train_dataloader(self) -> Any:
        dataset = self.plan.torch_dataset(**OPTIONS)
        return self.accelerator.prepare(DataLoader(dataset, batch_size=None, num_workers=self.workers))


class OfLivingWorkers(OfLoader):
    """A `DataLoader` whose workers live on from epoch to epoch."""

    def get_train_dataloader(self) -> Any:
        dataset = self.plan.torch_dataset(**OPTIONS)
        return DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)


class OfWorkers(OfPreparedDataLoader):
    workers = 2


class OfDataLoader(OfLoader):
    """A `DataLoader` as it is."""

    def get_train_dataloader(self) -> Any:
        return DataLoader(self.plan.torch_dataset(**OPTIONS), batch_size=None)


def trained(kind: type[OfLoader], plan: Plan, directory: Path, resume: Path | None = None, **more: Any) -> Counting:
    llama = model()
    trainer = kind(llama, arguments(directory, **more), train_dataset=plan.torch_dataset(map_style=True))
    trainer.plan = plan
    trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
    return llama


@pytest.mark.parametrize("kind", [OfLoader, OfPreparedDataLoader, OfWorkers, OfDataLoader, OfLivingWorkers])
def test_three_epochs_are_those_of_the_plan(
    plan: Plan, wanted: Steps, tmp_path: Path, kind: type[OfLoader]
) -> None:
    assert trained(kind, plan, tmp_path).steps == wanted


@pytest.mark.parametrize("kind", [OfLoader, OfPreparedDataLoader, OfWorkers])
@pytest.mark.parametrize("accumulated", [1, 2])
def test_a_run_resumes_in_the_second_epoch(
    plan: Plan, wanted: Steps, tmp_path: Path, kind: type[OfLoader], accumulated: int
) -> None:
    saving = {"save_strategy": "steps", "save_steps": 5, "gradient_accumulation_steps": accumulated}
    trained(kind, plan, tmp_path, **saving)
    epoch = len(steps_of(plan, 0))
    updates = -(-epoch // accumulated)
    saved = next(step for step in range(5, 1000, 5) if step > updates + 1)
    assert updates < saved < 2 * updates
    resumed = trained(kind, plan, tmp_path, tmp_path / f"checkpoint-{saved}", **saving)
    assert resumed.steps == wanted[epoch + (saved - updates) * accumulated :]


@pytest.mark.parametrize("kind", [OfLoader, OfPreparedDataLoader, OfDataLoader, OfLivingWorkers])
def test_a_run_resumes_at_the_end_of_an_epoch(
    plan: Plan, wanted: Steps, tmp_path: Path, kind: type[OfLoader]
) -> None:
    trained(kind, plan, tmp_path, save_strategy="epoch")
    epoch = len(steps_of(plan, 0))
    assert trained(kind, plan, tmp_path, tmp_path / f"checkpoint-{epoch}").steps == wanted[epoch:]


def test_a_data_loader_as_it_is_says_that_it_cannot_resume(plan: Plan, tmp_path: Path) -> None:
    trained(OfDataLoader, plan, tmp_path, save_strategy="steps", save_steps=20)
    with pytest.raises(errors.BadInput, match="return plan.loader\\(\\) from get_train_dataloader"):
        trained(OfDataLoader, plan, tmp_path, tmp_path / "checkpoint-20")


def test_a_dataset_of_batches_is_refused_where_rows_are_collated(plan: Plan, tmp_path: Path) -> None:
    trainer = Trainer(model(), arguments(tmp_path), train_dataset=plan.torch_dataset(**OPTIONS))
    with pytest.raises(errors.BadInput, match="gives whole batches.*batch_size=None.*map_style=True"):
        trainer.train()


def test_an_evaluation_is_the_same_each_time(plan: Plan, tmp_path: Path) -> None:
    llama = model()
    rows = plan.torch_dataset(map_style=True)
    trainer = OfLoader(llama, arguments(tmp_path, eval_strategy="epoch"), train_dataset=rows, eval_dataset=rows)
    trainer.plan = plan
    trainer.train()
    whole = steps_of(plan, 2)
    assert llama.evaluated == 3 * whole
    losses = [trainer.evaluate()["eval_loss"] for _ in range(2)]
    assert losses[0] == losses[1] and llama.evaluated == 5 * whole


def test_a_loader_at_a_later_epoch_is_where_a_trainer_counts_from(plan: Plan, wanted: Steps, tmp_path: Path) -> None:
    class Later(OfLoader):
        def get_train_dataloader(self) -> Any:
            return self.plan.loader(epoch=1, **OPTIONS)

    assert trained(Later, plan, tmp_path, num_train_epochs=2).steps == wanted[len(steps_of(plan, 0)) :]


def test_more_epochs_than_the_plan_has_are_told(plan: Plan, wanted: Steps, tmp_path: Path) -> None:
    with pytest.raises(errors.EpochsOver, match="has 3 epochs.*max_repeats"):
        trained(OfLoader, plan, tmp_path, num_train_epochs=4)


def test_the_names_that_are_read_are_those_of_the_installed_release() -> None:
    """A local that gets another name would begin a run that goes on with epoch 0 again."""
    assert Trainer._run_epoch.__module__ == "transformers.trainer"
    assert "epoch" in Trainer._run_epoch.__code__.co_varnames
    assert all(callable(getattr(Trainer, name)) for name in _calls._EVALUATIONS)
    assert is_tried("transformers", _calls.TRIED["transformers"], "nothing")


# ---- rows by their numbers ----


class Collated:
    """A collate function that keeps the ids of each step."""

    def __init__(self) -> None:
        self.steps: Steps = []

    def __call__(self, rows: Any) -> Any:
        batch = flattened(rows)
        self.steps.append(batch["input_ids"].flatten().tolist())
        return batch


def by_rows(plan: Plan, directory: Path, resume: Path | None = None, **more: Any) -> Steps:
    collated = Collated()
    trainer = Trainer(
        model(), arguments(directory, remove_unused_columns=False, **more),
        train_dataset=plan.torch_dataset(map_style=True), data_collator=collated,
    )
    trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
    return collated.steps


def test_rows_follow_the_epochs_of_the_trainer_also_when_resumed(plan: Plan, tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 5}
    steps = by_rows(plan, tmp_path, **saving)
    per_epoch = -(-plan.rows() // 4)
    for epoch in range(3):
        held = [plan.row(number, epoch=epoch)["input_ids"].tolist() for number in range(plan.rows(epoch))]
        given = [id for step in steps[epoch * per_epoch : (epoch + 1) * per_epoch] for id in step]
        assert Counter(given) == Counter(id for row in held for id in row)
    saved = next(step for step in range(5, 1000, 5) if step > per_epoch)
    assert by_rows(plan, tmp_path, tmp_path / f"checkpoint-{saved}", **saving) == steps[saved:]


def test_rows_of_built_files_are_collated_as_the_plan_has_them(plan: Plan, tmp_path: Path) -> None:
    plan.build(tmp_path / "built")
    rows = datasets.load_dataset("parquet", data_dir=str(tmp_path / "built"), split="train")
    saving = {"save_strategy": "steps", "save_steps": 5}

    def steps(resume: Path | None = None) -> Steps:
        llama = model()
        trainer = Trainer(
            llama, arguments(tmp_path, remove_unused_columns=False, **saving), train_dataset=rows,
            data_collator=Collator(tmp_path / "built"),
        )
        trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
        return llama.steps

    given, per_epoch = steps(), -(-len(rows) // 4)
    whole = Counter(id for step in steps_of(plan, 0) for id in step)
    for epoch in range(3):
        assert Counter(id for step in given[epoch * per_epoch : (epoch + 1) * per_epoch] for id in step) == whole
    saved = next(step for step in range(5, 1000, 5) if step > per_epoch)
    assert steps(tmp_path / f"checkpoint-{saved}") == given[saved:]
