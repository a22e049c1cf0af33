"""Fork, spawn, forkserver, pickle: what a child may do, and what it is told."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import corpusdb

HERE = Path(__file__).parent


def run(script: str, *arguments: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs a script in a process of its own, which must end in time."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=HERE)


FORK = """
    import os, sys, gc
    import corpusdb
    path = sys.argv[1]
    db = corpusdb.open(path)
    w = corpusdb.open(sys.argv[2], mode="w")
    w.ingest([{"text": "a text of some words that are its own"}], source="web")
    own, rows, pairs, unread = db.tokenizer("own"), db.sql("SELECT id FROM documents"), db.duplicates(), None
    unread = db.sql("SELECT text FROM documents").__arrow_c_stream__()
    assert db.count("quality > 0.1") == 29 and len(own.encode("amber")) > 0
    child = os.fork()
    if child == 0:
        for refused in (db.count, lambda: db["copy-0"], lambda: w.ingest([], source="x"), rows.fetchall,
                        lambda: next(pairs), lambda: corpusdb.open(path, mode="w")):
            try:
                refused()
            except corpusdb.Forked as error:
                assert "spawn" in str(error), error
            else:
                raise SystemExit(f"not refused: {refused}")
        assert "forked" in repr(db)
        db.close()
        w.close()
        # A tokenizer is no handle, and a corpus may be opened anew to be read.
        assert len(own.encode_batch(["amber", "bridge"])) == 2
        again = corpusdb.open(path)
        assert again.count("quality > 0.1") == 29
        assert again.count("text LIKE '%amber%'") > 0
        assert len(again.sql("SELECT id FROM documents ORDER BY text").fetchall()) == 44
        assert len(list(again.duplicates())) == 4 and len(again.similar(0, all=True)) == 1
        assert again.tokens(0).tolist() == own.encode(again.document(0).text).tolist()
        assert again.check("quick")
        again.close()
        del db, w, rows, pairs, unread
        gc.collect()
        print("child done", flush=True)
        sys.exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
    assert db.count() == 44 and len(rows.fetchall()) == 44 and len(list(pairs)) == 4
    assert w.ingest([{"text": "another text of words that it has for itself"}], source="web").kept == 1
    w.close()
    print("parent done")
"""


def test_after_a_fork_the_child_is_told_and_the_parent_goes_on(crawl_path: Path, empty: Path) -> None:
    done = run(FORK, crawl_path, empty)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["child done", "parent done"]


def test_a_child_that_forked_before_anything_was_open_may_write(empty: Path) -> None:
    done = run("""
        import os, sys, corpusdb
        if os.fork() == 0:
            with corpusdb.open(sys.argv[1], mode="w") as w:
                w.ingest([{"text": "a text of some words"}], source="web")
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        assert corpusdb.open(sys.argv[1]).count() == 1
    """, empty)
    assert done.returncode == 0, done.stderr


def count(db: corpusdb.Corpus) -> tuple[int, int]:
    """What a worker does with a corpus that it was sent."""
    return db.count("kept"), os.getpid()


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_workers_open_what_they_were_sent(crawl_path: Path, method: str) -> None:
    db = corpusdb.open(crawl_path, memory="64MiB")
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        answers = pool.map(count, [db] * 4)
    assert {kept for kept, _ in answers} == {40}
    assert os.getpid() not in {process for _, process in answers}


def test_a_reader_is_pickled_as_its_path_and_options(crawl_path: Path) -> None:
    db = corpusdb.open(crawl_path, memory="64MiB", threads=1)
    again = pickle.loads(pickle.dumps(db))
    assert again.path == db.path and again.count() == db.count()
    db.close()
    assert again.count() == 44


def test_a_writer_is_not_pickled(w: corpusdb.Writer) -> None:
    with pytest.raises(TypeError, match="only one process writes"):
        pickle.dumps(w)


def test_an_interpreter_ends_with_everything_open(crawl_path: Path, empty: Path) -> None:
    done = run("""
        import sys, corpusdb
        db, w = corpusdb.open(sys.argv[1]), corpusdb.open(sys.argv[2], mode="w")
        w.ingest([{"text": "a text of some words"}], source="web")
        rows = db.sql("SELECT a.text FROM documents a CROSS JOIN documents b")
        reader = iter(rows); next(reader)
        stream = db.sql("SELECT id FROM documents").__arrow_c_stream__()
    """, crawl_path, empty)
    assert (done.returncode, done.stderr) == (0, "")


REFUSED = """
    import resource, sys
    import corpusdb
    path, room = sys.argv[1], int(sys.argv[2])
    def texts(of, count):
        return [{"text": f"{of} " + " ".join(str(at * n * 7919 % 99991) for n in range(60))} for at in range(count)]
    w = corpusdb.open(path, mode="w", memory="32MB")
    w.ingest(texts("first", 40), source="web")
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    failed = 0
    for call in (lambda: w.ingest(texts("second", 6000), source="web"), lambda: w.snapshots.create("then"),
                 lambda: w.ingest(texts("third", 40), source="web"), lambda: w.compact()):
        try:
            call()
        except (corpusdb.CorpusError, OSError) as error:
            failed += 1
            assert str(error), repr(error)
    print("refused", failed)
    w.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with corpusdb.open(path, mode="w", memory="32MB") as again:
        before = again.count()
        again.ingest(texts("fourth", 40), source="web")
        assert again.count() == before + 40 and again.check("deep")
    print("opened again")
"""


# A thread of RocksDB waited for room behind a refused write, and closing waited for the thread.
@pytest.mark.parametrize("room", [20_000, 600_000])
def test_a_writer_whose_write_was_refused_is_dead_and_its_process_lives(empty: Path, room: int) -> None:
    told = run(REFUSED, empty, room, timeout=120)
    assert told.returncode == 0, told.stderr
    refused, again = told.stdout.splitlines()
    # The first call, and each that follows on the handle.
    assert refused == "refused 4" and again == "opened again", told.stdout
