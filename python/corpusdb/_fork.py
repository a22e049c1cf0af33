"""Ends a forked process without waiting for threads that only its parent has."""

from __future__ import annotations

import ctypes
import os

from corpusdb import _native

__all__ = ["watch"]


def watch() -> None:
    """Makes forked children end at once: C++ libraries would wait for their threads, which a child does not have."""
    os.register_at_fork(after_in_child=_leave_at_once)


def _leave_at_once() -> None:
    if not _native.is_forked():
        return
    library = ctypes.CDLL(None)
    on_exit = getattr(library, "on_exit", None)
    if on_exit is not None:
        # Runs after the interpreter has ended and before all handlers that were registered earlier; gets the exit code.
        on_exit(library._exit, None)
