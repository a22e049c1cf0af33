"""Packed batches in models of the installed transformers: the numbers of each document alone, or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from epochs import CHATS, chats, planned
from transformers import AutoModelForCausalLM

from corpusdb._plan import Plan
from corpusdb.torch import check_model

SMALL: dict[str, Any] = {
    "vocab_size": 512, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "max_position_embeddings": 512, "pad_token_id": 0, "eos_token_id": 1,
}
LINEAR = {
    "num_hidden_layers": 4, "head_dim": 16, "linear_num_value_heads": 2, "linear_num_key_heads": 2,
    "linear_key_head_dim": 16, "linear_value_head_dim": 16,
}
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 16, "mamba_n_groups": 1, "mamba_expand": 2}

#: Models that attend only: by name of their configuration, with what it needs beside SMALL.
ATTENDING: dict[str, dict[str, Any]] = {
    "LlamaConfig": {},
    "MistralConfig": {"sliding_window": 16},
    "Qwen3Config": {"head_dim": 16},
    "Gemma3TextConfig": {"head_dim": 16, "sliding_window": 16},
    "GPTNeoXConfig": {},
}
#: Models with convolutions or linear attention, which need kernels to part documents.
HYBRID: dict[str, dict[str, Any]] = {
    "Qwen3NextConfig": {
        **LINEAR, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32,
    },
    "Qwen3_5TextConfig": LINEAR,
    "GraniteMoeHybridConfig": {
        **MAMBA, "layer_types": ["mamba", "attention"], "num_local_experts": 0, "num_experts_per_tok": 0,
        "shared_intermediate_size": 64,
    },
    "BambaConfig": {**MAMBA, "attn_layer_indices": [1]},
}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return planned(chats(tmp_path_factory.mktemp("chats")), CHATS)


def made(name: str, attention: str) -> Any:
    """A tiny random model, the same at each call. Its configuration is as users have it: the cache is on."""
    more = {**ATTENDING, **HYBRID}[name]
    torch.manual_seed(0)
    config = getattr(transformers, name)(**{**SMALL, **more})
    return AutoModelForCausalLM.from_config(config, attn_implementation=attention)


def alone(batch: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The ids and labels of each document of a flat batch."""
    ends = batch["cu_seq_lens_q"].tolist()
    return [
        (batch["input_ids"][:, start:end], batch["labels"][:, start:end])
        for start, end in zip(ends, ends[1:], strict=False)
    ]


@pytest.mark.parametrize("layout", ["flat", "rows"])
@pytest.mark.parametrize(
    ("name", "attention"),
    # On CPU torch does not compile flex attention with a window, as that of Mistral.
    [(name, kind) for name in ("LlamaConfig", "Qwen3Config") for kind in ("eager", "sdpa", "flex_attention")]
    + [("MistralConfig", "eager"), ("MistralConfig", "sdpa")],
)
def test_a_packed_row_has_the_logits_of_its_documents(plan: Plan, name: str, attention: str, layout: Any) -> None:
    model = made(name, attention).eval()
    flat = next(plan.loader(rank=0, world=1))
    batch = next(plan.loader(rank=0, world=1, layout=layout))
    with torch.no_grad():
        packed = model(**batch).logits
        tokens = packed[batch["seq_idx"] >= 0] if layout == "rows" else packed[0]
        single = torch.cat([model(input_ids=ids, use_cache=False).logits[0] for ids, _ in alone(flat)])
    assert len(alone(flat)) > 4 and torch.allclose(tokens, single, atol=1e-5)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ATTENDING)
def test_loss_and_gradients_are_those_of_the_documents(plan: Plan, name: str, attention: str) -> None:
    """By the loop that the pages show: `model(**batch).loss`, with the model as it is made."""
    batch = next(plan.loader(rank=0, world=1))
    model = made(name, attention)
    loss = model(**batch).loss
    loss.backward()
    packed = {name: value.grad.clone() for name, value in model.named_parameters() if value.grad is not None}
    model.zero_grad()
    targets = sum(int((labels != -100).sum()) for _, labels in alone(batch))
    total = torch.zeros(())
    for ids, labels in alone(batch):
        total = total + model(input_ids=ids, labels=labels, num_items_in_batch=targets).loss
    total.backward()
    assert abs(float(loss) - float(total)) < 1e-5
    for name, value in model.named_parameters():
        if value.grad is not None:
            assert torch.allclose(packed[name], value.grad, atol=1e-5), name


def test_what_the_batch_says_is_what_keeps_documents_apart(plan: Plan) -> None:
    """Without `use_cache=False` the same loop gives another loss: the test above would see a leak."""
    batch = next(plan.loader(rank=0, world=1))
    model = made("LlamaConfig", "sdpa").eval()
    with torch.no_grad():
        right = model(**batch).loss
        leaky = model(**{**batch, "use_cache": True}).loss
    assert abs(float(right) - float(leaky)) > 1e-4


@pytest.mark.parametrize("layout", ["flat", "rows"])
@pytest.mark.parametrize("name", HYBRID)
def test_hybrid_models_part_documents_or_refuse_by_name(plan: Plan, name: str, layout: Any) -> None:
    model = made(name, "sdpa").eval()
    batch = next(plan.loader(rank=0, world=1, layout=layout))
    with torch.no_grad():
        try:
            packed = model(**batch).logits
        except ValueError as error:
            assert "causal_conv1d" in str(error)
            return
        single = torch.cat([model(input_ids=ids, use_cache=False).logits[0] for ids, _ in alone(batch)])
    assert layout == "flat" and torch.allclose(packed[0], single, atol=1e-4)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ATTENDING)
def test_a_model_that_parts_documents_passes_its_trial(name: str, attention: str) -> None:
    model = made(name, attention)
    assert model.training and check_model(model) < 1e-5 and model.training
    with pytest.raises(ValueError, match="let?s documents of a packed batch see each other"):
        check_model(model, contract=False)


def test_a_model_that_reads_no_boundaries_fails_its_trial() -> None:
    config = transformers.Mamba2Config(
        vocab_size=512, hidden_size=32, num_heads=4, head_dim=16, expand=2, state_size=16, n_groups=1,
        num_hidden_layers=2,
    )
    torch.manual_seed(0)
    with pytest.raises(ValueError, match="Mamba2ForCausalLM lets documents"):
        check_model(AutoModelForCausalLM.from_config(config))


@pytest.mark.parametrize("ids", ["int64", "int32"])
def test_ids_of_every_width_train(plan: Plan, ids: Any) -> None:
    batch = next(plan.loader(rank=0, world=1, ids=ids))
    loss = made("LlamaConfig", "sdpa")(**batch).loss
    loss.backward()
    assert batch["labels"].dtype == torch.int64 and torch.isfinite(loss)


def test_ids_of_two_bytes_are_those_of_eight(plan: Plan) -> None:
    narrow = next(plan.loader(rank=0, world=1, ids="uint16"))
    wide = next(plan.loader(rank=0, world=1))
    assert narrow["input_ids"].dtype == torch.uint16
    assert torch.equal(narrow["input_ids"].long(), wide["input_ids"])
    loss = made("LlamaConfig", "sdpa")(**{**narrow, "input_ids": narrow["input_ids"].long()}).loss
    assert torch.isfinite(loss)


def test_gradient_accumulation_weighs_targets_not_batches(plan: Plan, tmp_path: Path) -> None:
    """Batches have different numbers of targets: the sum over them is that of all documents at once."""
    loader = plan.loader(rank=0, world=1)
    batches = [next(loader) for _ in range(4)]
    counts = [int((batch["labels"] != -100).sum()) for batch in batches]
    assert len(set(counts)) > 1
    model = made("LlamaConfig", "sdpa")
    for batch in batches:
        model(**batch, num_items_in_batch=sum(counts)).loss.backward()
    accumulated = model.lm_head.weight.grad.clone()
    model.zero_grad()
    documents = [one for batch in batches for one in alone(batch)]
    for ids, labels in documents:
        model(input_ids=ids, labels=labels, num_items_in_batch=sum(counts)).loss.backward()
    assert torch.allclose(accumulated, model.lm_head.weight.grad, atol=1e-5)
