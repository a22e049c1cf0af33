"""Checks whether an imported library is of a release whose internals were tried."""

from __future__ import annotations

import re
import sys
import warnings

__all__ = ["is_tried"]

#: The libraries about which a warning was given.
_warned: set[str] = set()


def is_tried(library: str, tried: tuple[str, str], lost: str) -> bool:
    """Whether the imported release is from the first of `tried` on and before the second; warns once if not."""
    version = str(getattr(sys.modules.get(library), "__version__", ""))
    first, behind = tried
    if _numbers(first) <= _numbers(version) < _numbers(behind):
        return True
    if library not in _warned:
        _warned.add(library)
        warnings.warn(f"{library} {version} was not tried, but {first} and later before {behind}: {lost}", stacklevel=3)
    return False


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]
