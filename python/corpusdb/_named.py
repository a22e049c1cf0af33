"""What a corpus has several of, each with a name: gone through, counted, looked up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Generic, Protocol, TypeVar

from corpusdb import _native
from corpusdb.errors import NotFound

__all__ = ["Named"]


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


Thing = TypeVar("Thing", bound=_HasName)


class Named(Generic[Thing]):
    """Things of a corpus, in the order of `list`."""

    #: What one of them is called.
    _what: ClassVar[str]

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def __iter__(self) -> Iterator[Thing]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())

    def __getitem__(self, name: str) -> Thing:
        things = self.list()
        for thing in things:
            if thing.name == name:
                return thing
        known = ", ".join(thing.name for thing in things)
        raise NotFound(f"no {self._what} `{name}`: there is {known or 'none'}")

    def __repr__(self) -> str:
        return repr(self.list())

    def list(self) -> list[Thing]:
        """All of them."""
        raise NotImplementedError
