"""Recipes as users give them, as the TOML that the library reads: a path, a text or a mapping."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpusdb.errors import BadRecipe, NotFound

__all__ = ["RecipeLike", "recipe_text"]

#: A path, a text of TOML, or a mapping with its tables.
RecipeLike = str | os.PathLike[str] | Mapping[str, Any]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def recipe_text(recipe: RecipeLike) -> str:
    """The TOML of a recipe. A `str` of several lines, or with a `=`, is the text itself; any other one is a path."""
    if isinstance(recipe, Mapping):
        named = ((key, value) for key, value in recipe.items() if value is not None)
        return "".join(f"{_key(key)} = {_value(value, str(key))}\n" for key, value in named)
    if isinstance(recipe, str) and ("\n" in recipe or ("=" in recipe and not os.path.exists(recipe))):
        return recipe
    path = Path(recipe)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no recipe {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRecipe(f"reading the recipe {path}: {error}") from error


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise BadRecipe(f"a key of a recipe is a string, and {key!r} is not")
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # The escapes of JSON are those of TOML; what JSON leaves as it is and TOML forbids is DEL.
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
    raise BadRecipe(f"{at} of a recipe is {value!r}; there are strings, numbers, true, false, lists and tables")
