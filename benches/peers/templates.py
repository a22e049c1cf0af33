"""Texts of published chat templates as transformers writes them, against what corpusdb stores.

    venv/bin/python benches/peers/templates.py CORPUSDB DIR [--chats 40] [--seed 7]

Every `*.jinja` under DIR writes the same random conversations (one to four turns, a third with tools, a tenth with
contents in parts, a fifth with reasoning). The templates are those of others and not kept here; compared were

    https://github.com/huggingface/trl f2cd57710ae345ea6428ae95363267fcf38a3dc8 trl/chat_templates
    https://github.com/axolotl-ai-cloud/axolotl 067b021c8b87a9e5e380b9173c704cf7340e30f5 src/axolotl/utils/chat_templates

Needs transformers (compared with 5.24.0) and jinja2, no torch. Prints one line a template: conversations whose texts are
equal, refused by both, refused by one, or different; then why corpusdb alone refused some. Exit code 1 when a text
differs.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path

from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import render_jinja_template

WORDS = ["the tide", "is high", "at noon", "Brest", "<b>bold</b>", "a | b", "naïve", "1 + 1", "[x]", "so",
         "\n\n", "def f():\n    return 1"]
TOOLS = [{"type": "function", "function": {"name": "tide", "description": "The tide.", "parameters": {
    "type": "object", "properties": {"port": {"type": "string", "description": "Which"}}, "required": ["port"]}}}]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
DAY = "2024-07-26"


class Day(datetime):
    """The clock stands, as corpusdb's does."""

    @classmethod
    def now(cls, tz=None):
        return cls.fromisoformat(DAY)


chat_template_utils.datetime = Day


def conversation(draw, number):
    def say():
        words = " ".join(draw.choice(WORDS) for _ in range(draw.randrange(2, 7)))
        return f"{words.strip()} {draw.randrange(1000, 9999)}"

    messages = [{"role": "system", "content": say()}] if draw.random() < 0.4 else []
    has_tools, in_parts = draw.random() < 0.33, draw.random() < 0.1
    for _ in range(draw.randrange(1, 5)):
        asked = say()
        messages.append({"role": "user", "content": [{"type": "text", "text": asked}] if in_parts else asked})
        thought = {"reasoning_content": say()} if draw.random() < 0.2 else {}
        if has_tools and draw.random() < 0.7:
            call = {"name": "tide", "arguments": {"port": "Brest", "days": draw.randrange(9)}}
            name = f"call{draw.randrange(99999):05}"
            messages.append({"role": "assistant", "content": "", **thought,
                             "tool_calls": [{"id": name, "type": "function", "function": call}]})
            messages.append({"role": "tool", "name": "tide", "tool_call_id": name, "content": say()})
            thought = {}
        messages.append({"role": "assistant", "content": say(), **thought})
    return {"id": str(number), "messages": messages} | ({"tools": TOOLS} if has_tools else {})


def stored(corpusdb, template, records):
    """Texts by key, and the reasons of the records that were rejected."""
    with tempfile.TemporaryDirectory() as place:
        corpus, lines = f"{place}/corpus", Path(place, "in.jsonl")
        lines.write_text("".join(json.dumps(record) + "\n" for record in records))

        def run(*arguments):
            done = subprocess.run([corpusdb, *arguments], capture_output=True, text=True)
            return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

        run("init", corpus, "--mode", "none")
        values = [word for name, value in TOKENS.items() for word in ("--chat-set", f"{name}={value}")]
        run("ingest", corpus, str(lines), "--source", "s", "--id-field", "id", "--chat", "messages",
            "--chat-template", str(template), "--chat-date", DAY, *values)
        texts = run("export", corpus, "--to", "-", "--format", "jsonl", "--columns", "key,text")
        reasons = [reject["reason"] for reject in run("rejects", corpus, "--json")]
    return {text["key"]: text["text"] for text in texts}, reasons


def rendered(source, record):
    """The text of transformers; none where it refuses."""
    messages = json.loads(json.dumps(record["messages"]))
    try:
        return render_jinja_template(conversations=[messages], tools=record.get("tools"), chat_template=source,
                                     date=DAY, **TOKENS)[0][0]
    except Exception:  # whatever a template raises
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpusdb")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--chats", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    records = [conversation(draw, number) for number in range(arguments.chats)]
    total = Counter()
    for path in sorted(arguments.directory.rglob("*.jinja")):
        source = path.read_bytes().decode()
        texts, reasons = stored(arguments.corpusdb, path, records)
        counted = Counter()
        for record in records:
            ours, theirs = texts.get(record["id"]), rendered(source, record)
            counted[("equal" if ours == theirs else "different") if ours is not None and theirs is not None
                    else "refused by both" if ours is theirs
                    else "refused by corpusdb" if ours is None else "refused by transformers"] += 1
        total += counted
        print(path.relative_to(arguments.directory), dict(counted))
        if counted["refused by corpusdb"]:
            alike = Counter(re.sub(r"\d+|, from byte .*", "#", reason)[:160] for reason in reasons)
            for reason, count in alike.most_common(4):
                print(f"    {count} {reason}")
    print("all", dict(total))
    sys.exit(total["different"] > 0)


main()
