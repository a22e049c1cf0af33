"""Texts and masks of published chat templates: as transformers makes them, against what corpusdb stores.

    python compare.py --corpusdb BINARY DIR [--chats 40] [--seed 7] [--only PATTERN,..] [--list FILE]

DIR has the archives of sources.tsv. Every template in them writes the same conversations (chats.py), in the form that
it knows (suited.py; `--unsuited` leaves them as they are). Prints a table of the texts and one of what is trained on,
in Markdown, then every fault. Exit code 1 where a text or a mask differs without a reason of reasons.tsv, where a
conversation is refused so that transformers renders, or more than 1 % of these for a reason.
"""

import argparse
import fnmatch
import functools
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chats import conversations
from judge import DAY, MARK, TOKENS, Spans, joined, rendered
from published import Template, rows, templates
from suited import suited
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

TEXTS = ["equal", "refused by both", "taken by us alone", "refused for a reason", "refused by us alone", "differs"]
MASKS = ["equal", "texts differ", "differs for a reason", "differs"]
RECIPE = 'version = 1\n[tokenizer]\nname = "bytes"\n[pack]\nlength = 1048576\noptions = { long = "drop" }\n'


@dataclass(frozen=True)
class Outcome:
    package: str
    # Texts, or whose masks are compared with what is trained on.
    face: str
    template: str
    chat: str
    kind: str
    note: str = ""


@dataclass
class Stored:
    """What corpusdb made of the conversations, by their keys."""

    texts: dict[str, str]
    spans: dict[str, Spans]
    reasons: dict[str, str]


def tokenizer_of_bytes(path: Path) -> None:
    """A tokenizer of which every token is a byte."""
    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(vocab=letters, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.save(str(path))


def stored(corpusdb: str, source: str, records: list[dict[str, Any]], has_masks: bool) -> Stored:
    with tempfile.TemporaryDirectory() as place:
        corpus, lines, template = f"{place}/corpus", Path(place, "in.jsonl"), Path(place, "chat.jinja")
        lines.write_text("".join(json.dumps(record) + "\n" for record in records))
        template.write_bytes(source.encode())

        def run(*words: str) -> list[dict[str, Any]]:
            line = [corpusdb, *words, "--no-progress", "--threads", "1", "--memory", "256MB"]
            ran = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
            if ran.returncode not in (0, 1, 2) or "panicked" in ran.stderr:
                raise SystemExit(f"exit {ran.returncode} of {line}: {ran.stderr[-500:]}")
            return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]

        run("init", corpus, "--mode", "none")
        values = [word for name, value in TOKENS.items() for word in ("--chat-set", f"{name}={value}")]
        form = ["--chat", "messages", "--chat-template", str(template), "--chat-date", DAY, *values]
        told = run("ingest", corpus, str(lines), "--source", "s", "--id-field", "id", *form, "--json")
        texts = run("export", corpus, "--to", "-", "--format", "jsonl", "--columns", "key,text")
        rejects = run("rejects", corpus, "--json")
        reasons = {records[reject["number"]]["id"]: reject["reason"] for reject in rejects}
        if not texts and not reasons:
            reasons = {record["id"]: next(iter(told), {}).get("message", "no report") for record in records}
        spans: dict[str, Spans] = {}
        if has_masks and texts:
            tokenizer, recipe = Path(place, "bytes.json"), Path(place, "recipe.toml")
            tokenizer_of_bytes(tokenizer)
            recipe.write_text(RECIPE)
            run("tokenizer", "add", corpus, "bytes", str(tokenizer))
            explained = run("epoch", "explain", corpus, str(recipe), "--json")[0]
            numbers = [str(number) for number in range(explained["sources"][0]["rows"])]
            spans = trained(run("epoch", "row", corpus, str(recipe), *numbers, "--text", "--json"))
        return Stored({text["key"]: text["text"] for text in texts}, spans, reasons)


def trained(rows_of_texts: list[dict[str, Any]]) -> dict[str, Spans]:
    found: dict[str, Spans] = {}
    for row in rows_of_texts:
        for segment in row["segments"]:
            found[segment["key"]] = []
        for part in row["parts"]:
            if part.get("trained"):
                segment = row["segments"][part["segment"]]
                start = part["start"] - segment["start"]
                found[segment["key"]].append((start, start + part["length"]))
    return {key: joined(spans) for key, spans in found.items()}


def compare(
    corpusdb: str, given: list[dict[str, Any]], task: tuple[Template, str | None], as_is: bool
) -> list[Outcome]:
    """`task` has a template and, where it has one with marks beside it, that."""
    template, marked = task
    records, how = (given, "") if as_is else suited(template.source, given)
    package, name = template.package, template.name
    marks = template.source if MARK.search(template.source) else marked
    ours = stored(corpusdb, template.source, records, has_masks=marks is not None)
    outcomes = [Outcome(package, "suited", name, how, "suited")] if how else []
    for record in records:
        key = record["id"]
        text, theirs = ours.texts.get(key), rendered(template.source, record)
        told = ours.reasons.get(key, "no text and no reject")
        if text is None:
            kind, note = ("refused by us alone" if theirs else "refused by both"), told
        elif theirs is None:
            kind, note = "taken by us alone", ""
        else:
            kind, note = ("equal", "") if theirs[0] == text else ("differs", difference(text, theirs[0]))
        outcomes.append(Outcome(package, "texts", name, key, kind, note))
        if marks is None or text is None:
            continue
        judge = rendered(marks, record)
        face = "marks of its own" if marks is template.source else "marks of the template for training"
        if judge is None or judge[0] != text:
            outcomes.append(Outcome(package, face, name, key, "texts differ"))
        else:
            kind = "equal" if judge[1] == ours.spans[key] else "differs"
            note = "" if kind == "equal" else trained_alone(text, ours.spans[key], judge[1])
            outcomes.append(Outcome(package, face, name, key, kind, note))
    return outcomes


def shown(text: str, spans: Spans) -> str:
    raw = text.encode()
    for start, end in reversed(spans):
        raw = raw[:start] + "⟦".encode() + raw[start:end] + "⟧".encode() + raw[end:]
    return raw.decode(errors="replace")


def trained_alone(text: str, ours: Spans, theirs: Spans) -> str:
    """The parts that one of two trains on alone, each once, and the whole as both have it."""

    def parts(spans: Spans, others: Spans) -> list[str]:
        without = [at for start, end in others for at in range(start, end)]
        left = sorted({at for start, end in spans for at in range(start, end)} - set(without))
        pieces = joined([(at, at + 1) for at in left])
        return sorted({text.encode()[start:end].decode(errors="replace") for start, end in pieces})

    alone = f"transformers alone {parts(theirs, ours)}, corpusdb alone {parts(ours, theirs)}"
    return f"{alone}; {difference(shown(text, ours), shown(text, theirs))}"


def difference(ours: str, theirs: str) -> str:
    at = next((at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(ours), len(theirs)) if at is None else at
    return f"from letter {at}: {ours[max(at - 40, 0) : at + 60]!r}, not {theirs[max(at - 40, 0) : at + 60]!r}"


def with_reason(found: Outcome, known: list[list[str]]) -> Outcome:
    kinds = {"refused by us alone": "refused for a reason", "differs": "differs for a reason"}
    if found.kind not in kinds or (found.face == "texts") != (found.kind == "refused by us alone"):
        return found
    at = f"{found.package}/{found.template}"
    for face, pattern, words, why in known:
        if fnmatch.fnmatch(found.face, face) and fnmatch.fnmatch(at, pattern) and re.search(words, found.note):
            return replace(found, kind=kinds[found.kind], note=f"{why}: {found.note}")
    return found


def table(outcomes: list[Outcome], kinds: list[str], first: str) -> None:
    print(f"| {first} | templates | conversations | " + " | ".join(kinds) + " |")
    print("|---|" + "---|" * (len(kinds) + 2))
    groups = sorted({(found.package, found.face) for found in outcomes})
    for group in [*groups, None]:
        of = [found for found in outcomes if group in (None, (found.package, found.face))]
        counts = Counter(found.kind for found in of)
        face = "" if group is None or group[1] == "texts" else f", {group[1]}"
        head = "all" if group is None else group[0] + face
        names = {(found.package, found.face, found.template) for found in of}
        cells = [head, len(names), len(of), *(counts[kind] or "" for kind in kinds)]
        print("| " + " | ".join(map(str, cells)) + " |")


def report(outcomes: list[Outcome]) -> int:
    texts = [found for found in outcomes if found.face == "texts"]
    masks = [found for found in outcomes if found.face not in ("texts", "suited")]
    table(texts, TEXTS, "texts of")
    print()
    table(masks, MASKS, "trained on, by")
    for kind in ["differs", "refused by us alone", "refused for a reason", "differs for a reason", "taken by us alone"]:
        alike: dict[tuple[str, str, str, str], list[Outcome]] = {}
        for found in outcomes:
            if found.kind == kind:
                words = re.split(", from byte|; from letter|: from letter", found.note)[0]
                is_listed = found.kind == "differs for a reason"
                words = words.split(": ")[0] if is_listed else re.sub(r"\d+", "#", words)[:200]
                alike.setdefault((found.package, found.face, found.template, words), []).append(found)
        print(f"\n{kind}: {sum(map(len, alike.values()))}")
        for (package, face, template, _), same in alike.items():
            print(f"  {len(same)} {face}, {package}/{template}, conversation {same[0].chat}: {same[0].note[:600]}")
    forms = Counter(found.chat for found in outcomes if found.face == "suited")
    for form, of in sorted(forms.items()):
        print(f"\n{of} templates: {form}")
    counts = Counter(found.kind for found in texts)
    known = counts["equal"] + counts["differs"] + counts["refused for a reason"] + counts["refused by us alone"]
    share = counts["refused for a reason"] / max(known, 1)
    print(f"\nrefused for a reason: {share:.2%} of {known} that transformers renders")
    failed = counts["refused by us alone"] or any(found.kind == "differs" for found in outcomes)
    return int(bool(failed) or share > 0.01)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--corpusdb", required=True)
    parser.add_argument("--chats", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--longest", type=int, default=4, help="most questions of a conversation")
    parser.add_argument("--only", default="*", help="templates as trl/qwen3*, with commas")
    parser.add_argument("--list", help="a file for every outcome, a line each")
    parser.add_argument("--unsuited", action="store_true", help="conversations as they are, whatever a template knows")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    records = conversations(options.chats, options.seed, options.longest)
    published = templates(options.directory)
    training = {
        (one.package, one.name.removesuffix("_training")): one.source
        for one in published
        if one.name.endswith("_training")
    }
    wanted = options.only.split(",")
    tasks = [
        (one, training.get((one.package, one.name)))
        for one in published
        if any(fnmatch.fnmatch(f"{one.package}/{one.name}", pattern) for pattern in wanted)
    ]
    outcomes: list[Outcome] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        act = functools.partial(compare, options.corpusdb, records, as_is=options.unsuited)
        for number, found in enumerate(pool.map(act, tasks)):
            outcomes += found
            print(f"{number + 1} of {len(tasks)} templates", file=sys.stderr, flush=True)
    known = rows("reasons.tsv")
    outcomes = [with_reason(found, known) for found in outcomes]
    if options.list:
        lines = ((one.kind, one.face, f"{one.package}/{one.template}", one.chat, repr(one.note)) for one in outcomes)
        Path(options.list).write_text("".join("\t".join(line) + "\n" for line in lines))
    return report(outcomes)


if __name__ == "__main__":
    sys.exit(main())
