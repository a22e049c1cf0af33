"""The first page: its commands and its block of Python do what it says, as printed, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def blocks(mark: str) -> list[str]:
    return re.findall(rf"^```{mark}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def test_the_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = "\n".join(blocks("sh"))
    subprocess.run(["bash", "-eu", "-c", commands], env={**os.environ, "PATH": path}, check=True, capture_output=True)
    (program,) = blocks("python")
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out == blocks("text")[-1]
