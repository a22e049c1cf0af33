"""What corpusdb makes of a file: an answer of SQL over it, or the documents of an ingest."""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from judges import SECONDS, Refusal, Rows
from values import parsed

LONGEST_WORD = 32_768
SOURCE = re.compile(r'\{"source":"(\w+)"')


class Corpus:
    """A corpus in which nothing is removed; every file is a source of its own."""

    def __init__(self, command: str, place: Path) -> None:
        self.command, self.place = command, place
        self.run("init", str(place), "--mode", "none")

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        line = [self.command, *words, "--no-progress", "--threads", "1", "--memory", "512MB"]
        return subprocess.run(line, capture_output=True, timeout=SECONDS, check=False)

    def attempt(self, *words: str) -> tuple[str, Refusal | None]:
        """What a command prints, and why it failed if it did."""
        try:
            ran = self.run(*words)
        except subprocess.TimeoutExpired:
            return "", Refusal(f"no answer in {SECONDS} s", crashed=True)
        said = ran.stderr.decode(errors="replace")
        if ran.returncode not in (0, 1, 2) or "panicked" in said:
            return "", Refusal(f"exit {ran.returncode}: {said[-300:]}", crashed=True)
        first = next(
            (line for line in said.splitlines() if line.startswith(("error", '{"type":"error"'))), said.strip()
        )
        why = json.loads(first)["message"] if first.startswith("{") else first[:400]
        return ran.stdout.decode(), Refusal(why.replace(str(self.place.parent), "")) if ran.returncode else None

    def answer(self, kind: str, path: Path) -> Rows | Refusal:
        """The rows of `read_csv` and its like: pairs of names and values, as they stand."""
        statement = f"SELECT * FROM read_{kind}('{path}')"
        printed, refusal = self.attempt("sql", str(self.place), statement, "--format", "jsonl")
        if refusal:
            return refusal
        try:
            return [parsed(line) for line in printed.split("\n") if line]
        except ValueError as error:
            return [f"not JSON: {error}"]

    def ingest(self, path: Path, source: str, text: str | None, form: str) -> tuple[int, Refusal | None]:
        """How many records were rejected, and what is wrong with the file."""
        words = ["ingest", str(self.place), str(path), "--source", source, "--format", form, "--json"]
        # No command takes a longer word.
        named = [] if text is None or len(text) > LONGEST_WORD else [f"--text-field={text}"]
        printed, refusal = self.attempt(*words, *named)
        if not printed.startswith("{"):
            return 0, refusal or Refusal("no report")
        report = json.loads(printed)
        whys = [f"{file['role']}: {file['why']}" for file in report["files"].get("left_files", [])]
        whys += [alarm["first"] for alarm in report["alarms"] if alarm.get("first")] if refusal else []
        return report["rejected"], Refusal("; ".join(whys)) if whys else refusal

    def documents(self) -> dict[str, Rows] | Refusal:
        """Text and fields of all documents, by source."""
        words = ["export", str(self.place), "--to", "-", "--format", "jsonl", "--all", "--columns", "source,text,meta"]
        printed, refusal = self.attempt(*words)
        if refusal:
            return refusal
        found: dict[str, Rows] = defaultdict(list)
        for line in filter(None, printed.split("\n")):
            source = SOURCE.match(line)
            if not source:
                return Refusal(f"an export begins with {line[:200]}")
            try:
                document = parsed(line)
                meta = document["meta"]
                found[source.group(1)].append((document["text"], parsed(meta) if isinstance(meta, str) else meta))
            except ValueError as error:
                found[source.group(1)].append((f"not JSON: {error}", {}))
        return found
