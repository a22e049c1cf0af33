"""Plants items of GSM8K and HumanEval into real documents, by kinds of edit, and counts what is found.

    python benches/contamination/plant.py --corpusdb PATH --data FOLDER --out FOLDER [--every 3] [--first 0] [--again]

FOLDER of the data has gsm8k-test.jsonl, gsm8k-train.jsonl.zst, humaneval.jsonl.gz, tldr.jsonl.zst, peps.jsonl.zst and
code.jsonl.zst. Documents that hold no item are real ones (every page of tldr; peps cut at headings; code cut at functions
and types, in pieces of 400 characters or more; each text once), every problem of GSM8K's training set, and texts that
such rules are known to trip over. 400 problems of the training set stand in the layout of MMLU instead (question, choices,
answer), as a third suite, for the layout's sake. Everything is seeded. `--again` counts anew what stands in OUT. The other rules are written anew here, over words: lm-eval's and datatrove's are one
n-gram of 13 and of 12, decon's is 5-grams with up to 11 misses between, weighted by idf, from .8 on.
"""

import argparse
import collections
import gzip
import itertools
import json
import math
import random
import re
import subprocess
from pathlib import Path

SPEECH = (
    "Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in Liberty, and "
    "dedicated to the proposition that all men are created equal. Now we are engaged in a great civil war, testing whether "
    "that nation, or any nation so conceived and so dedicated, can long endure."
)
LICENCE = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated "
    "documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation the "
    "rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software."
)
TABLE = "p | q | p and q\nT | T | T\nT | F | F\nF | T | F\nF | F | F\nComplete the truth table for the formula above."
SERIES = "The sum of the first n natural numbers is n(n+1)/2, and the sum of their squares is n(n+1)(2n+1)/6."
CODE = (
    "from typing import List\n\n\ndef total(values: List[int]) -> int:\n    result = 0\n    for i in range(len(values)):\n"
    "        result += values[i]\n    return result\n"
)


def lines(path):
    path = Path(path)
    if path.suffix == ".zst":
        text = subprocess.run(["zstd", "-dcq", str(path)], check=True, capture_output=True).stdout.decode()
    elif path.suffix == ".gz":
        text = gzip.decompress(path.read_bytes()).decode()
    else:
        text = path.read_text()
    return [json.loads(line) for line in text.splitlines() if line]


def numbers(text, chance):
    return re.sub(r"\d+", lambda found: str(int(found[0]) + chance.randint(1, 9)), text)


def edited(text, chance):
    words = text.split(" ")
    for at in range(chance.randint(0, 5), len(words), 12):
        words[at] = chance.choice(["some", "other", "very", "new"])
    return " ".join(words)


def half(text, _):
    words = text.split(" ")
    return " ".join(words[: len(words) // 2])


def punctuation(text, _):
    return text.translate(str.maketrans({".": "\u3002", ",": "\uff0c", "?": "\uff1f", "'": "\u2019", '"': "\u00ab"}))


def renamed(text, chance):
    keep = {"def", "return", "for", "in", "if", "else", "elif", "from", "import", "range", "len", "List", "typing", "str", "int"}
    names = sorted({n for n in re.findall(r"\b[a-z_]+(?=\s*[(=:,)])", text) if n not in keep and len(n) > 1})
    for at, name in enumerate(names):
        text = re.sub(rf"\b{re.escape(name)}\b", f"v{at}{chance.choice('abc')}", text)
    return text


def planted(items, pages, chance):
    """(kind, suite, item, text) of every planted document."""
    for suite, number, question, answer in items:
        whole = f"{question}\n\n{answer}"
        long = "\n\n".join(chance.choice(pages) for _ in range(8))
        yield "verbatim", suite, number, whole
        yield "question alone", suite, number, question
        yield "numbers changed", suite, number, numbers(question, chance)
        yield "every 12th word", suite, number, edited(question, chance)
        yield "punctuation", suite, number, punctuation(question, chance)
        yield "half a question", suite, number, half(question, chance)
        yield "in a long page", suite, number, f"{long}\n\n{question}\n\n{long}"
        if suite == "humaneval":
            yield "names changed", suite, number, renamed(whole, chance)


HEADING = re.compile(r"\n(?=[^\n]+\n[=~-]{3,}\n)")
DEFINITION = re.compile(
    r"\n(?=(?:pub |async |export |static |public |private |template|def |class |fn |impl |func |function |struct |type |@\w))"
)


def pieces(text, cut, least):
    """A text cut where `cut` matches, in pieces of at least so many characters; shorter ends are left out."""
    whole = ""
    for part in cut.split(text):
        whole = f"{whole}\n{part}" if whole else part
        if len(whole) >= least:
            yield whole
            whole = ""


def words(text):
    return re.findall(r"\w+", text.lower())


def grams(tokens, n):
    return {tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1)}


class OneGram:
    """A document is contaminated when it has one n-gram of a question (or of an answer)."""

    def __init__(self, items, n, answers):
        self.n, self.known = n, collections.defaultdict(set)
        for suite, _, question, answer in items:
            for text in [question, answer] if answers else [question]:
                for gram in grams(words(text), n):
                    self.known[gram].add(suite)

    def suites(self, text):
        return set().union(*(self.known.get(gram, ()) for gram in grams(words(text), self.n)))


class Decon:
    """5-grams of a question with up to 11 misses between them, weighted by idf, from .8 on."""

    def __init__(self, items):
        self.places, self.items, having = collections.defaultdict(set), {}, collections.Counter()
        for suite, number, question, _ in items:
            of = grams(words(question), 5)
            self.items[suite, number] = of
            having.update(of)
            for gram in of:
                self.places[gram].add((suite, number))
        self.idf = {gram: math.log(len(items) / count) + 1e-9 for gram, count in having.items()}

    def suites(self, text):
        tokens, hits = words(text), collections.defaultdict(list)
        for at in range(len(tokens) - 4):
            gram = tuple(tokens[at : at + 5])
            for item in self.places.get(gram, ()):
                hits[item].append((at, gram))
        found = set()
        for item, places in hits.items():
            total = sum(self.idf[gram] for gram in self.items[item])
            cluster, last = set(), None
            for at, gram in places:
                if last is not None and at - last > 12:
                    cluster = set()
                cluster.add(gram)
                last = at
                if sum(self.idf[one] for one in cluster) >= 0.8 * total:
                    found.add(item[0])
                    break
        return found


def main():
    asked = argparse.ArgumentParser()
    for name in ["--corpusdb", "--data", "--out"]:
        asked.add_argument(name, required=True)
    asked.add_argument("--every", type=int, default=3)
    asked.add_argument("--first", type=int, default=0)
    asked.add_argument("--again", action="store_true")
    asked = asked.parse_args()
    data, out, chance = Path(asked.data), Path(asked.out), random.Random(7)
    out.mkdir(parents=True, exist_ok=True)

    def run(*words):
        return subprocess.run([asked.corpusdb, *words], check=True, capture_output=True, text=True).stdout

    gsm8k = [("gsm8k", n, i["question"], i["answer"]) for n, i in enumerate(lines(data / "gsm8k-test.jsonl"))]
    human = [("humaneval", n, i["prompt"], i["canonical_solution"]) for n, i in enumerate(lines(data / "humaneval.jsonl.gz"))]
    train = lines(data / "gsm8k-train.jsonl.zst")
    chosen = [(n, item, item["answer"].rsplit("####")[-1].strip()) for n, item in enumerate(train[:400])]
    layout = [{"question": i["question"], "choices": [f"{n} more", a, "none", "7"], "answer": 1, "subject": "sums"} for n, i, a in chosen]
    mmlu = [("mmlu", n, i["question"], a) for n, i, a in chosen]
    pages = [page["text"] for page in lines(data / "tldr.jsonl.zst")]
    fillers = [text for text in pages[:8000] if len(text) > 300]
    peps = [part for page in lines(data / "peps.jsonl.zst") for part in pieces(page["text"], HEADING, 200)]
    code = [part for page in lines(data / "code.jsonl.zst") for part in pieces(page["text"], DEFINITION, 400)]
    documents = []
    for kind, suite, number, text in planted(gsm8k[asked.first :: asked.every] + human, fillers, chance):
        documents.append((kind, suite, number, f"{chance.choice(fillers)}\n\n{text}"))
    for _, _, question, _ in mmlu[:: asked.every]:
        documents.append(("layout of MMLU", "mmlu", None, f"{chance.choice(fillers)}\n\n{question}"))
    other = [f"{i['question']}\n\n{i['answer']}" for i in train[400:]]
    traps = [f"{chance.choice(fillers)}\n\n{trap}" for trap in [SPEECH, LICENCE, TABLE, SERIES, CODE] for _ in range(100)]
    for kind, texts in [("tldr", pages), ("peps", peps), ("code", code), ("GSM8K train", other), ("traps", traps)]:
        documents += [(kind, None, None, text) for text in dict.fromkeys(texts)]

    if not asked.again:
        corpus = str(out / "corpus")
        subprocess.run(["rm", "-rf", corpus], check=True)
        run("init", corpus, "--mode", "none")
        (out / "humaneval.jsonl").write_bytes(gzip.decompress((data / "humaneval.jsonl.gz").read_bytes()))
        (out / "mmlu.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in layout))
        run("contamination", "add", corpus, "gsm8k", str(data / "gsm8k-test.jsonl"))
        run("contamination", "add", corpus, "humaneval", str(out / "humaneval.jsonl"))
        run("contamination", "add", corpus, "mmlu", str(out / "mmlu.jsonl"))
        # A source is a run of documents, so that their numbers are those of the corpus.
        for name, of in itertools.groupby(enumerate(documents), lambda one: "planted" if one[1][1] else one[1][0].replace(" ", "-")):
            file = out / f"{name}.jsonl"
            file.write_text("".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, (*_, text) in of))
            run("ingest", corpus, str(file), "--source", name, "--id-field", "id")
        rows = run("sql", corpus, "SELECT document, suite, item, part, score, tokens, longest_run, matched, grams, contaminated FROM contamination", "--format", "json")
        (out / "evidence.jsonl").write_text(rows)
    evidence = collections.defaultdict(list)
    for row in map(json.loads, (out / "evidence.jsonl").read_text().splitlines()):
        evidence[row["document"]].append(row)

    def ours(score, tokens):
        def suites(number, _):
            # Parts of fewer than 13 tokens count by the answer near them alone, which `contaminated` tells.
            enough = (row for row in evidence.get(number, ()) if row["tokens"] >= tokens and row["grams"] + 7 >= 13 or row["contaminated"])
            return {row["suite"] for row in enough if row["score"] >= score and row["part"] != "passage" and row["tokens"] >= min(tokens, row["grams"] + 7)}

        return suites

    every = gsm8k + human + mmlu
    lm_eval, datatrove, decon = OneGram(every, 13, False), OneGram(every, 12, True), Decon(every)
    rules = {f"score {score}, {tokens} tokens": ours(score, tokens) for score in [0.2, 0.3, 0.4, 0.5, 0.8] for tokens in [8, 9, 10, 11, 13, 20]}
    rules["lm-eval 13-gram"] = lambda _, text: lm_eval.suites(text)
    rules["datatrove 12-gram"] = lambda _, text: datatrove.suites(text)
    rules["decon .8"] = lambda _, text: decon.suites(text)
    for name, rule in rules.items():
        found, total, wrong, right = collections.Counter(), collections.Counter(), collections.Counter(), 0
        for number, (kind, suite, _, text) in enumerate(documents):
            suites = rule(number, text)
            total[kind] += 1
            found[kind] += suite in suites if suite else bool(suites)
            right += suite in suites
            wrong[kind] += bool(suites - {suite})
        precision = right / max(1, right + sum(wrong.values()))
        told = {kind: round(found[kind] / total[kind], 4) for kind in total}
        print(json.dumps({"rule": name, "precision": round(precision, 4), "found": told, "wrong": dict(wrong)}), flush=True)
    print(json.dumps({"documents": len(documents), "characters": sum(len(text) for *_, text in documents), "kinds": collections.Counter(kind for kind, *_ in documents)}))


main()
