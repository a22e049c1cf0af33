"""The kernel over tensors: orders of transformers' sampler with torch's generators, and masks as flash-attn takes them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Sampler
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.trainer_pt_utils import get_length_grouped_indices

import corpusdb
from corpusdb import kernel

SAMPLES = [3, 2, 5, 1, 4, 6, 7, 8, 3, 4, 1, 5]


def grouped(lengths: list[int], batch: int, multiple: int | None = None, generator: torch.Generator | None = None) -> list[int]:
    """What the function of transformers does, step by step."""
    size = batch * (max(1, min(len(lengths) // (4 * batch), 50)) if multiple is None else multiple)
    order = torch.randperm(len(lengths), generator=generator).tolist()
    parts = [sorted(order[at:at + size], key=lengths.__getitem__, reverse=True) for at in range(0, len(order), size)]
    longest = torch.argmax(torch.tensor([lengths[part[0]] for part in parts])).item()
    parts[0][0], parts[longest][0] = parts[longest][0], parts[0][0]
    return sum(parts, [])


@pytest.mark.parametrize("seed", range(60))
def test_orders_and_generators_are_those_of_torch(seed: int) -> None:
    draw = random.Random(seed)
    lengths = [draw.randrange(1, draw.choice((3, 50, 5000))) for _ in range(draw.choice((1, 2, 12, 700, 3000)))]
    batch, multiple = draw.randrange(1, 9), draw.choice((None, None, 1, 2, 5))
    ours, theirs = torch.Generator(), torch.Generator()
    for generator in (ours, theirs):
        generator.manual_seed(draw.randrange(2**40) if generator is ours else ours.initial_seed())
        # A place within a block, and half a pair of the normal distribution, which stays.
        torch.rand(seed * 31, generator=generator)
        torch.randn(1, generator=generator, dtype=torch.float64)
    for function in (grouped, get_length_grouped_indices, grouped):
        assert kernel.length_grouped_indices(lengths, batch, multiple, ours) == function(lengths, batch, multiple, theirs)
        assert torch.equal(ours.get_state(), theirs.get_state())
    assert torch.equal(torch.randn(9, generator=ours), torch.randn(9, generator=theirs))


def test_two_epochs_of_twelve_samples() -> None:
    generator = torch.Generator().manual_seed(42)
    assert kernel.length_grouped_indices(SAMPLES, 3, 2, generator) == [7, 6, 2, 8, 0, 1, 5, 11, 4, 9, 10, 3]
    assert kernel.length_grouped_indices(SAMPLES, 3, 2, generator) == [7, 11, 4, 8, 10, 3, 6, 5, 2, 9, 0, 1]


def test_the_default_generator_and_seeds() -> None:
    lengths = list(range(1, 500)) * 2
    torch.manual_seed(11)
    order, drawn = kernel.length_grouped_indices(lengths, 4), torch.rand(5)
    torch.manual_seed(11)
    assert (order, drawn.tolist()) == (grouped(lengths, 4), torch.rand(5).tolist())
    for seed in (0, -1, 2**63, 2**64 - 1, -(2**63), np.int32(7), torch.tensor(9)):
        assert kernel.length_grouped_indices(lengths, 4, None, seed) == grouped(
            lengths, 4, None, torch.Generator().manual_seed(int(seed))
        )
    state = torch.get_rng_state()
    with pytest.raises(corpusdb.BadInput):
        kernel.length_grouped_indices([1, -1], 1)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint64])
def test_lengths_are_tensors_of_whole_numbers(kind: torch.dtype) -> None:
    lengths = torch.tensor(SAMPLES, dtype=kind)
    assert kernel.length_grouped_indices(lengths, 3, 2, 42) == [7, 6, 2, 8, 0, 1, 5, 11, 4, 9, 10, 3]
    assert kernel.pack(lengths, 8).row_offsets.tolist() == kernel.pack(SAMPLES, 8).row_offsets.tolist()
    with pytest.raises(corpusdb.BadInput, match="`lengths` has values of type float64"):
        kernel.length_grouped_indices(lengths.to(torch.bfloat16), 3, 2, 42)


class Grouped(Sampler[int]):
    """The sampler of the documentation."""

    def __init__(self, lengths: Any, batch_size: int, generator: Any = None) -> None:
        self.arguments = np.asarray(lengths), batch_size, None, generator

    def __len__(self) -> int:
        return len(self.arguments[0])

    def __iter__(self) -> Any:
        return iter(kernel.length_grouped_indices(*self.arguments))


def test_orders_serve_as_samplers() -> None:
    theirs = torch.Generator().manual_seed(3)
    sampler = Grouped(SAMPLES, 3, torch.Generator().manual_seed(3))
    loader = DataLoader(SAMPLES, batch_size=3, sampler=sampler)  # type: ignore[arg-type]
    for _ in range(2):
        order = grouped(SAMPLES, 3, None, theirs)
        assert torch.cat(list(loader)).tolist() == [SAMPLES[at] for at in order]
    listed = DataLoader(SAMPLES, batch_size=3, sampler=order)  # type: ignore[arg-type]
    assert torch.cat(list(listed)).tolist() == [SAMPLES[at] for at in order]


# ---- masks


def unpadded(hidden: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """What flash-attn's `unpad_input` computes: the kept rows, their places, where sequences end, the longest."""
    lengths = mask.sum(dim=-1, dtype=torch.int32)
    places = mask.flatten().nonzero().flatten()
    ends = torch.cat([torch.zeros(1, dtype=torch.int32), lengths.cumsum(0, dtype=torch.int32)])
    return hidden.flatten(0, 1)[places], places, ends, int(lengths.max())


def padded(hidden: torch.Tensor, places: torch.Tensor, rows: int, width: int) -> torch.Tensor:
    """What flash-attn's `pad_input` computes."""
    out = torch.zeros(rows * width, *hidden.shape[1:], dtype=hidden.dtype)
    out[places] = hidden
    return out.unflatten(0, (rows, width))


def random_mask(draw: torch.Generator, number: int) -> torch.Tensor:
    rows, width = (int(torch.randint(1, most, (), generator=draw)) for most in (9, 40))
    ends = torch.randint(0, width + 1, (rows, 1), generator=draw)
    places = torch.arange(width)
    kinds = (places >= ends, places < ends, torch.rand(rows, width, generator=draw) < 0.6, (places < ends) & (ends % 2 == 0))
    return kinds[number % 4].to((torch.int64, torch.bool, torch.int32, torch.bfloat16, torch.float32)[number % 5])


def test_a_thousand_masks_are_unpadded_as_flash_attn_does() -> None:
    draw = torch.Generator().manual_seed(8)
    for number in range(1000):
        mask = random_mask(draw, number)
        rows, width = mask.shape
        ids = torch.randint(0, 1000, (rows, width), generator=draw)
        logits = torch.rand(rows, width, 5, generator=draw).to((torch.float32, torch.bfloat16)[number % 2])
        found = kernel.unpad(mask, ids, logits)
        wanted, places, ends, longest = unpadded(logits, mask.to(torch.int64))
        assert torch.equal(found.aligned[1], wanted) and torch.equal(found.indices, places)
        assert torch.equal(found.cu_seqlens, ends) and found.cu_seqlens.dtype == torch.int32
        assert found.max_seqlen == longest and type(found.max_seqlen) is int
        assert torch.equal(found.aligned[0], ids.flatten()[places])
        # compute_position_id_with_mask, and index_first_axis of it.
        positions = (mask.to(torch.int64).cumsum(-1) - 1).clip(min=0)
        assert torch.equal(found.padded_position_ids, positions)
        assert torch.equal(found.position_ids, positions.flatten()[places])
        again = kernel.repad(found.aligned[1], found.indices, mask.shape)
        assert again.dtype == logits.dtype and torch.equal(again, padded(wanted, places, rows, width))


def test_gradients_flow_through_both_ways() -> None:
    mask = torch.tensor([[0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]])
    hidden = torch.rand(3, 4, 2, dtype=torch.float64, requires_grad=True)

    def there(hidden: torch.Tensor) -> Any:
        return kernel.unpad(mask, hidden).aligned[0]

    def and_back(hidden: torch.Tensor) -> Any:
        return kernel.repad(there(hidden) ** 2, kernel.unpad(mask).indices, mask.shape, fill=1.5)

    assert torch.autograd.gradcheck(there, hidden) and torch.autograd.gradcheck(and_back, hidden)
    and_back(hidden).sum().backward()
    assert hidden.grad is not None and torch.equal(hidden.grad, 2 * hidden.detach() * mask[..., None])


def test_a_model_gives_the_same_without_pads() -> None:
    """The test of verl that the article on padding prints: four prompts with pads left and right, of 128 tokens."""
    torch.manual_seed(4)
    config = LlamaConfig(vocab_size=97, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=256)
    model = LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 97, (4, 128))
    left, right = torch.randint(0, 13, (4, 1)), torch.randint(64, 103, (4, 1))
    mask = ((torch.arange(128) >= left) & (torch.arange(128) < left + right)).to(torch.int64)
    packed = kernel.unpad(mask, ids)
    assert packed.cu_seqlens.diff().tolist() == right.flatten().tolist()
    with torch.no_grad():
        alone = model(ids, attention_mask=mask, position_ids=packed.padded_position_ids, use_cache=False).logits
        logits = model(packed.aligned[0][None], position_ids=packed.position_ids[None], use_cache=False).logits[0]
    torch.testing.assert_close(logits, kernel.unpad(mask, alone).aligned[0], atol=1e-5, rtol=1e-4)
    # Log-probabilities of the tokens, and their mean over what is no pad.
    targets = mask[:, 1:].bool() & mask[:, :-1].bool()
    padded = kernel.repad(logits, packed.indices, mask.shape)
    ours, theirs = (
        of.log_softmax(-1)[:, :-1].gather(2, ids[:, 1:, None])[..., 0][targets].mean() for of in (padded, alone)
    )
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_arrays_beside_a_tensor_stay_arrays() -> None:
    mask = torch.tensor([[0, 1], [1, 1]])
    array = np.arange(4).reshape(2, 2)
    found = kernel.unpad(mask, array, torch.from_numpy(array).T)
    assert isinstance(found.aligned[0], np.ndarray) and found.aligned[0].tolist() == [1, 2, 3]
    assert torch.is_tensor(found.aligned[1]) and found.aligned[1].tolist() == [2, 1, 3]
    assert kernel.repad(found.aligned[0], found.indices, mask.shape).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(corpusdb.BadInput, match="has 2 at row 0, column 1"):
        kernel.unpad(torch.tensor([[1, 2]]))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_tensors_of_a_gpu_stay_there() -> None:
    mask = torch.tensor([[0, 1, 1], [1, 0, 0]], device="cuda")
    logits = torch.rand(2, 3, 4, device="cuda", requires_grad=True)
    found = kernel.unpad(mask, logits)
    assert all(of.device == mask.device for of in (*found.aligned, found.indices, found.cu_seqlens, found.position_ids))
    again = kernel.repad(found.aligned[0], found.indices, mask.shape)
    assert again.device == mask.device and torch.equal(again, logits * mask[..., None])
    with pytest.raises(corpusdb.BadInput, match="the generator is one of cuda"):
        kernel.length_grouped_indices(SAMPLES, 3, None, torch.Generator("cuda"))
