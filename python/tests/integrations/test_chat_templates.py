"""Published chat templates: text, ids and what is trained on, as transformers' own mask has them."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
import trl
from epochs import planned, run, words
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

import corpusdb

#: Templates that TRL publishes with marks around what the assistant generates.
TEMPLATES = [
    "cohere_training", "deepseekv3_training", "gemma_training", "gemma3_training", "glm4moe_training",
    "gptoss_training", "llama3_training", "phi3_training", "qwen2_5_training", "qwen3_training",
    "qwen3_instruct_2507_training", "lfm2_training",
]

RECIPE: dict[str, Any] = {
    "version": 1,
    "tokenizer": {"name": "own"},
    "pack": {"kind": "none", "length": 4096},
    "order": {"kind": "sequential"},
    "output": {"format": "arrow", "columns": ["labels"]},
}


def conversations() -> list[list[dict[str, str]]]:
    """One to three turns, some with a system message, one with an empty answer in the middle."""
    made = []
    for number in range(24):
        messages = [{"role": "system", "content": words(number)}] if number % 3 == 0 else []
        for turn in range(1 + number % 3):
            messages.append({"role": "user", "content": words(number + 31 * turn)})
            messages.append({"role": "assistant", "content": words(number + 31 * turn + 7)})
        made.append(messages)
    return made


def trained(directory: Path, template: str) -> Path:
    """A small tokenizer of bytes, as a file, with every marker of a template as one token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", *sorted(set(re.findall(r"<[^<>\s'\"{}%=]{2,40}>", template)) - {"<|endoftext|>"})]
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((words(number) for number in range(200)), trainer)
    file = directory / "tokenizer.json"
    tokenizer.save(str(file))
    return file


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_is_trained_on_is_transformers_mask(name: str, tmp_path: Path) -> None:
    template = Path(trl.__file__).parent / "chat_templates" / f"{name}.jinja"
    text = template.read_text(encoding="utf-8")
    file = trained(tmp_path, text)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(file), bos_token="<|endoftext|>", eos_token="<|endoftext|>", pad_token="<|endoftext|>",
        chat_template=text,
    )
    wanted, records = {}, []
    for number, messages in enumerate(conversations()):
        try:
            encoded = tokenizer.apply_chat_template(
                messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
            )
        except Exception as error:  # A template may know no system message, as Gemma's.
            assert "ystem" in str(error), error
            continue
        wanted[f"c{number}"] = list(zip(encoded["input_ids"], encoded["assistant_masks"], strict=True))
        records.append(json.dumps({"id": f"c{number}", "messages": messages}) + "\n")
    assert len(wanted) > 12
    (tmp_path / "chats.jsonl").write_text("".join(records), encoding="utf-8")
    config = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "chat_template": tokenizer.chat_template}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    corpus = tmp_path / "corpus"
    run("init", corpus, "--mode", "exact")
    run("tokenizer", "add", corpus, "own", file)
    named = ("--source", "chats", "--id-field", "id")
    run("ingest", corpus, tmp_path / "chats.jsonl", *named, "--chat", "messages", "--chat-template", tmp_path,
        "--chat-date", datetime.date.today().isoformat())
    plan = planned(corpus, RECIPE)
    with plan.loader(rank=0, world=1, views=["label_mask"], as_="numpy", rows=1) as loader:
        for batch in loader:
            ((key,),) = batch.document_keys
            tokens = wanted.pop(key)
            assert batch["input_ids"][0].tolist() == [token for token, _ in tokens], key
            mask = [bool(kept) for _, kept in tokens]
            assert batch["label_mask"][0].tolist() == [False, *mask[1:]], key
            assert any(mask)
    assert not wanted


def test_a_pretrained_directory_is_what_auto_tokenizer_loads(tmp_path: Path) -> None:
    template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    chats = conversations()
    with corpusdb.create(tmp_path / "corpus") as w:
        (tmp_path / "chat.jinja").write_text(template)
        records = [{"id": str(n), "messages": chat} for n, chat in enumerate(chats)]
        w.ingest(records, source="chats", id_field="id", chat="messages", chat_template=tmp_path / "chat.jinja")
        w.tokenizers.train("own", vocab_size=400, specials=["<|im_start|>", "<|im_end|>", "<pad>"])
        w.tokenizers.export("own", tmp_path / "own", pretrained=True, eos="<|im_end|>", pad="<pad>")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "own")
    with corpusdb.open(tmp_path / "corpus") as db:
        own = db.tokenizers["own"]
        assert (loaded.eos_token, loaded.pad_token) == ("<|im_end|>", "<pad>")
        assert [loaded.eos_token_id] == own.encode("<|im_end|>", specials=True).tolist()
        assert len(loaded) == own.vocab_size
        for chat in chats:
            text = loaded.apply_chat_template(chat, tokenize=False)
            assert loaded.encode(text, add_special_tokens=False) == own.encode(text, specials=True).tolist()
