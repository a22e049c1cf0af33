"""Checks whether a model keeps the documents of a packed batch apart, by its logits with and without packing."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["check_model"]

#: Tokens of the trial's documents, of several lengths: a convolution over four tokens reaches across all of them.
_LENGTHS = (7, 1, 5, 12)

#: The largest relative difference of logits that is accepted, by the bytes of a value.
_TOLERANCE = {8: 1e-4, 4: 1e-3}


def check_model(model: Any, *, contract: bool = True) -> float:
    """Raises `ValueError` if documents of a packed batch see each other in a model of transformers.

    It runs the model on 25 made-up tokens in four documents, packed as a loader packs them and one by one, and compares
    the logits; it returns the largest difference in relation to the largest logit. `contract=False` tries `position_ids`
    alone, as `views=["labels", "position_ids"]` gives them. The model is left in the mode (training or evaluation) and
    with the random state that it had. A model that misses a kernel raises its own error.
    """
    device, trained = next(model.parameters()).device, model.training
    ids = torch.arange(3, 3 + sum(_LENGTHS)) % max(4, model.get_input_embeddings().num_embeddings)
    ends = torch.tensor([0, *_LENGTHS]).cumsum(0)
    positions = torch.cat([torch.arange(length) for length in _LENGTHS])
    batch: dict[str, Any] = {"input_ids": ids[None], "position_ids": positions[None]}
    if contract:
        numbers = torch.repeat_interleave(torch.arange(len(_LENGTHS)), torch.tensor(_LENGTHS))
        batch["seq_idx"] = numbers[None].to(torch.int32)
        batch |= {f"cu_seq_lens_{of}": ends.to(torch.int32) for of in "qk"}
        batch |= {f"max_length_{of}": max(_LENGTHS) for of in "qk"}
        batch["use_cache"] = False
    batch = {name: value.to(device) if torch.is_tensor(value) else value for name, value in batch.items()}
    model.eval()
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            packed = model(**batch).logits[0]
            starts = zip(ends.tolist(), ends.tolist()[1:], strict=False)
            alone = torch.cat(
                [model(input_ids=batch["input_ids"][:, at:end], use_cache=False).logits[0] for at, end in starts]
            )
    finally:
        model.train(trained)
    difference = float((packed - alone).abs().max() / alone.abs().max().clamp_min(1e-30))
    if not difference <= _TOLERANCE.get(packed.element_size(), 5e-2):
        raise ValueError(
            f"{type(model).__name__} lets documents of a packed batch see each other: logits differ by "
            f"{difference:.0e} of the largest. Install the kernels of its convolutions and linear attention, or pack a "
            "document a row (kind = \"none\" under [pack])"
        )
    return difference
