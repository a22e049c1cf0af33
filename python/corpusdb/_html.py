"""HTML for notebooks: words to the left, wrapped; numbers to the right; text from outside escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from corpusdb._native import one_line

__all__ = ["folded", "line", "paragraph", "table", "text"]

_WORDS = "text-align:left;vertical-align:top;overflow-wrap:anywhere;min-width:8em;max-width:30em"
_NUMBER = "text-align:right;vertical-align:top"


def line(words: str) -> str:
    """A text on one line."""
    return html.escape(one_line(words))


def text(words: str) -> str:
    """A text of several lines."""
    lines = words.replace("\r\n", "\n").split("\n")
    shown = "\n".join("\t".join(map(line, one.split("\t"))) for one in lines)
    return f"<pre style='white-space:pre-wrap;overflow-wrap:anywhere'>{shown}</pre>"


def paragraph(content: str) -> str:
    """A paragraph of HTML; none for nothing."""
    return f"<p style='overflow-wrap:anywhere'>{content}</p>" if content else ""


def folded(name: str, count: str, content: str) -> str:
    """HTML that opens on demand."""
    return f"<details><summary>{line(name)} {line(count)}</summary><div style='overflow-x:auto'>{content}</div></details>"


def table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], *, names: int = 0, thousands: bool = False
) -> str:
    """A table. The first `names` cells of a row name it; `thousands` separates these in whole numbers."""
    made = [list(row) for row in rows]
    numeric = [any(map(_is_number, column)) for column in zip(*made, strict=True)] or [False] * len(head)
    styles = [_NUMBER if is_number else _WORDS for is_number in numeric]
    body = ""
    for row in made:
        cells = zip(styles, row, strict=True)
        shown = ((style, _shown(value, thousands)) for style, value in cells)
        body += "<tr>" + "".join(_cell("th" if at < names else "td", *cell) for at, cell in enumerate(shown)) + "</tr>"
    top = "".join(_cell("th", style, name) for style, name in zip(styles, head, strict=False))
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object, thousands: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if thousands and _is_number(value) else str(value)


def _cell(tag: str, style: str, words: str) -> str:
    return f"<{tag} style='{style}'>{line(words)}</{tag}>"
