"""Files of reports: written whole or not at all, over nothing of another kind; what a person filled in stays."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

import corpusdb

#: Writes a page where no file may be larger than a kilobyte.
LIMITED = """
import resource, sys
import corpusdb
db = corpusdb.open(sys.argv[1], memory="64MiB")
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
try:
    db.report(**{sys.argv[2]: sys.argv[3]})
except OSError as error:
    print(error.errno)
"""


def test_a_page_is_whole_or_what_it_was(crawl_path: Path, tmp_path: Path, db: corpusdb.Corpus) -> None:
    for name, file in [("html", "card.html"), ("croissant", "card.json"), ("eu_summary", "summary.md")]:
        path = tmp_path / file
        db.report(**{name: path})  # type: ignore[arg-type]
        before = path.read_text()
        assert len(before) > 1000
        ran = subprocess.run(
            [sys.executable, "-c", LIMITED, str(crawl_path), name, str(path)], capture_output=True, text=True, check=True
        )
        assert ran.stdout == f"{errno.EFBIG}\n", ran.stderr
        assert path.read_text() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["card.html", "card.json", "summary.md"]
    with pytest.raises(FileNotFoundError):
        db.report(html=tmp_path / "nowhere" / "card.html")


def test_no_page_takes_the_place_of_another_file(db: corpusdb.Corpus, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("precious\n")
    for write in [
        lambda: db.report(html=notes), lambda: db.report(eu_summary=notes), lambda: db.signals.report("c4", html=notes),
        lambda: db.tokenizers.analyse("own", html=notes),
    ]:
        with pytest.raises(corpusdb.AlreadyExists, match="no page of this kind"):
            write()
    with pytest.raises(corpusdb.BadInput, match="the existing description is not JSON"):
        db.report(croissant=notes)
    assert notes.read_text() == "precious\n"


def test_what_a_person_filled_in_stays(db: corpusdb.Corpus, tmp_path: Path) -> None:
    description, summary = tmp_path / "croissant.json", tmp_path / "summary.md"
    db.report(croissant=description, eu_summary=summary)
    known = json.loads(description.read_text())
    description.write_text(json.dumps({**known, "license": "CC-BY-4.0", "version": "9.9.9"}))
    blank = "* Provider name and contact details: "
    first = summary.read_text()
    assert f"{blank}_to be filled in_\n" in first
    filled = first.replace(f"{blank}_to be filled in_\n", f"{blank}Example Ltd\n  Dublin\n")
    summary.write_text(filled)
    db.report(croissant=description, eu_summary=summary)
    assert json.loads(description.read_text()) == {**known, "license": "CC-BY-4.0"}
    assert summary.read_text() == filled


def test_pages_are_titled_by_the_corpus(db: corpusdb.Corpus, tmp_path: Path) -> None:
    db.tokenizers.analyse("own", html=tmp_path / "tokenizers.html")
    db.signals.report("c4", html=tmp_path / "signals.html")
    assert "<h1>Tokenizers on crawl</h1>" in (tmp_path / "tokenizers.html").read_text()
    assert "<h1>Signals of crawl</h1>" in (tmp_path / "signals.html").read_text()
