"""Conversations as transformers renders them, against what corpusdb stores: text, ids and trained tokens.

    venv/bin/python benches/peers/chats.py CORPUSDB VOCAB.json MERGES.txt [--chats 200] [--seed 1]

Needs transformers and jinja2 (compared with 4.57.6 and 3.1.6), no torch. The tokenizer is GPT-2's with the special tokens of five well-known templates
(ChatML, Llama 3, Mistral, Zephyr, Gemma) and of one with `{% generation %}` marks. Random conversations, with
system prompts, reasoning, code, several scripts and blank edges, are rendered with `apply_chat_template`; the ids
are those of the fast tokenizer on that text. Trained are

* for the first five the tokens that begin between render(messages[:i], add_generation_prompt=True) and
  render(messages[:i + 1]), for every assistant message i;
* for the marked one what `return_assistant_tokens_mask=True` says.

Prints one line a template: conversations compared, and in how many text, ids or mask differ. Exit code 1 when any does.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

CHATML = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
LLAMA_3 = "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
MISTRAL = "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
ZEPHYR = "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"
GEMMA = "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"
MARKED = "{%- if tools %}\n{{- '<|im_start|>system\nTools:\n' }}\n{%- for tool in tools %}\n{{- tool | tojson + '\n' }}\n{%- endfor %}\n{{- '<|im_end|>\n' }}\n{%- endif %}\n{%- for message in messages %}\n    {%- if message.role == 'assistant' %}\n        {{- '<|im_start|>assistant\n' }}\n        {%- generation %}\n        {{- message.content.split('</think>')[-1].lstrip('\\n') + '<|im_end|>\n' }}\n        {%- endgeneration %}\n    {%- else %}\n        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
TEMPLATES = {"chatml": CHATML, "llama-3": LLAMA_3, "mistral": MISTRAL, "zephyr": ZEPHYR, "gemma": GEMMA, "marked": MARKED}
WITHOUT_SYSTEM = {"mistral", "gemma"}
SPECIALS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",
            "<|user|>", "<|system|>", "<|assistant|>", "<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]"]
PIECES = ["The sea is wide.", " Größe zählt", "海は広い", "def f(x):\n    return x\n", "\n\n", "  ", "1 + 1 = 2", "👩‍👩‍👧‍👦",
          "naïve café", "'tis don't", "<b>&amp;</b>", "مرحبا", "\t", "a", "e\u0301", "https://example.org/?a=b"]
TOOLS = [{"type": "function", "function": {"name": "größe", "parameters": {"b": [1, None, True, 0.5], "a": "<&'\">"}}}]


def tokenizer(vocabulary, merges):
    made = Tokenizer(models.BPE.from_file(vocabulary, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, normalized=False) for token in ["<|endoftext|>", *SPECIALS]])
    return made


def conversation(draw, with_system):
    def say():
        return "".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 9)))
    messages = [{"role": "system", "content": say()}] if with_system and draw.random() < 0.4 else []
    for _ in range(draw.randrange(1, 5)):
        messages.append({"role": "user", "content": say()})
        answer = say()
        if draw.random() < 0.3:
            answer = "<think>" + say() + "</think>\n\n" + answer
        messages.append({"role": "assistant", "content": answer})
    return messages


def expected(fast, name, messages, tools):
    def render(some, prompt):
        return fast.apply_chat_template(some, tools=tools, tokenize=False, add_generation_prompt=prompt)
    text = render(messages, False)
    encoded = fast(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = encoded["input_ids"]
    if name == "marked":
        told = fast.apply_chat_template(messages, tools=tools, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
        return text, told["input_ids"], told["assistant_masks"]
    spans = []
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            asked, answered = render(messages[:at], True), render(messages[:at + 1], False)
            assert answered.startswith(asked) and text.startswith(answered)
            spans.append((len(asked), len(answered)))
    mask = [int(any(start <= begin < end for start, end in spans)) for begin, _ in encoded["offset_mapping"]]
    return text, ids, mask


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpusdb")
    parser.add_argument("vocabulary")
    parser.add_argument("merges")
    parser.add_argument("--chats", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    made = tokenizer(options.vocabulary, options.merges)
    worst = 0
    for name, template in TEMPLATES.items():
        with tempfile.TemporaryDirectory() as folder:
            worst |= compare(options, made, name, template, pathlib.Path(folder))
    return worst


def compare(options, made, name, template, folder):
    made.save(str(folder / "tokenizer.json"))
    config = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    fast = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", chat_template=template)
    draw = random.Random(options.seed)
    chats = []
    for number in range(options.chats):
        chat = {"id": str(number), "messages": conversation(draw, name not in WITHOUT_SYSTEM)}
        if name == "marked" and draw.random() < 0.3:
            chat["tools"] = TOOLS
        chats.append(chat)
    (folder / "chats.jsonl").write_text("".join(json.dumps(chat, ensure_ascii=False) + "\n" for chat in chats))

    def run(*arguments):
        return subprocess.run([options.corpusdb, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    corpus = folder / "corpus"
    run("init", corpus, "--mode", "none")
    run("tokenizer", "add", corpus, "own", folder / "tokenizer.json")
    report = json.loads(run("ingest", corpus, folder / "chats.jsonl", "--source", "chats", "--id-field", "id", "--chat", "messages",
                            "--chat-template", folder, "--json"))
    assert report["added"] == len(chats), report
    texts = ids = masks = trained = 0
    for number, chat in enumerate(chats):
        text, wanted, mask = expected(fast, name, chat["messages"], chat.get("tools"))
        shown = json.loads(run("show", corpus, number, "--json"))
        tokens = json.loads(run("show", corpus, number, "--tokens", "--json"))["tokens"]
        texts += shown["text"] != text
        ids += [token["id"] for token in tokens] != wanted
        masks += [int(token["trained"]) for token in tokens] != mask
        trained += sum(mask)
    run("check", corpus, "--deep")
    print(f"{name}: {len(chats)} conversations, {trained} trained tokens; differ: {texts} texts, {ids} ids, {masks} masks")
    return int(texts + ids + masks > 0)


if __name__ == "__main__":
    sys.exit(main())
