"""HTML for notebooks: words to the left, wrapped; numbers to the right; text from outside escaped.

All of it works without its style and drawings, which some viewers take away: numbers stand beside each drawing. No
element has a `style` attribute, and nothing runs.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from corpusdb._native import notebook_style, one_line

__all__ = ["Amount", "Drawing", "folded", "line", "note", "paragraph", "shown", "strip", "table", "text"]

#: Colours of sources; further sources begin again with the first. The last one is grey.
_COLOURS = 8

#: Characters of a text from which on its column has room for several words.
_LONG = 40


class Amount(str):
    """A number as it is to be written: it stands to the right."""


class Drawing(str):
    """HTML for a cell of a table, which is not escaped."""


def shown(content: str) -> str:
    """What a cell of a notebook shows: `content` with the style, which touches nothing else of the page."""
    return f'<div class="corpusdb"><style>\n{notebook_style()}</style>{content}</div>'


def line(words: str) -> str:
    """A text on one line."""
    return html.escape(one_line(words))


def text(words: str) -> str:
    """A text of several lines."""
    lines = words.replace("\r\n", "\n").split("\n")
    return f'<pre tabindex="0">{chr(10).join(chr(9).join(map(line, one.split(chr(9)))) for one in lines)}</pre>'


def paragraph(content: str) -> str:
    """A paragraph of HTML; none for nothing."""
    return f"<p>{content}</p>" if content else ""


def note(words: str) -> str:
    """A paragraph of words beside the matter; none for nothing."""
    return f'<p class="note">{line(words)}</p>' if words else ""


def folded(name: str, count: str, content: str, *, is_open: bool = False) -> str:
    """HTML that opens on demand, or closes."""
    head = line(f"{name} {count}".strip())
    return f"<details{' open' if is_open else ''}><summary>{head}</summary>{content}</details>"


def strip(share: float, at: int = 0, *, of: float = 1.0) -> Drawing:
    """A strip `of` which `share` has the colour of the source at place `at`, and the rest is grey."""
    part, whole = (100 * min(max(value, 0.0), 1.0) for value in (share, of))
    return Drawing(
        '<svg class="strip" width="144" height="12" aria-hidden="true">'
        f'<rect class="rest" x="{part:.2f}%" width="{max(whole - part, 0):.2f}%" height="100%"></rect>'
        f'<rect class="t{at % _COLOURS}" width="{part:.2f}%" height="100%"></rect></svg>'
    )


def table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], *, names: int = 0, thousands: bool = False,
    plain: Sequence[bool] = (), kinds: Sequence[str] = (),
) -> str:
    """A table. The first `names` cells of a row name it; `thousands` separates these in whole numbers, but not in the
    columns that are `plain`. `kinds` stand below the heads.
    """
    made = [list(row) for row in rows]
    # Without heads, a column has values of all kinds.
    numeric = [bool(head) and any(map(_is_number, column)) for column in zip(*made, strict=True)] or [False] * len(head)
    long = [any(map(_is_long, column)) for column in zip(*made, strict=True)] or [False] * len(head)
    classes = [
        "" if is_number else f' class="text{" long" if is_long else ""}"'
        for is_number, is_long in zip(numeric, long, strict=True)
    ]
    body = ""
    for row in made:
        body += "<tr>"
        for at, value in enumerate(row):
            tag = 'th scope="row"' if at < names else "td"
            words = _words(value, thousands and not (at < len(plain) and plain[at]))
            body += f"<{tag}{'' if isinstance(value, Drawing) else classes[at]}>{words}</{tag[:2]}>"
        body += "</tr>"
    top = ""
    for at, name in enumerate(head):
        kind = f"<small>{line(kinds[at])}</small>" if at < len(kinds) else ""
        top += f'<th scope="col"{classes[at]}>{line(name)}{kind}</th>' if name else "<td></td>"
    head_row = f"<thead><tr>{top}</tr></thead>" if head else ""
    return f'<div class="wide" tabindex="0"><table>{head_row}<tbody>{body}</tbody></table></div>'


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Amount) and not isinstance(value, bool)


def _is_long(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Drawing) and len(value) > _LONG


def _words(value: object, thousands: bool) -> str:
    if isinstance(value, Drawing):
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if thousands and is_whole else line(str(value))
