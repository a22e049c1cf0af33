"""What trainers were given, counted against the plan: a tiny model that keeps its inputs, and what a plan has."""

from __future__ import annotations

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from corpusdb._plan import Plan

Steps = list[list[int]]

#: Conversations for three epochs, in batches of four rows that two ranks divide.
CHATS_THRICE = {
    "version": 1,
    "tokenizer": {"name": "own", "specials": {"pad": "<|im_end|>"}},
    "source": [{"name": "chats", "max_repeats": 3}],
    "pack": {"length": 160, "options": {"long": "drop"}},
    "batch": {"rows": 4},
}


class Counting(LlamaForCausalLM):
    """A tiny random model that keeps the ids of every step of training and of evaluation."""

    steps: Steps
    evaluated: Steps

    def watch(self) -> None:
        # Its layers, since trainers may compute losses by themselves.
        def keep(layers: Any, given: Any, inputs: dict[str, Any]) -> None:
            (self.steps if layers.training else self.evaluated).append(inputs["input_ids"].flatten().tolist())

        self.steps, self.evaluated = [], []
        self.model.register_forward_pre_hook(keep, with_kwargs=True)


def model() -> Counting:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1, max_position_embeddings=256, attn_implementation="sdpa", pad_token_id=0,
        eos_token_id=1, use_cache=False,
    )
    made = Counting(config)
    made.watch()
    return made


def steps_of(plan: Plan, epoch: int, **options: Any) -> Steps:
    """The ids of the steps of an epoch."""
    with plan.loader(**{"rank": 0, "world": 1, "epoch": epoch, **options}) as loader:
        return [batch["input_ids"].flatten().tolist() for batch in loader]


def steps_of_epochs(plan: Plan, epochs: int, **options: Any) -> Steps:
    return [step for epoch in range(epochs) for step in steps_of(plan, epoch, **options)]


__all__ = ["CHATS_THRICE", "Counting", "Steps", "model", "steps_of", "steps_of_epochs"]
