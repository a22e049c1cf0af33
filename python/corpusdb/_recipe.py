"""Turns a recipe (a path, TOML text or a mapping) into the TOML that the library reads."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpusdb.errors import BadRecipe, NotFound

__all__ = ["RecipeLike", "recipe_text"]

#: A path, TOML text, or a mapping with its tables.
RecipeLike = str | os.PathLike[str] | Mapping[str, Any]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def recipe_text(recipe: RecipeLike) -> str:
    """The TOML of a recipe. A `str` with several lines or a `=` is the text itself; any other `str` is a path."""
    if isinstance(recipe, Mapping):
        named = ((key, value) for key, value in recipe.items() if value is not None)
        return "".join(f"{_key(key)} = {_value(value, str(key))}\n" for key, value in named)
    if isinstance(recipe, str) and ("\n" in recipe or ("=" in recipe and not os.path.exists(recipe))):
        return recipe
    path = Path(recipe)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"no recipe {path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRecipe(f"cannot read the recipe {path}: {error}") from error


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise BadRecipe(f"the keys of a recipe must be strings, got {key!r}")
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # JSON and TOML have the same escapes, but TOML forbids an unescaped DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object, at: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping):
        inner = (f"{_key(key)} = {_value(one, f'{at}.{key}')}" for key, one in value.items() if one is not None)
        return "{ " + ", ".join(inner) + " }"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(_value(one, f"{at}[{number}]") for number, one in enumerate(value)) + "]"
    raise BadRecipe(f"{at} of the recipe must be text, a number, True, False, a list or a table, got {value!r}")
