"""The first page: its block of Python does what it says, as it is printed, from an empty folder."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from corpora import nearly, page, prose

README = Path(__file__).parents[2] / "README.md"


def block(mark: str) -> str:
    """The first block of the page that is marked so."""
    found = re.search(rf"^```{mark}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert found, mark
    return found[1]


def test_the_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    if importlib.util.find_spec("torch") is None:
        # Where it is not installed, as in `make test`, its one function that is called here leaves arrays what they are.
        torch = types.ModuleType("torch")
        monkeypatch.setattr(torch, "from_numpy", lambda array: array, raising=False)
        monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.chdir(tmp_path)
    pages = [page(n, quality=0.9) for n in range(120)] + [{"url": "near", "quality": 0.9, "text": nearly(7)}]
    Path("2025").mkdir()
    with pa.CompressedOutputStream("2025/a.jsonl.zst", "zstd") as file:
        file.write("".join(json.dumps(page) + "\n" for page in pages).encode())
    Path("recipe.toml").write_text(block("toml"))
    books = [{"title": f"book {n}", "text": prose(1000 + n, 200)} for n in range(60)]
    batches = 0

    def model(**batch: Any) -> types.SimpleNamespace:
        nonlocal batches
        batches += 1
        assert {"input_ids", "labels", "position_ids"} <= batch.keys()
        return types.SimpleNamespace(loss=0.0)

    corpus, loop = re.split(r"\n\n(?=loader)", block("python"))
    names: dict[str, Any] = {"table": pa.Table.from_pylist(books), "model": model, "rank": 3}
    exec(compile(corpus, "README.md", "exec"), names)
    told = capsys.readouterr().out
    assert re.search(r"web +\| +\d+", told) and re.search(r"books +\| +\d+", told), told
    assert "near https://a.example/7 " in told, told
    # What a run saves that was stopped before its first batch.
    names["state"] = names["plan"].loader(rank=0, world=1).state_dict()
    exec(compile(loop, "README.md", "exec"), names)
    assert batches == len(names["plan"].loader(rank=3, world=8)) > 0
