"""Damaged corpora: made again in place, or what is whole of them copied."""

from pathlib import Path

import pytest

import corpusdb


def corpus_of_pages(place: Path) -> str:
    corpusdb.create(place)
    with corpusdb.open(place, mode="w") as writer:
        pages = [{"id": str(number), "text": f"page {number} of some that are alike in little"} for number in range(30)]
        writer.ingest(pages, source="web", id_field="id")
        writer.compact()
        return writer.digest()


def tables(place: Path, family: str) -> list[Path]:
    named = b"\x16\x04" + bytes([len(family)]) + b"name" + family.encode()
    return [table for table in (place / "db").glob("*.sst") if named in table.read_bytes()]


def test_what_follows_from_other_rows_is_made_again(tmp_path: Path) -> None:
    place = tmp_path / "corpus"
    digest = corpus_of_pages(place)
    sound = corpusdb.repair(place, progress=False)
    assert sound and not sound.repaired
    for table in tables(place, "postings"):
        table.write_bytes(b"nothing that is a table")
    with pytest.raises(corpusdb.Corrupt, match="postings"), corpusdb.open(place) as corpus:
        corpus.count(where="kept")
    made = corpusdb.repair(place, progress=False)
    assert made and "postings" in made.repaired and made.documents == 30
    with corpusdb.open(place) as corpus:
        assert corpus.digest() == digest


def test_what_is_whole_is_copied_and_the_rest_is_listed(tmp_path: Path) -> None:
    place = tmp_path / "corpus"
    corpus_of_pages(place)
    for table in tables(place, "text_pages"):
        table.write_bytes(b"nothing that is a table")
    beyond = corpusdb.repair(place, progress=False)
    assert not beyond and beyond.lost[0].family == "text_pages" and beyond.lost[0].documents == 30
    saved = corpusdb.salvage(place, tmp_path / "rescued", progress=False)
    assert not saved and saved.copied == 0 and saved.lost_documents == "0 to 29"
    assert saved.listed[3].key == "3"
    with pytest.raises(corpusdb.AlreadyExists):
        corpusdb.salvage(place, tmp_path / "rescued", progress=False)
