"""Conversations by a seed."""

import random
from typing import Any

WORDS = [
    "the tide", "is high", "at noon", "Brest", "<b>bold</b>", "a | b", "naïve", "1 + 1", "[x]", "so", "\n\n",
    "def f():\n    return 1",
]  # fmt: skip
PORT = {"type": "object", "properties": {"port": {"type": "string", "description": "Which"}}, "required": ["port"]}
TOOLS = [{"type": "function", "function": {"name": "tide", "description": "The tide.", "parameters": PORT}}]


def conversations(count: int, seed: int, longest: int = 4) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [conversation(draw, number, longest) for number in range(count)]


def conversation(draw: random.Random, number: int, longest: int) -> dict[str, Any]:
    def say() -> str:
        words = " ".join(draw.choice(WORDS) for _ in range(draw.randrange(2, 7)))
        return f"{words.strip()} {draw.randrange(1000, 9999)}"

    messages: list[dict[str, Any]] = [{"role": "system", "content": say()}] if draw.random() < 0.4 else []
    has_tools, in_parts = draw.random() < 0.33, draw.random() < 0.1
    for _ in range(draw.randrange(1, longest + 1)):
        asked = say()
        messages.append({"role": "user", "content": [{"type": "text", "text": asked}] if in_parts else asked})
        thought = {"reasoning_content": say()} if draw.random() < 0.2 else {}
        if has_tools and draw.random() < 0.7:
            call = {"name": "tide", "arguments": {"port": "Brest", "days": draw.randrange(9)}}
            # Nine letters and digits, as Mistral's templates ask for.
            name = f"call{draw.randrange(99999):05}"
            calls = [{"id": name, "type": "function", "function": call}]
            # Beside calls data has an empty content, or none.
            content = {"content": ""} if draw.random() < 0.5 else {}
            messages.append({"role": "assistant", **content, **thought, "tool_calls": calls})
            messages.append({"role": "tool", "name": "tide", "tool_call_id": name, "content": say()})
            thought = {}
        messages.append({"role": "assistant", "content": say(), **thought})
    return {"id": str(number), "messages": messages} | ({"tools": TOOLS} if has_tools else {})
