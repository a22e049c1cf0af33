"""Judges the quality functions document by document against datatrove's filters, and races them.

    VENV/bin/python benches/peers/signals.py CORPUSDB DATA [--work DIR] [--limit N]
        [--speed BYTES] [--languages] [--personal]

VENV has `datatrove` 0.10.1, `numpy` and `spacy`, on Python 3.11; DATA has `code`, `peps` and `tldr` as `.jsonl.zst`;
CORPUSDB is the command. Every function is asked of every document, and its value is held against datatrove's own
formula, that of lines without the white space at their ends; then the verdict and the reason of datatrove's filters
against those that the published thresholds give. Both take a word to be what stands between white space, and cut
sentences by one rule: datatrove's word tokenizer is given these. How many verdicts differ with datatrove's own words (spaCy's for English) is counted beside it.

`--speed` times the filters of datatrove on so many bytes of each input, by its own words and by white space, and on all
of it what CORPUSDB has for the same: 27 functions in one statement, each by itself, and `signals report`, which finds the
28 numbers of all sets together; each on one core: megabytes of text a second of CPU. `--languages` tells how often
`lang` names the language of the pages of `tldr`. `--personal` holds the places of e-mail and public IPv4 addresses
against those that datatrove's PIIFormatter would replace, of every document, and prints those that one alone has.
"""

import argparse
import collections
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from datatrove.data import Document
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from datatrove.pipeline.filters.gopher_repetition_filter import (
    find_all_duplicate,
    find_duplicates,
    find_top_duplicate,
    get_n_grams,
)
from datatrove.pipeline.formatters import PIIFormatter
from datatrove.utils import text as datatrove_text
from datatrove.utils.text import PUNCTUATION_SET, TERMINAL_PUNCTUATION

INPUTS = ("code", "peps", "tldr")
STOP_WORDS = {"the", "be", "to", "of", "and", "that", "have", "with"}

# ---- words and sentences, as CORPUSDB cuts them ----


def sentences(line):
    """Words that end as sentences do, quotes and brackets behind that aside; the rest is one more."""
    cut, current = [], []
    for word in line.split():
        current.append(word)
        if word.rstrip("\"')]”’»").endswith(tuple(TERMINAL_PUNCTUATION)):
            cut.append(" ".join(current))
            current = []
    return cut + ([" ".join(current)] if current else [])


def by_white_space():
    """Has datatrove's filters cut words at white space."""
    import datatrove.pipeline.filters as filters

    for module in ("c4_filters", "fineweb_quality_filter", "gopher_quality_filter", "gopher_repetition_filter"):
        module = getattr(filters, module)
        if hasattr(module, "split_into_words"):
            module.split_into_words = lambda text, language=None: text.split()
        if hasattr(module, "split_into_sentences"):
            module.split_into_sentences = lambda text, language=None: sentences(text)


def by_own_words():
    """Gives datatrove its own words back."""
    import datatrove.pipeline.filters as filters

    for module in ("c4_filters", "fineweb_quality_filter", "gopher_quality_filter", "gopher_repetition_filter"):
        module = getattr(filters, module)
        if hasattr(module, "split_into_words"):
            module.split_into_words = datatrove_text.split_into_words
        if hasattr(module, "split_into_sentences"):
            module.split_into_sentences = datatrove_text.split_into_sentences


# ---- values, by datatrove's formulas ----


def share(part, whole):
    return part / whole if whole else 0.0


def without_blanks(text):
    """A text as CORPUSDB counts its lines: no white space before a line feed and at the end."""
    return "\n".join(line.rstrip() for line in text.split("\n"))


def values(text):
    """The scores of a text by the lines of datatrove's filters."""
    words = text.split()
    trimmed = without_blanks(text)
    spoken = [word for word in words if any(c not in PUNCTUATION_SET for c in word)]
    lines = text.splitlines()
    found = {
        "word_count(text)": len(spoken),
        "mean_word_length(text)": share(sum(map(len, spoken)), len(spoken)),
        "symbol_ratio(text)": share(max(text.count("#"), text.count("...") + text.count("…")), len(words)),
        "alpha_ratio(text)": share(sum(any(c.isalpha() for c in word) for word in words), len(words)),
        "stopword_count(text, 'en')": len(STOP_WORDS.intersection(words)),
        "bullet_fraction(text)": share(sum(line.lstrip().startswith(("•", "-")) for line in lines), len(lines)),
        "ellipsis_fraction(text)": share(sum(line.rstrip().endswith(("...", "…")) for line in lines), len(lines)),
    }
    repetition = GopherRepetitionFilter()
    for what, pieces in (
        ("paragraph", repetition.paragraph_exp.split(trimmed.strip())),
        ("line", repetition._line_splitter.split(trimmed)),
    ):
        pieces = pieces if text else []
        repeated, chars = find_duplicates(pieces)
        found[f"dup_{what}_fraction(text)"] = share(repeated, len(pieces))
        found[f"dup_{what}_char_fraction(text)"] = share(chars, len(trimmed))
    for n in (1, 2, 3, 4):
        grams = get_n_grams(words, n)
        found[f"top_ngram_fraction(text, {n})"] = share(find_top_duplicate(grams) if grams else 0, len(text))
    for n in (2, 5, 6, 7, 8, 9, 10):
        found[f"dup_ngram_fraction(text, {n})"] = share(find_all_duplicate(words, n), len(text))
    kept = [line for line in trimmed.split("\n") if line.strip() != ""]
    stops = tuple(TERMINAL_PUNCTUATION)
    found["terminal_punctuation_fraction(text)"] = share(sum(line.endswith(stops) for line in kept), len(kept))
    found["short_line_fraction(text, 30)"] = share(sum(len(line) <= 30 for line in kept), len(kept))
    found["char_dup_fraction(text)"] = share(find_duplicates(kept)[1], len(trimmed.replace("\n", "")))
    found["newline_ratio(text)"] = share(text.count("\n"), len(words))
    found["long_line_count(text, 200)"] = sum(len(line) >= 200 for line in trimmed.split("\n"))
    found["c4_sentence_count(text)"], found["c4_line_fraction(text)"] = c4(text)
    return found


def c4(text):
    """Sentences and share of lines that datatrove's C4 filter keeps."""
    counts = collections.Counter()
    cleaner = C4QualityFilter(min_num_sentences=-1)
    cleaner.stat_update = lambda *names, **_: counts.update(names)
    document = Document(text=text, id="0")
    if cleaner.filter(document) is not True:
        return 0, 0.0
    lines = document.text.split("\n") if counts["line-kept"] else []
    return sum(len(sentences(line)) for line in lines), share(counts["line-kept"], counts["line-total"])


# ---- verdicts ----


def first(rules, found):
    """The reason of the first rule that a text breaks."""
    return next((reason for reason, broken in rules if broken(found)), None)


def rules():
    """The published thresholds over our values, in datatrove's order, with its reasons."""
    of = lambda name: lambda v: v[f"{name}(text)"]  # noqa: E731
    over = lambda name, most: lambda v: v[name] > most  # noqa: E731
    under = lambda name, least: lambda v: v[name] < least  # noqa: E731
    quality = [
        ("gopher_short_doc", under("word_count(text)", 50)),
        ("gopher_long_doc", over("word_count(text)", 100000)),
        ("gopher_below_avg_threshold", under("mean_word_length(text)", 3)),
        ("gopher_above_avg_threshold", over("mean_word_length(text)", 10)),
        ("gopher_symbols", over("symbol_ratio(text)", 0.1)),
        ("gopher_too_many_bullets", over("bullet_fraction(text)", 0.9)),
        ("gopher_too_many_end_ellipsis", over("ellipsis_fraction(text)", 0.3)),
        ("gopher_below_alpha_threshold", under("alpha_ratio(text)", 0.8)),
        ("gopher_enough_stop_words", under("stopword_count(text, 'en')", 2)),
    ]
    repetition = [
        ("dup_para_frac", over("dup_paragraph_fraction(text)", 0.3)),
        ("dup_para_char_frac", over("dup_paragraph_char_fraction(text)", 0.2)),
        ("dup_line_frac", over("dup_line_fraction(text)", 0.3)),
        ("dup_line_char_frac", over("dup_line_char_fraction(text)", 0.2)),
    ]
    repetition += [
        (f"top_{n}_gram", over(f"top_ngram_fraction(text, {n})", most)) for n, most in ((2, 0.2), (3, 0.18), (4, 0.16))
    ]
    repetition += [
        (f"duplicated_{n}_n_grams", over(f"dup_ngram_fraction(text, {n})", (20 - n) / 100)) for n in range(5, 11)
    ]
    fineweb = [
        ("line_punct_ratio", under("terminal_punctuation_fraction(text)", 0.12)),
        ("short_line_ratio", over("short_line_fraction(text, 30)", 0.67)),
        ("char_dup_ratio", over("char_dup_fraction(text)", 0.01)),
        ("list_ratio", over("newline_ratio(text)", 0.3)),
    ]
    c4_rules = [("removed", under("c4_sentence_count(text)", 5))]
    del of
    return {"gopher quality": quality, "gopher repetition": repetition, "fineweb": fineweb, "c4": c4_rules}


FILTERS = {
    "gopher quality": GopherQualityFilter(),
    "gopher repetition": GopherRepetitionFilter(),
    "fineweb": FineWebQualityFilter(),
    "c4": C4QualityFilter(),
}


def verdict(name, text):
    """The reason for which datatrove removes a text; none when it keeps it."""
    text = without_blanks(text) if name in ("gopher repetition", "fineweb") else text
    result = FILTERS[name].filter(Document(text=text, id="0"))
    kept, reason = result if isinstance(result, tuple) else (result, None)
    if kept:
        return None
    if name == "c4":
        return "removed"
    # Two rules of one score.
    return "gopher_symbols" if reason in ("gopher_too_many_hashes", "gopher_too_many_ellipsis") else reason


# ---- the judge ----


def documents(path, limit):
    """Records of a file, as (key, text)."""
    unpacked = subprocess.Popen(["zstd", "-dc", str(path)], stdout=subprocess.PIPE)
    for number, line in enumerate(unpacked.stdout):
        if limit and number >= limit:
            break
        record = json.loads(line)
        yield record["id"], record["text"]
    unpacked.kill()


def run(corpusdb, *arguments):
    return subprocess.run([corpusdb, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def fill(corpusdb, data, work):
    corpus = work / "signals"
    if not corpus.exists():
        run(corpusdb, "init", corpus, "--mode", "none")
        for name in INPUTS:
            run(corpusdb, "ingest", corpus, data / f"{name}.jsonl.zst", "--source", name, "--id-field", "id")
    return corpus


def judge(corpusdb, corpus, data, limit):
    by_white_space()
    expressions = list(values("a b"))
    columns = ", ".join(f'{expression} AS "{at}"' for at, expression in enumerate(expressions))
    wrong, removed, compared, examples = collections.Counter(), collections.Counter(), 0, []
    own = collections.Counter()
    for name in INPUTS:
        statement = f"SELECT key, {columns} FROM documents WHERE source = '{name}' ORDER BY id"
        asked = subprocess.Popen(
            [corpusdb, "sql", str(corpus), statement, "--format", "jsonl"], stdout=subprocess.PIPE, text=True
        )
        for (key, text), line in zip(documents(data / f"{name}.jsonl.zst", limit), asked.stdout):
            row = json.loads(line)
            assert row["key"] == key, (row["key"], key)
            ours = {expression: row[str(at)] for at, expression in enumerate(expressions)}
            compared += 1
            for expression, expected in values(text).items():
                if not math.isclose(ours[expression], expected, rel_tol=1e-15, abs_tol=0):
                    wrong[expression] += 1
                    examples.append((name, key, expression, ours[expression], expected))
            for filter_name, asked_rules in rules().items():
                theirs, here = verdict(filter_name, text), first(asked_rules, ours)
                removed[filter_name] += theirs is not None
                if theirs != here:
                    wrong[filter_name] += 1
                    examples.append((name, key, filter_name, here, theirs))
                own[filter_name, name] += 1
        asked.kill()
    print(f"{compared} documents, {len(expressions)} values and {len(FILTERS)} verdicts of each")
    print(f"differ: {sum(wrong.values())}", dict(wrong))
    for example in examples[:20]:
        print("  ", *example)
    print("removed by", dict(removed))
    return not wrong


def own_words(corpusdb, data, limit):
    """How many verdicts change with spaCy's words."""
    for name in ("peps", "tldr"):
        pages = [
            (key, text)
            for key, text in documents(data / f"{name}.jsonl.zst", 0)
            if name != "tldr" or key.startswith("pages/")
        ][: limit or 2000]
        by_white_space()
        plain = {f: [verdict(f, text) for _, text in pages] for f in FILTERS}
        by_own_words()
        spacy = {f: [verdict(f, text) for _, text in pages] for f in FILTERS}
        by_white_space()
        for f in FILTERS:
            kept = sum((a is None) != (b is None) for a, b in zip(plain[f], spacy[f]))
            print(f"{name}, {f}: {kept} of {len(pages)} documents kept by one and removed by the other")


# ---- the race ----


def speed(corpusdb, corpus, data, most):
    os.sched_setaffinity(0, {0})
    expressions = [e for e in values("a b") if "text, 1)" not in e and "dup_ngram_fraction(text, 2)" not in e]
    for name in INPUTS:
        sample, bytes_read = [], 0
        for _, text in documents(data / f"{name}.jsonl.zst", 0):
            if bytes_read >= most:
                break
            sample.append(text)
            bytes_read += len(text.encode())
        rates = {}
        for words, choose in (("its own words", by_own_words), ("white space", by_white_space)):
            choose()
            verdict("gopher quality", "warm up " * 60)
            start = time.process_time()
            for text in sample:
                for filter_name in FILTERS:
                    verdict(filter_name, text)
            rates[words] = bytes_read / (time.process_time() - start) / 1e6
        total = json.loads(
            run(corpusdb, "sql", corpus, f"SELECT sum(bytes) AS b FROM documents WHERE source = '{name}'", "--format", "jsonl")
        )["b"]
        sums = ", ".join(f'sum({expression}) AS "{at}"' for at, expression in enumerate(expressions))
        used = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run(corpusdb, "sql", corpus, f"SELECT {sums} FROM documents WHERE source = '{name}'")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        ours = {"sql": total / sorted(used)[1] / 1e6, "report": total / report_seconds(corpusdb, corpus, name) / 1e6}
        print(f"{name}: {total / 1e6:.0f} MB")
        for how, rate in ours.items():
            told = ", ".join(f"{words} {theirs:.2f} (x{rate / theirs:.0f})" for words, theirs in rates.items())
            print(f"  {how}: {rate:.1f} MB/s of CPU; datatrove by {told}")


def report_seconds(corpusdb, corpus, name):
    """CPU of `signals report` over texts: the scores of all three filters, the verdict of each rule, quantiles."""
    used = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(corpusdb, "signals", "report", corpus, "--source", name, "--examples", "0", "--json")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return sorted(used)[1]


def languages(corpusdb, corpus):
    """The language of the folder against `lang`, of the pages that whatlang knows a language of."""
    rows = run(
        corpusdb, "sql", corpus, "SELECT key, lang(text) AS l FROM documents WHERE source = 'tldr'", "--format", "jsonl"
    )
    right, all_, by = 0, 0, collections.defaultdict(collections.Counter)
    for line in rows.splitlines():
        row = json.loads(line)
        folder = row["key"].split("/")[0]
        expected = "en" if folder == "pages" else folder.split(".")[1].split("_")[0]
        by[expected][row["l"]] += 1
        # One language under two names, and one that is told by no text.
        expected = {"nb": "no", "bs": "hr"}.get(expected, expected)
        right += row["l"] == expected
        all_ += 1
    print(f"lang: {right} of {all_} pages of tldr, {right / all_:.1%}, in {len(by)} languages")
    for language, found in sorted(by.items()):
        print("  ", language, dict(found.most_common(3)))


def personal(corpusdb, corpus, data):
    """Places of e-mail and public IPv4 addresses: those of datatrove and ours, by the characters that they share."""
    formatter = PIIFormatter()
    replacers = {"email": formatter.emails_replacer, "ipv4": formatter.ip_replacer}
    counts, alone = collections.Counter(), []
    for name in INPUTS:
        statement = f"SELECT key, pii_spans(text) AS s FROM documents WHERE source = '{name}' ORDER BY id"
        asked = subprocess.Popen(
            [corpusdb, "sql", str(corpus), statement, "--format", "jsonl"], stdout=subprocess.PIPE, text=True
        )
        for (key, text), line in zip(documents(data / f"{name}.jsonl.zst", 0), asked.stdout):
            row = json.loads(line)
            assert row["key"] == key, (row["key"], key)
            for kind, replacer in replacers.items():
                ours = [(s["start"] - 1, s["start"] - 1 + s["length"]) for s in row["s"] if s["kind"] == kind]
                matches = replacer.regex.finditer(text)
                theirs = [m.span() for m in matches if not replacer.validator or replacer.validator(m.group())]
                for who, spans, others in (("corpusdb", ours, theirs), ("datatrove", theirs, ours)):
                    for start, end in spans:
                        shared = any(start < other_end and other < end for other, other_end in others)
                        counts[kind, name, "both" if shared else f"{who} alone"] += who == "corpusdb" or not shared
                        if not shared:
                            alone.append((who, kind, name, key, text[max(0, start - 12) : end + 12]))
        asked.wait()
    for (kind, name, who), count in sorted(counts.items()):
        print(f"{kind} in {name}: {who} {count}")
    for example in sorted(alone):
        print("  ", *map(repr, example))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpusdb")
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("."))
    parser.add_argument("--limit", type=int, default=0, help="documents of each input")
    parser.add_argument("--speed", type=int, default=0, help="bytes of each input that datatrove reads")
    parser.add_argument("--own-words", type=int, default=0, help="documents whose verdicts by spaCy's words are counted")
    parser.add_argument("--languages", action="store_true")
    parser.add_argument("--personal", action="store_true")
    given = parser.parse_args()
    corpus = fill(given.corpusdb, given.data, given.work)
    if given.languages:
        return languages(given.corpusdb, corpus)
    if given.personal:
        return personal(given.corpusdb, corpus, given.data)
    if given.own_words:
        return own_words(given.corpusdb, given.data, given.own_words)
    if given.speed:
        return speed(given.corpusdb, corpus, given.data, given.speed)
    if not judge(given.corpusdb, corpus, given.data, given.limit):
        sys.exit(1)


if __name__ == "__main__":
    main()
