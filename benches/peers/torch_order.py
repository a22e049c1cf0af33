"""torch.randperm and the length-grouped order of transformers against corpusdb's, index for index.

    python3 -m venv venv && venv/bin/pip install numpy torch transformers
    venv/bin/python benches/peers/torch_order.py [--cases 50] [--wide]

Random (n, batch size, multiple, seed) of a fixed seed, and the recorded ones of the Rust tests; corpusdb
answers through `cargo bench --bench torch_order`. `--wide` adds both sides of n = 214,748,364, where
torch changes its algorithm: 4 GB of memory and two minutes. A difference ends it with exit code 1.
"""

import argparse
import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers.trainer_pt_utils import get_length_grouped_indices

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ["cargo", "bench", "--profile", "release", "--bench", "torch_order", "--", "--cases"]
WIDE = 214_748_364
# sha256 of the indices as little-endian i64, and as compact JSON.
LARGE = "4b8be9900794d6f4c7375b8a62f2686ef6d8930218eb1761fcfab21c15b7855f"
GROUPED = "e3881694c900def18aaeb44ee2ac74b1fe5de64f068536b7b358176cb5432f8a"


def random_cases(count):
    draw = random.Random(2107)
    for _ in range(count):
        n = draw.choice([draw.randint(1, 40), draw.randint(41, 3_000), draw.randint(3_001, 200_000)])
        seed = draw.choice([draw.randint(0, 100), draw.getrandbits(32), draw.getrandbits(63)])
        # Few distinct lengths as well as many: ties show whether the sort is stable.
        longest = draw.choice([3, 60, 4_096])
        lengths = [draw.randint(1, longest) for _ in range(n)]
        mult = draw.choice([None, None, 1, 2, 7, 50])
        yield {"n": n, "seed": seed}
        yield {"lengths": lengths, "batch": draw.randint(1, 64), "mult": mult, "seed": seed}


def fixed_cases():
    yield {"n": 1_000_003, "seed": 0}
    yield {"lengths": [i * 7919 % 97 + 1 for i in range(1000)], "batch": 8, "mult": None, "seed": 0}
    samples = [3, 2, 5, 1, 4, 6, 7, 8, 3, 4, 1, 5]
    yield {"lengths": samples, "batch": 3, "mult": 2, "seed": 42}
    yield {"lengths": samples, "batch": 3, "mult": None, "seed": 42}


def expected(case):
    generator = torch.Generator().manual_seed(case["seed"])
    if "lengths" not in case:
        order = torch.randperm(case["n"], generator=generator)
        return order[: case.get("first", case["n"])].tolist()
    return get_length_grouped_indices(case["lengths"], case["batch"], case["mult"], generator)


def ours(cases, command):
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(cases), f"{len(answers)} answers to {len(cases)} cases"
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--command", help="absolute path of what answers, if not cargo bench")
    options = parser.parse_args()
    cases = [*fixed_cases(), *random_cases(options.cases)]
    if options.wide:
        cases += [{"n": n, "seed": 0, "first": 100_000} for n in (WIDE - 1, WIDE)]
    answers = ours(cases, [options.command, "--cases"] if options.command else COMMAND)
    digest = hashlib.sha256(np.array(answers[0], "<i8").tobytes()).hexdigest()
    assert digest == LARGE, digest
    digest = hashlib.sha256(json.dumps(answers[1], separators=(",", ":")).encode()).hexdigest()
    assert digest == GROUPED, digest
    differ = 0
    for case, answer in zip(cases, answers):
        if answer != expected(case):
            differ += 1
            known = {key: value for key, value in case.items() if key != "lengths"}
            print(f"differs: {known}, n = {len(case.get('lengths', [])) or case['n']}")
    indices = sum(len(answer) for answer in answers)
    grouped = sum("lengths" in case for case in cases)
    print(
        f"torch {torch.__version__}, transformers {transformers.__version__}: {len(cases) - grouped} permutations and "
        f"{grouped} length-grouped orders, {indices:,} indices, {differ} orders differ"
    )
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
