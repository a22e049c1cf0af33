"""Datasets in torch's DataLoaders over several epochs: workers that live on, states, evaluation, what is refused."""

from __future__ import annotations

import copy
import io
import pickle
import sys
import warnings
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import torch
from epochs import CUT, DEALT, PACKED, planned, texts
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

from corpusdb import _native, errors
from corpusdb._plan import Plan
from corpusdb.torch import EpochRows, flattened, state_of

OPTIONS: dict[str, Any] = {"rank": 0, "world": 1, "views": ["labels"]}
WORKERS: list[dict[str, Any]] = [
    {"num_workers": 0},
    {"num_workers": 2},
    {"num_workers": 2, "persistent_workers": True},
    {"num_workers": 2, "persistent_workers": True, "multiprocessing_context": "spawn"},
]

Seen = list[tuple[int, list[int]]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def plan(corpus: Path) -> Plan:
    return planned(corpus, PACKED.replace("rows = 120", "rows = 60"))


def seen(batches: Any) -> Seen:
    return [(batch.epoch, batch.rows.tolist()) for batch in batches]


def every_epoch(plan: Plan, *epochs: int, **options: Any) -> Seen:
    return [one for epoch in epochs for one in seen(plan.loader(**{**OPTIONS, "epoch": epoch, **options}))]


def of_dataset(plan: Plan, workers: dict[str, Any], **options: Any) -> tuple[Any, DataLoader[Any]]:
    dataset = plan.torch_dataset(**{**OPTIONS, **options})
    return dataset, DataLoader(dataset, batch_size=None, **workers)


@pytest.mark.parametrize("workers", WORKERS)
def test_loops_over_a_data_loader_are_the_epochs_of_the_plan(plan: Plan, workers: dict[str, Any]) -> None:
    _, loader = of_dataset(plan, workers)
    assert [one for _ in range(3) for one in seen(loader)] == every_epoch(plan, 0, 1, 2)
    # Who takes exactly `len` batches, and never asks for one more.
    _, loader = of_dataset(plan, workers)
    taken = [one for _ in range(3) for one in seen(islice(iter(loader), len(loader)))]
    assert taken == every_epoch(plan, 0, 1, 2)


def test_nobody_waits_for_workers_without_a_batch(
    plan: Plan, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = planned(corpus, PACKED.replace("rows = 120", f"rows = {plan.rows() // 3}"))
    dataset, workers = few.torch_dataset(**OPTIONS), few.batches(0) + 4
    for epoch in range(2):
        # The last four have not begun when the others have given all batches.
        for worker in range(few.batches(epoch)):
            monkeypatch.setattr(
                "corpusdb._torch.get_worker_info", lambda at=worker: SimpleNamespace(id=at, num_workers=workers)
            )
            assert seen(islice(iter(dataset), 1)) == every_epoch(few, epoch)[worker : worker + 1]


@pytest.mark.parametrize("workers", WORKERS)
def test_an_epoch_that_is_set_reaches_workers_that_live_on(plan: Plan, workers: dict[str, Any]) -> None:
    dataset, loader = of_dataset(plan, workers, epoch=1)
    for epoch in (2, 2, 0, 1):
        dataset.set_epoch(epoch)
        assert seen(loader) == every_epoch(plan, 1 + epoch), "counted from the dataset's own"
    assert seen(loader) == every_epoch(plan, 3)


@pytest.mark.parametrize("workers", WORKERS[:3])
def test_a_loaded_state_reaches_workers_that_live_on(plan: Plan, workers: dict[str, Any]) -> None:
    dataset, loader = of_dataset(plan, workers)
    batches = list(loader)
    for at in (3, 5):
        dataset.load_state_dict(batches[at].state)
        assert seen(loader) == every_epoch(plan, 0)[at + 1 :]
        assert seen(loader) == every_epoch(plan, 1)
    dataset.load_state_dict(batches[-1].state)
    assert seen(loader) == every_epoch(plan, 1)


@pytest.mark.parametrize("workers", WORKERS[:3])
def test_several_epochs_are_one_iteration(plan: Plan, workers: dict[str, Any]) -> None:
    dataset, loader = of_dataset(plan, workers, epochs=2)
    assert len(loader) == len(every_epoch(plan, 0, 1))
    assert seen(loader) == every_epoch(plan, 0, 1)
    assert seen(loader) == every_epoch(plan, 2, 3)
    with pytest.raises(errors.BadInput, match="epochs=2, which counts its epochs itself"):
        dataset.set_epoch(1)


@pytest.mark.parametrize("workers", WORKERS[:3])
def test_evaluation_begins_at_the_first_batch(plan: Plan, workers: dict[str, Any]) -> None:
    dataset, loader = of_dataset(plan, workers, epoch=2, evaluation=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert seen(islice(iter(loader), 2)) == every_epoch(plan, 2)[:2]
            assert seen(loader) == every_epoch(plan, 2)
            dataset.set_epoch(1)
    assert len(loader) == len(every_epoch(plan, 2))


def test_an_iteration_that_was_left_begins_again_with_a_warning(plan: Plan) -> None:
    dataset, loader = of_dataset(plan, {"num_workers": 0})
    wanted = every_epoch(plan, 0)
    assert seen(islice(iter(loader), 3)) == wanted[:3]
    with pytest.warns(UserWarning, match="left before its end, so epoch 0 begins again.*load_state_dict"):
        assert seen(loader) == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert seen(islice(iter(loader), 1)) == every_epoch(plan, 1)[:1]
        # To go on with what was given, or to begin again on purpose, is no mistake.
        dataset.load_state_dict(dataset.state_dict())
        assert seen(loader) == every_epoch(plan, 1)[1:]


def test_behind_the_last_epoch_workers_say_so(corpus: Path) -> None:
    plan = planned(corpus, PACKED.replace("max_repeats = 8", "max_repeats = 2"))
    for workers in ({"num_workers": 0}, {"num_workers": 1}):
        _, loader = of_dataset(plan, workers)
        assert [one for _ in range(plan.epochs) for one in seen(loader)] == every_epoch(plan, *range(plan.epochs))
        assert len(loader) == len(every_epoch(plan, plan.epochs - 1))
        with pytest.raises(errors.EpochsOver, match=f"plan has {plan.epochs} epochs.*epoch {plan.epochs} was asked"):
            seen(loader)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_dataset_that_the_parent_looked_at_works_in_workers(plan: Plan, context: str) -> None:
    dataset, loader = of_dataset(plan, {"num_workers": 2, "multiprocessing_context": context})
    next(iter(dataset))
    assert len(dataset) and dataset.state_dict()["next_batch"] == 1
    dataset.set_epoch(0)
    assert seen(loader) == every_epoch(plan, 0)
    assert seen(pickle.loads(pickle.dumps(dataset))) == every_epoch(plan, 1)


def test_the_length_is_computed_once(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = pickle.loads(pickle.dumps(plan.torch_dataset(**OPTIONS)))
    real, opened = _native.Reader, []

    def counted(*given: Any, **options: Any) -> Any:
        opened.append(given)
        return real(*given, **options)

    monkeypatch.setattr(_native, "Reader", counted)
    assert {len(dataset) for _ in range(5)} == {plan.batches()}
    assert len(opened) == 1


# ---- states of torchdata's loader ----


@pytest.mark.parametrize("recipe", [PACKED, DEALT])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("every", [1, 3])
def test_a_stateful_data_loader_resumes_in_the_second_epoch(
    corpus: Path, recipe: str, workers: int, every: int
) -> None:
    if "[[source]]" not in recipe:
        sources = "".join(f'[[source]]\nname = "{name}"\nmax_repeats = 3\n' for name in ("logs", "tales"))
        recipe = recipe.replace("[pack]", f"{sources}[pack]")
    plan = planned(corpus, recipe.replace("rows = 120", "rows = 60").replace("max_tokens = 300", "max_tokens = 3000"))
    options = {"rank": 1, "world": 2}

    def fresh() -> StatefulDataLoader[Any]:
        dataset = plan.torch_dataset(**{**OPTIONS, **options})
        return StatefulDataLoader(dataset, batch_size=None, num_workers=workers, snapshot_every_n_steps=every)

    first, second = every_epoch(plan, 0, **options), every_epoch(plan, 1, **options)
    for at in (1, 4, len(second) - 1):
        loader = fresh()
        assert seen(loader) == first
        assert seen(islice(loader, at)) == second[:at]
        state = copy.deepcopy(loader.state_dict())
        other = fresh()
        other.load_state_dict(state)
        assert seen(other) == second[at:]
        assert seen(other) == every_epoch(plan, 2, **options)
        # By the state of a loader, any number of workers goes on, and the loader itself.
        by_loader = plan.loader(**{**OPTIONS, **options})
        by_loader.load_state_dict(state_of({"model": 1, "data": [state]}))
        assert seen(by_loader) == second[at:]


def test_steps_since_a_snapshot_lead_over_the_end_of_an_epoch(plan: Plan) -> None:
    dataset = plan.torch_dataset(**OPTIONS)
    whole = every_epoch(plan, 0)
    state = {"_snapshot": {"worker_0": {}}, "_steps_since_snapshot": 3}
    iterator = iter(dataset)
    for _ in range(len(whole) - 2):
        next(iterator)
    state["_snapshot"] = {"worker_0": dataset.state_dict()}
    assert state_of(state) == {"version": 1, "plan": plan.hash, "epoch": 1, "next_batch": 1}
    state["_snapshot"] = {"worker_0": {**dataset.state_dict(), "steps": None}}
    del state["_snapshot"]["worker_0"]["steps"]
    with pytest.raises(errors.WrongState, match="snapshot_every_n_steps=1"):
        state_of(state)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("is_inside", [False, True])
def test_a_state_behind_the_last_batch_is_the_next_epoch(plan: Plan, workers: int, is_inside: bool) -> None:
    def fresh() -> StatefulDataLoader[Any]:
        return StatefulDataLoader(plan.torch_dataset(**OPTIONS), batch_size=None, num_workers=workers)

    loader, state = fresh(), {}
    for number, _ in enumerate(loader, 1):
        if number == len(loader):
            state = copy.deepcopy(loader.state_dict())
    for _ in range(3):
        resumed = fresh()
        resumed.load_state_dict(state if is_inside else copy.deepcopy(loader.state_dict()))
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "the iteration before this one was left")
            assert [one for _ in range(2) for one in seen(resumed)] == every_epoch(plan, 1, 2)


# ---- ends ----


@pytest.mark.parametrize("workers", WORKERS[:3])
def test_an_endless_dataset_ends_with_the_plan(plan: Plan, workers: dict[str, Any]) -> None:
    _, loader = of_dataset(plan, workers, endless=True)
    assert seen(loader) == every_epoch(plan, *range(plan.epochs))
    for _ in range(2):
        with pytest.raises(errors.EpochsOver):
            seen(loader)


@pytest.mark.parametrize("workers", WORKERS[:3])
def test_an_iteration_beyond_the_plan_gives_no_batch(plan: Plan, workers: dict[str, Any]) -> None:
    epochs = plan.epochs - 1
    _, loader = of_dataset(plan, workers, epochs=epochs)
    assert seen(loader) == every_epoch(plan, *range(epochs))
    given: list[Any] = []
    with pytest.raises(errors.EpochsOver, match=f"epochs {epochs} to {2 * epochs - 1} were asked for"):
        given.extend(iter(loader))
    assert not given


# ---- batches on their way ----


def test_a_saved_batch_is_loaded_as_weights_are(plan: Plan) -> None:
    batch = next(plan.loader(**{**OPTIONS, "views": ["labels", "max_seqlen"]}))
    for saved in (batch, copy.copy(batch)):
        file = io.BytesIO()
        torch.save({"batch": saved, "step": 7}, file)
        file.seek(0)
        other = torch.load(file, weights_only=True)["batch"]
        assert type(other) is type(batch) and other.state == batch.state and other.sources == batch.sources
        assert torch.equal(other["input_ids"], batch["input_ids"]) and other["max_seqlen"] == batch["max_seqlen"]
        assert [one.tolist() for one in other.documents] == [one.tolist() for one in batch.documents]


def test_arrow_batches_come_from_workers(plan: Plan) -> None:
    dataset = plan.torch_dataset(rank=0, world=1, as_="arrow", views=["labels"])
    wanted = [pa.record_batch(batch) for batch in plan.loader(rank=0, world=1, as_="arrow", views=["labels"])]
    loader = DataLoader(dataset, batch_size=None, num_workers=1, collate_fn=lambda batch: batch)
    assert all(pa.record_batch(batch).equals(one) for batch, one in zip(loader, wanted, strict=True))


@pytest.mark.parametrize("form", [{}, {"as_": "arrow"}, {"contract": "torchtitan", "views": None}])
def test_a_data_loader_that_would_collate_batches_is_refused(plan: Plan, form: dict[str, Any]) -> None:
    for workers in (0, 1):
        loader = DataLoader(plan.torch_dataset(**OPTIONS | form), batch_size=4, num_workers=workers)
        with pytest.raises(errors.BadInput, match=r"write DataLoader\(dataset, batch_size=None\)"):
            next(iter(loader))


def test_a_release_that_was_not_tried_is_warned_of_once(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    module: dict[str, Any] = {"__name__": "transformers.trainer"}
    exec("def _run_epoch(dataset, epoch): return next(iter(dataset)).epoch", module)
    monkeypatch.setattr("corpusdb._versions._warned", set())
    for version, epoch in (("5.24.0", 2), ("5.99.1", 2), ("6.0.0.dev0", 0), ("5.23.4", 0)):
        monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(__version__=version))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            assert module["_run_epoch"](plan.torch_dataset(**OPTIONS), 2) == epoch
        told = [str(one.message) for one in warned]
        first = "transformers 6.0.0.dev0 was not tried, but 5.24 and later before 6: dataset.set_epoch(epoch) tells"
        assert [one[: len(first)] for one in told] == ([first] if version == "6.0.0.dev0" else []), version


# ---- rows by number ----


def test_rows_of_a_set_epoch_reach_workers_that_live_on(plan: Plan) -> None:
    dataset = plan.torch_dataset(map_style=True, views=[])
    assert isinstance(dataset, EpochRows)
    loader = DataLoader(dataset, batch_size=60, num_workers=2, persistent_workers=True)
    for epoch in (0, 2, 1):
        dataset.set_epoch(epoch)
        assert dataset.epoch == epoch
        given = torch.cat([batch["input_ids"] for batch in loader])
        wanted = [batch["input_ids"] for batch in plan.loader(**OPTIONS | {"epoch": epoch})]
        assert torch.equal(given, torch.cat(wanted))


@pytest.mark.parametrize("workers", WORKERS[:3])
def test_rows_go_on_with_their_own_sampler(plan: Plan, workers: dict[str, Any]) -> None:
    dataset = plan.torch_dataset(map_style=True, epoch=1, views=[])
    assert isinstance(dataset, EpochRows)
    for sampler in (dataset.sampler(shuffle=False), dataset.sampler(seed=3)):
        loader = DataLoader(dataset, batch_size=60, sampler=sampler, **workers)
        for epoch in (0, 1):
            sampler.set_epoch(epoch)
            given = [row for batch in loader for row in batch["input_ids"].tolist()]
            batches = plan.loader(**OPTIONS | {"epoch": 1 + epoch})
            whole = [row for batch in batches for row in batch["input_ids"].tolist()]
            assert sorted(given) == sorted(whole) and len(loader) == -(-len(whole) // 60)
            assert (given == whole) == (list(sampler) == list(range(len(dataset))))
    assert list(dataset.sampler(seed=3)) != list(dataset.sampler(seed=4))


@pytest.mark.parametrize("workers", WORKERS[:3])
def test_rows_that_come_again_are_warned_of_once(plan: Plan, workers: dict[str, Any]) -> None:
    def passes(dataset: Any, count: int) -> None:
        # torch's own sampler of ranks does not set the epoch of a dataset.
        sampler: DistributedSampler[Any] = DistributedSampler(dataset, num_replicas=1, rank=0)
        loader = DataLoader(dataset, batch_size=7, sampler=sampler, **workers)
        for epoch in range(count):
            sampler.set_epoch(epoch)
            assert sum(len(batch["input_ids"]) for batch in loader) == plan.rows()

    if not workers["num_workers"]:
        with pytest.warns(UserWarning, match=r"rows of epoch 0 come again: call dataset.set_epoch\(epoch\)"):
            passes(plan.torch_dataset(map_style=True, views=[]), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        passes(plan.torch_dataset(map_style=True, views=[]), 1)
        stays = plan.torch_dataset(map_style=True, views=[])
        stays.set_epoch(0)
        passes(stays, 2)


def test_rows_are_flattened_to_the_batch_of_a_loader(corpus: Path) -> None:
    for recipe in (CUT, DEALT.replace("max_tokens = 300", "rows = 4")):
        plan = planned(corpus, recipe)
        dataset = plan.torch_dataset(map_style=True)
        for batch in islice(plan.loader(rank=0, world=1), 3):
            found = flattened(dataset.__getitems__(batch.rows.tolist()))
            assert sorted(found) == sorted(batch)
            for name, value in batch.items():
                if torch.is_tensor(value):
                    assert found[name].dtype == value.dtype and torch.equal(found[name], value), name
                else:
                    assert found[name] == value and type(found[name]) is type(value), name
