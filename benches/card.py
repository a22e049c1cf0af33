"""Measures the data card of a corpus of many short documents: seconds, peak memory, bytes of the page.

    python3 benches/card.py CORPUSDB [--documents 1000000] [--work DIR]

CORPUSDB is the command. The documents are 12 to 40 words of 5,000, in 8 sources and 12 languages, with addresses of 20,000
domains as keys and two numbers; one in ten is another one with a word changed. The card is made of a tenth of them and of
all: page and memory should not grow with the corpus, seconds no more than it. Everything is seeded.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

SOURCES = [f"source{n}" for n in range(8)]
LANGUAGES = [f"l{n}" for n in range(12)]
WORDS = [f"w{n}" for n in range(5000)]


def lines(first, last):
    """The documents of these numbers as JSON lines, whoever asks."""
    draw = random.Random(first)
    before = None
    for number in range(first, last):
        if before is not None and draw.random() < 0.1:
            words = [*before[:-1], draw.choice(WORDS)]
        else:
            words = draw.choices(WORDS, k=draw.randrange(12, 40))
        before = words
        domain = int(20_000 * draw.random() ** 3)
        record = {
            "id": f"https://www.site{domain}.example/{number}", "text": " ".join(words),
            "source": draw.choice(SOURCES), "language": draw.choice(LANGUAGES),
            "score": round(draw.random(), 4), "year": draw.randrange(1990, 2026),
        }
        yield json.dumps(record) + "\n"


def run(*arguments):
    """Wall seconds and peak memory in MB of a command."""
    start = time.perf_counter()
    child = subprocess.Popen([str(part) for part in arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"failed: {arguments}")
    return time.perf_counter() - start, used.ru_maxrss / 1000, used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpusdb", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, default=Path("card"))
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    corpus, page = given.work / "corpus", given.work / "card.html"
    run(given.corpusdb, "init", corpus, "--field", "score:float", "--field", "year:int")
    for first, last in ((0, given.documents // 10), (given.documents // 10, given.documents)):
        file = given.work / f"{first}.jsonl"
        with file.open("w") as to:
            to.writelines(lines(first, last))
        wall, _, _ = run(given.corpusdb, "ingest", corpus, file, "--source", "made", "--source-from", "source",
                         "--id-field", "id", "--no-progress")
        file.unlink()
        print(f"{last:,} documents ({wall:.0f} s to ingest)", flush=True)
        wall, peak, cpu = run(given.corpusdb, "report", corpus, "-o", page, "--no-progress")
        print(f"  card: {wall:.1f} s, {cpu:.1f} s of CPU, {peak:.0f} MB at most, {page.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
