"""The base of all reports: the command's `--json` output as objects with attributes."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from corpusdb import _html
from corpusdb._native import one_line
from corpusdb.errors import CorpusError

__all__ = ["Report", "html_of_all", "json_lines", "table_of"]

#: A report up to `_ONE_LINE` characters is shown on one line; a longer one on up to `_LINES` lines of `_WIDTH` columns.
_ONE_LINE, _LINES, _WIDTH = 100, 40, 120
#: Rows of a list of reports that a notebook shows, at most.
_ROWS = 10
#: Columns of such a list, at most; where it has more, a report in a report stands in short.
_COLUMNS = 16

#: Lists of reports that answer what was asked: a notebook shows them at once, and others on demand.
_MATTER = frozenset(
    "checks faults findings found groups largest losses lost outputs rejects rules sources suites".split()
)
#: Verdicts, of which False says something. Elsewhere False says that there is nothing.
_VERDICTS = frozenset("certain clean complete confirmed good held is_complete measured passed".split())

#: Makes the value of a field from its JSON value.
_Maker = Callable[[Any], Any]


def json_lines(text: str) -> list[str]:
    """The lines of a text of JSON lines: `splitlines` would end one at U+2028 in a value, too."""
    return [line for line in text.split("\n") if line]


class Report:
    """A report: its fields are attributes. Nested objects are reports, too; maps from data names are dictionaries.

    `to_dict()` gives all fields as plain values.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        kinds = _kinds(type(self))
        for name, value in fields.items():
            kind = kinds.get(name)
            setattr(self, name, value if kind is None else kind[0](value))
        for name, (_, empty) in kinds.items():
            if name not in fields:
                # The library leaves out empty fields.
                setattr(self, name, empty())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Makes a report from JSON text: an object whose `type` names the report."""
        fields = json.loads(text)
        if "type" not in _kinds(cls):
            fields.pop("type", None)
        return cls(fields)

    @classmethod
    def each(cls, lines: str) -> list[Self]:
        """Makes a report from each line of JSON."""
        return [cls.from_json(line) for line in json_lines(lines)]

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {name: _plain(value) for name, value in vars(self).items()}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def _summary(self) -> str:
        """The fields on one line, with long values cut."""
        fields = ", ".join(f"{name}={_short(value)}" for name, value in self._telling().items())
        return f"{type(self).__name__}({fields})"

    def _telling(self) -> dict[str, Any]:
        """The fields that are not 0, None, False or empty, and verdicts; all, if there are none."""
        telling = {name: value for name, value in vars(self).items() if _tells(name, value)}
        return telling or dict(vars(self))

    def __repr__(self) -> str:
        line, telling = self._summary(), self._telling()
        if len(line) <= _ONE_LINE or not telling:
            return line
        column = min(max(map(len, telling)), 24)
        lines = [f"{name:<{column}}  {_short(value)}" for name, value in telling.items()]
        if len(lines) > _LINES:
            left = len(lines) - _LINES + 1
            lines = [*lines[: _LINES - 1], f"… {left} more fields: to_dict() has all"]
        cut = [line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in lines]
        kind = type(self).__name__
        help_line = f"help(corpusdb.reports.{kind}) describes the fields; to_dict() gives plain values"
        return "\n  ".join([kind, *cut]) + f"\n{help_line}"

    def _repr_html_(self) -> str:
        return _html.shown(self._inner_html())

    def _inner_html(self) -> str:
        """What a notebook shows, without its style."""
        telling = self._telling()
        plain = {name: value for name, value in telling.items() if not _is_nested(value)}
        nested = {name: value for name, value in telling.items() if _is_nested(value)}
        rows = [(name.replace("_", " "), _cell(value)) for name, value in plain.items()]
        folded = [
            _html.folded(name.replace("_", " "), *_nested_html(nested[name]), is_open=name in _MATTER)
            for name in sorted(nested, key=lambda name: name not in _MATTER)
        ]
        left = [name.replace("_", " ") for name in vars(self) if name not in telling]
        none = _html.folded("0, None, False or empty", f"{len(left):,}", _html.line(", ".join(left))) if left else ""
        return (_html.table([], rows, names=1) if rows else "") + "".join(folded) + none


#: Cache of `_kinds`, by class.
_KINDS: dict[type, dict[str, tuple[_Maker, Callable[[], Any]]]] = {}


def _kinds(kind: type) -> dict[str, tuple[_Maker, Callable[[], Any]]]:
    """For each field, by its annotation: the function that makes its value, and the one for an absent value."""
    found = _KINDS.get(kind)
    if found is None:
        hints = {name: hint for name, hint in get_type_hints(kind).items() if get_origin(hint) is not ClassVar}
        found = _KINDS[kind] = {name: (_maker(hint), _empty(hint)) for name, hint in hints.items()}
    return found


def _as_it_is(value: Any) -> Any:
    return value


def _maker(hint: Any) -> _Maker:
    """The function that makes a value of a type; `_as_it_is` for types without reports."""
    origin, parts = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Report):
        return lambda value: hint(value) if isinstance(value, dict) else value
    if origin is list:
        one = _maker(parts[0])
        return _as_it_is if one is _as_it_is else lambda value: [one(item) for item in value]
    if origin is tuple:
        each = [_maker(part) for part in parts]
        return lambda value: tuple(one(item) for one, item in zip(each, value, strict=True))
    if origin is dict:
        of_one = _maker(parts[1])
        return _as_it_is if of_one is _as_it_is else lambda value: {key: of_one(item) for key, item in value.items()}
    if origin in (Union, types.UnionType):
        return _maker_of_union(parts)
    return _as_it_is


def _maker_of_union(parts: tuple[Any, ...]) -> _Maker:
    reports = [part for part in parts if isinstance(part, type) and issubclass(part, Report)]
    others = [one for one in map(_maker, (part for part in parts if part not in reports)) if one is not _as_it_is]
    if not reports and not others:
        return _as_it_is

    def make(value: Any) -> Any:
        if isinstance(value, dict) and reports:
            return max(reports, key=lambda kind: _fit(kind, value))(value)
        return others[0](value) if others and isinstance(value, list) else value

    return make


def _fit(kind: type[Report], value: Mapping[str, Any]) -> tuple[int, int]:
    """How well an object fits a class: first by its `Literal` fields, then by the names of all fields."""
    words = [
        (name, get_args(hint)) for name, hint in get_type_hints(kind).items() if get_origin(hint) is Literal
    ]
    right = sum(1 if value.get(name) in allowed else -1 for name, allowed in words)
    return right, -len(set(_kinds(kind)) ^ set(value))


def _empty(hint: Any) -> Callable[[], Any]:
    kind = get_origin(hint) or hint
    if kind in (list, dict, int, bool):
        made: Callable[[], Any] = kind
        return made
    return lambda: None


def _tells(name: str, value: Any) -> bool:
    """Whether the value of a field is not 0, None, False or empty, or is a verdict."""
    is_nothing = value is None or (isinstance(value, (int, float, str, list, dict)) and not value)
    return not is_nothing or (value is False and name in _VERDICTS)


def _shown_value(value: Any) -> Any:
    """A value as a table of a notebook has it: numbers and texts as they are, all else in short."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else _short(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Report):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
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


def _is_nested(value: Any) -> bool:
    return isinstance(value, Report) or (isinstance(value, list) and any(isinstance(item, Report) for item in value))


def _nested_html(value: Any) -> tuple[str, str]:
    """The length of a list, in words, and its HTML."""
    if isinstance(value, Report):
        return "", value._inner_html()
    note = f"the first {_ROWS}" if len(value) > _ROWS else ""
    return f"{len(value):,}", table_of(value, value[:_ROWS]) + _html.note(note)


def table_of(things: Sequence[object], shown: Sequence[object], *, names: int = 0) -> str:
    """`shown` of some things as a table of the fields that any of them has; the first `names` name a thing."""
    for of in (_flat, vars):
        told = [of(thing) for thing in things]
        known = dict.fromkeys(name for one in told for name in one)
        fields = [name for name in known if any(_tells(name, one.get(name)) for one in told)]
        if len(fields) <= _COLUMNS:
            break
    rows = [[_shown_value(one.get(name)) for name in fields] for one in map(of, shown)]
    return _html.table([name.replace("_", " ") for name in fields], rows, names=names, thousands=True)


def html_of_all(owner: object, read: Callable[[], Sequence[object]], what: str, next_calls: str) -> str:
    """All things of `owner` as a notebook shows them, and what to call next; of a closed corpus what `repr` says."""
    try:
        things = read()
    except CorpusError:
        return _html.shown(_html.paragraph(_html.line(repr(owner))))
    told = table_of(things, things, names=1) if things else _html.paragraph(_html.line(f"no {what}"))
    return _html.shown(told + _html.note(next_calls))


def _flat(thing: object) -> dict[str, Any]:
    """The fields of a thing, with those of reports and dictionaries in it: their names stand behind its own."""
    told: dict[str, Any] = {}
    for name, value in vars(thing).items():
        inner = _flat(value) if isinstance(value, Report) else value if isinstance(value, dict) else None
        told |= {name: value} if inner is None else {f"{name} {key}": one for key, one in inner.items()}
    return told


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return value if isinstance(value, str) else _short(value)
