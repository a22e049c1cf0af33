#!/usr/bin/env python3
"""What each function of the kernel costs, in processor seconds of one core: the figures of the cost model.

Usage: benches/spark/costs.py --data DIR, with corpusdb and PyArrow installed. DIR has .jsonl.zst files with `text`; the
command `zstd` reads them. Prints one line of JSON.
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
from engine import texts

from corpusdb import kernel

POLICY = {"profile": "web"}


def timed(work):
    began = time.process_time()
    answer = pa.table(pa.record_batch(work()))
    return answer, time.process_time() - began


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--data", type=Path, required=True)
    given = asked.parse_args()
    read = [text for file in sorted(given.data.glob("*.jsonl.zst")) for text in texts(file, lambda lines: lines[:4000])]
    size, draw = sum(len(text.encode()) for text in read), random.Random(1)
    table = pa.table({"text": pa.array(read, pa.large_string()), "number": list(range(len(read)))})
    prints, fingerprint = timed(lambda: kernel.fingerprint(table, POLICY, order="number"))
    row = sum(prints[name].nbytes for name in prints.column_names) / len(read)
    pairs = [(draw.randrange(len(read)), draw.randrange(len(read))) for _ in range(20_000)]
    left, right = (pa.array([pair[side] for pair in pairs]) for side in (0, 1))
    compared = {"left_text": table["text"].take(left), "right_text": table["text"].take(right)}
    _, verify = timed(lambda: kernel.verify(pa.table(compared), POLICY))
    whole = prints.filter(pa.compute.is_valid(prints["sketch"]))
    seats = whole.slice(0, 2000).select(["rank", "sketch"])
    seats = seats.append_column("bucket", pa.array([b"one"] * len(seats)))
    _, near = timed(lambda: kernel.near(seats, POLICY, most=len(seats)))
    ranks = pa.array([number.to_bytes(24, "big") for number in range(1_000_000)])
    links = pa.table({side: ranks.take(pa.array([draw.randrange(1_000_000) for _ in range(1_000_000)])) for side in ("left", "right")})
    _, components = timed(lambda: kernel.components(links))
    hashes = pa.array([number.to_bytes(16, "big") for number in range(1_000_000)])
    ones = pa.array([30] * 1_000_000, pa.uint32())
    members = pa.table({"rank": ranks, "text_hash": hashes, "raw_hash": hashes, "tokens": ones, "shingles": ones})
    edges = links.append_column("shared", ones).append_column("left_shingles", ones).append_column("right_shingles", ones)
    _, decide = timed(lambda: kernel.decide(members, edges, POLICY))
    print(json.dumps({
        "documents": len(read), "bytes_a_document": round(size / len(read)), "fingerprint_us": round(fingerprint / len(read) * 1e6, 1),
        "fingerprint_mb_s": round(size / fingerprint / 1e6, 1), "fingerprint_row_bytes": round(row),
        "verify_us_a_pair": round(verify / len(pairs) * 1e6, 1), "estimate_ns_a_pair": round(near / (len(seats) * (len(seats) - 1) / 2) * 1e9, 1),
        "components_us_an_edge": round(components, 2), "decide_us_an_edge": round(decide, 2),
    }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
