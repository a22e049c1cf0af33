"""Sizes as people write them: 64 MiB as a number or as "64MiB"."""

from __future__ import annotations

import re

__all__ = ["size", "optional_size"]

_UNITS = {
    "": 1, "b": 1, "kb": 1000, "mb": 1_000_000, "gb": 1_000_000_000,
    "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30,
}


def size(value: int | str, name: str) -> int:
    """Bytes: a number of them, or a number with a unit (kB, MB, GB of 1000; KiB, MiB, GiB of 1024)."""
    if isinstance(value, str):
        found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", value.strip())
        unit = _UNITS.get(found[2].lower()) if found else None
        if found is None or unit is None:
            raise ValueError(f"{name}: {value!r} is not a size; write 64MB or 2GiB, or a number of bytes")
        return int(found[1]) * unit
    if value < 0:
        raise ValueError(f"{name}: {value} is not a size; write a number of bytes from 0 on")
    return value


def optional_size(value: int | str | None, name: str) -> int | None:
    """As `size`, where none stands for the default."""
    return None if value is None else size(value, name)
