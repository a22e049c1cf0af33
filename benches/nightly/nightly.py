"""A crawl that comes every night: what a night costs, what stays on disk, and whether the end is right.

    python3 benches/nightly/nightly.py --work WORK --corpusdb COMMAND [--documents 200000] [--nights 30]
        [--words 120] [--batch-bytes BYTES] [--memory BYTES]

Documents of about `--words` made-up words are generated, a function of (seed, key, version); one in 25 is a near copy
and one in 100 an exact copy of an earlier one. Night 0 is a first ingest. Every later night the whole crawl comes as
one file, under the keys: of `--documents`, 3 % are new, 10 % have another text, 1 % another value in one field only, and
1 % are gone: they are not in the file, and are removed afterwards. All else is unchanged. Every command is a
process of its own, its start included. So a night's file grows by 2 % of the first one's; what is judged is therefore
given a document of it, and bytes on disk a document stored.

Asked: seconds of CPU, new bytes on disk and peak memory of a night at most 1.3 times those of night 5 (or of the
second, when there are fewer than ten). At the end the kept keys and texts equal those of one ingest of the final state, `check
--deep` is sound, and, compacted, the families of the band index are at most 1.1 times as large as those of
that one ingest. Ends with 1 when something asked for does not hold. Only the standard library is needed.
"""

import argparse
import json
import random
import shutil
import sys
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
from measure import run, table

SEED = 20260101
BANDS = ("bands", "bands_more", "band_runs")
FLAT = 1.3
COMPACT = 1.1


class Crawl:
    """The pages as they are tonight, and the order in which what is stored of them came."""

    def __init__(self, documents, nights, words):
        source = random.Random(SEED)
        syllables = [a + b for a in "bcdfghklmnprstvwz" for b in "aeiou"]
        self.vocabulary = ["".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(30_000)]
        self.weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.vocabulary))))
        self.documents, self.nights, self.words = documents, nights, words
        self.made = 0
        self.lines = {}
        self.texts = {}
        self.versions = {}
        self.order = {}
        self.doomed = [[] for _ in range(nights + 1)]
        for _ in range(documents):
            self.add(0)

    def text(self, key, version):
        source = random.Random(f"{SEED} {key} {version}")
        kind = source.random()
        if kind < 0.05 and key > 0:
            # The first version of an earlier key, so that it does not depend on tonight.
            words = self.original(source.randrange(key), 0)
            if kind >= 0.01:
                words[source.randrange(len(words))] = f"changed{source.randrange(1 << 30)}"
            return " ".join(words)
        return " ".join(self.original(key, version))

    def original(self, key, version):
        source = random.Random(f"{SEED} words {key} {version}")
        count = source.randint(self.words * 2 // 3, self.words * 4 // 3)
        return source.choices(self.vocabulary, cum_weights=self.weights, k=count)

    def add(self, night):
        key, self.made = self.made, self.made + 1
        source = random.Random(f"{SEED} end {key}")
        # A hundredth of the first number of documents goes every night; the night is a field, so that one
        # condition names them.
        chance = min(0.01 * max(self.nights - night, 0), 1.0)
        ends = source.randint(night + 1, self.nights) if source.random() < chance else 0
        if ends:
            self.doomed[ends].append(key)
        self.write(key, 0, night, ends)

    def write(self, key, version, field, ends, text=None):
        text = self.text(key, version) if text is None else text
        self.texts[key], self.versions[key] = text, (version, field, ends)
        record = {"id": f"page-{key}", "text": text, "night": field, "ends": ends}
        self.lines[key] = json.dumps(record)
        # Whatever is written anew comes after all that is stored.
        self.order.pop(key, None)
        self.order[key] = None

    def pass_night(self, night):
        """Changes the pages; returns how many come, and how many of them are new or changed in any way."""
        for key in self.doomed[night]:
            for held in (self.lines, self.texts, self.versions, self.order):
                held.pop(key)
        source = random.Random(f"{SEED} night {night}")
        keys = list(self.lines)
        chosen = source.sample(keys, self.documents * 11 // 100)
        fields = set(chosen[: self.documents // 100])
        for key in sorted(chosen):
            version, _, ends = self.versions[key]
            if key in fields:
                self.write(key, version, night, ends, self.texts[key])
            else:
                self.write(key, version + 1, night, ends)
        before = self.made
        for _ in range(self.documents * 3 // 100):
            self.add(night)
        return len(self.lines), len(chosen) + self.made - before

    def dump(self, path, order=None):
        with open(path, "w", encoding="utf-8") as file:
            for key in sorted(self.lines) if order is None else order:
                file.write(self.lines[key] + "\n")


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = options.work
        self.work.mkdir(parents=True, exist_ok=True)
        self.log = self.work / "errors.log"

    def command(self, *words):
        return run([self.options.corpusdb, *words], log=self.log)

    def init(self, name):
        corpus = self.work / name
        shutil.rmtree(corpus, ignore_errors=True)
        self.command("init", corpus, "--field", "night:int", "--field", "ends:int")
        return corpus

    def ingest(self, corpus, path):
        more = []
        if self.options.batch_bytes:
            more += ["--batch-bytes", self.options.batch_bytes]
        if self.options.memory:
            more += ["--memory", self.options.memory]
        words = ["ingest", corpus, path, "--source", "web", "--id-field", "id", "--json", "--no-progress"]
        printed, figures = self.command(*words, *more)
        return json.loads(printed), figures

    def size(self, corpus):
        return sum(file.stat().st_size for file in corpus.rglob("*") if file.is_file())

    def families(self, corpus):
        printed, _ = self.command("info", corpus, "--json")
        return {family["family"]: family["bytes"] for family in json.loads(printed)["disk"]}

    def kept(self, corpus):
        printed, _ = self.command(
            "sql", corpus, "SELECT key, text FROM documents WHERE kept ORDER BY key", "--format", "json"
        )
        return printed

    def night(self, corpus, crawl, night):
        coming, touched = crawl.pass_night(night) if night else (len(crawl.lines), len(crawl.lines))
        dump = self.work / "night.jsonl"
        crawl.dump(dump)
        before = self.size(corpus)
        report, figures = self.ingest(corpus, dump)
        cpu, wall, peak = figures["cpu"], figures["wall"], figures["peak_mb"]
        if night:
            gone = f"ends = {night} AND standing <> 'superseded'"
            _, more = self.command("remove", corpus, "--where", gone, "--no-block")
            cpu, wall, peak = cpu + more["cpu"], wall + more["wall"], max(peak, more["peak_mb"])
        assert report["added"] == touched, (report["added"], touched)
        return {
            "night": night,
            "coming": coming,
            "added": report["added"],
            "cpu": cpu,
            "wall": wall,
            "peak_mb": peak,
            "new_bytes": self.size(corpus) - before,
            "bytes": self.size(corpus),
            "dedup": report["dedup"],
            "stages": report["stages"],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--corpusdb", default="corpusdb", help="the command")
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--words", type=int, default=120)
    parser.add_argument("--batch-bytes")
    parser.add_argument("--memory")
    bench = Bench(parser.parse_args())
    options = bench.options
    crawl = Crawl(options.documents, options.nights, options.words)
    corpus = bench.init("corpus")
    nights = []
    for night in range(options.nights + 1):
        nights.append(bench.night(corpus, crawl, night))
        now = nights[-1]
        print(
            f"night {night}: {now['added']:,} of {now['coming']:,}, {now['cpu']:.1f} CPU s, {now['peak_mb']:.0f} MB, {now['bytes'] / 1e6:.0f} MB on disk",
            file=sys.stderr,
            flush=True,
        )
    (bench.work / "nights.json").write_text(json.dumps(nights, indent=1) + "\n")
    good = report(nights)

    print("\nThe end:\n")
    bench.command("check", corpus, "--deep")
    print("* `check --deep` finds nothing.")
    fresh = bench.init("fresh")
    state = bench.work / "final.jsonl"
    crawl.dump(state, crawl.order)
    bench.ingest(fresh, state)
    same = bench.kept(corpus) == bench.kept(fresh)
    print(f"* What is kept {'equals' if same else 'DIFFERS FROM'} what one ingest of the final state keeps.")
    good &= same
    sizes = []
    for path in (corpus, fresh):
        bench.command("compact", path)
        families = bench.families(path)
        sizes.append(sum(families.get(name, 0) for name in BANDS))
    held = sizes[0] / max(sizes[1], 1)
    good &= held <= COMPACT
    print(
        f"* Compacted, the band index has {sizes[0] / 1e6:.1f} MB, and {sizes[1] / 1e6:.1f} after the one ingest: {held:.2f} times (asked: at most {COMPACT})."
    )
    sys.exit(0 if good else 1)


def report(nights):
    rows = []
    for night in nights:
        rows.append(
            [
                night["night"],
                f"{night['coming']:,}",
                f"{night['added']:,}",
                f"{night['wall']:.2f}",
                f"{night['cpu']:.2f}",
                f"{night['cpu'] / night['coming'] * 1e6:.1f}",
                f"{night['peak_mb']:.0f}",
                f"{night['bytes'] / 1e6:.1f}",
                f"{night['new_bytes'] / max(night['added'], 1):.0f}",
                f"{night['dedup'].get('members', 0):,}",
            ]
        )
    head = ["night", "come", "stored", "wall s", "CPU s", "CPU us each", "peak MB", "MB on disk"]
    print(table([*head, "new bytes a stored one", "members read"], rows))
    later = nights[5:] if len(nights) > 10 else nights[2:]
    good = True
    measures = {
        "CPU time a document that comes": lambda night: night["cpu"] / night["coming"],
        "peak memory": lambda night: night["peak_mb"],
    }
    print()
    for name, measure in measures.items():
        # One night alone may meet a large compaction: halves are compared, beside the worst night.
        values = [measure(night) for night in later]
        half = max(len(values) // 2, 1)
        growth = middle(values[half:]) / middle(values[:half])
        worst = max(values) / values[0]
        good &= growth <= FLAT
        print(
            f"* {name}: the later half {growth:.2f} times the earlier one (asked: at most {FLAT}); the worst night {worst:.2f} times the first counted."
        )
    half = max(len(later) // 2, 1)
    first, second = (sum(night["new_bytes"] for night in part) / len(part) for part in (later[:half], later[half:] or later))
    good &= second <= FLAT * max(first, 1)
    print(f"* New bytes on disk a night: {first / 1e6:.1f} MB in the earlier half, {second / 1e6:.1f} in the later one.")
    return good


def middle(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


if __name__ == "__main__":
    main()
