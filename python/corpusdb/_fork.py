"""Leaving a forked process: without waiting for threads that are its parent's."""

from __future__ import annotations

import ctypes
import os

from corpusdb import _native

__all__ = ["watch"]


def watch() -> None:
    """Has children of a fork leave as they should: C++ libraries join threads of theirs when a process ends."""
    os.register_at_fork(after_in_child=_leave_at_once)


def _leave_at_once() -> None:
    if not _native.is_forked():
        return
    library = ctypes.CDLL(None)
    on_exit = getattr(library, "on_exit", None)
    if on_exit is not None:
        # Called before all that was registered earlier, when the interpreter has ended: with the exit code.
        on_exit(library._exit, None)
