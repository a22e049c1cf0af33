"""Loaders as tensors, and torch's DataLoader with workers of every kind."""

from __future__ import annotations

import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from epochs import PACKED, planned, texts
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from corpusdb import errors
from corpusdb._plan import Plan
from corpusdb.torch import EpochBatches, flattened, state_of

OPTIONS: dict[str, Any] = {"rank": 0, "world": 1, "views": ["labels", "position_ids", "max_seqlen"]}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    recipe = PACKED.replace("rows = 120", "rows = 24")
    return planned(texts(tmp_path_factory.mktemp("texts")), recipe)


@pytest.fixture(scope="module")
def whole(plan: Plan) -> list[list[int]]:
    return [batch.rows.tolist() for batch in plan.loader(**OPTIONS)]


def test_tensors_are_the_arrays_and_own_them(plan: Plan) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch = next(plan.loader(**OPTIONS))
    arrays = next(plan.loader(as_="numpy", **OPTIONS))
    assert batch["input_ids"].dtype == batch["labels"].dtype == torch.int64
    assert torch.equal(batch["input_ids"], torch.from_numpy(arrays["input_ids"]))
    assert isinstance(batch["max_seqlen"], int)
    batch["input_ids"][0, 0] = 1
    moved = batch.to("cpu", non_blocking=True)
    assert moved.number == batch.number and moved["max_seqlen"] == batch["max_seqlen"]


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_workers_give_what_is_given_without(plan: Plan, whole: list[list[int]], workers: int) -> None:
    dataset = plan.torch_dataset(**OPTIONS)
    assert isinstance(dataset, EpochBatches) and len(dataset) == len(whole)
    loader = DataLoader(dataset, batch_size=None, num_workers=workers)
    batches = list(loader)
    assert [batch.rows.tolist() for batch in batches] == whole
    assert [batch.number for batch in batches] == list(range(len(whole)))
    assert batches[3].state == {"version": 1, "plan": plan.hash, "epoch": 0, "next_batch": 4}
    assert len(batches[0].documents) == 24


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_of_every_kind(plan: Plan, whole: list[list[int]], context: str) -> None:
    opened = plan.loader(**OPTIONS)
    next(opened)
    loader = DataLoader(plan.torch_dataset(**OPTIONS), batch_size=None, num_workers=2, multiprocessing_context=context)
    assert [batch.rows.tolist() for batch in loader] == whole
    opened.close()


def test_epochs_follow_on_with_workers(plan: Plan) -> None:
    wanted = [(epoch, *batch.rows.tolist()) for epoch in range(3) for batch in plan.loader(epoch=epoch, **OPTIONS)]
    loader = DataLoader(plan.torch_dataset(epochs=3, **OPTIONS), batch_size=None, num_workers=2)
    assert [(batch.epoch, *batch.rows.tolist()) for batch in loader] == wanted
    dataset = plan.torch_dataset(**OPTIONS)
    singly = []
    for epoch in range(3):
        dataset.set_epoch(epoch)
        singly += [(batch.epoch, *batch.rows.tolist()) for batch in DataLoader(dataset, batch_size=None, num_workers=2)]
    assert singly == wanted


@pytest.mark.parametrize("workers", [0, 2])
def test_the_state_of_a_batch_resumes_at_any_number_of_workers(
    plan: Plan, whole: list[list[int]], workers: int
) -> None:
    for stop, other in ((1, 0), (4, 2), (5, 3)):
        seen = []
        for batch in DataLoader(plan.torch_dataset(**OPTIONS), batch_size=None, num_workers=workers):
            seen.append(batch.rows.tolist())
            if len(seen) == stop:
                break
        dataset = plan.torch_dataset(**OPTIONS)
        dataset.load_state_dict(batch.state)
        seen += [batch.rows.tolist() for batch in DataLoader(dataset, batch_size=None, num_workers=other)]
        assert seen == whole


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("every", [1, 3])
def test_a_stateful_dataloader_resumes(plan: Plan, whole: list[list[int]], workers: int, every: int) -> None:
    def fresh() -> StatefulDataLoader[Any]:
        dataset = plan.torch_dataset(**OPTIONS)
        return StatefulDataLoader(dataset, batch_size=None, num_workers=workers, snapshot_every_n_steps=every)

    for first, second in ((1, 1), (3, 4), (2, len(whole) - 2), (len(whole), 0)):
        loader = fresh()
        seen = [batch.rows.tolist() for batch in islice(loader, first)]
        state = loader.state_dict()
        # Twice in a row: what is resumed is stopped and resumed once more.
        loader = fresh()
        loader.load_state_dict(state)
        seen += [batch.rows.tolist() for batch in islice(loader, second)] if second else []
        state = loader.state_dict()
        if 0 < len(seen) < len(whole):
            told = state_of(state)
            assert told == {"version": 1, "plan": plan.hash, "epoch": 0, "next_batch": len(seen)}
            # And at another number of workers, by the state of a loader.
            other = plan.loader(**OPTIONS)
            other.load_state_dict(told)
            assert seen + [batch.rows.tolist() for batch in other] == whole
        loader = fresh()
        loader.load_state_dict(state)
        if len(seen) < len(whole):
            seen += [batch.rows.tolist() for batch in loader]
        assert seen == whole, (first, second)


def test_states_of_other_plans_are_refused(plan: Plan) -> None:
    dataset = plan.torch_dataset(**OPTIONS)
    with pytest.raises(errors.WrongState):
        dataset.load_state_dict({**dataset.state_dict(), "plan": "0" * 64})
    with pytest.raises(errors.WrongState):
        state_of({"anything": [1, 2]})


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_by_their_numbers(plan: Plan, workers: int) -> None:
    dataset = plan.torch_dataset(map_style=True, views=["labels"])
    assert len(dataset) == plan.rows()
    wanted = torch.cat([batch["labels"] for batch in plan.loader(**OPTIONS)])
    loader = DataLoader(dataset, batch_size=10, num_workers=workers)
    given = torch.cat([batch["labels"] for batch in loader])
    assert torch.equal(given, wanted)
    assert torch.equal(dataset[-1]["labels"], wanted[-1])
    with pytest.raises(IndexError):
        dataset[len(dataset)]
    flat = next(iter(DataLoader(dataset, batch_size=3, collate_fn=flattened)))
    assert torch.equal(flat["labels"], wanted[:3].reshape(1, -1))


def test_pinned_and_copied_batches_stay_batches(plan: Plan) -> None:
    import copy

    batch = next(plan.loader(**OPTIONS))
    other = copy.copy(batch)
    assert other.number == batch.number and other.rows.tolist() == batch.rows.tolist()
    assert type(batch)({"input_ids": 1}).documents == []


def test_a_training_loop_with_a_real_model(tmp_path: Path, plan: Plan) -> None:
    embedding = torch.nn.Embedding(512, 8)
    head = torch.nn.Linear(8, 512)
    optimiser = torch.optim.AdamW([*embedding.parameters(), *head.parameters()], lr=1e-2)
    losses = []
    for batch in plan.loader(**OPTIONS, epochs=2):
        logits = head(embedding(batch["input_ids"]))[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"][:, 1:].flatten())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
