"""Calls verbs of the command by name, with keywords as options, and gives methods the keywords of their verbs."""

from __future__ import annotations

import functools
import inspect
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from corpusdb import _native
from corpusdb._progress import ProgressOption, listening, safe_lines

__all__ = ["call", "expand_keywords", "keyword_json", "no_option"]

Method = TypeVar("Method", bound=Callable[..., Any])

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
    """Runs a verb of the command and returns its report as JSON. `keywords` are the options of the verb.

    A keyword that is None counts as absent. Notes for people go to the logger `corpusdb`.
    """
    with listening(progress) as listener:
        report, notes = _native.call(
            verb, keyword_json(**keywords), handle, path=path, threads=threads, listener=listener
        )
    for note in notes:
        logger.warning(safe_lines(note))
    return report


def keyword_json(**keywords: Any) -> str:
    """Keywords in the form that the native module reads: a JSON object without the values that are None."""
    return json.dumps({name: _plain(value, name) for name, value in keywords.items() if value is not None})


def _plain(value: Any, place: str) -> Any:
    """The value of an option as plain JSON: paths as text, mappings as objects, other iterables as lists."""
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
    raise TypeError(f"{place}: a value of type {type(value).__name__} is not supported")


def expand_keywords(options: type[Any]) -> Callable[[Method], Method]:
    """Writes the keys of a `TypedDict` into the signature and the docstring of a method that takes them as `**`.

    Each keyword has the default None. An unknown keyword raises `TypeError` with the nearest known one.
    """

    def expand(method: Method) -> Method:
        found = inspect.signature(method)
        own = [one for one in found.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        first = next((at for at, one in enumerate(own) if one.kind is inspect.Parameter.KEYWORD_ONLY), len(own))
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
            for name, kind in inspect.get_annotations(options).items()
        ]
        signature = found.replace(parameters=[*own[:first], *named, *own[first:]])

        @functools.wraps(method)
        def checked(*positional: Any, **given: Any) -> Any:
            for name in given:
                if name not in signature.parameters:
                    raise TypeError(f"{method.__name__}(): {no_option(name, signature.parameters)}")
            try:
                signature.bind(*positional, **given)
            except TypeError as error:
                raise TypeError(f"{method.__name__}() {error}") from None
            return method(*positional, **given)

        vars(checked)["__signature__"] = signature
        _, _, texts = inspect.cleandoc(options.__doc__ or "").partition("\n\n")
        checked.__doc__ = f"{inspect.cleandoc(method.__doc__ or '')}\n\n{texts}"
        return cast(Method, checked)

    return expand


def no_option(name: str, known: Iterable[str]) -> str:
    """The message for an unknown option, with the one that was most likely meant."""
    near = _native.did_you_mean(name, list(known))
    return f"no option `{name}`" + (f"; {near}" if near else "")
