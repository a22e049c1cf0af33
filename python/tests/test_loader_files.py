"""Loaders with ids from the files of a build: the batches of the store, whatever else is asked of them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from epochs import CUT, PACKED, planned, texts

from corpusdb import errors
from corpusdb._batch import Batch
from corpusdb._loader import Loader
from corpusdb._plan import Plan


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return texts(tmp_path_factory.mktemp("texts"))


def numpy_loader(plan: Plan, **options: Any) -> Loader:
    return plan.loader(**{"as_": "numpy", "rank": 0, "world": 1, **options})


@pytest.mark.parametrize("output", ["raw", "litdata", "megatron"])
def test_files_give_the_batches_of_the_store(corpus: Path, tmp_path: Path, output: str) -> None:
    plan = planned(corpus, f'{PACKED}[output]\nformat = "{output}"\nshard_bytes = 8192\n')
    for epoch in (0, 2):
        plan.build(tmp_path / str(epoch), epoch=epoch)
    built = [tmp_path / "0", str(tmp_path / "2")]
    views = ["labels", "position_ids", "cu_seqlens"]
    # Epoch 1 was not built: it comes from the store.
    with numpy_loader(plan, epochs=3, views=views) as stored, numpy_loader(plan, epochs=3, views=views, files=built) as files:
        batches = 0
        for wanted, found in zip(stored, files, strict=True):
            assert wanted.state == found.state
            assert wanted.rows.tolist() == found.rows.tolist()
            assert [one.tolist() for one in wanted.documents] == [one.tolist() for one in found.documents]
            assert all((wanted[name] == found[name]).all() for name in ["input_ids", *views])
            batches += 1
        assert batches == 3 * plan.batches()
        # A state says nothing of where ids come from.
        files.load_state_dict({**stored.state_dict(), "epoch": 0, "next_batch": 2})
        again = pickle.loads(pickle.dumps(files))
        assert next(again)["input_ids"].tolist() == next(files)["input_ids"].tolist()
        again.close()


def origin(batch: Batch) -> tuple[object, ...]:
    """What a batch is made of, as values that compare."""
    parts = [[one.tolist() for one in part] for part in (batch.documents, batch.offsets)]
    return (batch.epoch, batch.number, batch.state, batch.rows.tolist(), batch.sources, parts)


@pytest.mark.parametrize("ids", ["int64", "int32"])
def test_ids_alone_come_from_files_as_from_the_store(corpus: Path, tmp_path: Path, ids: str) -> None:
    plan = planned(corpus, f'{PACKED}[output]\nformat = "raw"\nshard_bytes = 8192\n')
    for epoch in (0, 1):
        plan.build(tmp_path / str(epoch), epoch=epoch)
    built = [tmp_path / "0", tmp_path / "1"]
    options: dict[str, Any] = {"epochs": 2, "views": [], "ids": ids, "uneven": True}
    for rank, world in [(0, 1), (1, 3)]:
        stored = numpy_loader(plan, rank=rank, world=world, **options)
        files = numpy_loader(plan, rank=rank, world=world, files=built, prefetch=1 + rank, **options)
        wanted, found = list(stored), list(files)
        assert len(wanted) == len(found) == 2 * plan.batches()
        for one, other in zip(wanted, found, strict=True):
            assert set(other) == {"input_ids"} and one["input_ids"].dtype == other["input_ids"].dtype
            assert (one["input_ids"] == other["input_ids"]).all() and other["input_ids"].flags.writeable
            other["input_ids"][:] = 0
        # Nothing was asked yet: some are asked out of order, some elsewhere, some when the loader is closed.
        backwards = [origin(batch) for batch in reversed(found[::3])]
        assert backwards == [origin(batch) for batch in reversed(wanted[::3])]
        assert found[1].document_keys == wanted[1].document_keys
        pickled = [pickle.loads(pickle.dumps(batch)) for batch in found[1::3]]
        stored.close()
        files.close()
        assert [origin(batch) for batch in found] == [origin(batch) for batch in wanted]
        assert [origin(batch) for batch in pickled] == [origin(batch) for batch in wanted[1::3]]
        # A state goes on from the middle of what is read together.
        again = numpy_loader(plan, rank=rank, world=world, files=built, **options)
        again.load_state_dict(found[2].state)
        for one, other in zip(wanted[3:6], again, strict=False):
            assert one["input_ids"].tolist() == other["input_ids"].tolist() and one.state == other.state
        assert again.state_dict() == wanted[5].state
        again.close()


def test_damaged_ids_are_told_once_those_before_are_given(corpus: Path, tmp_path: Path) -> None:
    plan = planned(corpus, f'{PACKED}[output]\nformat = "raw"\n')
    plan.build(tmp_path / "0")
    (file,) = (tmp_path / "0").glob("*.bin")
    whole = file.read_bytes()
    with numpy_loader(plan, views=[]) as loader:
        rows, width = next(loader)["input_ids"].shape
    place = 3 * rows * width * 2
    file.write_bytes(whole[:place] + b"\xff\xff" + whole[place + 2 :])
    with numpy_loader(plan, views=[], files=tmp_path / "0") as loader:
        assert [next(loader).number for _ in range(3)] == [0, 1, 2]
        for _ in range(2):
            with pytest.raises(errors.BadInput, match=f"row {3 * rows} of the epoch has id 65535"):
                next(loader)
        file.write_bytes(whole)
        assert next(loader).number == 3


def test_files_of_another_plan_are_refused(corpus: Path, tmp_path: Path) -> None:
    raw = planned(corpus, f'{PACKED}[output]\nformat = "raw"\n')
    raw.build(tmp_path / "raw")
    other = planned(corpus, f'{CUT}[output]\nformat = "parquet"\n')
    other.build(tmp_path / "parquet")
    for plan, directory, words in [
        (raw, tmp_path / "parquet", "was built from plan"),
        (raw, [tmp_path / "raw", tmp_path / "parquet"], "was built from plan"),
        (other, tmp_path / "parquet", "format parquet cannot be read from files"),
        (raw, tmp_path / "nowhere", "no epoch was built here"),
        (raw, tmp_path, "no epoch was built here"),
    ]:
        with pytest.raises(errors.BadInput, match=words):
            numpy_loader(plan, files=directory)
    with pytest.raises(errors.BadInput, match="name only one of them"):
        numpy_loader(raw, files=[tmp_path / "raw", tmp_path / "raw"])
