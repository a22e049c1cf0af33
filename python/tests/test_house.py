"""The house: the files of the package import one another without a circle."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import corpusdb

PACKAGE = Path(corpusdb.__file__).parent


def test_files_import_one_another_without_a_circle() -> None:
    """Imports for types alone and those inside functions count too."""
    files = {".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): file
             for file in PACKAGE.rglob("*.py*") if file.suffix in (".py", ".pyi")}
    imports: dict[str, set[str]] = {}
    for module, file in files.items():
        named = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.module and not node.level, f"{module}: {ast.unparse(node)}"
                # `from corpusdb import _native` names that file, and not what the package itself brings.
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                named |= {one if one in files else node.module for one in inner}
        imports[module] = {one for one in named if one in files and one != module}
    assert len(imports["corpusdb"]) > 20 and "corpusdb.spark._run" in imports["corpusdb.spark._load"]
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        raise AssertionError(f"a circle of files: {' <- '.join(error.args[1])}") from None
