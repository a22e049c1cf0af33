"""Races ad-hoc queries over the same made-up documents: corpusdb against DuckDB with a file of its own.

    VENV/bin/python benches/peers/queries.py CORPUSDB [--documents 10000000] [--work DIR] [--rounds 7]

VENV has the packages `corpusdb` and `duckdb` (python/requirements-judges.txt); CORPUSDB is the command. The
documents are a key, a few words, a site (1,000, some of them far larger than others), a language (40), a number of tokens
and a score. Both are asked by a process of their own that has the answer of every query once before it is measured; both
have one core (`taskset`), and DuckDB one thread. Told are medians of CPU and wall milliseconds of a query, in turns, and
the ratio of CPU; answers that differ end the race. DuckDB's table has the columns that the queries name, not the texts.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

# `language` is a column of every corpus.
FIELDS = {"site": "keyword", "toks": "int", "score": "float"}

QUERIES = {
    "two keywords and a range": "SELECT count(*) FROM {t} WHERE site = 'site7' AND language = 'l3' AND toks BETWEEN 200 AND 900",
    "ranges of two numbers": "SELECT count(*) FROM {t} WHERE toks BETWEEN 200 AND 900 AND score > 0.75",
    "groups by two keywords": "SELECT site, language, sum(toks) AS toks FROM {t} GROUP BY site, language ORDER BY site, language",
    "groups by one, of a selection": "SELECT language, count(*) AS n, avg(toks) AS mean FROM {t} WHERE score > 0.5 GROUP BY language ORDER BY language",
    "one key": "SELECT toks FROM {t} WHERE key = 'k4711'",
}


def lines(documents):
    """The documents as JSON lines."""
    random.seed(1)
    words = [f"w{n}" for n in range(5000)]
    for number in range(documents):
        site = int(1000 * random.random() ** 3)
        language = int(40 * random.random() ** 2)
        toks = int(random.lognormvariate(6, 1))
        text = f"{number} {random.choice(words)} {random.choice(words)}"
        score = round(random.random(), 4)
        yield (
            f'{{"id":"k{number}","text":"{text}","site":"site{site}","language":"l{language}",'
            f'"toks":{toks},"score":{score}}}\n'
        )


def make(work, command, documents):
    """The corpus, and DuckDB's file with the same columns."""
    import duckdb

    corpus, table, given = work / "corpus", work / "peer.duckdb", work / "documents.jsonl"
    if not given.exists():
        with given.open("w") as file:
            file.writelines(lines(documents))
    if not corpus.exists():
        fields = [part for name, kind in FIELDS.items() for part in ("--field", f"{name}:{kind}")]
        subprocess.run([command, "init", corpus, "--mode", "exact", *fields], check=True)
        start = time.perf_counter()
        subprocess.run([command, "ingest", corpus, given, "--source", "web", "--id-field", "id"], check=True)
        print(f"ingest: {time.perf_counter() - start:.0f} s", flush=True)
    if not table.exists():
        columns = "{'id': 'VARCHAR', 'site': 'VARCHAR', 'language': 'VARCHAR', 'toks': 'BIGINT', 'score': 'DOUBLE'}"
        peer = duckdb.connect(str(table))
        peer.execute(
            "CREATE TABLE documents AS SELECT id AS key, site, language, toks, score "
            f"FROM read_json('{given}', format = 'newline_delimited', columns = {columns})"
        )
        # What its users do for look-ups.
        peer.execute("CREATE INDEX keys ON documents (key)")
        peer.close()
    return corpus, table


def ours(path):
    import corpusdb

    db = corpusdb.open(path)
    return lambda query: [tuple(row) for row in db.sql(query).fetchall()]


def theirs(path):
    import duckdb

    db = duckdb.connect(path, read_only=True, config={"threads": 1})
    return lambda query: db.execute(query).fetchall()


def answer(kind, path):
    """Answers the queries that come as lines on stdin: each with its rows, CPU and wall seconds."""
    ask = {"ours": ours, "theirs": theirs}[kind](path)
    for query in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        rows = ask(query)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        print(json.dumps({"rows": rows, "cpu": cpu, "wall": wall}), flush=True)


class Contestant:
    def __init__(self, kind, path):
        words = ["taskset", "-c", "0", sys.executable, __file__, "--answer", kind, str(path)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, query):
        self.process.stdin.write(query + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a contestant ended")
        return json.loads(line)


def same(left, right):
    close = lambda a, b: abs(a - b) <= 1e-9 * max(abs(a), abs(b)) if isinstance(a, float) else a == b
    return len(left) == len(right) and all(all(map(close, a, b)) for a, b in zip(left, right))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?")
    parser.add_argument("--answer", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache/corpusdb/race/queries")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if options.answer:
        return answer(*options.answer)
    if not options.command:
        parser.error("give the command")
    options.work.mkdir(parents=True, exist_ok=True)
    corpus, table = make(options.work, options.command, options.documents)
    both = [Contestant("ours", corpus), Contestant("theirs", table)]
    print(f"{'query':32} {'ours, CPU':>10} {'wall':>8} {'DuckDB':>10} {'wall':>8} {'ratio':>6}  milliseconds, medians")
    for name, query in QUERIES.items():
        query = query.format(t="documents")
        first = [contestant.ask(query) for contestant in both]
        if not same(first[0]["rows"], first[1]["rows"]):
            sys.exit(f"the answers differ: {query}\n{first[0]['rows'][:3]}\n{first[1]['rows'][:3]}")
        told = [[], []]
        for _ in range(options.rounds):
            for place, contestant in enumerate(both):
                told[place].append(contestant.ask(query))
        figures = [
            1000 * statistics.median(one[what] for one in told[place]) for place in (0, 1) for what in ("cpu", "wall")
        ]
        ratio = figures[0] / figures[2] if figures[2] else float("inf")
        print(f"{name:32} {figures[0]:10.1f} {figures[1]:8.1f} {figures[2]:10.1f} {figures[3]:8.1f} {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
