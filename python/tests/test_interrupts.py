"""Ctrl-C: long calls end with KeyboardInterrupt, the corpus is consistent, and the same call goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import corpora
import pytest

import corpusdb

HERE = Path(__file__).parent

INGEST = """
    import sys, itertools, corpora, corpusdb
    w = corpusdb.open(sys.argv[1], mode="w", memory="128MiB")
    pages = ({"text": corpora.prose(n, 200), "url": str(n)} for n in itertools.count())
    def told(progress):
        if progress.tally and progress.tally[2] > 3000:
            print("running", flush=True)
    try:
        w.ingest(pages, source="web", id_field="url", batch_bytes="1MiB", progress=told)
    except KeyboardInterrupt:
        print("interrupted", w.count(), flush=True)
        assert w.ingest([{"text": corpora.prose(-1), "url": "more"}], source="web", id_field="url").kept == 1
        assert w.check("full")
        w.close()
        raise
"""

FILES = """
    import sys, corpusdb
    w = corpusdb.open(sys.argv[1], mode="w", memory="128MiB")
    def told(progress):
        print("running", flush=True)
    w.ingest(sys.argv[2], source="web", id_field="url", batch_bytes="1MiB", progress=told)
"""

SQL = """
    import sys, corpusdb
    db = corpusdb.open(sys.argv[1])
    print("running", flush=True)
    db.sql(sys.argv[2]).{method}()
"""

HUGE = "SELECT sum(a.id * b.id * c.id % 7) FROM documents a, documents b, documents c, documents d, documents e"


def interrupt(script: str, *arguments: object) -> tuple[int, list[str], str, float]:
    """Runs a script, sends SIGINT when it says that it runs; how it ended, and how long that took."""
    # Whoever runs the tests may ignore SIGINT, and a child would inherit that. The child undoes it itself: what runs
    # between fork and exec (`preexec_fn`) runs beside the threads of gRPC, once tests with Sail came before.
    heeded = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", heeded + textwrap.dedent(script), *map(str, arguments)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=HERE)
    assert started.stdout is not None
    line = started.stdout.readline()
    assert line == "running\n", started.communicate()
    time.sleep(0.3)
    begun = time.monotonic()
    os.kill(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=60)
    return started.returncode, out.splitlines(), err, time.monotonic() - begun


def test_an_ingest_of_an_iterator_stops_and_goes_on(empty: Path) -> None:
    code, out, err, _ = interrupt(INGEST, empty)
    assert "KeyboardInterrupt" in err and code in (-signal.SIGINT, 130), err
    counts = [int(line.split()[1]) for line in out if line.startswith("interrupted")]
    assert len(counts) == 1 and counts[0] >= 0
    with corpusdb.open(empty, mode="w") as w:
        assert w.count() == counts[0] + 1
        assert w.check("deep")


def test_an_ingest_of_files_goes_on_where_it_stopped(empty: Path, tmp_path: Path) -> None:
    import json

    count = 30_000
    with open(tmp_path / "pages.jsonl", "w") as file:
        for n in range(count):
            file.write(json.dumps({"url": str(n), "text": corpora.prose(n % 97, 40) + f" {n} {n * n} {n * 31} {n * 17}"}) + "\n")
    code, _, err, _ = interrupt(FILES, empty, tmp_path / "pages.jsonl")
    assert "KeyboardInterrupt" in err and code in (-signal.SIGINT, 130), err
    with corpusdb.open(empty, mode="w") as w:
        stored = w.count()
        assert stored < count, "it ended before it was interrupted"
        report = w.ingest(tmp_path / "pages.jsonl", source="web", id_field="url")
        assert (report.read, w.count()) == (count - stored, count)


@pytest.mark.parametrize("method", ["fetchall", "to_pyarrow"])
def test_a_query_is_left(crawl_path: Path, method: str) -> None:
    code, _, err, seconds = interrupt(SQL.format(method=method), crawl_path, HUGE)
    assert "KeyboardInterrupt" in err and code in (-signal.SIGINT, 130), err
    assert seconds < 30


def test_a_query_that_was_left_is_over_when_the_process_ends(crawl_path: Path) -> None:
    script = """
        import sys, corpusdb
        try:
            print("running", flush=True)
            corpusdb.open(sys.argv[1]).sql(sys.argv[2]).fetchall()
        except KeyboardInterrupt:
            print("left", file=sys.stderr)
    """
    for _ in range(5):
        code, _, err, _ = interrupt(script, crawl_path, HUGE)
        assert (code, err) == (0, "left\n")


def test_what_reads_a_stream_is_interrupted_too(crawl_path: Path) -> None:
    script = """
        import sys, pyarrow, corpusdb
        rows = corpusdb.open(sys.argv[1]).sql(sys.argv[2])
        print("running", flush=True)
        pyarrow.RecordBatchReader.from_stream(rows).read_all()
    """
    _, _, err, seconds = interrupt(script, crawl_path, HUGE)
    assert "KeyboardInterrupt" in err and seconds < 30, err


def test_a_compaction_stops_between_its_pieces_and_loses_nothing(empty: Path) -> None:
    def stop(progress: corpusdb.Progress) -> None:
        if progress.stage == "compacting" and progress.done < (progress.total or 0):
            raise KeyboardInterrupt

    with corpusdb.open(empty, mode="w", memory="128MiB") as w:
        def compactions() -> int:
            return [commit.kind for commit in w.info().commits].count("compact")

        # Progress is told some times a second: a machine that is done before that gets more to do.
        pages = 0
        for ended, more in enumerate([400, 4_000, 16_000, 64_000]):
            w.ingest((corpora.page(pages + n) for n in range(more)), source="web", id_field="url")
            pages += more
            before = w.digest(progress=False)
            try:
                w.compact(progress=stop)
            except KeyboardInterrupt:
                if compactions() == ended:
                    break
            assert compactions() == ended + 1
        else:
            pytest.fail("no compaction was interrupted")
        assert w.digest(progress=False) == before and w.check("deep")
        assert w.ingest([corpora.page(pages)], source="web", id_field="url").kept == 1
        w.compact()
        assert compactions() == ended + 1
        kept = w.count()
    with corpusdb.open(empty) as db:
        assert db.count() == kept > pages // 2 and db.check("deep")
