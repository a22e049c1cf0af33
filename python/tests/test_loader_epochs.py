"""Iterations of loaders: how epochs follow on, when an iteration has ended, and what states at its ends say."""

from __future__ import annotations

import copy
import pickle
import shutil
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from epochs import CUT, DEALT, PACKED, Opened, planned, run, texts

from corpusdb import errors
from corpusdb._loader import Loader
from corpusdb._plan import Plan


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def packed(corpus: Path) -> Plan:
    return planned(corpus, PACKED)


def numpy_loader(plan: Plan, **options: Any) -> Loader:
    return plan.loader(**{"as_": "numpy", "rank": 0, "world": 1, **options})


Seen = list[tuple[int, list[int]]]


def seen(batches: Any) -> Seen:
    """The epoch and the rows of each batch."""
    return [(batch.epoch, batch.rows.tolist()) for batch in batches]


def every_epoch(plan: Plan, epochs: int, **options: Any) -> Seen:
    """What the plan has, epoch by epoch, each by a loader of its own."""
    return [one for epoch in range(epochs) for one in seen(numpy_loader(plan, epoch=epoch, **options))]


# ---- iterations ----


@pytest.mark.parametrize("recipe", [PACKED, DEALT])
@pytest.mark.parametrize("world", [1, 5])
def test_loops_over_a_loader_are_the_epochs_of_the_plan(corpus: Path, recipe: str, world: int) -> None:
    plan = planned(corpus, recipe if "max_repeats" in recipe else repeated(recipe, 3))
    wanted = every_epoch(plan, 3, rank=world - 1, world=world)
    loader = numpy_loader(plan, rank=world - 1, world=world)
    assert [one for _ in range(3) for one in seen(loader)] == wanted
    # Who takes exactly `len` batches loses no epoch.
    loader = numpy_loader(plan, rank=world - 1, world=world)
    assert [one for _ in range(3) for one in seen(islice(iter(loader), len(loader)))] == wanted
    # So does who never calls `iter`: the iteration is over with its last batch.
    loader = numpy_loader(plan, rank=world - 1, world=world)
    taken = seen(next(loader) for _ in range(len(loader)))
    assert taken == [one for one in wanted if one[0] == 0] and next(loader, None) is None
    assert seen(loader) == [one for one in wanted if one[0] == 1]


def repeated(recipe: str, times: int) -> str:
    """The recipe with its sources named, so often repeated."""
    sources = "".join(f'[[source]]\nname = "{name}"\nmax_repeats = {times}\n' for name in ("logs", "tales"))
    return recipe.replace("[pack]", f"{sources}[pack]", 1)


def test_behind_the_last_epoch_an_error_says_what_gives_more(corpus: Path) -> None:
    plan = planned(corpus, repeated(CUT, 2))
    assert plan.epochs == 2
    loader = numpy_loader(plan)
    assert seen(loader) + seen(loader) == every_epoch(plan, 2)
    for _ in range(2):
        with pytest.raises(errors.EpochsOver, match="has 2 epochs.*epoch 2 was asked for.*max_repeats of `logs` to 3"):
            iter(loader)
    assert isinstance(errors.EpochsOver(), errors.Infeasible)
    assert len(loader) == plan.batches(1), "it still says what it had"
    # What it has is known before the first batch.
    for options, words in [
        ({"epochs": 3}, "epochs 0 to 2 were asked for"),
        ({"epoch": 1, "epochs": 2}, "epochs 1 to 2"),
        ({"epoch": 2}, "epoch 2 was"),
        ({"epoch": 2, "endless": True}, "epoch 2 was"),
    ]:
        with pytest.raises(errors.EpochsOver, match=words):
            numpy_loader(plan, **options)


def test_several_epochs_are_one_iteration(packed: Plan) -> None:
    wanted = every_epoch(packed, 6)
    loader = numpy_loader(packed, epochs=3)
    assert len(loader) == sum(packed.batches(epoch) for epoch in range(3))
    assert seen(loader) == wanted[: len(loader)]
    assert seen(loader) == [one for one in wanted if one[0] >= 3], "the next iteration goes on behind it"
    for text, options in [("epochs=3", {"epochs": 3}), ("endless=True", {"endless": True})]:
        with pytest.raises(errors.BadInput, match=f"loader with {text}, which counts its epochs itself"):
            numpy_loader(packed, **options).set_epoch(1)


def test_endless_gives_all_epochs_and_ends(corpus: Path) -> None:
    plan = planned(corpus, repeated(CUT, 3))
    loader = numpy_loader(plan, endless=True)
    assert seen(loader) == every_epoch(plan, 3)
    # A run that is resumed when it has had all has nothing left to do.
    other = numpy_loader(plan, endless=True)
    other.load_state_dict(loader.state_dict())
    assert seen(other) == []
    with pytest.raises(TypeError, match="no length"):
        len(loader)


def test_iter_goes_on_within_an_iteration(packed: Plan) -> None:
    loader = numpy_loader(packed)
    for batch in loader:
        if batch.number == 1:
            break
    assert next(loader).number == 2
    assert [batch.number for batch in loader] == list(range(3, packed.batches()))
    assert len(loader) == packed.batches(1)


def test_an_evaluation_loader_begins_at_its_first_batch(packed: Plan) -> None:
    loader = numpy_loader(packed, evaluation=True, epoch=2)
    wanted = seen(numpy_loader(packed, epoch=2))
    for _ in range(2):
        assert seen(islice(iter(loader), 2)) == wanted[:2]
        assert seen(loader) == wanted and len(loader) == len(wanted)
        loader.set_epoch(3)
    with pytest.raises(ValueError, match="leave out epochs="):
        numpy_loader(packed, evaluation=True, epochs=2)


def test_set_epoch_counts_from_the_epoch_of_the_loader(packed: Plan) -> None:
    loader = numpy_loader(packed, epoch=2)
    loader.set_epoch(0)
    assert loader.epoch == 2
    for number in range(2):
        # As a trainer does that counts epochs itself; where the loader stands, nothing changes.
        loader.set_epoch(number)
        assert seen(loader) == seen(numpy_loader(packed, epoch=2 + number))
    loader.set_epoch(0)
    assert next(iter(loader)).epoch == 2
    loader.set_epoch(0)
    assert next(loader).number == 1, "within an epoch it goes on"
    with pytest.warns(UserWarning, match=f"{len(loader) - 2} batches of epoch 2 are left behind"):
        loader.set_epoch(1)
    loader.set_epoch(5)
    assert (loader.epoch, loader.state_dict()["next_batch"]) == (7, 0)
    loader.set_epoch(6)
    with pytest.raises(errors.EpochsOver):
        iter(loader)
    with pytest.raises(errors.OutOfRange, match="epochs start at 0"):
        loader.set_epoch(-1)


# ---- states ----


def test_the_state_at_an_end_is_the_beginning_of_the_next_epoch(packed: Plan) -> None:
    loader = numpy_loader(packed)
    first = list(loader)
    begin = {"version": 1, "plan": packed.hash, "epoch": 1, "next_batch": 0}
    assert loader.state_dict() == begin == first[-1].state
    assert [batch.state["next_batch"] for batch in first[:-1]] == list(range(1, len(first)))
    second = seen(numpy_loader(packed, epoch=1))
    # States of earlier releases stand behind the last batch.
    for state in (begin, {**begin, "epoch": 0, "next_batch": packed.batches()}):
        other = numpy_loader(packed)
        other.load_state_dict(state)
        assert seen(other) == second
        other = numpy_loader(packed)
        other.load_state_dict(state)
        other.set_epoch(1)
        assert seen(other) == second
        other.load_state_dict(state)
        other.set_epoch(0)
        assert next(other).epoch == 0


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_run_resumes_at_any_batch_of_any_epoch(packed: Plan, epochs: int) -> None:
    loader = numpy_loader(packed, epochs=epochs)
    batches = [batch for _ in range(6 // epochs) for batch in loader]
    wanted = every_epoch(packed, 6)
    assert seen(batches) == wanted
    for at in (0, 2, packed.batches() - 1, packed.batches() + 1, len(batches) - 2):
        other = numpy_loader(packed, epochs=epochs)
        other.load_state_dict(batches[at].state)
        left = []
        while len(left) < len(wanted) - at - 1:
            left += seen(other)
        assert left == wanted[at + 1 :]


# ---- batches apart from their loader ----


def test_a_copied_batch_is_a_batch(packed: Plan) -> None:
    with numpy_loader(packed) as loader:
        batch = next(loader)
        other = copy.copy(batch)
        assert other is not batch and other["input_ids"] is batch["input_ids"]
        assert other.rows.tolist() == batch.rows.tolist() and other.document_keys == batch.document_keys
        deep = copy.deepcopy(batch)
    assert deep["input_ids"] is not batch["input_ids"] and (deep["input_ids"] == batch["input_ids"]).all()
    assert (deep.number, deep.state, deep.sources) == (batch.number, batch.state, batch.sources)


def test_an_arrow_batch_can_be_pickled(packed: Plan) -> None:
    with packed.loader(rank=0, world=1, as_="arrow", views=["labels"]) as loader:
        batch = next(loader)
    other = pickle.loads(pickle.dumps(batch))
    assert pa.record_batch(other).equals(pa.record_batch(batch))
    assert (other.number, other.state, other.sources) == (batch.number, batch.state, batch.sources)
    assert [one.tolist() for one in other.documents] == [one.tolist() for one in batch.documents]


# ---- plans apart from their corpus, and readers ----


def test_a_plan_outlives_the_block_that_made_it(corpus: Path, tmp_path: Path) -> None:
    with Opened(corpus, write=True) as writer:
        plan = writer.plan(PACKED.replace("seed = 7", "seed = 77"))
    assert plan.explain().to_dict()["rows"] == plan.rows()
    plan.build(tmp_path / "epoch")
    assert plan.verify(tmp_path / "epoch").passed
    with pytest.raises(errors.CorpusError, match="mode=\"w\""):
        plan.drop()


@pytest.mark.parametrize("seed", [101, 102])
def test_the_plan_of_a_reader_is_that_of_the_writer(tmp_path: Path, seed: int) -> None:
    path = texts(tmp_path)
    recipe = PACKED.replace("seed = 7", f"seed = {seed}")
    with Opened(path, write=False) as reader:
        before = reader.plan(recipe)
        assert before.number is None
        state = numpy_loader(before).state_dict()
    with Opened(path, write=True) as writer:
        stored = writer.plan(recipe)
    assert stored.hash == before.hash
    numpy_loader(stored).load_state_dict(state)
    # As ranks open it that the launcher starts: each finds the stored plan.
    with Opened(path, write=False) as reader:
        again = reader.plan(recipe)
    assert (again.hash, again.number) == (stored.hash, stored.number)
    assert seen(pickle.loads(pickle.dumps(numpy_loader(again, epoch=1)))) == seen(numpy_loader(stored, epoch=1))


@pytest.mark.parametrize("views", [["labels"], []])
def test_a_loader_under_way_ends_when_its_documents_are_purged(tmp_path: Path, views: list[str]) -> None:
    path = texts(tmp_path)
    plan = planned(path, PACKED.replace("rows = 120", "rows = 24"))
    loader = numpy_loader(plan, views=views, prefetch=2)
    rows = plan.rows_at([0])
    next(loader)
    run("remove", path, "tales-5000")
    assert next(loader).number == 1, "what is removed is still drawn: that is what the snapshot is for"
    run("purge", path, "tales-5000", "--force")
    for _ in range(2):
        with pytest.raises(errors.CorpusError, match="draws 1 documents that were purged"):
            # The rest of an epoch may be given before the next look is due; the next epoch does not begin.
            for _ in range(2):
                seen(loader)
    with pytest.raises(errors.CorpusError, match="purged"):
        numpy_loader(plan)
    with pytest.raises(errors.CorpusError, match="purged"):
        plan.rows_at([0])
    assert len(rows) == 1 and isinstance(rows[0]["input_ids"], np.ndarray)


def test_a_loader_keeps_to_its_folder_when_another_takes_its_place(tmp_path: Path) -> None:
    path = texts(tmp_path)
    loader = numpy_loader(planned(path, PACKED.replace("rows = 120", "rows = 24")), prefetch=2)
    next(loader)
    other = tmp_path / "other"
    shutil.copytree(path, other)
    run("purge", other, "tales-5000", "--force")
    path.rename(tmp_path / "moved")
    other.rename(path)
    # What was purged there is not purged here.
    assert seen(loader)


def test_a_refused_state_leaves_the_loader_where_it_was(packed: Plan) -> None:
    loader, wanted = numpy_loader(packed), every_epoch(packed, 1)
    begun = seen(islice(loader, 2))
    with pytest.raises(errors.WrongState):
        loader.load_state_dict({**loader.state_dict(), "next_batch": len(loader) + 1})
    assert begun + seen(loader) == wanted


def test_the_length_of_an_epoch_beyond_the_plan_is_refused(packed: Plan) -> None:
    loader = numpy_loader(packed)
    loader.set_epoch(packed.epochs)
    with pytest.raises(errors.EpochsOver):
        len(loader)
