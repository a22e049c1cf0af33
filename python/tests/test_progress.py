"""Progress: a function of the caller, a line on a terminal, an output in a notebook, and what stops a call."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import corpora
import pytest

import corpusdb
from corpusdb import _progress


def test_a_function_is_told_where_a_call_stands(w: corpusdb.Writer) -> None:
    seen: list[corpusdb.Progress] = []
    w.ingest(corpora.pages(50), source="web", progress=seen.append)
    assert seen and seen[0].stage == "ingesting"
    assert any(progress.tally is not None for progress in seen)


def test_what_the_function_raises_stops_the_call(w: corpusdb.Writer) -> None:
    def stop(_: corpusdb.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        w.ingest(({"text": corpora.prose(n)} for n in range(10**9)), source="web", progress=stop)
    assert w.check("quick")
    assert w.ingest([corpora.page(0)], source="other", progress=False).read == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def listen(progress: _progress.ProgressOption = None) -> None:
    with _progress.listening(progress) as listener:
        listener("ingesting", 0, 1000, None, [])
        listener("ingesting", 430, 1000, (430, 9_000_000, 5000, 4000, 1000), [])
        listener("merging", 0, None, None, ["a note"])
        listener("counting", 50, 100, None, [])


def test_a_terminal_shows_one_line_and_gets_it_back(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_progress._Bar, "_pause", 0.0)
    listen()
    lines = terminal.getvalue().split("\r\x1b[2K")
    assert all(len(line) < 60 for line in lines) and lines[-1] == ""
    assert any(line.startswith("ingesting  43%") and "MB/s of text" in line for line in lines)
    assert any(line.startswith("counting  50%") for line in lines)
    assert [record.message for record in caplog.records] == ["a note"]
    assert "\n" not in terminal.getvalue()


def test_what_is_no_terminal_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    listen()
    assert out.getvalue() == ""
    listen(True)
    assert "ingesting" in out.getvalue()


def test_a_notebook_shows_a_bar_and_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []

    class Handle:
        def update(self, bundle: dict[str, str], raw: bool) -> None:
            assert raw
            shown.append(bundle)

    def display(bundle: dict[str, str], raw: bool, display_id: bool) -> Handle:
        assert display_id
        Handle().update(bundle, raw)
        return Handle()

    module: Any = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    module.display = types.ModuleType("IPython.display")
    module.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    monkeypatch.setattr(_progress._Display, "_pause", 0.0)
    listen()
    assert '<progress value="430" max="1000">' in shown[1]["text/html"]
    assert shown[1]["text/plain"].startswith("ingesting  43%")
    assert shown[-1] == {"text/plain": "", "text/html": ""}


def test_a_terminal_that_is_dumb_shows_nothing(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    with _progress.listening(None) as listener:
        listener("ingesting", 1, 2, None, ["a note of \x1b[2J a file"])
    assert terminal.getvalue() == ""
    assert [record.message for record in caplog.records] == ["a note of \ufffd[2J a file"]


def test_progress_needs_no_library(tmp_path: Path) -> None:
    script = """if True:
        import sys
        for name in ("IPython", "tqdm", "ipywidgets"):
            sys.modules[name] = None
        import corpusdb
        corpusdb.create(sys.argv[1]).close()
        with corpusdb.open(sys.argv[1], mode="w") as w:
            w.ingest([{"text": "a page of some words"}], source="web", progress=True)
    """
    command = [sys.executable, "-c", script, str(tmp_path / "c")]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TERM": "xterm"})
    assert ran.returncode == 0 and "ingesting" in ran.stderr and ran.stdout == "", ran.stderr


def test_durations_are_read_at_a_glance() -> None:
    assert [_progress._duration(s) for s in (3, 75, 7200)] == ["3 s", "1 min 15 s", "2 h 0 min"]
