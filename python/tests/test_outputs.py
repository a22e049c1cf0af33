"""Who had it: what exports, builds, loaders and backups leave on record, and who reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from epochs import PACKED, planned, texts

import corpusdb


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return texts(tmp_path / "texts")


def outputs(path: Path) -> list[dict[str, Any]]:
    with corpusdb.open(path) as db:
        return db.sql("SELECT * FROM outputs ORDER BY number").to_dicts()


def test_exports_builds_and_backups_are_on_record(corpus: Path, tmp_path: Path) -> None:
    with corpusdb.open(corpus) as db:
        assert db.export(tmp_path / "a.jsonl", "id < 3").recorded == 1
        assert db.export(tmp_path / "b.jsonl", record=False).recorded is None
    plan = planned(corpus, PACKED)
    plan.build(tmp_path / "epoch")
    plan.build(tmp_path / "again", record=False)
    corpusdb.Backups(tmp_path / "backups").create(corpus)
    assert [(row["number"], row["kind"]) for row in outputs(corpus)] == [(1, "export"), (2, "epoch"), (3, "backup")]
    with corpusdb.open(corpus) as db:
        found = db.who(1)
        assert [one.number for one in found.outputs] == [1, 2, 3]
        assert found.outputs[1].places
        assert [one.number for one in db.who(where="id = 5").outputs] == [2, 3]


def test_a_loader_leaves_one_entry_for_a_rank_and_extends_it(corpus: Path) -> None:
    plan = planned(corpus, PACKED)
    before = len(outputs(corpus))
    loader = plan.loader(as_="numpy", rank=0, world=1)
    for _ in range(2):
        next(iter(loader))
    state = loader.state_dict()
    loader.close()
    (row,) = outputs(corpus)[before:]
    assert (row["kind"], row["destination"], row["first_batch"], row["end_batch"]) == ("stream", "loader", 0, 2)
    with plan.loader(as_="numpy", rank=0, world=1) as again:
        again.load_state_dict(state)
        next(iter(again))
    (row,) = outputs(corpus)[before:]
    assert (row["first_batch"], row["end_batch"], row["rank"], row["world"]) == (0, 3, 0, 1)
    with plan.loader(as_="numpy", rank=0, world=1, record=False) as silent:
        for _ in silent:
            pass
    assert outputs(corpus)[before:] == [row]


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_each_of_two_open_loaders_of_a_rank_ends_where_it_stopped(corpus: Path, first_to_end: int) -> None:
    plan = planned(corpus, PACKED)
    before = len(outputs(corpus))
    loaders = [plan.loader(as_="numpy", rank=0, world=1) for _ in range(2)]
    for _ in range(3):
        next(iter(loaders[0]))
    loaders[1].load_state_dict(loaders[0].state_dict())
    next(iter(loaders[1]))
    loaders[first_to_end].close()
    loaders[1 - first_to_end].close()
    rows = outputs(corpus)[before:]
    assert [(row["first_batch"], row["end_batch"]) for row in rows] == [(0, 3), (3, 4)]
