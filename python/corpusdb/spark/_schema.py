"""Schemas in the words of Spark: names of columns, and columns that have no values."""

from __future__ import annotations

__all__ = ["filled", "names"]


def names(schema: str) -> list[str]:
    """The columns of a schema, in order."""
    return [name for name, _ in _parts(schema)]


def filled(schema: str, **made: str) -> list[str]:
    """An expression for each column of a schema: what makes it, and NULL of its type where nothing does."""
    return [f"{made.get(name, f'CAST(NULL AS {kind})')} AS {name}" for name, kind in _parts(schema)]


def _parts(schema: str) -> list[tuple[str, str]]:
    parts = (part.split() for part in schema.split(", "))
    return [(name, kind) for name, kind in parts]
