"""The kinds of edits that copies of a document have on the web, each a function of a text, of another one, and of a draw."""

import html
import random
import re
import textwrap
import unicodedata

HOMOGLYPHS = str.maketrans("aceopxyACEHOPTX", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0410\u0421\u0415\u041d\u041e\u0420\u0422\u0425")
HEADER = "Home | About | Contact | Sign in\nYou are here: Home > Archive\n\n"
FOOTER = "\n\nShare this page. All rights reserved. Privacy policy. Terms of use. Back to top."


def _words(change):
    """An edit of the words that stand between spaces."""
    return lambda draw, text, other: " ".join(change(draw, text.split(" ")))


def _dropped(share):
    return _words(lambda draw, words: [word for word in words if draw.random() >= share])


def _inserted(share):
    return _words(lambda draw, words: [part for word in words for part in ([word, f"new{draw.randrange(99)}"] if draw.random() < share else [word])])


def _replaced(share):
    return _words(lambda draw, words: [f"other{draw.randrange(99)}" if draw.random() < share else word for word in words])


def _swapped(draw, text, other):
    """Two neighbouring sentences change places."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    at = draw.randrange(max(1, len(parts) - 1))
    parts[at:at + 2] = reversed(parts[at:at + 2])
    return " ".join(parts)


def _digits(draw, text, other):
    return re.sub(r"\d", lambda _: str(draw.randrange(10)), text)


def _linked(draw, text, other):
    return re.sub(r"https?://\S+", lambda _: f"https://mirror.example/{draw.randrange(999)}", text) + f"\nhttps://mirror.example/?ref={draw.randrange(999)}"


def _numbered(draw, text, other):
    return "\n".join(f"{number:4}  {line}" for number, line in enumerate(text.splitlines(), 1))


def _marked_up(draw, text, other):
    return "".join(f"<p>{html.escape(line)}</p>\n" for line in text.splitlines())


def _half(draw, text, other):
    return text[: len(text) // 2]


KINDS = {
    "equal bytes": lambda draw, text, other: text,
    "upper case": lambda draw, text, other: text.upper(),
    "white space": lambda draw, text, other: text.replace(" ", "  ") + "\n",
    "lines wrapped": lambda draw, text, other: "\r\n".join(textwrap.wrap(text, 60)) or text,
    "no punctuation": lambda draw, text, other: re.sub(r"[.,;:!?'\"()]", "", text),
    "decomposed": lambda draw, text, other: unicodedata.normalize("NFKD", text) + "\u0301",
    "homoglyphs": lambda draw, text, other: text[: len(text) // 20].translate(HOMOGLYPHS) + text[len(text) // 20:],
    "entities": lambda draw, text, other: html.escape(text).replace("\u2014", "&mdash;"),
    "markup": _marked_up,
    "head cut": lambda draw, text, other: text[len(text) // 20:],
    "tail cut": lambda draw, text, other: text[: len(text) - len(text) // 10],
    "half": _half,
    "header and footer": lambda draw, text, other: HEADER + text + FOOTER,
    "sentences swapped": _swapped,
    "lines numbered": _numbered,
    "2 % dropped": _dropped(0.02),
    "8 % dropped": _dropped(0.08),
    "2 % inserted": _inserted(0.02),
    "8 % inserted": _inserted(0.08),
    "1 % replaced": _replaced(0.01),
    "5 % replaced": _replaced(0.05),
    "two in one": lambda draw, text, other: text + "\n\n" + other,
    "twice": lambda draw, text, other: text + "\n" + text,
    "digits and links": lambda draw, text, other: _linked(draw, _digits(draw, text, other), other),
}


def edited(draw: random.Random, kind: str, text: str, other: str) -> str:
    """A text with an edit of a kind."""
    return KINDS[kind](draw, text, other)
