"""Rows of new tokens begin as the mean of the old ones that stand for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import corpora
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import corpusdb
from corpusdb.torch import start_new_rows


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an extension."""
    directory = tmp_path_factory.mktemp("extended")
    corpusdb.create(directory / "corpus").close()
    with corpusdb.open(directory / "corpus", mode="w", memory="128MiB") as w:
        w.ingest(corpora.pages(40), source="web")
        w.tokenizers.train("own", vocab_size=400)
        w.tokenizers.extend("own", "more", terms=["zyzzyva", "quokka", "bandicoot"], out=directory / "more")
    return directory / "more"


@pytest.fixture(scope="module")
def rows(extended: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (extended / "embedding_map.jsonl").read_text(encoding="utf-8").split("\n") if line]
    assert len(rows) > 5 and any(len(row["old_ids"]) > 2 for row in rows)
    return rows


def model_of(rows: int, *, tied: bool) -> Any:
    config = GPT2Config(
        vocab_size=rows, n_embd=8, n_layer=1, n_head=1, n_positions=8, tie_word_embeddings=tied, bos_token_id=None,
        eos_token_id=None,
    )
    torch.manual_seed(1)
    return GPT2LMHeadModel(config)


def check(now: torch.Tensor, was: torch.Tensor, rows: list[dict[str, Any]], off: float = 1e-6) -> None:
    """Old rows are what they were, new ones the mean of the old ids of the map."""
    kept = torch.ones(len(was), dtype=torch.bool)
    for row in rows:
        torch.testing.assert_close(now[row["id"]], was[row["old_ids"]].mean(0), atol=off, rtol=0)
        if row["id"] < len(was):
            kept[row["id"]] = False
    assert torch.equal(now[:len(was)][kept], was[kept])


@pytest.mark.parametrize("form", ["", "embedding_map.jsonl", "embedding_map.safetensors"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("spare", [0, 200])
def test_models_of_transformers(extended: Path, rows: list[dict[str, Any]], form: str, tied: bool, spare: int) -> None:
    base = rows[0]["id"]
    model = model_of(base + spare, tied=tied)
    before = [model.get_input_embeddings().weight.detach().clone(), model.get_output_embeddings().weight.detach().clone()]
    assert start_new_rows(model, extended / form) == len(rows)
    after = [model.get_input_embeddings().weight, model.get_output_embeddings().weight]
    for now, was in zip(after, before, strict=True):
        assert len(now) == max(base + spare, rows[-1]["id"] + 1)
        check(now.detach(), was, rows)
    assert (after[0].data_ptr() == after[1].data_ptr()) == tied and after[0].requires_grad
    loss = model(torch.tensor([[row["id"] for row in rows[:8]]]), labels=torch.tensor([[row["id"] for row in rows[:8]]])).loss
    loss.backward()
    assert torch.isfinite(loss)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64])
def test_layers_by_themselves(extended: Path, rows: list[dict[str, Any]], kind: torch.dtype) -> None:
    needed = rows[-1]["id"] + 1
    torch.manual_seed(2)
    for layer in (torch.nn.Embedding(needed, 16, dtype=kind), torch.nn.Linear(16, needed, dtype=kind)):
        was = layer.weight.detach().clone()
        bias = layer.bias.detach().clone() if isinstance(layer, torch.nn.Linear) else None
        assert start_new_rows(layer, extended) == len(rows)
        check(layer.weight.detach().double(), was.double(), rows, 2e-2 if kind == torch.bfloat16 else 1e-6)
        assert layer.weight.dtype == kind
        if bias is not None:
            check(layer.bias.detach().double(), bias.double(), rows, 2e-2 if kind == torch.bfloat16 else 1e-6)


def test_what_has_no_such_rows_is_refused(extended: Path, rows: list[dict[str, Any]]) -> None:
    needed = rows[-1]["id"] + 1
    with pytest.raises(corpusdb.BadInput, match=f"Embedding has {needed - 1} rows, and the embedding map needs {needed}"):
        start_new_rows(torch.nn.Embedding(needed - 1, 4), extended)
    for other in (torch.nn.ReLU(), torch.nn.Module(), object()):
        with pytest.raises(corpusdb.BadInput, match=f"{type(other).__name__} has no embeddings whose rows can be set"):
            start_new_rows(other, extended)
    with pytest.raises(FileNotFoundError):
        start_new_rows(torch.nn.Embedding(needed, 4), extended / "none")


def test_a_map_without_new_ids_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "embedding_map.jsonl").write_text("")
    layer = torch.nn.Embedding(4, 2)
    was = layer.weight.detach().clone()
    assert start_new_rows(layer, tmp_path) == 0 and torch.equal(layer.weight, was)
