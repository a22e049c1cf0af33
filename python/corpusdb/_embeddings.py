"""Starts the rows of new tokens in the embeddings of a model, from the map that the extension of a tokenizer wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch

from corpusdb.errors import BadInput

__all__ = ["start_new_rows"]


@torch.no_grad()  # type: ignore[untyped-decorator, unused-ignore]
def start_new_rows(model: Any, path: str | os.PathLike[str]) -> int:
    """Gives the rows of all new ids, in and out, the mean of the old rows that stand for them. Returns how many those are.

    `path` is the directory that `tokenizer extend` wrote (`out`), or the embedding map in it, `.jsonl` or `.safetensors`
    (for the latter safetensors is needed). `model` is a model of transformers, which gets more rows if it has too few;
    for a multiple of 64 of them, resize it before, with `mean_resizing=False`. It may also be a layer by itself, an
    `nn.Embedding` or the `nn.Linear` of an output, with enough rows: one call each, if they do not share their weight.

    Rows are set by id, since models may have more rows than tokens. Raises `corpusdb.BadInput` if the rows are too few.
    """
    new, old, weights, counts = _read_map(Path(path))
    if len(new) == 0:
        return 0
    rows = int(max(new.max(), old.max())) + 1
    layers = [model]
    if hasattr(model, "get_input_embeddings"):
        if model.get_input_embeddings().weight.shape[0] < rows:
            model.resize_token_embeddings(rows, mean_resizing=False)
        layers = [model.get_input_embeddings(), model.get_output_embeddings()]
    row = torch.repeat_interleave(torch.arange(len(new)), counts)
    # A weight that two layers share is one.
    tables = {id(table): table for layer in layers for table in _tables(layer, rows)}
    for table in tables.values():
        wide = torch.promote_types(table.dtype, torch.float32)
        # On the CPU, where sums do not depend on the order of threads.
        parts = table[old.to(table.device)].cpu().to(wide).reshape(len(old), -1) * weights[:, None].to(wide)
        start = torch.zeros(len(new), parts.shape[1], dtype=wide).index_add_(0, row, parts)
        table[new.to(table.device)] = start.reshape(len(new), *table.shape[1:]).to(table)
    return len(new)


def _tables(layer: Any, rows: int) -> list[Any]:
    """What a layer has a row an id of."""
    if layer is None:
        return []
    weight: Any = getattr(layer, "weight", None)
    if not torch.is_tensor(weight) or not weight.is_floating_point():
        raise BadInput(
            f"{type(layer).__name__} has no embeddings whose rows can be set: give a model of transformers, an "
            "nn.Embedding, or an nn.Linear, in floats"
        )
    if weight.shape[0] < rows:
        raise BadInput(
            f"{type(layer).__name__} has {weight.shape[0]} rows, and the embedding map needs {rows}: make it larger first"
        )
    return [weight] if getattr(layer, "bias", None) is None else [weight, layer.bias]


def _read_map(path: Path) -> tuple[Any, Any, Any, Any]:
    """New ids, the old ids of all of them, their weights, and how many old ids each new one has."""
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        found = load_file(path)
        return found["new_ids"], found["old_ids"], found["weights"], found["offsets"].diff()
    with open(path / "embedding_map.jsonl" if path.is_dir() else path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    old = [old for row in rows for old in row["old_ids"]]
    weights = [weight for row in rows for weight in row["weights"]]
    numbers = ([row["id"] for row in rows], old, weights, [len(row["old_ids"]) for row in rows])
    kinds = (torch.int64, torch.int64, torch.float32, torch.int64)
    new_ids, old_ids, shares, counts = (torch.tensor(of, dtype=kind) for of, kind in zip(numbers, kinds, strict=True))
    return new_ids, old_ids, shares, counts
