"""Pages: what the documents call is there, by that name and with those arguments."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import corpusdb
import corpusdb.kernel
from corpusdb._loader import Loader
from corpusdb._plan import Plan

DOCUMENTS = Path(__file__).parents[2] / "docs"
PAGES = [
    DOCUMENTS / "how-to" / "from-python.md",
    DOCUMENTS / "how-to" / "export.md",
    DOCUMENTS / "how-to" / "spark.md",
    DOCUMENTS / "how-to" / "train-with-torch.md",
    DOCUMENTS.parent / "README.md",
    DOCUMENTS.parent / "python" / "README.md",
]

#: What the names in the pages are.
NAMES = {"corpusdb": corpusdb, "kernel": corpusdb.kernel, "w": corpusdb.Writer, "db": corpusdb.Corpus, "plan": Plan, "loader": Loader}


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCUMENTS.parent)))
def test_a_page_calls_what_there_is(page: Path) -> None:
    looked_at = 0
    for block in blocks(page):
        for node in ast.walk(ast.parse(block)):
            if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or node.value.id not in NAMES:
                continue
            owner = NAMES[node.value.id]
            assert hasattr(owner, node.attr), f"{node.value.id}.{node.attr}"
            looked_at += 1
        for call in (node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call)):
            match call.func:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in NAMES:
                    function = getattr(NAMES[name], attribute)
                    if not inspect.isfunction(function):
                        continue
                    known = inspect.signature(function).parameters
                    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
                        continue
                    for keyword in call.keywords:
                        assert keyword.arg is None or keyword.arg in known, f"{name}.{attribute}({keyword.arg}=)"
    assert looked_at > 1, "a page without a call"
