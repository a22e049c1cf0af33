"""Threads: eight look while one writes; two that write wait for one another."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import corpora
import pytest

import corpusdb


def test_eight_threads_read_while_one_writes(w: corpusdb.Writer) -> None:
    stop = threading.Event()
    w.ingest(corpora.pages(10), source="web", id_field="url")

    def look(_: int) -> int:
        seen = 0
        while not stop.is_set() or seen == 0:
            kept = w.count("kept")
            assert kept >= seen
            seen = kept
            assert w["https://a.example/3"].text == corpora.prose(3)
            assert len(w.sql("SELECT id FROM documents WHERE id < 5").fetchall()) == 5
            assert len(w.similar(corpora.nearly(2), k=1)) == 1
        return seen

    with ThreadPoolExecutor(8) as pool:
        looking = [pool.submit(look, n) for n in range(8)]
        for start in range(10, 130, 20):
            w.ingest([corpora.page(n) for n in range(start, start + 20)], source="web", id_field="url")
        stop.set()
        assert all(10 <= looked.result() <= 130 for looked in looking)
    assert w.count("kept") == 130
    assert w.check("deep")


def test_two_threads_that_write_wait_for_one_another(w: corpusdb.Writer) -> None:
    def pour(first: int) -> int:
        return w.ingest([corpora.page(n) for n in range(first, first + 25)], source="web").kept

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(pour, range(0, 100, 25))) == 100
    assert w.count("kept") == 100


def test_other_threads_run_while_a_call_works(w: corpusdb.Writer) -> None:
    """The interpreter's lock is given back: a call that waits for another thread would never end otherwise."""
    begun, go_on = threading.Event(), threading.Event()

    def records() -> Iterator[dict[str, str]]:
        yield {"text": corpora.prose(1)}
        begun.set()
        assert go_on.wait(30)
        yield {"text": corpora.prose(2)}

    with ThreadPoolExecutor(1) as pool:
        pouring = pool.submit(lambda: w.ingest(records(), source="web").kept)
        assert begun.wait(30)
        assert w.count() in (0, 1)
        go_on.set()
        assert pouring.result(30) == 2


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has its lock always")
def test_a_free_threaded_interpreter_stays_so() -> None:
    told = "import sys, corpusdb; print(sys._is_gil_enabled())"
    # Whatever else the tests have imported may bring the lock back.
    ran = subprocess.run([sys.executable, "-P", "-c", told], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False"], ran.stderr


def test_a_table_may_be_read_on_another_thread(db: corpusdb.Corpus) -> None:
    import pyarrow

    reader = db.sql("SELECT id FROM documents").to_reader()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(reader.read_all).result(30).num_rows == 44
    rows = db.sql("SELECT id FROM documents")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(pyarrow.table, rows).result(30).num_rows == 44
