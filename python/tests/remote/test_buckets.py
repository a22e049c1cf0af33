"""Ingest from, export to and back up into a store that others wrote: moto's S3."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cutter import Cutter

import corpusdb

COMMAND = [sys.executable, "-m", "corpusdb"]


def lines(first: int, count: int, words: int = 60) -> bytes:
    def text(n: int) -> str:
        return " ".join(f"w{(n * 7919 + at * 104729) % 50021}" for at in range(words))

    return "".join(json.dumps({"url": f"u{n}", "text": text(n), "n": n}) + "\n" for n in range(first, first + count)).encode()


FILES = {"2026/a.jsonl": lines(0, 3000), "2026/b/c d.jsonl.gz": gzip.compress(lines(3000, 3000)), "2026/é.jsonl": lines(6000, 100)}


def run(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], text=True, capture_output=True, env=os.environ, timeout=300, **more)


def good(*arguments: object) -> str:
    ran = run(*arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def rows(corpus: Path) -> str:
    """All documents with what was decided."""
    columns = "id, key, source, standing, dup_of, jaccard, bytes, text, meta"
    return good("sql", corpus, f"SELECT {columns} FROM documents ORDER BY id", "--format", "csv")


def local(tmp_path: Path) -> str:
    for name, data in FILES.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    good("init", tmp_path / "local")
    good("ingest", tmp_path / "local", tmp_path / "in", "--source", "web", "--id-field", "url")
    return rows(tmp_path / "local")


def fill(s3: Any) -> None:
    for name, data in FILES.items():
        s3.put_object(Bucket="crawl", Key=name, Body=data)


def test_a_bucket_gives_the_corpus_of_its_files_though_connections_are_cut(s3: Any, cutter: Cutter, tmp_path: Path) -> None:
    expected = local(tmp_path)
    fill(s3)
    corpus = tmp_path / "remote"
    corpusdb.create(corpus).close()
    cutter.cuts, cutter.behind = 6, 20_000
    with corpusdb.open(corpus, mode="w") as w:
        report = w.ingest("s3://crawl/2026/", source="web", id_field="url")
        assert (report.read, report.rejected) == (6100, 0)
        assert cutter.cuts == 0
        again = w.ingest("s3://crawl/2026/", source="web", id_field="url")
        assert (again.read, again.unchanged) == (0, 6100)
    assert rows(corpus) == expected


def test_an_ingest_that_is_killed_goes_on(s3: Any, cutter: Cutter, tmp_path: Path) -> None:
    expected = local(tmp_path)
    fill(s3)
    corpus = tmp_path / "remote"
    good("init", corpus)
    ingest = [*COMMAND, "ingest", str(corpus), "s3://crawl/2026/", "--source", "web", "--id-field", "url", "--batch-bytes", "50kB"]
    for _ in range(3):
        running = subprocess.Popen(ingest, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.7)
        running.send_signal(signal.SIGKILL)
        running.wait()
    good(*ingest[len(COMMAND) :])
    assert rows(corpus) == expected


def test_what_is_missing_or_refused_is_told(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tmp_path / "corpus"
    corpusdb.create(corpus).close()
    with corpusdb.open(corpus, mode="w") as w:
        with pytest.raises(corpusdb.NotFound, match="s3://crawl/none.jsonl: no such object"):
            w.ingest("s3://crawl/none.jsonl", source="web")
        with pytest.raises(corpusdb.NotFound, match="s3://no-such-bucket/"):
            w.ingest("s3://no-such-bucket/", source="web")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
        with pytest.raises(corpusdb.CorpusError, match="AWS_SKIP_SIGNATURE=true"):
            w.ingest("s3://crawl/x.jsonl", source="web")


def test_an_export_into_a_bucket_is_the_export_to_disk(s3: Any, cutter: Cutter, tmp_path: Path) -> None:
    local(tmp_path)
    corpus = tmp_path / "local"
    for name, more in {"parquet": ["--format", "parquet"], "jsonl": ["--compression", "zstd", "--format", "jsonl"]}.items():
        small = [*more, "--shard-bytes", "300kB"]
        good("export", corpus, "--to", tmp_path / name, *small)
        cutter.cuts, cutter.behind = 2, 100
        good("export", corpus, "--to", f"s3://crawl/out/{name}/", *small)
        cutter.cuts = 0
        keys = {o["Key"] for o in s3.list_objects_v2(Bucket="crawl", Prefix=f"out/{name}/")["Contents"]}
        files = {f"out/{name}/{path.name}": path for path in (tmp_path / name).iterdir()}
        assert keys == set(files)
        # The manifest stands beside the folder.
        files[f"out/.{name}.manifest.json"] = tmp_path / f".{name}.manifest.json"
        for key, path in files.items():
            assert s3.get_object(Bucket="crawl", Key=key)["Body"].read() == path.read_bytes(), key
        refused = run("export", corpus, "--to", f"s3://crawl/out/{name}/", *small)
        assert refused.returncode == 2
        assert "exists; replace it with --force" in refused.stderr
        good("export", corpus, "--where", "id < 10", "--to", f"s3://crawl/out/{name}/", "--force", *small)
        left = {o["Key"] for o in s3.list_objects_v2(Bucket="crawl", Prefix=f"out/{name}/")["Contents"]}
        assert len(left) == 1, left
    good("export", corpus, "--to", "s3://crawl/all.jsonl")
    good("export", corpus, "--to", tmp_path / "all.jsonl")
    assert s3.get_object(Bucket="crawl", Key="all.jsonl")["Body"].read() == (tmp_path / "all.jsonl").read_bytes()


def test_an_answer_in_a_bucket_is_the_answer_on_disk(s3: Any, cutter: Cutter, tmp_path: Path) -> None:
    local(tmp_path)
    asked = ["sql", tmp_path / "local", "SELECT id, key, text FROM documents ORDER BY id", "-o"]
    for name in ["a.parquet", "a.csv.gz", "a.jsonl", "a.arrow"]:
        cutter.cuts, cutter.behind = 2, 100
        good(*asked, f"s3://crawl/answers/{name}")
        cutter.cuts = 0
        good(*asked, tmp_path / name)
        assert s3.get_object(Bucket="crawl", Key=f"answers/{name}")["Body"].read() == (tmp_path / name).read_bytes(), name
    refused = run(*asked, "s3://crawl/answers/a.csv.gz")
    assert refused.returncode == 2
    assert "exists; replace it with --force" in refused.stderr
    good(*asked, "s3://crawl/answers/a.csv.gz", "--force")
    assert "does not end in a name" in run(*asked, "s3://crawl/answers/", "--format", "csv").stderr
    # One that fails on the way leaves no object.
    failing = ["sql", tmp_path / "local", "SELECT text, 1 / (id - 6000) FROM documents ORDER BY id", "-o", "s3://crawl/answers/b.csv"]
    assert run(*failing).returncode == 2
    left = {o["Key"] for o in s3.list_objects_v2(Bucket="crawl", Prefix="answers/")["Contents"]}
    assert left == {f"answers/a.{ending}" for ending in ["parquet", "csv.gz", "jsonl", "arrow"]}
    assert s3.list_multipart_uploads(Bucket="crawl").get("Uploads", []) == []


def test_a_large_file_is_sent_in_parts_and_read_again(s3: Any, tmp_path: Path) -> None:
    corpus, copy = tmp_path / "corpus", tmp_path / "copy"
    good("init", corpus, "--mode", "none")
    good("init", copy, "--mode", "none")
    (tmp_path / "a.jsonl").write_bytes(lines(0, 20_000, words=300))
    good("ingest", corpus, tmp_path / "a.jsonl", "--source", "web", "--id-field", "url")
    good("export", corpus, "--to", "s3://crawl/big.jsonl", "--memory", "256MiB")
    assert s3.head_object(Bucket="crawl", Key="big.jsonl")["ETag"].endswith('-5"')
    good("ingest", copy, "s3://crawl/big.jsonl", "--source", "web", "--id-field", "key", "--drop-fields", "source", "--memory", "128MiB")
    rows = "SELECT key, text FROM documents ORDER BY key"
    assert good("sql", copy, rows, "--format", "csv") == good("sql", corpus, rows, "--format", "csv")
    assert s3.list_multipart_uploads(Bucket="crawl").get("Uploads", []) == []


def test_an_export_that_is_killed_goes_on_behind_its_last_file(s3: Any, cutter: Cutter, tmp_path: Path) -> None:
    local(tmp_path)
    corpus, small = tmp_path / "local", ["--format", "jsonl", "--shard-bytes", "100kB"]
    good("export", corpus, "--to", tmp_path / "out", *small)
    export = [*COMMAND, "export", str(corpus), "--to", "s3://crawl/out/", *small]
    running = subprocess.Popen(export, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.poll() is None:
        done = s3.list_objects_v2(Bucket="crawl", Prefix="out/part-").get("KeyCount", 0)
        if done >= 3:
            break
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = {o["Key"]: o["LastModified"] for o in s3.list_objects_v2(Bucket="crawl", Prefix="out/part-")["Contents"]}
    time.sleep(1.1)
    good(*export[len(COMMAND) :])
    after = {o["Key"]: o["LastModified"] for o in s3.list_objects_v2(Bucket="crawl", Prefix="out/part-")["Contents"]}
    kept = [key for key, modified in before.items() if after[key] == modified]
    assert len(kept) >= len(before) - 2, (before, after)
    for path in (tmp_path / "out").iterdir():
        assert s3.get_object(Bucket="crawl", Key=f"out/{path.name}")["Body"].read() == path.read_bytes(), path


def test_backups_in_a_bucket_come_back_as_they_were(s3: Any, cutter: Cutter, tmp_path: Path) -> None:
    place, backups = tmp_path / "corpus", corpusdb.Backups("s3://crawl/backups/web")
    corpusdb.create(place)
    with corpusdb.open(place, mode="w") as writer:
        (tmp_path / "a.jsonl").write_bytes(lines(0, 3000))
        writer.ingest(tmp_path / "a.jsonl", source="web", id_field="url")
        cutter.cuts, cutter.behind = 2, 100
        first = backups.create(place, progress=False)
        cutter.cuts = 0
        digest = writer.digest()
        writer.ingest([{"url": "more", "text": "one more page, which is like none of the others"}], source="web", id_field="url")
        second = backups.create(place, progress=False)
    assert 0 < second.new_bytes < second.bytes
    for each in (backups, corpusdb.Backups(tmp_path / "backups")):
        assert each.create(place, progress=False).commit == second.commit
    for path in (tmp_path / "backups" / "files").rglob("*"):
        if path.is_file():
            key = f"backups/web/{path.relative_to(tmp_path / 'backups')}"
            assert s3.get_object(Bucket="crawl", Key=key)["Body"].read() == path.read_bytes(), key
    assert [backup.commit for backup in backups.show()] == [first.commit, second.commit]
    assert backups.verify(progress=False)
    backups.restore(tmp_path / "again", first.commit, progress=False)
    with corpusdb.open(tmp_path / "again") as corpus:
        assert corpus.digest() == digest
    # The mark of one that may still run, on another machine.
    s3.put_object(Bucket="crawl", Key="backups/web/marks/adding-1", Body=b"")
    with pytest.raises(corpusdb.Locked, match="marks/adding-1; wait for it to end"):
        backups.drop(first.commit)
    s3.delete_object(Bucket="crawl", Key="backups/web/marks/adding-1")
    assert backups.drop(first.commit).commit == first.commit
    assert s3.list_objects_v2(Bucket="crawl", Prefix="backups/web/marks/").get("KeyCount", 0) == 0
    assert backups.verify(progress=False)
    with pytest.raises(corpusdb.NotFound):
        corpusdb.Backups("s3://no-such-bucket/x").create(place)
