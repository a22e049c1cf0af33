"""Verbs of the command, called by their names: keywords in, the report out."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from typing import Any

from corpusdb import _native
from corpusdb._native import one_line
from corpusdb._progress import ProgressOption, listening

__all__ = ["call", "keyword_json"]

logger = logging.getLogger("corpusdb")


def call(
    verb: str,
    handle: _native.Handle | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: ProgressOption = False,
    **keywords: Any,
) -> str:
    """Runs a verb with the options that `keywords` are in the command; its report as JSON.

    A keyword that is None is as if it were not there. What a person should read goes to the logger `corpusdb`.
    """
    with listening(progress) as listener:
        report, notes = _native.call(
            verb, keyword_json(**keywords), handle, path=path, threads=threads, listener=listener
        )
    for note in notes:
        logger.warning(one_line(note))
    return report


def keyword_json(**keywords: Any) -> str:
    """Keywords as the native module takes them: a JSON object, without those that are None."""
    return json.dumps({name: _plain(value, name) for name, value in keywords.items() if value is not None})


def _plain(value: Any, place: str) -> Any:
    """A value of an option: paths as text, mappings as they are, all else that can be gone through as a list."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(one, f"{place}[{name!r}]") for name, one in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), place)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [_plain(one, f"{place}[{at}]") for at, one in enumerate(value)]
    raise TypeError(f"{place}: no option has a value of type {type(value).__name__}")
