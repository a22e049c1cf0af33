"""Types: the package and programs of users pass mypy --strict and pyright, and the stub is what the native module is."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import corpusdb

PACKAGE = Path(corpusdb.__file__).parent
PROGRAMS = Path(__file__).parent / "typing"
DOCUMENTS = Path(__file__).parents[2] / "docs"


def mypy(arguments: list[str], settings: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Runs mypy on the package alone: installed, it stands among others, which are not to be checked."""
    (place / "corpusdb").symlink_to(PACKAGE)
    (place / "mypy.ini").write_text(f"[mypy]\nignore_missing_imports = true\n{settings}")
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=place)


def test_the_package_is_strictly_typed(tmp_path: Path) -> None:
    done = mypy(["mypy", "--config-file", "mypy.ini", "-p", "corpusdb"], "strict = true\n", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_verb_says_which_call_it_is() -> None:
    """Messages name calls by the rows of the command's table: `Writer.tokenizers.add` is a method of a property's class."""
    printed = subprocess.run(
        [sys.executable, "-m", "corpusdb", "reference", "schema"], capture_output=True, text=True, check=True
    ).stdout
    calls = json.loads(printed)["python"]
    assert calls["tokenizer add"] == "Writer.tokenizers.add" and len(calls) > 60
    for verb, call in calls.items():
        found: Any = corpusdb
        for part in call.split("."):
            found = getattr(found, part)
            if isinstance(found, property):
                found = vars(sys.modules[found.fget.__module__])[found.fget.__annotations__["return"]]
        assert callable(found), (verb, call)


def test_the_stub_is_what_the_native_module_is(tmp_path: Path) -> None:
    done = mypy(["mypy.stubtest", "--mypy-config-file", "mypy.ini", "corpusdb._native"], "", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def checkers(tmp_path: Path) -> Iterator[list[list[str]]]:
    """The checkers that are installed, each a command that takes files."""
    (tmp_path / "corpusdb").symlink_to(PACKAGE)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\nignore_missing_imports = true\n")
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "venvPath": str(Path(sys.prefix).parent),
                "venv": Path(sys.prefix).name, "reportMissingImports": False, "reportMissingTypeStubs": False,
                "reportUnknownMemberType": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    commands = [[sys.executable, "-m", "mypy", "--config-file", "mypy.ini"]]
    if shutil.which("pyright"):
        commands.append(["pyright", "--outputjson"])
    yield commands


def faults(command: list[str], file: Path, place: Path) -> dict[int, str]:
    """What a checker says of a file, by line."""
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, cwd=place)
    if "pyright" in command[0]:
        told = json.loads(done.stdout)["generalDiagnostics"]
        return {one["range"]["start"]["line"] + 1: one["message"] for one in told if one["severity"] == "error"}
    found = re.findall(rf"{re.escape(file.name)}:(\d+): error: (.*)", done.stdout)
    assert done.returncode == bool(found), done.stdout + done.stderr
    return {int(line): message for line, message in found}


def test_programs_of_users_are_strictly_typed(checkers: list[list[str]], tmp_path: Path) -> None:
    for command in checkers:
        assert faults(command, PROGRAMS / "first_steps.py", tmp_path) == {}, command


def test_checkers_find_mistakes(checkers: list[list[str]], tmp_path: Path) -> None:
    file = PROGRAMS / "mistakes.py"
    expected = {at for at, line in enumerate(file.read_text().splitlines(), 1) if line.endswith("# expected")}
    for command in checkers:
        assert set(faults(command, file, tmp_path)) == expected, command


def test_the_code_of_the_notebook_is_typed(tmp_path: Path) -> None:
    cells = json.loads((DOCUMENTS / "tutorials" / "notebook.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    (tmp_path / "notebook.py").write_text(code)
    # Not strictly: what people type into cells has no annotations.
    done = mypy(["mypy", "--config-file", "mypy.ini", "notebook.py"], "check_untyped_defs = true\n", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_is_documented_and_there() -> None:
    for name in corpusdb.__all__:
        assert getattr(corpusdb, name).__doc__, name
    for path in sorted(PACKAGE.glob("*.py*")):
        assert ast.get_docstring(ast.parse(path.read_text())), path.name


def test_the_package_imports_nothing_heavy() -> None:
    script = "import sys, corpusdb; print([m for m in ('pyarrow', 'polars', 'pandas', 'torch', 'datasets', 'duckdb') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True, cwd=PACKAGE.parent) == "[]\n"
