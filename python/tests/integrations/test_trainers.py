"""A packed chat epoch in transformers' Trainer and TRL's SFTTrainer: one real step of a tiny random model on CPU."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch
from counted import CHATS_THRICE, steps_of_epochs
from counted import model as counting_model
from epochs import CHATS, chats, planned
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer

from corpusdb._plan import Plan
from corpusdb.torch import Collator, flattened


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return planned(chats(tmp_path_factory.mktemp("chats")), CHATS)


def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=256, attn_implementation="sdpa", pad_token_id=0, eos_token_id=1,
    )
    return LlamaForCausalLM(config)


def arguments(directory: Path, kind: Any = TrainingArguments, **more: Any) -> Any:
    return kind(
        output_dir=str(directory), per_device_train_batch_size=4, report_to=[], use_cpu=True, disable_tqdm=True,
        logging_steps=1, learning_rate=1e-2, **{"max_steps": 1, "save_strategy": "no", **more},
    )


class Watched(LlamaForCausalLM):
    """A model that keeps what it is given."""

    seen: list[dict[str, Any]]

    def forward(self, **inputs: Any) -> Any:
        self.seen.append(inputs)
        return super().forward(**inputs)


def watched() -> Watched:
    made = model()
    made.__class__ = Watched
    made.seen = []
    return made  # type: ignore[return-value]


def test_a_batch_goes_into_a_model_as_it_is(plan: Plan) -> None:
    batch = next(plan.loader(rank=0, world=1, layout="flat"))
    loss = model()(**batch).loss
    loss.backward()
    assert torch.isfinite(loss)


def test_documents_of_a_flat_batch_do_not_see_each_other(plan: Plan) -> None:
    """The loss of a packed batch is that of its documents one by one."""
    batch = next(plan.loader(rank=0, world=1, layout="flat", views=["labels", "position_ids", "cu_seqlens"]))
    ends = batch.pop("cu_seqlens").tolist()
    llama = model().eval()
    with torch.no_grad():
        packed = llama(**batch, use_cache=False).logits[0]
        for start, end in zip(ends, ends[1:], strict=False):
            single = llama(input_ids=batch["input_ids"][:, start:end], use_cache=False).logits[0]
            assert torch.allclose(packed[start:end], single, atol=1e-4)


def test_trainer_reads_batches_of_the_loader(plan: Plan, tmp_path: Path) -> None:
    class Loading(Trainer):
        def get_train_dataloader(self) -> Any:
            return plan.loader(rank=0, world=1, layout="flat")

    llama = watched()
    before = llama.lm_head.weight.detach().clone()
    Loading(llama, arguments(tmp_path), train_dataset=plan.torch_dataset(map_style=True)).train()
    (seen,) = llama.seen
    wanted = next(plan.loader(rank=0, world=1, layout="flat"))
    assert torch.equal(seen["input_ids"], wanted["input_ids"]) and torch.equal(seen["labels"], wanted["labels"])
    assert torch.equal(seen["position_ids"], wanted["position_ids"])
    assert not torch.equal(before, llama.lm_head.weight)


def test_trainer_reads_rows_with_a_collate_function(plan: Plan, tmp_path: Path) -> None:
    llama = watched()
    trainer = Trainer(
        llama,
        arguments(tmp_path, remove_unused_columns=False),
        train_dataset=plan.torch_dataset(map_style=True),
        data_collator=flattened,
    )
    trainer.train()
    (seen,) = llama.seen
    positions = seen["position_ids"]
    assert positions.shape[0] == 1 and (positions == 0).sum() > 4, "documents begin anew"
    assert (seen["labels"][positions == 0] == -100).all()


def test_sft_trainer_trains_on_a_packed_chat_epoch(plan: Plan, tmp_path: Path) -> None:
    rows = plan.to_hf(views=["labels"])
    llama, inner = model(), []
    before = llama.lm_head.weight.detach().clone()
    # The trainer may compute losses by itself: what the layers are given is what counts.
    llama.model.register_forward_pre_hook(lambda _, __, inputs: inner.append(inputs), with_kwargs=True)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=_tokenizer(), eos_token="<|im_end|>", pad_token="<|im_end|>")
    trainer = SFTTrainer(
        llama,
        arguments(tmp_path, SFTConfig, padding_free=True, packing=False, max_length=None),
        train_dataset=rows,
        processing_class=tokenizer,
    )
    trainer.train()
    assert not torch.equal(before, llama.lm_head.weight)
    batch = next(iter(trainer.get_train_dataloader()))
    for seen, names in ((inner[0], ["position_ids"]), (batch, ["position_ids", "labels"])):
        assert seen["input_ids"].shape[0] == 1
        for row, values in taken(rows, seen, names):
            assert values["position_ids"] == [place for length in row["seq_lengths"] for place in range(length)]
            assert values.get("labels", row["labels"]) == row["labels"]


def test_sft_trainer_takes_the_loader_for_three_epochs_and_resumes(tmp_path: Path) -> None:
    plan = planned(chats(tmp_path), CHATS_THRICE)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=_tokenizer(), eos_token="<|im_end|>", pad_token="<|im_end|>")

    class Loading(SFTTrainer):
        def get_train_dataloader(self) -> Any:
            return plan.loader(rank=0, world=1, contract="trl")

    def trained(**options: Any) -> list[list[int]]:
        llama = counting_model()
        saving = {"max_steps": -1, "num_train_epochs": 3, "save_strategy": "steps", "save_steps": 5}
        args = arguments(tmp_path / "run", SFTConfig, max_length=None, **saving)
        Loading(llama, args, train_dataset=plan.to_hf(views=["labels"]), processing_class=tokenizer).train(**options)
        return llama.steps

    wanted = steps_of_epochs(plan, 3)
    assert trained() == wanted
    saved = next(step for step in range(5, 1000, 5) if step > len(wanted) // 3)
    assert trained(resume_from_checkpoint=str(tmp_path / "run" / f"checkpoint-{saved}")) == wanted[saved:]


@pytest.mark.parametrize("is_built", [False, True])
def test_sft_trainer_takes_the_rows_of_an_epoch_in_each_of_its_epochs(tmp_path: Path, is_built: bool) -> None:
    plan = planned(chats(tmp_path), {**CHATS_THRICE, "tokenizer": {"name": "own"}})
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=_tokenizer(), eos_token="<|im_end|>", pad_token="<|im_end|>")
    llama, rows, collator = counting_model(), plan.to_hf(views=["labels"]), None
    if is_built:
        plan.build(tmp_path / "built")
        rows = datasets.load_dataset("parquet", data_dir=str(tmp_path / "built"), split="train")
        collator = Collator(tmp_path / "built", "trl")
    args = arguments(
        tmp_path, SFTConfig, padding_free=not is_built, packing=False, max_length=None, max_steps=-1,
        num_train_epochs=3,
    )
    SFTTrainer(llama, args, train_dataset=rows, processing_class=tokenizer, data_collator=collator).train()
    steps = -(-len(rows) // 4)
    whole = Counter(id for row in rows for id in row["input_ids"])
    assert [Counter(id for step in llama.steps[at : at + steps] for id in step)
            for at in range(0, 3 * steps, steps)] == [whole] * 3


def taken(rows: Any, seen: Any, names: list[str]) -> Any:
    """The rows that a sampler took, with what a batch has where they stand in it."""
    by_ids = {tuple(row["input_ids"]): row for row in rows}
    ids = seen["input_ids"][0].tolist()
    at = 0
    while at < len(ids):
        row = next(by_ids[key] for key in by_ids if tuple(ids[at : at + len(key)]) == key)
        end = at + len(row["input_ids"])
        yield row, {name: seen[name][0].tolist()[at:end] for name in names}
        at = end


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models

    return Tokenizer(models.BPE({"<|im_start|>": 0, "<|im_end|>": 1, "a": 2}, []))
