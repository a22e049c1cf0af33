"""Backups: one commit, taken, verified, restored and dropped."""

from pathlib import Path

import pytest

import corpusdb


def test_a_backup_comes_back_as_it_was(tmp_path: Path) -> None:
    place, backups = tmp_path / "corpus", corpusdb.Backups(tmp_path / "backups")
    corpusdb.create(place)
    with corpusdb.open(place, mode="w") as writer:
        writer.ingest([{"text": f"the {number}th page of some"} for number in range(20)], source="web")
        first = backups.create(place, progress=False)
        assert first.documents == 20 and first.new_files == first.files
        writer.ingest([{"text": "one more page, which is like none of the others"}], source="web")
        digest = writer.digest()
        second = backups.create(place, progress=False)
    assert 0 < second.new_bytes < second.bytes
    assert [backup.commit for backup in backups.show()] == [first.commit, second.commit]
    assert backups.verify(progress=False)
    restored = backups.restore(tmp_path / "again", progress=False)
    assert (restored.commit, restored.documents) == (second.commit, 21)
    with corpusdb.open(tmp_path / "again") as corpus:
        assert corpus.digest() == digest
    backups.restore(tmp_path / "before", first.commit, progress=False)
    with corpusdb.open(tmp_path / "before") as corpus:
        assert corpus.count(where=None) == 20
    assert backups.drop(first.commit, progress=False).commit == first.commit
    with pytest.raises(corpusdb.NotFound, match="no backup of commit"):
        backups.restore(tmp_path / "other", first.commit)


def test_damage_is_named(tmp_path: Path) -> None:
    place, backups = tmp_path / "corpus", corpusdb.Backups(tmp_path / "backups")
    corpusdb.create(place)
    backups.create(place, progress=False)
    damaged = max((tmp_path / "backups" / "files").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    check = backups.verify(progress=False)
    assert not check and damaged.name in check.faults[0].what
    with pytest.raises(corpusdb.Corrupt, match="not what was backed up"):
        backups.restore(tmp_path / "again", progress=False)
    assert not (tmp_path / "again").exists()
    with pytest.raises(corpusdb.AlreadyExists):
        backups.restore(place, progress=False)
