"""accelerate with one process and with two: what each is given, counted against the plan, or refused by name."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import accelerate
import accelerate.data_loader
import accelerate.state
import pytest
from epochs import PACKED, planned, texts

from corpusdb import _accelerate, errors
from corpusdb._plan import Plan
from corpusdb._versions import is_tried

#: What a process is given in each way: of each step the rows, or the error.
WAYS = """
import json, sys, traceback
sys.path.insert(0, {tests!r})
import corpusdb, torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader

plan = corpusdb.open({corpus!r}).plan({number})
told = {{}}

def accelerator(**options):
    from accelerate.state import AcceleratorState
    AcceleratorState._reset_state()
    return Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**options))

def rows(batch):
    return [row[:8] for row in batch["input_ids"].tolist()]

def told_of(name, work):
    try:
        told[name] = work()
    except Exception as error:
        told[name] = f"{{type(error).__name__}}: {{error}}"

def loader():
    given = accelerator().prepare(plan.loader(views=['labels']))
    return [[rows(batch) for batch in given] for _ in range(3)]

def resumed():
    # A state of the second epoch by `register_for_checkpointing`: process 0 writes it for all.
    first = accelerator()
    given = plan.loader(views=['labels'])
    first.register_for_checkpointing(given)
    steps = []
    for epoch in range(2):
        for step, batch in enumerate(given):
            steps.append(rows(batch))
            if epoch == 1 and step == 2:
                break
    first.save_state({saved!r})
    first.wait_for_everyone()
    second = accelerator()
    other = plan.loader(views=['labels'])
    second.register_for_checkpointing(other)
    second.load_state({saved!r})
    return [steps, [rows(batch) for batch in other], [rows(batch) for batch in other]]

def skipped():
    # Steps of the second epoch by number, without reading those before.
    process = accelerator()
    given = process.prepare(plan.loader(views=['labels']))
    given.set_epoch(1)
    rest = [rows(batch) for batch in process.skip_first_batches(given, 3)]
    return [rest, [rows(batch) for batch in given]]

def skipped_unasked():
    process = accelerator()
    return [rows(batch) for batch in process.skip_first_batches(plan.loader(views=['labels']), 3)]

def dataset(**options):
    process = accelerator(**options)
    given = process.prepare(DataLoader(plan.torch_dataset(views=['labels']), batch_size=None))
    return [[rows(batch) for batch in given] for _ in range(3)]

def dispatched(**options):
    process = accelerator(dispatch_batches=True)
    whole = plan.torch_dataset(rank=0, world=1, views=['labels'])
    given = process.prepare(DataLoader(whole, batch_size=None, **options))
    return [[rows(batch) for batch in given] for _ in range(3)]

def by_rows(resumed=False):
    # Of a seeded sampler and of one that is not, and of the rows' own; resumed in the second epoch.
    process, told = accelerator(use_seedable_sampler=True), []
    held = plan.torch_dataset(map_style=True, views=["labels"])
    for options in ({{}}, {{"shuffle": True}}, {{"sampler": held.sampler()}}):
        held.set_epoch(0)
        given = process.prepare(DataLoader(held, batch_size=12, **options))
        if resumed and options:
            given.set_epoch(1)
            told.append([rows(batch) for batch in process.skip_first_batches(given, 1)])
        else:
            told.append([[rows(batch) for batch in given] for _ in range(2)])
    return told

told_of("loader", loader)
told_of("resumed", resumed)
told_of("skipped", skipped)
told_of("skipped_unasked", skipped_unasked)
told_of("dataset", dataset)
told_of("undispatched", lambda: dataset(dispatch_batches=False))
told_of("dispatched", dispatched)
told_of("by_rows", by_rows)
told_of("by_rows_resumed", lambda: by_rows(resumed=True))
print("TOLD" + json.dumps(told))
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def plan(corpus: Path) -> Plan:
    return planned(corpus, PACKED.replace("rows = 120", "rows = 24"))


def told(corpus: Path, plan: Plan, world: int, saved: Path) -> list[dict[str, Any]]:
    """What each of the processes of a world says."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = WAYS.format(tests=str(Path(__file__).parent), corpus=str(corpus), number=plan.number,
                         saved=str(saved))
    processes = []
    for rank in range(world):
        ranks = {} if world == 1 else {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port), "ACCELERATE_USE_CPU": "true",
        }
        processes.append(subprocess.Popen(
            [sys.executable, "-P", "-c", script], env={**os.environ, **ranks}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ))
    answers = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        line = next((line for line in out.splitlines() if line.startswith("TOLD")), None)
        assert line is not None, err[-3000:]
        answers.append(json.loads(line[4:]))
    return answers


@pytest.fixture(scope="module")
def alone(corpus: Path, plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told(corpus, plan, 1, tmp_path_factory.mktemp("alone"))[0]


@pytest.fixture(scope="module")
def pair(corpus: Path, plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return told(corpus, plan, 2, tmp_path_factory.mktemp("pair"))


def steps_of(plan: Plan, epoch: int, rank: int = 0, world: int = 1) -> list[list[list[int]]]:
    """The beginnings of the rows of each step of a rank."""
    with plan.loader(as_="numpy", epoch=epoch, rank=rank, world=world, views=["labels"]) as loader:
        return [[row[:8].tolist() for row in batch["input_ids"]] for batch in loader]


@pytest.mark.parametrize("way", ["loader", "dataset", "undispatched", "dispatched"])
def test_one_process_has_the_epochs_of_the_plan(plan: Plan, alone: dict[str, Any], way: str) -> None:
    assert alone[way] == [steps_of(plan, epoch) for epoch in range(3)]


def test_one_process_resumes_in_the_second_epoch(plan: Plan, alone: dict[str, Any]) -> None:
    first, second = steps_of(plan, 0), steps_of(plan, 1)
    assert alone["resumed"] == [first + second[:3], second[3:], steps_of(plan, 2)]
    assert alone["skipped"] == [second[3:], steps_of(plan, 2)]


def test_steps_are_not_skipped_of_an_epoch_that_nobody_chose(alone: dict[str, Any]) -> None:
    assert "BadInput: steps are to be skipped of a loader that was not told the epoch" in alone["skipped_unasked"]


def test_two_processes_share_the_loader(plan: Plan, pair: list[dict[str, Any]]) -> None:
    for rank in range(2):
        assert pair[rank]["loader"] == [steps_of(plan, epoch, rank, 2) for epoch in range(3)]
    for epoch in range(3):
        given = [tuple(row) for rank in pair for step in rank["loader"][epoch] for row in step]
        assert Counter(given) == Counter(tuple(row) for step in steps_of(plan, epoch) for row in step)


def test_two_processes_resume_in_the_second_epoch(plan: Plan, pair: list[dict[str, Any]]) -> None:
    for rank in range(2):
        first, second = steps_of(plan, 0, rank, 2), steps_of(plan, 1, rank, 2)
        assert pair[rank]["resumed"] == [first + second[:3], second[3:], steps_of(plan, 2, rank, 2)]
        assert pair[rank]["skipped"] == [second[3:], steps_of(plan, 2, rank, 2)]


@pytest.mark.parametrize("way", ["dataset", "undispatched"])
def test_what_accelerate_would_split_again_is_refused_in_every_process(pair: list[dict[str, Any]], way: str) -> None:
    for rank in pair:
        assert rank[way].startswith("BadInput: accelerate would divide among its 2 processes"), rank[way]
        assert "plan.loader()" in rank[way] and "plan.torch_dataset(rank=0, world=1)" in rank[way]


def test_process_zero_may_read_for_both(plan: Plan, pair: list[dict[str, Any]]) -> None:
    for epoch in range(3):
        whole = steps_of(plan, epoch)
        for rank in range(2):
            assert pair[rank]["dispatched"][epoch] == whole[rank::2], "whole batches, in turn"


def test_rows_by_number_are_divided_by_accelerate(plan: Plan, pair: list[dict[str, Any]]) -> None:
    for way in range(3):
        for epoch in range(2):
            given = {tuple(row) for rank in pair for step in rank["by_rows"][way][epoch] for row in step}
            assert given == {tuple(row) for step in steps_of(plan, epoch) for row in step}, (way, epoch)


@pytest.mark.parametrize("way", [1, 2])
def test_rows_by_number_resume_in_the_second_epoch(
    plan: Plan, alone: dict[str, Any], pair: list[dict[str, Any]], way: int
) -> None:
    second = {tuple(row) for step in steps_of(plan, 1) for row in step}
    for processes in ([alone], pair):
        given = [tuple(row) for one in processes for step in one["by_rows_resumed"][way] for row in step]
        assert set(given) <= second and len(set(given)) >= len(second) - 12 * len(processes), way


def test_the_names_that_are_read_are_those_of_the_installed_release() -> None:
    """A class or an attribute that gets another name would turn the checks off without a word."""
    for name in (_accelerate._DISPATCHER, _accelerate._SHARD, _accelerate._SKIPPER):
        assert isinstance(getattr(accelerate.data_loader, name), type), name
    state = accelerate.state.GradientState()
    assert state.dataloader_references[0] is None and state._add_dataloader and state._remove_dataloader
    assert "num_processes" in accelerate.data_loader.IterableDatasetShard([]).__dict__
    assert is_tried("accelerate", _accelerate.TRIED, "nothing")


def test_a_release_that_was_not_tried_is_warned_of_once(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = plan.torch_dataset(rank=0, world=1, views=["labels"])
    collating = SimpleNamespace(dataset=dataset, batch_size=4)
    references = [None, collating]
    state = SimpleNamespace(dataloader_references=references, _remove_dataloader=references.remove)
    monkeypatch.setattr(_accelerate, "_state", lambda: state)
    monkeypatch.setattr("corpusdb._versions._warned", set())
    monkeypatch.setattr(accelerate, "__version__", "2.0.0")
    with pytest.warns(UserWarning, match="accelerate 2.0.0 was not tried, but 1.15 and later before 2"):
        iter(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iter(dataset)
    monkeypatch.undo()
    monkeypatch.setattr(_accelerate, "_state", lambda: state)
    with pytest.raises(errors.BadInput, match="would collate several of them into one"):
        iter(dataset)
    assert references == [None], "the loader gives nothing, and is not under way"
    iter(dataset)
