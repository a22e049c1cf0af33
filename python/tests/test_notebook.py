"""What a notebook shows: HTML without script and outside address, numbers beside each drawing, nothing that raises."""

from __future__ import annotations

import json
import pickle
import pydoc
import re
from pathlib import Path
from typing import Any

import corpora
import pytest
from epochs import CHATS, PACKED, chats, planned, texts

import corpusdb
from corpusdb import _native

NOTEBOOK = Path(__file__).parents[2] / "docs/tutorials/notebook.ipynb"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return texts(tmp_path_factory.mktemp("texts"))


def content(page: str) -> str:
    """What is shown, without its style; checks what holds for all pages."""
    style, rest = page.removeprefix('<div class="corpusdb"><style>\n').split("</style>", 1)
    assert style == _native.notebook_style() and rest.endswith("</div>")
    rest = rest.removesuffix("</div>")
    for bad in ("<style", "<script", " style=", " src=", "http://", "href="):
        assert bad not in rest, bad
    for tag in ("div", "table", "tr", "td", "th", "svg", "g", "rect", "p", "pre", "details", "section", "b", "i"):
        assert len(re.findall(rf"<{tag}[ >]", rest)) == rest.count(f"</{tag}>"), tag
    return rest


def rows_of(page: str) -> list[list[str]]:
    """The cells of each row of the tables of a page, without tags."""
    found = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[re.sub(r"<svg.*?</svg>|<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
            for row in found]


def test_a_batch_shows_a_band_for_each_row(corpus: Path) -> None:
    plan = planned(corpus, PACKED)
    with plan.loader(rank=0, world=1, as_="numpy", layout="rows", views=["labels"]) as loader:
        batch = next(iter(loader))
        page = content(batch._repr_html_())
    assert len(batch.rows) == 120 and page.count("<svg viewBox") == 64 and "and 56 more rows" in page
    assert "input_ids int64[120, 32]" in page
    bands = {int(row[0]): row for row in rows_of(page) if len(row) in (5, 6) and row[0].isdigit()}
    assert list(bands) == batch.rows[:64].tolist()
    for at, number in enumerate(batch.rows[:64].tolist()):
        pads = int((plan.row(number, views=["segment_ids"])["segment_ids"] == 0).sum()) if "Pads" in page else 0
        documents = [str(len(batch.documents[at])), str(32 - pads)]
        assert bands[number][2:4] == documents and bands[number][-1] == batch.sources[at]
    # The colour is the source's place in the plan, whichever rows are shown.
    for row in plan.rows_at(range(4)):
        place = ["logs", "tales"].index(row.sources[0] or "")
        assert f'<rect class="t{place}"' in row._repr_html_() and f'<rect class="t{1 - place}"' not in row._repr_html_()


def test_rows_of_a_plan_are_a_list_and_bands(corpus: Path) -> None:
    plan = planned(corpus, PACKED)
    rows: Any = plan.rows_at([3, 1, 4])
    assert isinstance(rows, list) and [int(row.rows[0]) for row in rows] == [3, 1, 4]
    page = content(rows._repr_html_())
    assert "3 rows of epoch 0" in page and page.count("<svg viewBox") == 3
    none: Any = plan.rows_at([])
    assert "no rows" in none._repr_html_()
    text = content(plan.row(3).text()._repr_html_())
    assert text.count("<svg viewBox") == 1 and "<details open>" in text and "<b>" in text


def test_what_is_not_trained_on_is_pale(tmp_path: Path) -> None:
    plan = planned(chats(tmp_path), CHATS)
    for row in plan.rows_at(range(3), views=["labels"]):
        page = content(row._repr_html_())
        trained = int((row["labels"] != -100).sum())
        drawn = re.findall(r'<rect class="(t\d(?: odd)?(?: off)?)" x="(\d+)" width="(\d+)"', page)
        dark = sum(int(width) for of, _, width in drawn if not of.endswith("off"))
        whole = sum(int(width) for of, _, width in drawn if of.endswith("off"))
        assert 0 < dark == trained < whole and "pale: not trained on" in page
        assert str(trained) in next(cells for cells in rows_of(page) if cells[0] == str(int(row.rows[0])))


def test_a_batch_without_its_corpus_says_so(corpus: Path) -> None:
    plan = planned(corpus, PACKED)
    with plan.loader(rank=0, world=1, as_="numpy") as loader:
        batch = next(iter(loader))
    for one in (batch, pickle.loads(pickle.dumps(batch))):
        assert "no bands: " in content(one._repr_html_()) and "input_ids" in repr(one)
    with plan.loader(rank=0, world=1, as_="arrow") as loader:
        arrow: Any = next(iter(loader))
        assert repr(arrow).startswith("<corpusdb.ArrowBatch 0 of epoch 0: 120 rows")
        assert content(arrow._repr_html_()).count("<svg viewBox") == 64


def test_an_explanation_is_tables_and_the_text_on_demand(corpus: Path) -> None:
    told = planned(corpus, PACKED).explain()
    page = content(told._repr_html_())
    head, *sources = rows_of(page)[:3]
    assert head[:3] == ["source", "asked", "gets"] and [row[0] for row in sources] == ["logs", "tales"]
    assert sources[0][1] == f"{told.sources[0].asked_share:.2%}"
    at = head.index("tokens")
    assert [row[at] for row in sources] == [f"{source.epoch_tokens:,}" for source in told.sources]
    assert "dropped" not in head, "what is 0 everywhere has no column"
    assert page.count('<svg class="strip"') == 2 and ">plan " in page


def test_pairs_are_looked_at_and_stay_to_be_read(db: corpusdb.Corpus) -> None:
    pairs = db.duplicates()
    page, shown = content(pairs._repr_html_()), repr(pairs)
    assert content(pairs._repr_html_()) == page and repr(pairs) == shown
    read = list(pairs)
    assert [pair.id for pair in read] == [pair.id for pair in db.duplicates()]
    assert [row[0] for row in rows_of(page)[1:]] == [pair.key for pair in read[:10]]
    assert all(pair.witness.key in shown for pair in read[:10])
    assert "none is left" in repr(pairs) and "no duplicate is left" in pairs._repr_html_()
    near = next(pair for pair in db.duplicates() if pair.kind == "near")
    kept, removed = re.findall(r"<pre[^>]*>(.*?)</pre>", content(near._repr_html_()), re.DOTALL)
    assert "<ins>" not in kept and "<del>" not in removed and "<ins> changed</ins>" in removed


def test_numbers_of_a_table_are_amounts_or_names(db: corpusdb.Corpus) -> None:
    page = content(db.sql(
        "SELECT id, 12345678 + bytes - bytes AS amount, 1990 + length(source) AS year, 54321 AS user_id, "
        "'x' AS word, 0.5 AS share, bytes * 30000 AS large FROM documents ORDER BY id LIMIT 2"
    )._repr_html_())
    head, _, second = rows_of(page)
    assert head == ["idint", "amountint", "yearint", "user_idint", "wordtext", "sharefloat", "largeint"]
    assert second[:6] == ["1", "12,345,678", "1993", "54321", "x", "0.5"] and second[6].endswith("0,000")
    amounts = content(db.sql("SELECT count(*) * 1000000 AS amount, sum(bytes) AS bytes FROM documents")._repr_html_())
    assert rows_of(amounts)[1][0] == "44,000,000" and "1 row of 2 columns" in amounts


def test_a_table_shows_its_beginning_and_its_end(db: corpusdb.Corpus) -> None:
    def numbers(count: int) -> list[str]:
        return [row[0] for row in rows_of(content(db.sql(
            f"SELECT value FROM generate_series(1, {count})"
        )._repr_html_()))[1:]]

    assert numbers(25) == [str(at) for at in range(1, 26)]
    assert numbers(300) == [*(str(at) for at in range(1, 21)), "⋮", *(str(at) for at in range(296, 301))]
    assert numbers(1001) == [str(at) for at in range(1, 21)]
    many = db.sql("SELECT value FROM generate_series(1, 1001)")
    assert "more than 1,000 rows of 1 column; the first 20 rows" in many._repr_html_() and len(many.fetchall()) == 1001


def test_nothing_of_a_closed_corpus_raises_when_shown(tmp_path: Path) -> None:
    path = corpora.build(tmp_path / "crawl")
    with corpusdb.open(path, mode="w") as w:
        unread, read = w.duplicates(), w.duplicates()
        pair = next(read)
        things = [
            w, w.fields, w.signals, w.snapshots, w.tokenizers, w.contamination, w.dedup, w.info(), w.stats(), unread, read,
            pair, pair.witness, pair.document(), w.document(0), w.sql("SELECT id FROM documents"), w.tokenizer("own"),
            w.snapshots.create("now"), w.duplicates_summary(),
        ]
    for thing in things:
        shown = repr(thing)
        page = thing._repr_html_() if hasattr(thing, "_repr_html_") else ""
        assert shown and (not page or content(page))
    for thing in (w, w.fields, w.signals, w.snapshots, w.tokenizers, w.contamination, unread):
        assert "closed" in repr(thing), type(thing)
        assert not hasattr(thing, "_repr_html_") or "closed" in thing._repr_html_(), type(thing)
    assert "closed" in pair._repr_html_()


def test_help_begins_with_the_functions() -> None:
    page = pydoc.plain(pydoc.render_doc(corpusdb))
    start = page[: page.index("PACKAGE CONTENTS")]
    places = [start.index(f"{name}(") for name in ("create", "open", "explain_dedup", "preset", "repair", "salvage")]
    assert places == sorted(places) and page[: places[0]].count("\n") < 10
    assert places[-1] < start.index("import corpusdb")


def test_the_stored_notebook_shows_itself() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    pages = ["".join(output["data"]["text/html"]) for cell in cells for output in cell.get("outputs", [])
             if "text/html" in output.get("data", {})]
    # As this release shows it: `scripts/notebook.py` writes it again.
    shown = [content(page) for page in pages]
    for words in ('class="diff"', '<svg viewBox="0 0 1024 10"', "all that", "rows of a pass", "documents<small>int"):
        assert any(words.lower() in page.lower() for page in shown), words
    assert all("0, None, False or empty" not in page.split("<details>")[0] for page in shown)
