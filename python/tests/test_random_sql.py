"""DuckDB and SQLite judge what random statements answer: each is answered as they answer it, or refused.

Where both answer alike they are right, and DuckDB alone where SQLite lacks something. The table that is printed counts the
statements by what is in them.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from judges import found
from judges.engines import BEYOND, Judges, Verdict
from judges.queries import Maker
from judges.tree import Node, smallest

#: Statements over each corpus; there are as many corpora as CORPUSDB_SEEDS says.
STATEMENTS = 1500
SEEDS = int(os.environ.get("CORPUSDB_SEEDS", "1"))
#: What both judges answer may be refused as often: 0.5 % were.
REFUSED = 0.01
#: So many that differ are made small, by so many tries each.
SHRUNK, TRIES = 12, 300


class Tally:
    """Statements by what they contain and what became of them."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.errors: Counter[str] = Counter()
        self.differing: list[str] = []

    def add(self, statement: Node, verdict: Verdict) -> None:
        self.verdicts[verdict.kind] += 1
        for kind in statement.kinds():
            self.kinds[kind][verdict.kind] += 1
        if verdict.kind == "refused":
            self.errors[re.sub(r"`[^`]*`|\d+|[a-z]#\.", "#", verdict.ours.error)[:60]] += 1

    def table(self, seconds: float) -> str:
        columns = ["equal", "differing", "refused", "disputed", "unanswered"]
        lines = [f"{sum(self.verdicts.values())} statements in {seconds:.0f} s"]
        lines.append(f"{'':34}" + "".join(f"{name:>12}" for name in columns) + f"{'refused, %':>12}")
        for kind, counts in [("all", self.verdicts), *sorted(self.kinds.items())]:
            share = 100 * counts["refused"] / max(1, counts["equal"] + counts["differing"] + counts["refused"])
            lines.append(f"{kind:34}" + "".join(f"{counts[name]:>12}" for name in columns) + f"{share:>12.1f}")
        return "\n".join([*lines, *(f"refused {count:>5}  {error}" for error, count in self.errors.most_common())])


def search(judges: Judges, maker: Maker, tally: Tally) -> None:
    for _ in range(STATEMENTS):
        statement = maker.statement()
        verdict = judges.verdict(statement)
        tally.add(statement, verdict)
        if verdict.kind == "differing" and len(tally.differing) < SHRUNK:
            small = smallest(statement, lambda less: judges.verdict(less).kind == "differing", TRIES)
            tally.differing.append(judges.shown(small, judges.verdict(small)))


def test_what_was_wrong_once_is_right(tmp_path: Path) -> None:
    """One corpus may have no row that tells right from wrong: there are several."""
    differing, unanswered = [], []
    for seed in range(3):
        (tmp_path / str(seed)).mkdir()
        judges = Judges(tmp_path / str(seed), seed)
        for statement in found.statements():
            verdict = judges.verdict(statement)
            if verdict.kind == "differing":
                differing.append(judges.shown(statement, verdict))
            elif (
                verdict.kind == "refused" or verdict.duckdb.rows is None and not verdict.duckdb.error.startswith(BEYOND)
            ):
                unanswered.append(f"{verdict.kind}: {judges.shown(statement, verdict)}")
        judges.close()
    assert not differing, f"{len(differing)} differ:\n\n" + "\n".join(differing)
    assert not unanswered, "\n".join(unanswered)


def test_duckdb_and_sqlite_answer_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sqlite3.sqlite_version_info >= (3, 39), (
        f"SQLite {sqlite3.sqlite_version} of {sys.executable} has no FULL JOIN"
    )
    tally, began = Tally(), time.monotonic()
    for seed in range(SEEDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        judges = Judges(folder, seed)
        search(judges, Maker(seed), tally)
        judges.close()
    with capsys.disabled():
        print(f"\n{tally.table(time.monotonic() - began)}")
    counts = tally.verdicts
    answered = counts["equal"] + counts["differing"] + counts["refused"]
    # Judges that answer little, or each another thing, judge nothing.
    assert answered > 0.95 * STATEMENTS * SEEDS, counts
    assert not counts["differing"], f"{counts['differing']} of {answered} differ:\n\n" + "\n".join(tally.differing)
    assert counts["refused"] <= REFUSED * answered, f"{counts['refused']} of {answered} are refused: {tally.errors}"
