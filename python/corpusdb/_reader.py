"""A base of what one reads a corpus by: asked for a name that only a writer has, it says how to open one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

__all__ = ["Readable"]


class Readable:
    """What reads a corpus. Its subclass `Writer...`, which also writes, adds names."""

    #: The names that the subclass for writers adds.
    _of_writers: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__name__.startswith("Writer"):
            return
        added = frozenset(name for name in vars(cls) if not name.startswith("_"))
        for reader in cls.__bases__:
            if issubclass(reader, Readable):
                reader._of_writers = added - frozenset(dir(reader))

    # A checker of types would take every name for known.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            if name in kind._of_writers and not kind.__name__.startswith("Writer"):
                way_out = 'only a writer has it: open the corpus with corpusdb.open(path, mode="w")'
                raise AttributeError(f"{kind.__name__}.{name}: {way_out}", name=name, obj=self)
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=self)
