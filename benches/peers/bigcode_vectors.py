"""Golden vectors of the BigCode MinHash, made with numpy: permutations, shingles, signatures, bands.

    venv/bin/python benches/peers/bigcode_vectors.py [FILE.jsonl] [--ngram 5] [--num-perm 256] [--bands 25]
        [--rows 10] [--drop-empty]

Without a file the texts below are used; of a file, the field `text` of every line. Prints one JSON object,
the same on every machine:

    {"seed", "num_perm", "ngram", "bands", "rows", "drop_empty", "mersenne_prime", "max_hash",
     "a": [num_perm integers below 2^61], "b": [the same],
     "texts": [{"text", "tokens": [every part of the split, empty ones included], "shingles": [sorted, distinct],
                "hashes": [SHA-1, first 4 bytes little-endian, in the order of shingles],
                "signature": [num_perm integers below 2^32],
                "bands": [hexadecimal: the band's values as 8 big-endian bytes each]}]}

The function is that of the published `minhash_deduplication.py` and of the article on it, written anew:

* The text is split at every single character that is not an ASCII letter, digit or underscore. Two such
  characters in a row leave an empty part between them, one at an end of the text an empty part there, and
  empty parts count as tokens. Case is kept.
* Permutation i is (a, b), drawn in that order from `RandomState(42)`: a from 1, b from 0, both below 2^61 - 1.
* A slot is the least `((h * a + b) mod 2^64) mod (2^61 - 1) mod 2^32` over the hashes h of the shingles: product
  and sum wrap at 64 bits before the remainder is taken. Without a shingle, every slot is 2^32 - 1.
* The script's own `min_ngram_size`, 5, equals the n-gram size, so that it changes nothing.

The article's walk-through is another function in one respect: its tables leave the empty parts out. With
`--drop-empty --ngram 3 --num-perm 5 --bands 2 --rows 2` the first three texts give its numbers to the digit.
"""

import argparse
import hashlib
import json
import re
import sys

import numpy as np

SEED = 42
MERSENNE_PRIME = np.uint64((1 << 61) - 1)
MAX_HASH = np.uint64((1 << 32) - 1)
SEPARATOR = re.compile("[^A-Za-z_0-9]")

TEXTS = [
    "Deduplication is so much fun!",
    "Deduplication is so much fun and easy!",
    "I wish spider dog is a thing.",
    "",
    "one two three four",
    "one two three four five",
    "one two three four five six",
    "one, two; three... four -- five (six)\tseven\r\neight",
    "ONE Two three FOUR five six",
    "!!!!",
    "!!!!!",
    "a b a b a b a b a b a b a b",
    "naïve café: Ελληνικά и кириллица, 漢字かな交じり文 and emoji \U0001f600 end",
    "def f(x, y):\n    return x_1 + y_2  # snake_case stays whole\n",
    " ".join(f"word{number % 97}" for number in range(600)),
]


def permutations(count, seed=SEED):
    """(a, b), each an array of `count` values."""
    generator = np.random.RandomState(seed)
    drawn = [generator.randint(low, MERSENNE_PRIME, dtype=np.uint64) for _ in range(count) for low in (1, 0)]
    return np.array(drawn[::2], dtype=np.uint64), np.array(drawn[1::2], dtype=np.uint64)


def tokens(text, drop_empty=False):
    return [part for part in SEPARATOR.split(text) if part or not drop_empty]


def shingles(parts, ngram):
    """The distinct n-grams, joined by a space; none of fewer tokens."""
    return sorted({" ".join(parts[at : at + ngram]) for at in range(len(parts) - ngram + 1)})


def sha1_32(shingle):
    return int.from_bytes(hashlib.sha1(shingle.encode()).digest()[:4], "little")


def signature(hashes, a, b):
    permuted = (np.array(hashes, dtype=np.uint64)[:, None] * a + b) % MERSENNE_PRIME & MAX_HASH
    return permuted.min(axis=0, initial=MAX_HASH)


def band_keys(slots, bands, rows):
    return [slots[i * rows : (i + 1) * rows].astype(">u8").tobytes() for i in range(bands)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--ngram", type=int, default=5)
    parser.add_argument("--num-perm", type=int, default=256)
    parser.add_argument("--bands", type=int, default=25)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--drop-empty", action="store_true")
    options = parser.parse_args()
    texts = TEXTS
    if options.file:
        with open(options.file, encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
    a, b = permutations(options.num_perm)
    answer = {
        "seed": SEED,
        "num_perm": options.num_perm,
        "ngram": options.ngram,
        "bands": options.bands,
        "rows": options.rows,
        "drop_empty": options.drop_empty,
        "mersenne_prime": int(MERSENNE_PRIME),
        "max_hash": int(MAX_HASH),
        "a": a.tolist(),
        "b": b.tolist(),
        "texts": [],
    }
    for text in texts:
        parts = tokens(text, options.drop_empty)
        grams = shingles(parts, options.ngram)
        hashes = [sha1_32(gram) for gram in grams]
        slots = signature(hashes, a, b)
        keys = band_keys(slots, options.bands, options.rows)
        answer["texts"].append(
            {
                "text": text,
                "tokens": parts,
                "shingles": grams,
                "hashes": hashes,
                "signature": slots.tolist(),
                "bands": [key.hex() for key in keys],
            }
        )
    json.dump(answer, sys.stdout, ensure_ascii=False, indent=None, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
