"""One command, measured: wall and CPU seconds and peak memory of it and of the processes it waited for.

The command is started by a small process of its own (`measure.py FILE CORE LOG COMMAND...`), since the kernel counts
the memory of the process that starts another towards the peak of the other.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

# One thread wherever a library would choose more, and nothing fetched.
SINGLE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}


def run(command, core=None, environment=None, log=os.devnull):
    """Runs a command to its end, on one core if its number is given; ends the program if it fails. Returns (what it
    printed, figures). Its errors go to the end of the file `log`."""
    surroundings = os.environ | OFFLINE | (SINGLE if core is not None else {}) | (environment or {})
    pinned = (["taskset", "-c", core] if core is not None else []) + list(command)
    with tempfile.NamedTemporaryFile("r", suffix=".json") as figures:
        words = [sys.executable, "-S", __file__, figures.name, log, *pinned]
        done = subprocess.run(
            [str(word) for word in words], stdout=subprocess.PIPE, env=surroundings, check=False
        )
        if done.returncode != 0:
            tail = done.stdout.decode(errors="replace")[-2000:]
            sys.exit(
                f"failed with {done.returncode}: {' '.join(map(str, command))}\n{tail}\nits errors are in {log}"
            )
        return done.stdout, json.load(figures)


def main():
    figures, log, *command = sys.argv[1:]
    with open(log, "ab") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    with open(figures, "w", encoding="utf-8") as file:
        spent = usage.ru_utime + usage.ru_stime
        json.dump({"wall": wall, "cpu": spent, "peak_mb": usage.ru_maxrss / 1024}, file)
    code = os.waitstatus_to_exitcode(status)
    # A signal's number is negative.
    sys.exit(code if code >= 0 else 1)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def table(head, rows):
    """A table as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    main()
