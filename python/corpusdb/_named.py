"""A base class for named things of a corpus, such as fields and snapshots: iterate, count, look up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Generic, Protocol, TypeVar

from corpusdb import _native
from corpusdb._native import one_line, unknown_name
from corpusdb._reader import Readable
from corpusdb._report import html_of_all
from corpusdb.errors import CorpusError, NotFound

__all__ = ["Named"]


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


#: Things that `repr` shows, at most.
_SHOWN = 20

Thing = TypeVar("Thing", bound=_HasName)


class Named(Readable, Generic[Thing]):
    """Things of a corpus, in the order of their list."""

    #: The word for one thing, and what to call next.
    _what: ClassVar[str]
    _next: ClassVar[str]

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def __iter__(self) -> Iterator[Thing]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        """Whether one has the name."""
        return any(name in (thing.name, thing) for thing in self._all())

    def __getitem__(self, name: str) -> Thing:
        things = self._all()
        for thing in things:
            if thing.name == name:
                return thing
        raise NotFound(unknown_name(self._what, name, [thing.name for thing in things]))

    def __repr__(self) -> str:
        kind = f"corpusdb.{type(self).__name__}"
        try:
            things = self._all()
        except CorpusError as error:
            return f"<{kind}: {type(error).__name__.lower()}>"
        if not things:
            return f"<{kind}: none; {self._next}>"
        lines = [f"  {thing.name:<20}  {self._told(thing)}".rstrip() for thing in things[:_SHOWN]]
        if len(things) > _SHOWN:
            lines.append(f"  … {len(things) - _SHOWN:,} more")
        return "\n".join([f"<{kind}: {len(things):,}>", *map(one_line, lines), f"  {self._next}"])

    def _repr_html_(self) -> str:
        return html_of_all(self, self._all, self._what, self._next)

    def _told(self, thing: Thing) -> str:
        """The text that `repr` shows beside a thing's name."""
        return ""

    def _all(self) -> list[Thing]:
        """All of them."""
        raise NotImplementedError
