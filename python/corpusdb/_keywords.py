"""Keywords that several calls take, written down once: types for checkers, and signatures for `help`."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast, get_type_hints

__all__ = ["no_option", "spelt_out"]

Call = TypeVar("Call", bound=Callable[..., Any])


def spelt_out(keywords: type[Any]) -> Callable[[Call], Call]:
    """Spells the keys of a `TypedDict` out in the signature of a call that takes them as its `**`, `None` where absent.

    A keyword that is none of them is refused with the nearest one.
    """

    def spell(call: Call) -> Call:
        found = inspect.signature(call)
        own = [one for one in found.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        first = next((at for at, one in enumerate(own) if one.kind is inspect.Parameter.KEYWORD_ONLY), len(own))
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_written(kind))
            for name, kind in get_type_hints(keywords).items()
        ]
        signature = found.replace(parameters=[*own[:first], *named, *own[first:]])

        @functools.wraps(call)
        def checked(*positional: Any, **given: Any) -> Any:
            for name in given:
                if name not in signature.parameters:
                    raise TypeError(f"{call.__name__}(): {no_option(name, signature.parameters)}")
            try:
                signature.bind(*positional, **given)
            except TypeError as error:
                raise TypeError(f"{call.__name__}() {error}") from None
            return call(*positional, **given)

        vars(checked)["__signature__"] = signature
        return cast(Call, checked)

    return spell


def no_option(name: str, known: Iterable[str]) -> str:
    """That there is no such option, with the one that was most likely meant."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"no option `{name}`" + (f"; did you mean `{near[0]}`?" if near else "")


def _written(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)
