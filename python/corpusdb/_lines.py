"""Finds the line number of a byte in an input file, for people who open the file in an editor."""

from __future__ import annotations

import gzip
import importlib
from typing import IO, Protocol, cast

__all__ = ["line_of"]

_BLOCK = 1 << 20


class _Reads(Protocol):
    def read(self, size: int, /) -> bytes: ...


def line_of(file: str, byte: int) -> int | None:
    """The number of the line, from 1, that has the byte of the decompressed file; None if it cannot be found."""
    try:
        with open(file, "rb") as raw:
            start = raw.read(4)
            raw.seek(0)
            if start == b"PAR1":
                return None
            stream = _decompressed(raw, start)
            return None if stream is None else _line(stream, byte)
    except (OSError, EOFError, ValueError):
        return None


def _decompressed(raw: IO[bytes], start: bytes) -> _Reads | None:
    if start[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=raw)
    if start == b"\x28\xb5\x2f\xfd":
        # The standard library reads zstd from 3.14 on; before, the package zstandard does.
        for module, function in (("compression.zstd", "open"), ("zstandard", "open")):
            try:
                opened = getattr(importlib.import_module(module), function)(raw, "rb")
            except ImportError:
                continue
            return cast("_Reads", opened)
        return None
    return raw


def _line(stream: _Reads, byte: int) -> int | None:
    line = 1
    while byte > 0:
        block = stream.read(min(byte, _BLOCK))
        if not block:
            return None
        line += block.count(b"\n")
        byte -= len(block)
    return line
