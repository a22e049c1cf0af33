"""Several corpora whose epochs are planned, loaded and resumed as those of one."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import corpora
import pytest

import corpusdb
from corpusdb import errors
from corpusdb._plan import Plan

RECIPE = """
version = 1
seed = 5
[tokenizer]
specials = { eos = "<|endoftext|>", pad = "<|endoftext|>" }
[pack]
length = 48
[batch]
rows = 6
"""


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("shards")
    texts = [corpora.prose(number, 12 + number % 40) for number in range(180)]
    paths = [place / f"crawl-{shard}" for shard in range(3)]
    for shard, path in enumerate(paths):
        corpusdb.create(path).close()
        with corpusdb.open(path, mode="w", memory="128MiB") as w:
            own = [{"id": f"k{n}", "text": text} for n, text in enumerate(texts) if n % 3 == shard]
            w.ingest(iter(own), source="web", id_field="id")
            if shard == 0:
                w.tokenizers.train("own", vocab_size=400, specials=["<|endoftext|>"])
                w.tokenizers.export("own", place / "tokenizer.json")
            else:
                w.tokenizers.add("own", place / "tokenizer.json")
    return paths


@pytest.fixture(scope="module")
def plan(shards: list[Path]) -> Plan:
    with corpusdb.open(shards[0], mode="w", memory="128MiB", shards=shards[1:]) as w:
        return w.plan(RECIPE)


def rows(plan: Plan, rank: int, world: int, state: dict[str, Any] | None = None, most: int | None = None) -> tuple[list[list[int]], Any]:
    """The rows of one rank from a state on, and where its loader stands then."""
    found: list[list[int]] = []
    with plan.loader(as_="numpy", rank=rank, world=world, layout="rows") as loader:
        if state is not None:
            loader.load_state_dict(state)
        for at, batch in enumerate(loader, 1):
            found.extend(batch["input_ids"].tolist())
            if at == most:
                break
        return found, loader.state_dict()


def test_a_loader_gives_the_rows_of_all_corpora_at_any_world(shards: list[Path], plan: Plan, tmp_path: Path) -> None:
    documents = 0
    for path in shards:
        with corpusdb.open(path) as db:
            documents += db.count("kept")
    assert sum(source["documents"] for source in plan.to_dict()["sources"]) == documents > 150
    everything, _ = rows(plan, 0, 1)
    begun = [rows(plan, rank, 3, most=4) for rank in range(3)]
    left = [rows(plan, rank, 2, state=begun[0][1])[0] for rank in range(2)]
    assert all(state == begun[0][1] for _, state in begun)
    assert sorted(sum([found for found, _ in begun], []) + sum(left, [])) == sorted(everything)
    assert plan.number is not None
    with corpusdb.open(shards[0], shards=shards[1:]) as db:
        again = db.plan(plan.number)
        again.build(tmp_path / "epoch")
        assert again.verify(tmp_path / "epoch").passed
        given = [again.row(number) for number in range(12)]
    assert {int(document) >> 40 for batch in given for row in batch.documents for document in row} == {0, 1, 2}
    keys = {key for batch in given for row in batch.document_keys for key in row}
    assert keys < {f"k{number}" for number in range(180)}


def first_rows(pickled: bytes) -> list[list[int]]:
    return rows(pickle.loads(pickled), 0, 1, most=3)[0]


def test_a_plan_over_shards_is_pickled_with_them(plan: Plan) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(first_rows, (pickle.dumps(plan),)) == rows(plan, 0, 1, most=3)[0]


def test_a_reader_with_shards_plans_over_them_and_is_pickled_with_them(shards: list[Path], plan: Plan) -> None:
    with corpusdb.open(shards[0], shards=[str(path) for path in shards[1:]]) as db:
        assert rows(db.plan(RECIPE), 0, 1) [0] == rows(plan, 0, 1)[0]
        again = pickle.loads(pickle.dumps(db))
        assert rows(again.plan(plan.number), 0, 1)[0] == rows(plan, 0, 1)[0]
        again.close()


def test_other_corpora_than_those_of_the_plan_are_refused(shards: list[Path], plan: Plan) -> None:
    number = plan.number
    assert number is not None
    with corpusdb.open(shards[0]) as db, pytest.raises(errors.Stale, match="draws from 3 corpora, and 1 of them is open"):
        db.plan(number).explain()
    with corpusdb.open(shards[0], shards=[shards[2], shards[1]]) as db, pytest.raises(errors.Stale, match="shard 1 is not the corpus that the plan draws from"):
        rows(db.plan(number), 0, 1)
    with pytest.raises(errors.BadInput, match="is named twice"):
        corpusdb.open(shards[0], shards=[shards[1], shards[0]])
    with pytest.raises(ValueError, match="shards must be a list"):
        corpusdb.open(shards[0], shards=str(shards[1]))
    with pytest.raises(errors.NotFound):
        corpusdb.open(shards[0], shards=[shards[0] / "nowhere"])
