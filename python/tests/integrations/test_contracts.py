"""Batches under a contract, against the trainers' own collators on the same documents."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from epochs import CHATS, PACKED, chats, planned, texts
from transformers import DataCollatorWithFlattening
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from corpusdb._plan import Plan

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
