"""Prints the vectors that crates/text/src/dedup/tests/sketch.rs holds the BigCode signature to.

The function is the one the project publishes (minhash_deduplication.py, `embed_func`); only numpy and the
standard library take part. Run: pip install numpy && python signature_vectors.py
"""

import hashlib
import re
import struct

import numpy as np

NON_ALPHA = re.compile("[^A-Za-z_0-9]")
MAX_HASH = np.uint64((1 << 32) - 1)
MERSENNE_PRIME = np.uint64((1 << 61) - 1)

TEXTS = [
    "",
    "one two three four",
    "a b c d e",
    "int main(void) { return 0; }\n",
    "def f(x):\n    return x + 1  # naïve, 爱 λ\n" * 3,
    "Deduplication is so much fun and easy! I wish spider dogs could do it as well.",
    "我爱北京天安门,天安门上太阳升。",
    "MinHash 的 signature 函数 f_1(x) 用 SHA-1 与 2^61-1。",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " * 2 + "b" * 70 + " c d e f",
]


def permutations(count):
    rng = np.random.RandomState(42)
    return np.array(
        [
            (
                rng.randint(1, MERSENNE_PRIME, dtype=np.uint64),
                rng.randint(0, MERSENNE_PRIME, dtype=np.uint64),
            )
            for _ in range(count)
        ],
        dtype=np.uint64,
    ).T


def signature(ngrams, pairs):
    a, b = pairs
    hashes = [struct.unpack("<I", hashlib.sha1(g.encode()).digest()[:4])[0] for g in ngrams]
    hashes = np.array(hashes, dtype=np.uint64)
    masks = np.full(len(a), MAX_HASH, dtype=np.uint64)
    permuted = ((hashes * np.tile(a, (len(hashes), 1)).T).T + b) % MERSENNE_PRIME & MAX_HASH
    return np.vstack([permuted, masks]).min(axis=0)


def ngrams(text, n):
    tokens = NON_ALPHA.split(text)
    return {" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


def digest(numbers):
    """Sum of every number times its place, counted from one, modulo 2^64."""
    return sum(int(x) * (at + 1) for at, x in enumerate(numbers)) % 2**64


if __name__ == "__main__":
    a, b = permutations(4096)
    print("first", list(zip(a.tolist(), b.tolist()))[:2], "last", (int(a[-1]), int(b[-1])))
    print("digests of 4096", digest(a), digest(b))
    for text in TEXTS:
        few = signature(ngrams(text, 5), permutations(7))
        bands = [bytes(few[at : at + 3].byteswap().data).hex() for at in (0, 3)]
        many = digest(signature(ngrams(text, 5), permutations(256)))
        print(f"({text!r},\n    {few.tolist()}, {many},\n    {bands}),")
