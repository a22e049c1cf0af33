"""Documents for the race, the shingles by which all tools are judged, and the exact answer."""

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict

import zstandard

SHINGLE = 5
PAGE_WORDS = 600

# Letters of scripts written without spaces: each is a word of its own, as in the normaliser `web`.
UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u3005-\u3007\u3021-\u3029\u3038-\u303c"
    "\u3041-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ua980-\ua9ff\uaa60-\uaadf"
    "\uff66-\uff9f\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


def read(path):
    """The records of a .jsonl or .jsonl.zst file."""
    if str(path).endswith(".zst"):
        with open(path, "rb") as file:
            yield from map(json.loads, zstandard.ZstdDecompressor().stream_reader(file).read().splitlines())
    else:
        with open(path, "rb") as file:
            yield from map(json.loads, file)


def write(path, texts):
    """A .jsonl file of these texts; the id of a record is its number."""
    with open(path, "w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": str(number), "text": text}, ensure_ascii=False) + "\n")


def words(text):
    """The letters and digits of a text in lower case, in words that no tool of the race cuts further."""
    return [word for word in WORD.findall(unicodedata.normalize("NFC", text.lower())) if word.isalnum()]


def plain(text):
    """The text as its words with one space between them: every tool finds the same words in it."""
    return " ".join(words(text))


def shingles(text):
    """The distinct runs of five words of a text that is `plain`."""
    parts = text.split(" ")
    return {" ".join(parts[at : at + SHINGLE]) for at in range(len(parts) - SHINGLE + 1)}


def pages(texts):
    """Pages of 600 words cut from the texts, spacing and all. After every twentieth page comes a near copy of
    it: in turn one word in 300 changed, one in 40 changed, the last tenth cut, a header of eight words added."""
    made = 0
    for text in texts:
        starts = [match.start() for match in re.finditer(r"\S+", text)]
        for at in range(0, len(starts) - PAGE_WORDS + 1, PAGE_WORDS):
            end = starts[at + PAGE_WORDS] if at + PAGE_WORDS < len(starts) else len(text)
            page = text[starts[at] : end]
            yield page
            made += 1
            if made % 20 == 0:
                yield near_copy(page, made // 20)


def near_copy(page, number):
    parts = page.split(" ")
    kind = number % 4
    if kind < 2:
        step = 300 if kind == 0 else 40
        return " ".join("changed" if at % step == step // 2 else part for at, part in enumerate(parts))
    if kind == 2:
        return " ".join(parts[: len(parts) * 9 // 10])
    return "this copy was found on another site today\n\n" + page


def exact_pairs(sets, threshold):
    """Every pair (i, j, similarity), i < j, of sets whose Jaccard similarity is at least the threshold. Exact: a
    prefix filter (two such sets share one of the rarest members of either) and no hashing of sets."""
    counts = Counter(member for members in sets for member in members)
    rank = {
        member: at
        for at, (member, _) in enumerate(sorted(counts.items(), key=lambda pair: (pair[1], pair[0])))
    }
    ordered = [sorted(rank[member] for member in members) for members in sets]
    frozen = [frozenset(members) for members in ordered]
    index = defaultdict(list)
    pairs = []
    for number in sorted(range(len(sets)), key=lambda at: (len(ordered[at]), at)):
        members = ordered[number]
        size = len(members)
        # One more than the filter asks for, so that rounding cannot lose a pair at the threshold.
        prefix = members[: size - math.ceil(threshold * size) + 2]
        candidates = {
            other
            for member in prefix
            for other in index[member]
            if len(ordered[other]) >= threshold * size - 1
        }
        for other in candidates:
            shared = len(frozen[number] & frozen[other])
            similarity = shared / (size + len(ordered[other]) - shared)
            if similarity >= threshold:
                pairs.append((min(number, other), max(number, other), similarity))
        for member in prefix:
            index[member].append(number)
    return sorted(pairs)


def cross_check(sets, pairs, threshold, most=500):
    """Ends the program unless comparing each with each gives the same pairs among the first of these sets."""
    first = sets[:most]
    found = []
    for b, members in enumerate(first):
        for a, others in enumerate(first[:b]):
            shared = len(members & others)
            if shared and shared / (len(members) + len(others) - shared) >= threshold:
                found.append((a, b))
    known = [(a, b) for a, b, _ in pairs if b < most]
    if sorted(found) != sorted(known):
        raise SystemExit(
            f"the exact pairs are wrong: {len(known)} among the first {most} documents, not {len(found)}"
        )


def judge(removed, pairs, count):
    """How a set of removed documents stands against the exact pairs."""
    neighbours = defaultdict(list)
    for a, b, _ in pairs:
        neighbours[a].append(b)
        neighbours[b].append(a)
    unsupported = [
        number for number in removed if not any(other not in removed for other in neighbours.get(number, ()))
    ]
    alone = [number for number in unsupported if number not in neighbours]
    both = sum(a not in removed and b not in removed for a, b, _ in pairs)
    return {
        "documents": count,
        "pairs": len(pairs),
        "removed": len(removed),
        "without_kept_witness": len(unsupported),
        "without_any_neighbour": len(alone),
        "pairs_both_kept": both,
    }
