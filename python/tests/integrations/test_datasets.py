"""Rows of an epoch as `datasets` has them: in memory, mapped, streamed."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest
from epochs import PACKED, planned, texts

from corpusdb._plan import Plan


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    recipe = PACKED.replace("rows = 120", "rows = 3")
    return planned(texts(tmp_path_factory.mktemp("texts")), recipe)


def test_a_dataset_has_the_rows_of_the_epoch(plan: Plan, tmp_path: Path) -> None:
    rows = plan.to_hf(views=["labels", "position_ids"])
    assert isinstance(rows, datasets.Dataset) and len(rows) == plan.rows()
    for number in (0, 77, len(rows) - 1):
        wanted = plan.row(number)
        assert rows[number]["input_ids"] == wanted["input_ids"].tolist()
        assert rows[number]["labels"] == wanted["labels"].tolist()
        assert rows[number]["doc_ids"] == wanted.documents[0].tolist()
        assert sum(rows[number]["seq_lengths"]) <= 32
    assert rows.with_format("torch")[5]["input_ids"].tolist() == plan.row(5)["input_ids"].tolist()
    mapped = plan.to_hf(views=["labels", "position_ids"], directory=tmp_path / "mapped")
    assert mapped.cache_files and mapped[77] == rows[77]
    second = plan.to_hf(epoch=1)
    assert second[0]["input_ids"] == plan.row(0, epoch=1)["input_ids"].tolist()


def test_a_streamed_dataset_without_batches_gives_each_row_once(tmp_path: Path) -> None:
    plan = planned(texts(tmp_path), PACKED.replace("[batch]\nrows = 120\n", ""))
    wanted = [row["input_ids"] for row in plan.to_hf()]
    assert [row["input_ids"] for row in plan.to_hf(streaming=True)] == wanted and len(wanted) > 200


def test_a_streamed_dataset_gives_them_in_order_and_resumes(plan: Plan) -> None:
    rows = plan.to_hf(views=["labels"])
    wanted = [row["input_ids"] for row in rows]
    streamed = plan.to_hf(views=["labels"], streaming=True)
    assert isinstance(streamed, datasets.IterableDataset) and streamed.num_shards > 1
    assert [row["input_ids"] for row in streamed] == wanted
    seen = []
    for row in streamed:
        seen.append(row["input_ids"])
        if len(seen) == len(wanted) * 2 // 3:
            break
    state = streamed.state_dict()
    streamed = plan.to_hf(views=["labels"], streaming=True)
    streamed.load_state_dict(state)
    assert seen + [row["input_ids"] for row in streamed] == wanted
