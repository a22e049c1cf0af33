"""The command `corpusdb`, which runs in the native module."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the command with the arguments of this process, and ends it with the command's exit code."""
    import signal

    from corpusdb import _native

    # The command handles Ctrl-C itself. With Python's own handler in place, Python would raise KeyboardInterrupt as
    # well when the command has ended.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.main(["corpusdb", *sys.argv[1:]]))
