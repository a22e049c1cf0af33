"""The shell of `corpusdb sql`, typed at on a pseudo terminal."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import corpora
import pytest

import corpusdb

PROMPT = "corpusdb> "
#: Takes the terminal as its own, so that Ctrl-C reaches it as a signal, and becomes the command.
START = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "corpusdb", *sys.argv[1:]])
"""
#: Minutes of work without a row.
LONG = "SELECT sum(value) FROM generate_series(1, 1000000000000)"


class Terminal:
    """A terminal of 90 columns with the shell on it."""

    def __init__(self, corpus: Path, state: Path, *more: str, environment: Mapping[str, str] | None = None) -> None:
        self.fd, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 90, 0, 0))
        variables = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(state), **(environment or {})}
        command = [sys.executable, "-c", START, "sql", str(corpus), *more]
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=variables)
        os.close(slave)
        self.wait_for(PROMPT)

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def wait_for(self, *words: str) -> str:
        """What is printed up to the last of `words`, which come in their order; without what moves the cursor."""
        seen, end = "", time.monotonic() + 60
        pattern = re.compile(".*?".join(map(re.escape, words)), re.DOTALL)
        while not pattern.search(seen):
            assert time.monotonic() < end, f"no {words} in\n{seen}"
            if not select.select([self.fd], [], [], 0.2)[0]:
                continue
            try:
                read = os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                read = ""
            assert read, f"it ended without {words}:\n{seen}"
            seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read).replace("\r", "")
        return seen

    def ask(self, line: str, *words: str) -> str:
        """Types a line and waits for `words` and the next prompt."""
        self.type(line + "\r")
        return self.wait_for(*words, "\n" + PROMPT)

    def leave(self, keys: str = "\x04") -> None:
        self.type(keys)
        end = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < end
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
        assert self.process.returncode == 0

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.fd)


@pytest.fixture
def shell(crawl_path: Path, tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(crawl_path, tmp_path / "state")
    try:
        yield terminal
    finally:
        terminal.close()


def test_statements_and_commands(shell: Terminal, tmp_path: Path) -> None:
    # A statement goes on until its semicolon, also over one in a text.
    answered = shell.ask("SELECT 6 * 7 AS answer,\r'a;b' AS text\r;", "| 42", "a;b")
    assert "error" not in answered
    shell.ask(".mode csv")
    assert "\n3,4\n" in shell.ask("SELECT 1 AS a, 2 AS b; SELECT 3 AS c, 4 AS d;", "1,2", "3,4")
    shell.ask(".timer on")
    assert "(1 rows, " in shell.ask("SELECT 5 AS e;", "\n5\n", " s)")
    assert "markdown" in shell.ask(".mode xml", "error: it is `.mode")
    assert ".schema" in shell.ask(".frobnicate", "error: no command `.frobnicate`; there are .help, .mode")
    assert "documents" in shell.ask(".tables", "sources")
    shell.ask(".mode table")
    # Tables fit the terminal.
    described = shell.ask(".schema documents", "tokens", "| text")
    assert max(map(len, described.splitlines())) <= 90
    shell.ask("SELECT nope FROM documents;", "error: cannot run", "no column `nope`")
    written = tmp_path / "answer.csv"
    shell.ask(f".output {written}", "the next answer goes to")
    shell.ask("SELECT 'x' AS a;", "1 row, 4 B")
    assert written.read_text() == "a\nx\n"
    shell.ask("SELECT 'on the screen' AS a;", "| on the screen |")
    shell.leave(".quit\r")


def test_ctrl_c_cancels_and_ctrl_d_leaves(shell: Terminal) -> None:
    shell.type("SELECT 'half a statement")
    shell.wait_for("statement")
    shell.type("\x03")
    shell.wait_for(PROMPT)
    for _ in range(2):
        shell.type(LONG + ";\r")
        time.sleep(0.5)
        shell.type("\x03")
        shell.wait_for("cancelled", PROMPT)
    shell.ask("SELECT 'still here' AS a;", "| still here |")
    shell.leave()


def test_names_are_completed_from_the_corpus(shell: Terminal) -> None:
    shell.type("SELECT max(qualit\t")
    shell.wait_for("max(quality")
    shell.type(") AS most FROM docum\t")
    shell.wait_for("documents")
    shell.ask(" WHERE kept;", "| most")
    shell.type(".sch\t snapsh\t")
    shell.ask("", ".schema", "snapshots", "kept_hash")


def test_values_are_completed_from_the_indexes(shell: Terminal) -> None:
    shell.type("SELECT count(*) AS n FROM documents_at('fir\t")
    shell.wait_for("documents_at('first'")
    shell.type(") WHERE standing NOT IN ('empty', 'nea\t")
    shell.wait_for("'near'")
    shell.ask(") AND source = 'we\t;", "source = 'web'", "| n")


def test_lines_are_remembered_by_the_next_shell(crawl_path: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = Terminal(crawl_path, state)
    first.ask("SELECT 'remembered' AS a,\r2 AS b;", "| remembered |")
    first.close()  # killed
    assert "remembered" in (state / "corpusdb" / "sql_history").read_text()
    second = Terminal(crawl_path, state, "--format", "csv")
    second.type("\x1b[A")
    second.wait_for("remembered")
    second.ask("", "remembered,2")
    second.leave()
    second.close()
    # Where it cannot be kept, nothing fails.
    nowhere = Terminal(crawl_path, Path("/proc/nowhere"), environment={"HOME": "/proc/nowhere"})
    nowhere.ask("SELECT 1 AS a;", "| 1 |")
    nowhere.leave()
    nowhere.close()


def test_each_statement_sees_what_is_committed_by_then(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    corpusdb.create(path).close()
    with corpusdb.open(path, mode="w") as writer:
        writer.ingest(corpora.pages(3), source="web")
    terminal = Terminal(path, tmp_path / "state")
    try:
        terminal.ask("SELECT 'n=' || count(*) AS n FROM documents;", "n=3")
        with corpusdb.open(path, mode="w") as writer:
            writer.ingest(corpora.pages(8)[3:], source="more")
        terminal.ask("SELECT 'n=' || count(*) AS n FROM documents;", "n=8")
        terminal.leave()
    finally:
        terminal.close()


# It opened whatever stood at its path, and answered from that.
def test_another_corpus_at_the_path_is_not_asked(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    for path, texts in [(ours, ["one", "two"]), (other, ["three"])]:
        corpusdb.create(path).close()
        with corpusdb.open(path, mode="w") as writer:
            writer.ingest([{"text": text} for text in texts], source="web")
    terminal = Terminal(ours, tmp_path / "state")
    try:
        count = "SELECT 'n=' || count(*) AS n FROM documents;"
        terminal.ask(count, "n=2")
        ours.rename(tmp_path / "aside")
        other.rename(ours)
        assert "another folder stands at" in terminal.ask(count, "n=2")
        assert "another folder stands at" not in terminal.ask(count, "n=2")
        # It is back, and goes on.
        ours.rename(other)
        (tmp_path / "aside").rename(ours)
        with corpusdb.open(ours, mode="w") as writer:
            writer.ingest([{"text": "four"}], source="web")
        terminal.ask(count, "n=3")
        terminal.leave()
    finally:
        terminal.close()
