"""Data cards as others read them: mlcroissant validates the description, Chromium shows the page."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import corpora
import mlcroissant
import pytest

import corpusdb

HOSTILE = "</title><script>document.title = 'broken'</script>\"'&"
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)

#: What is measured of a page once it is drawn, written where `--dump-dom` finds it.
MEASURE = """<script>
const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
const drawings = [...document.querySelectorAll('svg')];
const leaves = text => {
  const picture = text.ownerSVGElement.getBoundingClientRect(), box = text.getBoundingClientRect();
  return box.left < picture.left - 1 || box.right > picture.right + 1 || box.top < picture.top - 1 || box.bottom > picture.bottom + 1;
};
const measured = {
  title: document.title, wide, sections: document.querySelectorAll('main section').length,
  drawings: drawings.length, named: drawings.filter(it => it.firstElementChild.tagName === 'title').length,
  leaving: [...document.querySelectorAll('svg text')].filter(leaves).map(text => text.textContent),
  cut: drawings.filter(it => it.getBoundingClientRect().right > document.documentElement.clientWidth).length,
  loose: [...document.querySelectorAll('table')].filter(it => !it.parentElement.matches('.wide')).length,
  small: Math.min(...[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect().height)),
  empty: drawings.filter(it => it.getBoundingClientRect().width < 100).length,
  ground: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
  links: [...document.querySelectorAll('nav a')].filter(it => document.querySelector(it.getAttribute('href'))).length,
  focusable: [...document.querySelectorAll('.wide')].every(it => it.tabIndex === 0),
  fetched: performance.getEntriesByType('resource').length,
};
parent.document.body.setAttribute('data-measured', JSON.stringify(measured));
</script>"""

#: Narrower than a window of Chromium can be.
PHONE = 400
WIDE = 1280


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = corpora.build(tmp_path_factory.mktemp("cards") / "crawl")
    with corpusdb.open(path, mode="w", memory="128MiB") as w:
        pages = [
            {"id": f"https://site{n % 7}.example/{n}/{HOSTILE}", "text": f"{corpora.prose(n // 2)} {HOSTILE}"}
            for n in range(40)
        ]
        w.ingest(pages, source=HOSTILE, id_field="id")
        assert w.plan({"version": 1, "snapshot": "first", "pack": {"length": 64}}).number == 1
    return path


def test_mlcroissant_takes_the_description(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "croissant.json"
    with corpusdb.open(crawl) as db:
        report = db.report(croissant=file)
    described = mlcroissant.Dataset(str(file))
    assert not described.metadata.ctx.issues.errors
    # What it recommends beyond that only a person knows.
    missing = {warning.split('"')[1].rsplit("/", 1)[-1] for warning in described.metadata.ctx.issues.warnings}
    assert missing <= {"citeAs", "datePublished", "license"}
    rows = list(described.records("sizes"))
    assert sum(row["sizes/kept"] for row in rows) == report.sizes.kept.documents
    assert any(row["sizes/source"] in (HOSTILE, HOSTILE.encode()) for row in rows)
    assert "rai:dataBiases" in json.loads(file.read_text())
    filled = json.loads(file.read_text()) | {
        "license": "https://creativecommons.org/licenses/by/4.0/", "datePublished": "2026-01-01", "citeAs": "Nobody",
    }
    file.write_text(json.dumps(filled))
    with corpusdb.open(crawl) as db:
        db.report(croissant=file)
    assert not mlcroissant.Dataset(str(file)).metadata.ctx.issues.warnings


def shown(page: Path, width: int, picture: Path, *more: str) -> dict[str, object]:
    """What is measured of the page at that width, in a frame; a picture of it is taken too."""
    assert CHROMIUM is not None
    measuring = page.with_name(f"measuring-{picture.stem}.html")
    inner = html.escape(page.read_text().replace("</body>", f"{MEASURE}</body>"))
    frame = f'<iframe srcdoc="{inner}" style="border:0;width:{width}px;height:1500px"></iframe>'
    measuring.write_text(f'<!doctype html><meta charset="utf-8"><body style="margin:0">{frame}</body>')
    line = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={picture.with_suffix('.profile')}",
        f"--window-size={max(width, 500)},1600", *more,
    ]
    subprocess.run([*line, f"--screenshot={picture}", measuring.as_uri()], check=True, capture_output=True, timeout=120)
    dumped = subprocess.run(
        [*line, "--dump-dom", measuring.as_uri()], check=True, capture_output=True, text=True, timeout=120
    )
    found = re.search(r'data-measured="([^"]*)"', dumped.stdout)
    assert found is not None and picture.stat().st_size > 10_000
    measured: dict[str, object] = json.loads(html.unescape(found[1]))
    return measured


def check_drawn(measured: dict[str, object]) -> None:
    """Nothing sticks out of the page or of its picture, no script of the corpus ran, nothing was fetched."""
    assert measured["fetched"] == 0 and measured["wide"] == 0 and measured["focusable"]
    assert measured["leaving"] == [] and (measured["cut"], measured["loose"], measured["empty"]) == (0, 0, 0)
    assert isinstance(measured["small"], int | float) and measured["small"] >= 9
    assert measured["drawings"] == measured["named"]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_chromium_shows_the_card_in_light_and_dark_and_on_a_phone(crawl: Path, tmp_path: Path) -> None:
    page = tmp_path / "card.html"
    with corpusdb.open(crawl) as db:
        db.report(html=page, plan=1)
    light = shown(page, WIDE, tmp_path / "light.png")
    dark = shown(page, WIDE, tmp_path / "dark.png", "--blink-settings=preferredColorScheme=0")
    phone = shown(page, PHONE, tmp_path / "phone.png")
    for measured in (light, dark, phone):
        check_drawn(measured)
        assert measured["title"] == "Data card: crawl"
        assert measured["sections"] == measured["links"] and measured["sections"] >= 9
        assert measured["named"] >= 4
    assert light["ground"] == dark["ink"] or light["ground"] != dark["ground"]
    assert (light["ground"], light["ink"]) != (dark["ground"], dark["ink"])


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_chromium_shows_what_rules_would_remove(crawl: Path, tmp_path: Path) -> None:
    page = tmp_path / "signals.html"
    with corpusdb.open(crawl) as db:
        told = db.signals.report(html=page)
    assert told.documents.documents > 0
    for measured in (shown(page, WIDE, tmp_path / "wide.png"), shown(page, PHONE, tmp_path / "phone.png")):
        check_drawn(measured)
        assert measured["title"] == "Signals of crawl"
        assert measured["sections"] == measured["links"] == 4
        assert measured["named"] == len(told.scores)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_chromium_shows_tokenizers_side_by_side(crawl: Path, tmp_path: Path) -> None:
    page = tmp_path / "tokenizers.html"
    with corpusdb.open(crawl) as db:
        names = [tokenizer.name for tokenizer in db.tokenizers]
        db.tokenizers.analyse(names, by="source", html=page, sample_bytes="1MiB")
    for measured in (shown(page, WIDE, tmp_path / "wide.png"), shown(page, PHONE, tmp_path / "phone.png")):
        check_drawn(measured)
        assert measured["title"] == "Tokenizers on crawl"
        assert measured["sections"] == measured["links"] == 6


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_chromium_prints_the_card_with_all_that_opens_on_demand(crawl: Path, tmp_path: Path) -> None:
    assert CHROMIUM is not None
    page, printed = tmp_path / "card.html", tmp_path / "card.pdf"
    with corpusdb.open(crawl) as db:
        db.report(html=page)
    line = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    pages = []
    for text in (page.read_text(), re.sub(r"<details>.*?</details>", "", page.read_text(), flags=re.DOTALL)):
        page.write_text(text)
        print_to = [f"--print-to-pdf={printed}", "--no-pdf-header-footer", page.as_uri()]
        subprocess.run([*line, *print_to], check=True, capture_output=True, timeout=120)
        pages.append(len(re.findall(rb"/Type */Page\b", printed.read_bytes())))
    # Tables that are folded on the screen are on paper.
    assert pages[0] > pages[1] >= 2
