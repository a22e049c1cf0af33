"""Reports: what the command prints with `--json`, as objects with attributes."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

__all__ = ["Report"]


class Report:
    """The fields of a report as attributes; nested ones are reports too.

    `to_dict()` gives them as plain values.
    """

    #: The classes of nested reports, by field; others are plain `Report`.
    _classes: ClassVar[Mapping[str, type[Report]]] = {}
    #: What fields are that the library leaves out when there is nothing to say.
    _absent: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, fields: Mapping[str, Any]) -> None:
        absent = {name: value for name, value in self._absent.items() if name not in fields}
        for name, value in {**fields, **absent}.items():
            if name != "type":
                setattr(self, name, _made(value, self._classes.get(name, Report)))

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

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={_short(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({told})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name.replace('_', ' '))}</th>"
            f"<td style='text-align:left'>{html.escape(_cell(value))}</td></tr>"
            for name, value in vars(self).items()
        )
        return f"<table>{rows}</table>"


def _made(value: Any, kind: type[Report]) -> Any:
    if isinstance(value, dict):
        # Maps of names that users chose stay maps.
        return kind(value) if all(name.isidentifier() for name in value) and kind is not Names else dict(value)
    if isinstance(value, list):
        return [_made(item, kind) for item in value]
    return value


class Names(Report):
    """Stands for a map by names that users chose, which stays a plain dictionary."""


def _plain(value: Any) -> Any:
    if isinstance(value, Report):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 3:
        return f"[{', '.join(_short(item) for item in value[:2])}, ... {len(value) - 2} more]"
    if isinstance(value, str) and len(value) > 100:
        return repr(value[:99] + "…")
    return repr(value)


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return value if isinstance(value, str) else _short(value)
