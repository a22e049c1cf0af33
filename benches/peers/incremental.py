"""What adding 1 % to a corpus costs against processing all of it again, and what dedup keeps on disk.

    $(benches/peers/setup.sh) benches/peers/incremental.py --data DIRECTORY --work WORK --corpusdb COMMAND
        [--documents 1000000] [--sizes 10000,100000] [--peer-documents 100000] [--again STAGE,...]

Documents of about 120 words are generated (growth.py) with the word frequencies of `tldr` and `peps` in DIRECTORY; 1 %
are near copies and 0.5 % exact copies of earlier ones. For each size and for all: a corpus of that many documents is
ingested, then on copies of it the newcomers, 10,000 at `--documents` 1,000,000 (always 1 % of all), of which 5 % are
near and 1 % exact copies of stored ones. Every ingest is a fresh process, its start included. Then all documents and
the newcomers once more from nothing; then other tools over the same, from nothing, since they keep nothing that names
what it matched: on `--peer-documents` of them, times linear in their number, on one core. datatrove can also hold new
documents against an index of old signatures; that is measured too, decisions among the new included.

Stages are kept in WORK/results.json and not repeated, so an interrupted run goes on where it stopped; `--again` names
stages to repeat. Tables go to standard output, all figures to WORK/results.json.
"""

import argparse
import json
import os
import shutil
import sys
from itertools import islice
from pathlib import Path

import documents
import growth
from measure import median, run, table

HERE = Path(__file__).resolve().parent
PART = 100_000
STATE = ["bands", "bands_more", "band_runs", "sketches", "exact", "matches", "members", "edges"]


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = options.work
        self.work.mkdir(parents=True, exist_ok=True)
        self.log = self.work / "errors.log"
        self.file = self.work / "results.json"
        self.results = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.total = options.documents
        self.newcomers = max(self.total // 100, 1)
        self.sizes = sorted({size for size in options.sizes if size < self.total} | {self.total})
        settings = {
            "documents": self.total,
            "newcomers": self.newcomers,
            "sizes": self.sizes,
            "seed": growth.SEED,
        }
        if self.results.setdefault("settings", settings) != settings:
            sys.exit(f"{self.work} is of another run ({self.results['settings']}): give another --work")
        for stage in options.again:
            self.results.pop(stage, None)

    def stage(self, name, function, *arguments):
        """Runs a stage unless its results are known, and keeps them."""
        if name not in self.results:
            say(f"{name} ...")
            self.results[name] = function(*arguments)
            partial = self.file.with_suffix(".partial")
            partial.write_text(json.dumps(self.results, indent=1) + "\n")
            partial.rename(self.file)
        return self.results[name]

    def parts(self, size=None):
        """Files and ranges that make up the first `size` documents."""
        cuts, at = [], 0
        for end in self.sizes:
            while at < end:
                step = min(at + PART, end)
                cuts.append((self.work / f"base-{at:09}.jsonl.zst", at, step))
                at = step
        return [cut for cut in cuts if size is None or cut[2] <= size]

    def new(self, size):
        return self.work / f"new-{size:09}.jsonl.zst"

    def stream(self):
        data = {file.name.split(".")[0]: file for file in self.options.data.iterdir()}
        missing = [name for name in self.options.vocabulary_from if name not in data]
        if missing:
            sys.exit(f"{self.options.data} has no {', '.join(missing)}: name others with --vocabulary-from")
        return growth.Stream(growth.vocabulary(data[name] for name in self.options.vocabulary_from))

    def generate(self):
        stream = self.stream()
        planted = {}
        for path, start, end in self.parts():
            items = ((f"b{number}", *stream.base(number)) for number in range(start, end))
            planted[path.name] = growth.write(path, items)
        for size in self.sizes:
            planted[self.new(size).name] = self.generate_new(stream, size)
        return {"vocabulary": len(stream.words), "planted": planted}

    def generate_new(self, stream, size):
        items = ((f"n{number}", *stream.new(number, size)) for number in range(self.newcomers))
        return growth.write(self.new(size), items)

    def planted(self, *paths):
        sums = {"original": 0, "near": 0, "exact": 0, "bytes": 0}
        for path in paths:
            for what, count in self.results["generate"]["planted"][path.name].items():
                sums[what] += count
        return sums

    def command(self, *words):
        return run([self.options.corpusdb, *words], log=self.log)

    def ingest(self, corpus, paths):
        printed, figures = self.command(
            "ingest", corpus, *paths, "--source", "web", "--id-field", "id", "--json", "--no-progress"
        )
        report = json.loads(printed)
        names = ("added", "kept", "near_duplicates", "exact_duplicates", "stages", "policy", "dedup")
        return figures | {name: report[name] for name in names}

    def fill(self, corpus, paths):
        shutil.rmtree(corpus, ignore_errors=True)
        _, made = self.command("init", corpus)
        figures = self.ingest(corpus, paths)
        return figures | {"wall": figures["wall"] + made["wall"], "cpu": figures["cpu"] + made["cpu"]}

    def corpus(self, size):
        return self.work / f"corpus-{size:09}"

    def store(self, size):
        paths = [path for path, _, _ in self.parts(size)]
        return self.fill(self.corpus(size), paths) | {
            "planted": self.planted(*paths),
            "disk": self.disk(self.corpus(size)),
        }

    def add(self, size):
        copy = self.work / "copy"
        runs = []
        for _ in range(self.options.repeats):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self.corpus(size), copy)
            os.sync()
            runs.append(self.ingest(copy, [self.new(size)]))
        shutil.rmtree(copy)
        middle = {clock: median([each[clock] for each in runs]) for clock in ("wall", "cpu", "peak_mb")}
        return (
            runs[0]
            | middle
            | {"all_wall": [each["wall"] for each in runs], "planted": self.planted(self.new(size))}
        )

    def again(self):
        corpus = self.work / "corpus-again"
        paths = [path for path, _, _ in self.parts()] + [self.new(self.total)]
        figures = self.fill(corpus, paths)
        shutil.rmtree(corpus)
        return figures

    def disk(self, corpus):
        printed, _ = self.command("info", corpus, "--json")
        info = json.loads(printed)
        families = {family["family"]: family["bytes"] for family in info["disk"]}
        size = sum(file.stat().st_size for file in corpus.rglob("*") if file.is_file())
        return {"documents": info["documents"], "kept": info["kept"], "families": families, "directory": size}

    def compact(self):
        """The corpus of all, as large as it stays: by the command for that where there is one."""
        printed, _ = self.command("--help")
        if not any(line.split()[:1] == [b"compact"] for line in printed.splitlines()):
            return {"command": None, "disk": self.disk(self.corpus(self.total))}
        _, figures = self.command("compact", self.corpus(self.total))
        return figures | {"command": "compact", "disk": self.disk(self.corpus(self.total))}

    def peer_documents(self):
        """The sample for the others, as plain files: the first documents and the newcomers, 1 % of them."""
        wanted = min(self.options.peer_documents, self.total)
        base, new, union = (self.work / f"peer-{name}-{wanted}.jsonl" for name in ("base", "new", "union"))
        texts = (record["text"] for path, _, _ in self.parts() for record in documents.read(path))
        documents.write(base, islice(texts, wanted))
        if not self.new(wanted).exists():
            self.generate_new(self.stream(), wanted)
        texts = (record["text"] for record in documents.read(self.new(wanted)))
        documents.write(new, islice(texts, max(wanted // 100, 1)))
        union.write_bytes(base.read_bytes() + new.read_bytes())
        numbered = [record["text"] for record in documents.read(union)]
        documents.write(union, numbered)
        return {
            "base": str(base),
            "new": str(new),
            "union": str(union),
            "documents": len(numbered),
            "stored": wanted,
        }

    def peer(self, tool, path, fresh=True):
        scratch = self.work / "peer-scratch"
        if fresh:
            shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(exist_ok=True)
        answer = self.work / "peer-answer.json"
        command = [sys.executable, HERE / "tools.py", tool, "same", path, answer, scratch]
        _, figures = run(command, core=0, environment={"HF_HOME": str(scratch / "home")}, log=self.log)
        told = json.loads(answer.read_text())
        return figures | {
            "removed": len(told["removed"]),
            "settings": told["settings"],
            "stages": told["stages"],
        }

    def datatrove_index(self, sample):
        base = self.peer("datatrove-base", sample["base"])
        return {"base": base, "new": self.peer("datatrove-new", sample["new"], fresh=False)}


def say(text):
    print(text, file=sys.stderr, flush=True)


def numbers(text):
    return [int(number) for number in text.split(",") if number]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--corpusdb", default="corpusdb", help="the command")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--sizes", type=numbers, default=[10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3, help="of adding the newcomers")
    parser.add_argument("--peers", default="text-dedup,datatrove,datatrove-index")
    parser.add_argument("--peer-documents", type=int, default=100_000)
    parser.add_argument("--vocabulary-from", type=lambda text: text.split(","), default=["peps", "tldr"])
    parser.add_argument("--again", type=lambda text: text.split(","), default=[])
    bench = Bench(parser.parse_args())

    bench.stage("generate", bench.generate)
    for size in bench.sizes:
        bench.stage(f"store-{size}", bench.store, size)
        bench.stage(f"add-{size}", bench.add, size)
    bench.stage("again", bench.again)
    bench.stage("compact", bench.compact)
    peers = [tool for tool in bench.options.peers.split(",") if tool]
    if peers:
        sample = bench.stage("peer-documents", bench.peer_documents)
        for tool in peers:
            if tool == "datatrove-index":
                bench.stage(tool, bench.datatrove_index, sample)
            else:
                bench.stage(tool, bench.peer, tool, sample["union"])
    report(bench, peers)


def report(bench, peers):
    results, total = bench.results, bench.total
    print(f"\n### {total:,} documents, and {bench.newcomers:,} new ones\n")
    rows = []

    def row(what, figures, count):
        each = [f"{figures[clock]:.2f}" for clock in ("wall", "cpu")]
        each += [f"{figures[clock] / count * 1e6:.0f}" for clock in ("wall", "cpu")]
        planted = figures.get("planted")
        found = f"{figures['near_duplicates']} near, {figures['exact_duplicates']} exact"
        if planted:
            found += f" (planted {planted['near']}, {planted['exact']})"
        rows.append([what, *each, f"{figures['peak_mb']:.0f}", found])

    for size in bench.sizes:
        row(f"{size:,} from nothing", results[f"store-{size}"], size)
        row(f"{bench.newcomers:,} new to {size:,}", results[f"add-{size}"], bench.newcomers)
    row(f"{total:,} and the new from nothing", results["again"], total + bench.newcomers)
    print(table(["what", "wall s", "CPU s", "wall us/doc", "CPU us/doc", "peak MB", "found"], rows))

    add, again = results[f"add-{total}"], results["again"]
    less = {clock: f"{again[clock] / add[clock]:.0f}" for clock in ("wall", "cpu")}
    print(
        f"\nAdding 1 %, against all again: {less['wall']} times less wall, {less['cpu']} times less CPU (asked: 50)."
    )
    sizes = ", ".join(f"{size:,}" for size in bench.sizes)
    for clock in ("wall", "cpu"):
        costs = [results[f"add-{size}"][clock] for size in bench.sizes]
        print(
            f"A new document's {clock} time at {sizes} stored: {max(costs) / min(costs):.2f} (asked: at most 1.5)."
        )

    if peers:
        sample = results["peer-documents"]
        factor = (total + bench.newcomers) / sample["documents"]
        note = (
            "measured"
            if factor == 1
            else f"measured on {sample['documents']:,} and extended by {factor:.1f}, but for process start"
        )
        print(f"\nOthers over the same {total + bench.newcomers:,} documents, one core ({note}):\n")
        rows = []
        for tool in peers:
            # The index grows with what is stored, and the new documents are 1 % of it: both by `factor`.
            index = tool == "datatrove-index"
            what = "datatrove, the new against its index" if index else f"{tool}, all"
            figures = results[tool]["new"] if index else results[tool]
            spent = {clock: extended(figures, clock, factor) for clock in ("wall", "cpu")}
            rows.append(
                [
                    what,
                    f"{spent['wall']:.0f}",
                    f"{spent['cpu']:.0f}",
                    f"{spent['cpu'] / add['cpu']:.0f}",
                    figures["removed"],
                ]
            )
        rows.append(
            [
                "corpusdb, all",
                f"{again['wall']:.0f}",
                f"{again['cpu']:.0f}",
                f"{again['cpu'] / add['cpu']:.0f}",
                again["added"] - again["kept"],
            ]
        )
        rows.append(
            ["corpusdb, the new", f"{add['wall']:.2f}", f"{add['cpu']:.2f}", "1", add["added"] - add["kept"]]
        )
        print(
            table(["what", "wall s", "CPU s", "CPU, times corpusdb's new", "removed (of the sample)"], rows)
        )

    disk = results["compact"]["disk"]
    how = (
        "compacted" if results["compact"]["command"] else "as RocksDB left it; there is no command to compact"
    )
    print(f"\nDedup state of {disk['kept']:,} kept documents ({how}), bytes per kept document:\n")
    state = {family: disk["families"].get(family, 0) for family in STATE}
    rows = [
        [family, f"{size / 1e6:.1f}", f"{size / disk['kept']:.1f}"]
        for family, size in state.items()
        if family in disk["families"]
    ]
    whole = sum(state.values())
    rows.append(["together (asked: 750)", f"{whole / 1e6:.1f}", f"{whole / disk['kept']:.1f}"])
    rows.append(
        ["the whole directory", f"{disk['directory'] / 1e6:.1f}", f"{disk['directory'] / disk['kept']:.1f}"]
    )
    print(table(["family", "MB", "bytes"], rows))


def extended(figures, clock, factor):
    """Seconds for `factor` times the documents: linear, but for the start of the process and its imports."""
    start = figures["stages"]["start"][clock]
    return start + (figures[clock] - start) * factor


if __name__ == "__main__":
    main()
