"""Reports: what the command prints with `--json`, as objects with attributes."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from corpusdb._native import one_line

__all__ = ["Report", "by_name"]

#: Fields that are maps by names of users (tokenizers, fields, suites, columns): whatever the names are, these stay dicts.
_BY_NAME = frozenset({
    "decisions", "fields", "metadata", "misfits", "partition", "passed", "refused", "special_tokens_in_text", "tokens",
    "weights",
})
#: How wide a report is that is shown on one line, and what is shown of a long one: lines, and columns of each.
_ONE_LINE, _LINES, _WIDTH = 100, 40, 120


def by_name(value: Any) -> Any:
    """A map by names of users, with everything in it, as it is."""
    return value


class Report:
    """The fields of a report as attributes; nested ones are reports too, and maps by names of yours are dictionaries.

    `to_dict()` gives them as plain values.
    """

    #: The classes of nested reports, by field; others are plain `Report`, and `by_name` leaves a map as it is.
    _classes: ClassVar[Mapping[str, Any]] = {}
    #: What fields are that the library leaves out when there is nothing to say.
    _absent: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, fields: Mapping[str, Any]) -> None:
        absent = {name: value for name, value in self._absent.items() if name not in fields}
        for name, value in {**fields, **absent}.items():
            if name != "type":
                is_map = name in _BY_NAME and isinstance(value, dict)
                setattr(self, name, value if is_map else _made(value, self._classes.get(name, Report)))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A report of JSON text."""
        return cls(json.loads(text))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {name: _plain(value) for name, value in vars(self).items()}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def _summary(self) -> str:
        """All fields on one line, long ones cut."""
        return f"{type(self).__name__}({', '.join(f'{name}={_short(value)}' for name, value in vars(self).items())})"

    def __repr__(self) -> str:
        line = self._summary()
        if len(line) <= _ONE_LINE or not vars(self):
            return line
        column = min(max(map(len, vars(self))), 24)
        lines = [f"{name:<{column}}  {_short(value)}" for name, value in vars(self).items()]
        if len(lines) > _LINES:
            left = len(lines) - _LINES + 1
            lines = [*lines[: _LINES - 1], f"… {left} more fields: to_dict() has all"]
        cut = [line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in lines]
        kind = type(self).__name__
        return "\n  ".join([kind, *cut]) + f"\nhelp(corpusdb.{kind}) says what each is; to_dict() gives plain values"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name.replace('_', ' '))}</th>"
            f"<td style='text-align:left'>{html.escape(_cell(value))}</td></tr>"
            for name, value in vars(self).items()
        )
        return f"<table>{rows}</table>"


def _made(value: Any, kind: Any) -> Any:
    if kind is by_name:
        return value
    if isinstance(value, dict):
        # What is no name of an attribute is a name of a user's.
        return kind(value) if all(name.isidentifier() for name in value) else dict(value)
    if isinstance(value, list):
        return [_made(item, kind) for item in value]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Report):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, Report):
        return value._summary()
    if isinstance(value, list):
        shown = ", ".join(_short(item) for item in value[: 3 if len(value) == 3 else 2])
        more = len(value) - (3 if len(value) == 3 else 2)
        return f"[{shown}, ... {more} more]" if more > 0 else f"[{shown}]"
    text = repr(value)
    return one_line(text if len(text) <= 100 else text[:99] + "…")


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return value if isinstance(value, str) else _short(value)
