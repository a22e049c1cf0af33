"""Races ad-hoc queries over the same made-up documents: corpusdb against DuckDB with a file of its own.

    VENV/bin/python benches/peers/scan.py CORPUSDB [--documents 10000000] [--work DIR] [--rounds 3] [--only WORD]

VENV has the packages `corpusdb` and `duckdb` (python/requirements-judges.txt); CORPUSDB is the command. The
documents are a key, a text of three words (18 bytes), a site (1,000, some of them far larger than others), a language
(12), a number of tokens, a score and a moment; DuckDB's table has all of them. Both are asked by a process of their own
that has the answer of every query once before it is measured; both have one core (`taskset`), and DuckDB one thread.
Shown are medians of CPU and wall milliseconds of a query, in turns, and the ratio of CPU; answers that differ end the race.
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
FIELDS = {"site": "keyword", "toks": "int", "score": "float", "seen": "timestamp"}

ONE_SITE = "site = 'site7'"
# Where the two spell something differently, {matches} is a search by a regular expression, and {csv} and {few} are
# files: 100,000 keys with a number each, and 1,000 keys.
QUERIES = {
    # Keys and texts.
    "key LIKE, prefix": "SELECT count(*) FROM documents WHERE key LIKE 'k99999%'",
    "key LIKE, infix": "SELECT count(*) FROM documents WHERE key LIKE '%777%'",
    "text LIKE, infix": "SELECT count(*) FROM documents WHERE text LIKE '%w77 w%'",
    "text starts_with": "SELECT count(*) FROM documents WHERE starts_with(text, '4711')",
    "text, regular expression": "SELECT count(*) FROM documents WHERE {matches}(text, 'w7+ w[0-9]$')",
    "length(text) of one site": f"SELECT sum(length(text)) FROM documents WHERE {ONE_SITE}",
    "sum(length(text))": "SELECT sum(length(text)) FROM documents",
    "sum(length(key)), sum(toks)": "SELECT sum(length(key)), sum(toks) FROM documents",
    "count(DISTINCT key)": "SELECT count(DISTINCT key) FROM documents",
    "count(DISTINCT site)": "SELECT count(DISTINCT site) FROM documents",
    # The first of an order.
    "top 10 by score, with key": "SELECT key, toks, score FROM documents ORDER BY score DESC, key LIMIT 10",
    "top 10 by toks, with text": "SELECT text, toks FROM documents ORDER BY toks DESC, key LIMIT 10",
    "top 10 by key": "SELECT key FROM documents ORDER BY key LIMIT 10",
    "top 3 of each site": (
        "SELECT site, key, score FROM (SELECT site, key, score, row_number() OVER "
        "(PARTITION BY site ORDER BY score DESC, key) AS place FROM documents) WHERE place <= 3"
    ),
    "row_number by language": (
        "SELECT sum(place * toks) FROM (SELECT toks, row_number() OVER "
        "(PARTITION BY language ORDER BY score, key) AS place FROM documents)"
    ),
    "text of the first 10 by key": "SELECT text FROM documents ORDER BY key LIMIT 10",
    # Rows, keys, joins.
    "rows of score < .01": "SELECT key, site FROM documents WHERE score < 0.01",
    "one key": "SELECT toks FROM documents WHERE key = 'k4711'",
    "256 keys by IN": f"SELECT sum(toks) FROM documents WHERE key IN ({', '.join(repr(f'k{37 * n}') for n in range(256))})",
    "1,000 keys by IN": f"SELECT sum(toks) FROM documents WHERE key IN ({', '.join(repr(f'k{31 * n}') for n in range(1000))})",
    "join of 1,000 keys": "SELECT sum(d.toks) FROM documents d JOIN read_csv('{few}') k ON k.key = d.key",
    "join of 100,000 scores": "SELECT sum(d.toks * k.n) FROM documents d JOIN read_csv('{csv}') k ON k.key = d.key",
    "key IN (SELECT ..)": "SELECT sum(toks) FROM documents WHERE key IN (SELECT key FROM read_csv('{few}'))",
    "key NOT IN (SELECT ..)": "SELECT sum(toks) FROM documents WHERE key NOT IN (SELECT key FROM read_csv('{few}'))",
    # Conditions.
    "two keywords and a range": f"SELECT count(*) FROM documents WHERE {ONE_SITE} AND language = 'l3' AND toks BETWEEN 200 AND 900",
    "site IN three": "SELECT count(*) FROM documents WHERE site IN ('site7', 'site70', 'site700')",
    "ranges of two numbers": "SELECT count(*) FROM documents WHERE toks BETWEEN 200 AND 900 AND score > 0.75",
    "keys OR a range": "SELECT count(*) FROM documents WHERE key IN ('k1', 'k2', 'k3') OR toks > 5000",
    "LIKE on a keyword": "SELECT count(*) FROM documents WHERE site LIKE '%9'",
    # Groups.
    "DISTINCT sites of toks > 5000": "SELECT DISTINCT site FROM documents WHERE toks > 5000",
    "groups by language, score > .5": (
        "SELECT language, count(*) AS n, avg(toks) AS mean FROM documents WHERE score > 0.5 GROUP BY language"
    ),
    "groups by site and language": "SELECT site, language, sum(toks) AS toks FROM documents GROUP BY site, language",
    "groups by site, HAVING": (
        "SELECT site, count(*) AS n FROM documents GROUP BY site HAVING count(*) > 900 ORDER BY n DESC, site LIMIT 20"
    ),
    "sum, avg, min, max": "SELECT sum(toks), avg(score), min(toks), max(score) FROM documents",
    "histogram of score": "SELECT CAST(floor(score * 20) AS INT) AS bin, count(*) FROM documents GROUP BY 1",
    "corr of two numbers": "SELECT corr(toks, score) FROM documents",
    "count by month": "SELECT date_part('month', seen) AS month, count(*) FROM documents GROUP BY 1",
}


def lines(documents):
    """The documents as JSON lines."""
    random.seed(1)
    words = [f"w{n}" for n in range(5000)]
    for number in range(documents):
        site = int(1000 * random.random() ** 3)
        language = int(12 * random.random() ** 2)
        toks = int(random.lognormvariate(6, 1))
        text = f"{number} {random.choice(words)} {random.choice(words)}"
        score = round(random.random(), 4)
        seen = f"20{number % 20 + 10}-{number * 7 % 12 + 1:02}-{number * 11 % 28 + 1:02}T00:00:00Z"
        yield (
            f'{{"id":"k{number}","text":"{text}","site":"site{site}","language":"l{language}",'
            f'"toks":{toks},"score":{score},"seen":"{seen}"}}\n'
        )


def make(work, command, documents):
    """The corpus, DuckDB's file with the same columns, and the two files of keys."""
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
        columns = (
            "{'id': 'VARCHAR', 'text': 'VARCHAR', 'site': 'VARCHAR', 'language': 'VARCHAR', 'toks': 'BIGINT', "
            "'score': 'DOUBLE', 'seen': 'TIMESTAMP'}"
        )
        peer = duckdb.connect(str(table))
        peer.execute(
            "CREATE TABLE documents AS SELECT id AS key, text, site, language, toks, score, seen "
            f"FROM read_json('{given}', format = 'newline_delimited', columns = {columns})"
        )
        # What its users do for look-ups.
        peer.execute("CREATE INDEX keys ON documents (key)")
        peer.close()
    keys = {}
    for name, number, step in [("csv", 100_000, 7), ("few", 1000, 13)]:
        keys[name] = work / f"{name}.csv"
        keys[name].write_text("key,n\n" + "".join(f"k{step * n},{n % 100}\n" for n in range(number)))
    return corpus, table, keys


def ours(path):
    import corpusdb

    db = corpusdb.open(path)
    return lambda query: [tuple(row) for row in db.sql(query, files=True).fetchall()]


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
        rows = sorted(rows, key=str)
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
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache/corpusdb/race/scan")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="queries with this in their names")
    options = parser.parse_args()
    if options.answer:
        return answer(*options.answer)
    if not options.command:
        parser.error("give the command")
    options.work.mkdir(parents=True, exist_ok=True)
    corpus, table, keys = make(options.work, options.command, options.documents)
    both = [Contestant("ours", corpus), Contestant("theirs", table)]
    print(f"{'query':32} {'ours, CPU':>10} {'wall':>8} {'DuckDB':>10} {'wall':>8} {'ratio':>6}  milliseconds, medians")
    for name, query in QUERIES.items():
        if options.only not in name:
            continue
        spelled = [query.format(matches=matches, **keys) for matches in ("regexp_like", "regexp_matches")]
        first = [contestant.ask(query) for contestant, query in zip(both, spelled)]
        if not same(first[0]["rows"], first[1]["rows"]):
            sys.exit(f"the answers differ: {query}\n{first[0]['rows'][:3]}\n{first[1]['rows'][:3]}")
        runs = [[], []]
        for _ in range(options.rounds):
            for place, contestant in enumerate(both):
                runs[place].append(contestant.ask(spelled[place]))
        figures = [
            1000 * statistics.median(one[what] for one in runs[place]) for place in (0, 1) for what in ("cpu", "wall")
        ]
        ratio = figures[0] / figures[2] if figures[2] else float("inf")
        print(f"{name:32} {figures[0]:10.1f} {figures[1]:8.1f} {figures[2]:10.1f} {figures[3]:8.1f} {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
