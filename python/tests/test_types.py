"""Types: the package passes mypy --strict, and its stub is what the native module is."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import corpusdb

PACKAGE = Path(corpusdb.__file__).parent


def mypy(arguments: list[str], settings: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Runs mypy on the package alone: installed, it stands among others, which are not to be checked."""
    (place / "corpusdb").symlink_to(PACKAGE)
    (place / "mypy.ini").write_text(f"[mypy]\nignore_missing_imports = true\n{settings}")
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=place)


def test_the_package_is_strictly_typed(tmp_path: Path) -> None:
    done = mypy(["mypy", "--config-file", "mypy.ini", "-p", "corpusdb"], "strict = true\n", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_is_what_the_native_module_is(tmp_path: Path) -> None:
    done = mypy(["mypy.stubtest", "--mypy-config-file", "mypy.ini", "corpusdb._native"], "", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_is_documented_and_there() -> None:
    for name in corpusdb.__all__:
        assert getattr(corpusdb, name).__doc__, name
    for path in sorted(PACKAGE.glob("*.py*")):
        assert ast.get_docstring(ast.parse(path.read_text())), path.name


def test_the_package_imports_nothing_heavy() -> None:
    script = "import sys, corpusdb; print([m for m in ('pyarrow', 'polars', 'pandas', 'torch', 'datasets', 'duckdb') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True, cwd=PACKAGE.parent) == "[]\n"
