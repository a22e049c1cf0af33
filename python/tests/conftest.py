"""What tests share: one corpus to read, and one of its own for each test that writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import corpora
import pytest

import corpusdb


@pytest.fixture(scope="session")
def crawl_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora.build(tmp_path_factory.mktemp("shared") / "crawl")


@pytest.fixture
def db(crawl_path: Path) -> Iterator[corpusdb.Corpus]:
    with corpusdb.open(crawl_path, memory="64MiB") as opened:
        yield opened


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    path = tmp_path / "corpus"
    corpusdb.create(path, fields={"quality": float, "site": str}).close()
    return path


@pytest.fixture
def w(empty: Path) -> Iterator[corpusdb.Writer]:
    with corpusdb.open(empty, mode="w", memory="128MiB") as opened:
        yield opened
