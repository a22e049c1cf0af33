"""The command `corpusdb`: an entry point into the native module."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the command with the arguments of this process, and ends it with the command's exit code."""
    from corpusdb import _native

    sys.exit(_native.main(["corpusdb", *sys.argv[1:]]))
