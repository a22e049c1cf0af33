"""Helpers for Spark schemas as text: column names, and expressions for columns without values."""

from __future__ import annotations

__all__ = ["filled", "names"]


def names(schema: str) -> list[str]:
    """The columns of a schema, in order."""
    return [name for name, _ in _parts(schema)]


def filled(schema: str, **made: str) -> list[str]:
    """An expression for each column of a schema: the given one, or NULL of its type."""
    return [f"{made.get(name, f'CAST(NULL AS {kind})')} AS {name}" for name, kind in _parts(schema)]


def _parts(schema: str) -> list[tuple[str, str]]:
    parts = (part.split() for part in schema.split(", "))
    return [(name, kind) for name, kind in parts]
