"""Rows of an epoch as `datasets` has them: in memory, mapped, streamed."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import numpy as np
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


# ---- a built epoch as a folder of `save_to_disk` ----

COLUMNS = [
    "attention_mask", "cu_seqlens", "labels", "loss_mask", "loss_weights", "max_seqlen", "position_ids", "segment_ids",
    "seq_idx", "seq_start_id",
]


@pytest.mark.parametrize("columns", [None, [], COLUMNS])
def test_a_built_epoch_is_a_folder_of_save_to_disk(tmp_path: Path, columns: list[str] | None) -> None:
    named = "" if columns is None else f"columns = {json.dumps(columns)}\n"
    output = f"[output]\nformat = \"arrow\"\nshard_bytes = 20000\n{named}"
    plan = planned(texts(tmp_path), PACKED.replace("rows = 120", "rows = 3") + output)
    plan.build(tmp_path / "built")
    rows = datasets.load_from_disk(str(tmp_path / "built"))
    assert isinstance(rows, datasets.Dataset) and len(rows) == plan.rows() and len(rows.cache_files) > 1
    # Of these the starts of segments are no view of loaders.
    views = [name for name in columns or [] if name != "seq_start_id"]
    for number in (0, len(rows) // 2, len(rows) - 1):
        wanted = plan.row(number, views=views, as_="numpy")
        for name in ["input_ids", *views]:
            value = rows[number][name]
            assert value == (wanted[name] if isinstance(wanted[name], int) else np.asarray(wanted[name]).tolist()), name
    # What datasets saves of it is the same folder, but for the fingerprint, which is that of the plan here.
    rows.save_to_disk(tmp_path / "saved", num_shards=len(rows.cache_files))
    folders = [tmp_path / "built", tmp_path / "saved"]
    infos, states = ([json.loads((folder / name).read_bytes()) for folder in folders] for name in _JSON)
    assert infos[0]["features"] == infos[1]["features"]
    assert [state.pop("_fingerprint") for state in states][0] == plan.hash[:16]
    assert states[0] == states[1]
    built, saved = ({path.name for path in folder.iterdir()} for folder in folders)
    assert built == saved | {"manifest.json"}
    listed = json.loads((folders[0] / "manifest.json").read_bytes())["files"]
    assert {file["name"] for file in listed} == saved
    # The same plan is the same folder.
    plan.build(tmp_path / "again", threads=1)
    for path in folders[0].iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    mapped = rows.shuffle(seed=1).map(lambda row: {"length": len(row["input_ids"])})
    assert sum(mapped["length"]) == sum(map(len, rows["input_ids"]))


#: The two files that make a folder of Arrow streams a dataset.
_JSON = ("dataset_info.json", "state.json")
