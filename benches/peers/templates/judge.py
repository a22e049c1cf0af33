"""What transformers makes of a conversation: its text, and the bytes of its mask."""

import json
import re
from datetime import datetime
from typing import Any

from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import render_jinja_template

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
DAY = "2024-07-26"
MARK = re.compile(r"\{%-?\s*generation\s*-?%\}")
Spans = list[tuple[int, int]]


class Day(datetime):
    """The clock stands, as corpusdb's does."""

    @classmethod
    def now(cls, tz: Any = None) -> "Day":
        return cls.fromisoformat(DAY)


chat_template_utils.datetime = Day  # type: ignore[attr-defined]


def rendered(source: str, record: dict[str, Any]) -> tuple[str, Spans] | None:
    """None where it refuses."""
    messages = json.loads(json.dumps(record["messages"]))
    is_marked = bool(MARK.search(source))
    try:
        texts, marks = render_jinja_template(
            conversations=[messages],
            tools=record.get("tools"),
            chat_template=source,
            return_assistant_tokens_mask=is_marked,
            date=DAY,
            **TOKENS,
        )
    except Exception:  # whatever a template raises
        return None
    text = texts[0]
    at = [len(text[:place].encode()) for span in (marks[0] if marks else []) for place in span]
    return text, joined(list(zip(at[::2], at[1::2], strict=True)))


def joined(spans: Spans) -> Spans:
    """Spans that touch are one."""
    out: Spans = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        elif start < end:
            out.append((start, end))
    return out
