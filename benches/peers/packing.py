"""Best-fit packing of the same lengths by corpusdb, seqpacker and TRL: seconds, rows, efficiency, memory.

    python3 -m venv venv && venv/bin/pip install numpy pyarrow datasets seqpacker transformers trl
    cargo bench --features generated --bench planning -- 1000000 --dir DIR --write lengths.u32
    venv/bin/python benches/peers/packing.py lengths.u32 [--count N ...] [--length 2048] [--limit 300]

Every tool runs in a process of its own, after its lengths are in memory, and is ended after `--limit`
seconds. seqpacker gets the lengths with long documents cut into full chunks already, as it takes none
longer than a row; what cutting costs is not counted. TRL packs ids, not lengths: it gets documents of
one-byte ids in an Arrow table, in memory, with its default batches of 1,000 documents and, where that ends,
all in one batch. corpusdb's own figures come from the bench above, whose `item by item` is the same packing one
item at a time.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np


def chunks(lengths, row):
    """Full chunks and what is left, in the order of documents."""
    full, left = lengths // row, lengths % row
    counts = full + (left > 0)
    sizes = np.full(int(counts.sum()), row, dtype=np.uint32)
    ends = np.cumsum(counts, dtype=np.int64)
    sizes[ends[left > 0] - 1] = left[left > 0]
    return sizes


def seqpacker(lengths, row):
    import seqpacker

    sizes = chunks(lengths, row)
    packer = seqpacker.Packer(capacity=row, strategy="obfd")
    started = time.perf_counter()
    packed = packer.pack(sizes) if accepts_arrays(packer) else packer.pack(sizes.tolist())
    seconds = time.perf_counter() - started
    return seconds, packed.num_bins


def accepts_arrays(packer):
    try:
        packer.pack(np.array([1, 2], dtype=np.uint32))
    except (TypeError, ValueError):
        return False
    return True


def trl(lengths, row, batch):
    import datasets
    import pyarrow as pa
    from trl.data_utils import pack_dataset

    datasets.disable_caching()
    datasets.disable_progress_bars()
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    ids = pa.array(np.zeros(int(offsets[-1]), dtype=np.int8))
    column = pa.LargeListArray.from_arrays(pa.array(offsets), ids)
    table = datasets.Dataset(pa.table({"input_ids": column}))
    options = {"keep_in_memory": True, **({} if batch is None else {"batch_size": batch})}
    started = time.perf_counter()
    packed = pack_dataset(table, row, strategy="bfd_split", map_kwargs=options)
    return time.perf_counter() - started, len(packed)


TOOLS = {
    "seqpacker obfd": seqpacker,
    "TRL bfd_split, batches of 1,000": lambda lengths, row: trl(lengths, row, None),
    "TRL bfd_split, one batch": lambda lengths, row: trl(lengths, row, len(lengths)),
}


def one(arguments):
    lengths = np.fromfile(arguments.file, dtype="<u4", count=arguments.count[0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, rows = TOOLS[arguments.tool](lengths, arguments.length)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    efficiency = float(lengths.sum(dtype=np.int64)) / (rows * arguments.length)
    print(json.dumps({"seconds": seconds, "rows": rows, "efficiency": efficiency,
                      "peak_mib": peak / 1024, "before_mib": before / 1024}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--count", type=int, nargs="+", default=[-1])
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.tool:
        return one(arguments)
    print("| lengths | tool | seconds | rows | efficiency | peak memory |\n|---|---|---|---|---|---|")
    for count in arguments.count:
        for tool in TOOLS:
            command = [sys.executable, __file__, arguments.file, "--count", str(count),
                       "--length", str(arguments.length), "--tool", tool]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.limit)
            except subprocess.TimeoutExpired:
                print(f"| {count} | {tool} | over {arguments.limit:.0f} | | | |", flush=True)
                continue
            if done.returncode:
                why = (done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"])[-1]
                print(f"| {count} | {tool} | failed: {why[:120]} | | | |", flush=True)
                continue
            found = json.loads(done.stdout.strip().splitlines()[-1])
            print(f"| {count} | {tool} | {found['seconds']:.2f} | {found['rows']} "
                  f"| {100 * found['efficiency']:.4f} % | {found['peak_mib']:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
