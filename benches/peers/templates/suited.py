"""Conversations in the form that a template knows, which is asked of transformers.

A template for pictures may take contents in parts alone, one for texts may drop parts or write them as Python's
source of a list, and many know no tools. Nobody would give these what they drop; corpusdb refuses such records by
name.
"""

from typing import Any

from judge import rendered
from chats import TOOLS

PROBE = "a text to look for"


def suited(source: str, records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The conversations, and how they were changed."""
    changes = []
    takes_texts, takes_parts = takes(source, user(PROBE)), takes(source, user(in_parts(PROBE)))
    if takes_parts and not takes_texts:
        records = [with_contents(record, in_parts) for record in records]
        changes.append("contents in parts alone")
    elif takes_texts and not takes_parts:
        records = [with_contents(record, as_text) for record in records]
        changes.append("contents as texts alone")
    if not takes_tools(source):
        records = [without_tools(record) for record in records]
        changes.append("no tools")
    return records, ", ".join(changes)


def user(content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}]}


def takes(source: str, record: dict[str, Any]) -> bool:
    """Whether the template writes what is asked for, and not as Python's source. Its own refusal is its answer."""
    made = rendered(source, record)
    return made is None or (PROBE in made[0] and f"'{PROBE}'" not in made[0])


def takes_tools(source: str) -> bool:
    call = {"name": "tide", "arguments": {"port": PROBE}}
    calls = [{"id": "call00000", "type": "function", "function": call}]
    asked: list[dict[str, Any]] = [{"role": "user", "content": "so"}]
    called = [*asked, {"role": "assistant", "content": "", "tool_calls": calls}]
    result = {"role": "tool", "name": "tide", "tool_call_id": "call00000"}

    def writes(messages: list[dict[str, Any]]) -> bool:
        made = rendered(source, {"messages": messages, "tools": TOOLS})
        return made is None or PROBE in made[0]

    answer = {"role": "assistant", "content": "so"}
    of_call = [*called, {**result, "content": "so"}, answer]
    of_result = [*called, {**result, "content": PROBE}, answer]
    of_result[1] = {**called[1], "tool_calls": [{**calls[0], "function": {**call, "arguments": {"port": "so"}}}]}
    return writes(of_call) and writes(of_result)


def without_tools(record: dict[str, Any]) -> dict[str, Any]:
    messages = [one for one in record["messages"] if one["role"] != "tool" and "tool_calls" not in one]
    return {"id": record["id"], "messages": messages}


def with_contents(record: dict[str, Any], change: Any) -> dict[str, Any]:
    messages = [one | ({"content": change(one["content"])} if "content" in one else {}) for one in record["messages"]]
    return record | {"messages": messages}


def in_parts(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def as_text(content: Any) -> Any:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
