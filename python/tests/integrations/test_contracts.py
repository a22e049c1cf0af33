"""Batches under a contract, against the trainers' own collators on the same documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest
import torch
from epochs import CHATS, PACKED, chats, planned, texts
from torch.utils.data import DataLoader
from transformers import DataCollatorWithFlattening
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from corpusdb._plan import Plan
from corpusdb.torch import Collator

#: A token of a row: id, label where it stands, number of its document in the row.
Token = tuple[int, int, int]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan]:
    padded = PACKED.replace("rows = 120", "rows = 6\ntail = \"pad\"")
    return {
        "texts": planned(texts(tmp_path_factory.mktemp("texts")), padded),
        "chats": planned(chats(tmp_path_factory.mktemp("chats")), CHATS),
    }


def rows_of(plan: Plan, batch: Any) -> list[dict[str, list[int]]]:
    """The tokens of each row of a batch without its pads: ids, labels and the numbers of their documents."""
    rows = []
    for row in plan.rows_at(batch.rows.tolist(), views=["labels", "segment_ids"], as_="torch"):
        real = row["segment_ids"] > 0
        rows.append({name: row[name][real].tolist() for name in ("input_ids", "labels", "segment_ids")})
    return rows


def documents(rows: list[dict[str, list[int]]]) -> list[dict[str, list[int]]]:
    """Each document with its ids and labels."""
    found = []
    for row in rows:
        for number in sorted(set(row["segment_ids"])):
            places = [at for at, of in enumerate(row["segment_ids"]) if of == number]
            found.append({name: [row[name][at] for at in places] for name in ("input_ids", "labels")})
    return found


def equal(batch: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert sorted(batch) == sorted(wanted)
    for name, value in wanted.items():
        if torch.is_tensor(value):
            assert batch[name].dtype == value.dtype and torch.equal(batch[name], value), name
        else:
            assert type(batch[name]) is type(value) and batch[name] == value, name


@pytest.mark.parametrize("name", ["texts", "chats"])
def test_transformers_flattens_the_same(plans: dict[str, Plan], name: str) -> None:
    collate = DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True)
    for batch in plans[name].loader(rank=0, world=1, contract="transformers"):
        assert batch.pop("use_cache") is False
        equal(batch, collate(documents(rows_of(plans[name], batch)), return_tensors="pt"))


@pytest.mark.parametrize("name", ["texts", "chats"])
def test_trl_collates_the_same_without_padding(plans: dict[str, Plan], name: str) -> None:
    collate = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)
    for batch in plans[name].loader(rank=0, world=1, contract="trl"):
        rows = rows_of(plans[name], batch)
        lengths = [[row["segment_ids"].count(of) for of in sorted(set(row["segment_ids"]))] for row in rows]
        examples = [
            {"input_ids": row["input_ids"], "labels": row["labels"], "seq_lengths": own}
            for row, own in zip(rows, lengths, strict=True) if row["input_ids"]
        ]
        equal(batch, collate(examples))


@pytest.mark.parametrize("contract", ["transformers", "trl", "megatron", "torchtitan", "olmo-core"])
def test_workers_collate_built_files_as_the_loader_does(plans: dict[str, Plan], tmp_path: Path, contract: Any) -> None:
    plans["texts"].build(tmp_path / "built")
    rows = datasets.load_dataset("parquet", data_dir=str(tmp_path / "built"), split="train")
    given = DataLoader(
        rows, batch_size=6, collate_fn=Collator(tmp_path / "built", contract), num_workers=2,
        multiprocessing_context="spawn",
    )
    wanted = list(plans["texts"].loader(rank=0, world=1, contract=contract))
    assert len(given) == len(wanted)
    for found, batch in zip(given, wanted, strict=True):
        if contract == "torchtitan":
            assert torch.equal(found[1], batch[1])
            found, batch = found[0], batch[0]
        equal(found, batch)


@pytest.mark.parametrize("kind", [None, "numpy", "torch", "arrow"])
def test_rows_may_come_in_any_format_of_datasets(plans: dict[str, Plan], tmp_path: Path, kind: Any) -> None:
    plans["chats"].build(tmp_path / "built")
    rows = datasets.load_from_disk(str(tmp_path / "built")).with_format(kind if kind != "arrow" else None)
    if kind == "arrow":
        given = rows.with_format("arrow")[:4].to_pylist()
    else:
        given = [rows[at] for at in range(4)]
    equal(Collator(tmp_path / "built")(given), next(plans["chats"].loader(rank=0, world=1)))
