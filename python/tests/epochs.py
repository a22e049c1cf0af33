"""Small corpora with plans of every kind, for tests of plans and loaders."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpusdb
from corpusdb import _native
from corpusdb._plan import Plan, Planning

#: Packed rows of two sources in batches that 8, 5 and 3 ranks divide, for four epochs.
PACKED = """
version = 1
seed = 7
[tokenizer]
specials = { eos = "<|endoftext|>", pad = "<|endoftext|>" }
[[source]]
name = "logs"
weight = 2
max_repeats = 8
[[source]]
name = "tales"
weight = 1
max_repeats = 8
[mix]
tokens = 60000
[pack]
length = 32
[batch]
rows = 120
"""

#: The same documents cut end to end, without a pad token: the last row of a pass is shorter.
CUT = """
version = 1
[tokenizer]
specials = { eos = "<|endoftext|>" }
[pack]
kind = "concat"
length = 48
[batch]
rows = 30
"""

#: A row is a document; batches of a token budget go to ranks whole.
DEALT = """
version = 1
seed = 3
[tokenizer]
specials = { eos = "<|endoftext|>", pad = "<|endoftext|>" }
[pack]
kind = "none"
length = 64
[batch]
max_tokens = 300
[output]
format = "parquet"
"""

#: Conversations, of which only the answers are trained on.
CHATS = {
    "version": 1,
    "tokenizer": {"name": "own"},
    "pack": {"length": 160, "options": {"long": "drop"}},
    "batch": {"rows": 4},
    "output": {"format": "arrow", "columns": ["labels", "position_ids"]},
}

TEMPLATE = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


class Opened(Planning):
    """A corpus as far as plans need it."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self._handle = _native.Handle(path, write=write, memory=64 << 20)
        self._mode = "w" if write else "r"
        self._path = str(path)

    def close(self) -> None:
        self._handle.close()

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run(*arguments: object) -> str:
    done = subprocess.run([sys.executable, "-m", "corpusdb", *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout


def written(path: Path, records: Iterator[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


WORDS = "ship light tide harbour gull rope lantern storm mate deck sail anchor crew north fog bell".split()


def words(number: int) -> str:
    """Some words, different ones for each number."""
    count = 3 + number * 7 % 29
    return " ".join(WORDS[(number * (at + 3) + at * at) % len(WORDS)] for at in range(count)) + f" {number}."


def texts(directory: Path) -> Path:
    """A corpus of two sources with a tokenizer of its own."""
    path = directory / "corpus"
    run("init", path, "--mode", "exact")
    for source, numbers in (("logs", range(2000)), ("tales", range(5000, 6000))):
        file = written(directory / f"{source}.jsonl", ({"id": f"{source}-{n}", "text": words(n)} for n in numbers))
        run("ingest", path, file, "--source", source, "--id-field", "id")
    run("tokenizer", "train", path, "own", "--vocab-size", "400", "--special", "<|endoftext|>")
    return path


def chats(directory: Path) -> Path:
    """A corpus of conversations."""
    path = directory / "chats"
    template = directory / "chatml.jinja"
    template.write_text(TEMPLATE, encoding="utf-8")
    file = written(
        directory / "chats.jsonl",
        (
            {
                "id": f"c{n}",
                "messages": [
                    {"role": "user", "content": words(n)},
                    {"role": "assistant", "content": words(n + 77)},
                ],
            }
            for n in range(200)
        ),
    )
    run("init", path, "--mode", "exact")
    named = ("--source", "chats", "--id-field", "id")
    run("ingest", path, file, *named, "--chat", "messages", "--chat-template", template)
    special = ("--special", "<|im_start|>", "--special", "<|im_end|>")
    run("tokenizer", "train", path, "own", "--vocab-size", "400", *special)
    return path


def planned(path: Path, recipe: Any) -> Plan:
    """The stored plan of a recipe, of a corpus opened for reading."""
    with Opened(path, write=True) as writer:
        number = writer.plan(recipe).number
    assert number is not None
    return Opened(path, write=False).plan(number)


__all__ = ["CHATS", "CUT", "DEALT", "PACKED", "Opened", "chats", "corpusdb", "planned", "run", "texts", "words"]
