"""What corpusdb reads of files of others, against other readers, file by file.

    python compare.py --corpusdb BINARY DIR [--work DIRECTORY] [--only COLLECTION,..] [--list FILE]

DIR has a folder for each source of sources.tsv. Every file of a kind that corpusdb reads is read by the judges of its
kind (judges.py), by `corpusdb sql` (`read_csv`, `read_json`, `read_parquet`) and by `corpusdb ingest`, whose documents
are exported; what they give is compared by value (faces.py, values.py). Prints a table in Markdown, then every fault.
Exit code 1 where a file is read as what no judge reads in it, or ends the command, or where more than ten files are
refused that all judges read and that reasons.tsv has no reason for.
"""

import argparse
import contextlib
import fnmatch
import functools
import multiprocessing
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import faces
from corpus import Corpus
from faces import Outcome
from judges import Refusal, Rows, Verdicts, apart, unpacked, verdicts

HERE = Path(__file__).parent
PACKED = r"(\.(gz|zst|bz2|xz|lz4))?$"
ENDINGS = {
    "csv": re.compile(r"\.(csv|tsv)" + PACKED),
    "json": re.compile(r"\.(json|jsonl|ndjson)" + PACKED),
    "parquet": re.compile(r"\.parquet$"),
    "arrow": re.compile(r"\.(arrow|arrow_file|stream|feather)$"),
    "warc": re.compile(r"\.(warc|wet|wat)(\.gz)?(\.bad)?$"),
}
# Seeds of fuzzers have no ending; their folders say what they are.
SEEDS = {"parquet": "/parquet/fuzzing/", "arrow": "/arrow-ipc-"}
KINDS = [
    "equal",
    "refused by all",
    "refused, judges disagree",
    "refused for a reason",
    "refused by us alone",
    "differs",
    "crash",
    "taken by us alone",
    "not compared",
]
LOUD = 10
BATCH = 40


@dataclass(frozen=True)
class Task:
    collection: str
    path: Path
    # Below its collection.
    name: str
    kind: str
    is_seed: bool = False
    is_member: bool = False


def tasks_of(root: Path, collection: str, folders: list[str]) -> Iterator[Task]:
    paths = sorted({path for folder in folders for path in (root / collection / folder).rglob("*") if path.is_file()})
    for path in paths:
        name = path.relative_to(root / collection).as_posix()
        kind = next((kind for kind, ending in ENDINGS.items() if ending.search(name.lower())), None)
        seed = next((kind for kind, part in SEEDS.items() if part in "/" + name and kind != "json"), None)
        if kind or (seed and not path.suffix.startswith((".md", ".json"))):
            yield Task(collection, path, name, kind or str(seed), is_seed=not kind)
            if collection == "JSONTestSuite":
                yield Task(collection, path, name, "json", is_member=True)


class Bench:
    """A batch of files, with a corpus of its own."""

    def __init__(self, command: str, work: Path) -> None:
        self.work = work
        self.corpus = Corpus(command, work / "corpus")
        self.outcomes: list[Outcome] = []
        # Of each ingest: the task, the face, the judges' documents, and what is wrong with the file.
        self.ingests: dict[str, tuple[Task, str, Verdicts, int, Refusal | None]] = {}

    def note(self, task: Task, face: str, kind: str, why: str = "") -> None:
        self.outcomes.append(Outcome(task.collection, face, task.name, kind, why))

    def compare(self, task: Task, at: int) -> None:
        ending = (
            "." + task.kind if task.is_seed else re.sub(r"[^a-z0-9._]", "_", "".join(task.path.suffixes[-2:]).lower())
        )
        path = self.work / f"f{at}{ending}"
        if task.is_member:
            path.write_bytes(b'{"text":"a text","v":' + task.path.read_bytes() + b"}")
        else:
            shutil.copyfile(task.path, path)
        face = " of members" if task.is_member else ""
        if not task.is_member and is_blank(path):
            return self.note(task, f"{task.kind} file", "not compared", "empty")
        judged = verdicts(task.kind, path)
        if task.kind in ("csv", "json", "parquet"):
            answer = self.corpus.answer(task.kind, path)
            kind, why = faces.outcome(answer, judged, faces.DIFFERENCE_OF_ANSWERS[task.kind])
            self.note(task, f"read_{task.kind}{face}", kind, why)
        self.ingest(task, f"ingest of {task.kind}{face}", path, judged, f"s{at}")
        if task.kind in ("parquet", "arrow") and not text_of(task.kind, judged):
            self.again(task, path, functools.partial(faces.table_with_text, kind=task.kind), "a text added", f"s{at}a")
        if task.kind == "warc":
            self.again(task, path, faces.html_as_text, "pages as texts", f"s{at}a")

    def again(self, task: Task, path: Path, write: Callable[..., Rows], how: str, source: str) -> None:
        """The file as a judge writes it again."""
        out = path.with_name(f"{source}.{task.kind}")
        written = apart(functools.partial(write, out=out), path)
        if isinstance(written, Refusal):
            return None
        judged = verdicts("warc", out) if task.kind == "warc" else Verdicts({"pyarrow": written})
        return self.ingest(task, f"ingest of {task.kind}, {how}", out, judged, source)

    def ingest(self, task: Task, face: str, path: Path, judged: Verdicts, source: str) -> None:
        taken = {name: found for name, found in judged.items() if not isinstance(found, Refusal)}
        text = text_of(task.kind, judged)
        if taken and not text and task.kind != "warc":
            return self.note(task, face, "not compared", "no text")
        documents = faces.table_documents if task.kind == "csv" else faces.record_documents
        expected, skipped = dict(judged), 0
        for name, found in reversed(taken.items()):
            try:
                expected[name] = made = documents(found, text or "text")
                skipped = len(found) - (task.kind == "csv") - len(made)
            except ValueError:
                expected[name] = Refusal(f"no column {text}")
        form = task.kind if task.is_seed or task.path.suffix == ".json" else "auto"
        given = None if task.kind == "warc" else text or (first_name(path) if task.kind == "csv" else None)
        rejected, refusal = self.corpus.ingest(path, source, given, form)
        self.ingests[source] = task, face, expected, max(rejected - skipped, 0), refusal
        return None

    def close(self) -> list[Outcome]:
        documents = self.corpus.documents()
        for source, (task, face, expected, rejected, refusal) in self.ingests.items():
            told = refusal or (Refusal(f"{rejected} rejects") if rejected else None)
            if isinstance(documents, Refusal):
                found: Rows | Refusal = replace(documents, crashed=True)
            else:
                found = told or documents.get(source, [])
            difference = faces.table_documents_difference if task.kind == "csv" else faces.documents_difference
            self.note(task, face, *faces.outcome(found, expected, difference))
        return self.outcomes


def is_blank(path: Path) -> bool:
    with contextlib.suppress(Exception):
        return not unpacked(path).strip(b"\xef\xbb\xbf \t\r\n")
    return False


def first_name(path: Path) -> str | None:
    with contextlib.suppress(Exception):
        return re.split(r"[,;|\t\r\n]", unpacked(path).decode("utf-8-sig"), maxsplit=1)[0].strip('"')
    return None


def text_of(kind: str, judged: Verdicts) -> str | None:
    """The column that an ingest takes for the text: one that the first judge has texts in."""
    choose = faces.text_of_table if kind == "csv" else faces.text_of_records
    return next((choose(found) for found in judged.values() if not isinstance(found, Refusal)), None)


def batch(command: str, work: str, tasks: list[Task]) -> list[Outcome]:
    with tempfile.TemporaryDirectory(dir=work) as place:
        bench = Bench(command, Path(place))
        for at, task in enumerate(tasks):
            bench.compare(task, at)
        return bench.close()


def reasons() -> list[tuple[str, str, str]]:
    lines = (HERE / "reasons.tsv").read_text().splitlines()
    return [
        (face, pattern, why) for face, pattern, why in (line.split("\t") for line in lines if line and line[0] != "#")
    ]


def with_reason(found: Outcome, known: list[tuple[str, str, str]]) -> Outcome:
    """An outcome that reasons.tsv explains has its reason for a note."""
    at = f"{found.collection}/{found.file}"
    why = next(
        (why for face, pattern, why in known if fnmatch.fnmatch(found.face, face) and fnmatch.fnmatch(at, pattern)),
        None,
    )
    kinds = {"refused by us alone": "refused for a reason", "differs": "not compared", "crash": "not compared"}
    return replace(found, kind=kinds[found.kind], note=why) if why and found.kind in kinds else found


def report(outcomes: list[Outcome]) -> int:
    counts = Counter((found.collection, found.kind) for found in outcomes)
    totals = Counter(found.kind for found in outcomes)
    files = Counter(collection for collection, _ in {(found.collection, found.file) for found in outcomes})
    print("| collection | files | readings | " + " | ".join(KINDS) + " |")
    print("|---|" + "---|" * (len(KINDS) + 2))
    for collection, of in sorted(files.items()):
        numbers = [counts[collection, kind] for kind in KINDS]
        cells = [of, sum(numbers), *(number or "" for number in numbers)]
        print(f"| {collection} | " + " | ".join(map(str, cells)) + " |")
    print(f"| all | {files.total()} | {len(outcomes)} | " + " | ".join(str(totals[kind]) for kind in KINDS) + " |")
    for kind in ["crash", "differs", "refused by us alone", "refused for a reason", "taken by us alone"]:
        print(f"\n{kind}: {totals[kind]}")
        for found in outcomes:
            if found.kind == kind:
                print(f"  {found.face}, {found.collection}/{found.file}: {found.note}")
    taken = totals["equal"] + totals["differs"] + totals["refused for a reason"] + totals["refused by us alone"]
    share = totals["refused for a reason"] / max(taken, 1)
    print(f"\nrefused for a reason: {share:.2%} of {taken} that all judges of a file read, or that we do")
    return int(totals["differs"] + totals["crash"] > 0 or totals["refused by us alone"] > LOUD or share > 0.01)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--corpusdb", required=True)
    parser.add_argument("--work", help="by default a folder that is removed")
    parser.add_argument("--only", help="collections, with commas; by default all of sources.tsv")
    parser.add_argument("--list", help="a file for every outcome, a line each")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    lines = (line.split("\t") for line in (HERE / "sources.tsv").read_text().splitlines() if line and line[0] != "#")
    sources = {re.split("[/:]", name)[1]: folders.split() for name, _, folders in lines}
    wanted = options.only.split(",") if options.only else list(sources)
    absent = [name for name in wanted if not (options.directory / name).is_dir()]
    if absent:
        sys.exit(f"not in {options.directory}: {', '.join(absent)}; see {HERE / 'README.md'}")
    tasks = [task for name in wanted for task in tasks_of(options.directory, name, sources.get(name, ["."]))]
    batches = [tasks[at : at + BATCH] for at in range(0, len(tasks), BATCH)]
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        pool = ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("fork"))
        found: list[Outcome] = []
        with pool:
            for some in pool.map(functools.partial(batch, options.corpusdb, work), batches):
                found += some
                print(f"{len(found)} outcomes of {len(tasks)} files", file=sys.stderr, flush=True)
    known = reasons()
    outcomes = sorted(
        (with_reason(one, known) for one in found),
        key=lambda one: (one.collection, one.face, one.file),
    )
    if options.list:
        Path(options.list).write_text(
            "".join(f"{one.kind}\t{one.face}\t{one.collection}/{one.file}\t{one.note!r}\n" for one in outcomes)
        )
    return report(outcomes)


if __name__ == "__main__":
    sys.exit(main())
