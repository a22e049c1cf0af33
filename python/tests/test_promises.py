"""Names of the package that the last release promised are there still: docs/reference/promises.md.

A name that shall go works for one more minor release and warns by `DeprecationWarning`; then its lines are taken out of
the list by hand. At a release the list is written anew: `python test_promises.py > ../../tests/promises/python.txt`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path

import corpusdb
import corpusdb.errors
import corpusdb.kernel
import corpusdb.reports

PROMISED = Path(__file__).parents[2] / "tests" / "promises" / "python.txt"


def call(name: str, what: object) -> Iterator[str]:
    """A name, and each parameter that it takes."""
    yield name
    try:
        parameters = inspect.signature(what).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return
    for parameter in parameters:
        if parameter.name != "self":
            yield f"{name}({parameter.name}=)"


def names() -> Iterator[str]:
    seen = set()
    for module in (corpusdb, corpusdb.errors, corpusdb.kernel, corpusdb.reports):
        for name in module.__all__:
            what = getattr(module, name)
            path = f"{module.__name__}.{name}"
            if not inspect.isclass(what):
                yield from call(path, what)
                continue
            yield path
            # Fields of reports are members of the JSON: tests/promises/json.txt has them.
            if what in seen or issubclass(what, (Exception, corpusdb.Report)):
                continue
            seen.add(what)
            for member in sorted(member for member in dir(what) if not member.startswith("_")):
                yield from call(f"{path}.{member}", inspect.getattr_static(what, member))


def test_names_of_the_last_release_are_there() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        now = set(names())
    promised = PROMISED.read_text().splitlines()
    assert len(promised) > 500
    assert not [name for name in promised if name not in now]


if __name__ == "__main__":
    print("\n".join(sorted(set(names()))))
