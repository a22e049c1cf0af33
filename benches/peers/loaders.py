"""Races loaders over the same rows: how many come as torch tensors, and how soon the first one does after a resume.

    VENV/bin/python benches/peers/loaders.py CORPUS [--length 1024 2048] [--rows 32] [--rounds 5] [--workers 0 2] [--repeat 1]
        [--mosaic PYTHON]

VENV has loaders-requirements.txt and the package `corpusdb`; PYTHON, of a venv with loaders-mosaic-requirements.txt, runs
MosaicML, which is left out without it. CORPUS is one with a tokenizer of at most 65,536 ids; its
documents are cut end to end into full rows (`concat`), so that every format can hold them. corpusdb's loader reads the
store, and once more the bare ids that `Plan.build` wrote; the others read what was exported before the race: MosaicML's
shards are written by its own writer with nothing but ids, LitData's, Arrow's and the bare ids by `Plan.build`. Every one
gives int64 tensors of `--rows` x length in order, and nothing else; corpusdb also with labels and positions, which the
others leave to the trainer.

Each contestant runs in a process of its own, in turns, so that whatever else the machine does meets all of them; files
are in the page cache. Told are medians: rows and tokens a second from the second batch on for `--seconds`, and the
milliseconds from the construction of a loader with the state of 90 % of the epoch to its first batch, without imports.
Rows that differ from those of the plan end the race. `sum` is over the ids of the batch after the resume.
"""

import argparse
import importlib
import json
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECIPE = {"version": 1, "seed": 1, "pack": {"kind": "concat"}}


def recipe(length, rows, eos, repeat=1, output=None):
    made = {**RECIPE, "pack": {"kind": "concat", "length": length, "options": {"partial": "drop"}}}
    made |= {"select": {"repeat": str(repeat)}} if repeat > 1 else {}
    made |= {"batch": {"rows": rows}, "tokenizer": {"specials": {"eos": eos}}}
    return made | ({"output": output} if output else {})


# ---- contestants: each makes its files, and gives tensors from a state on ----


class Contestant:
    """What reads rows of `length` in batches of `rows` from the files that were made in `work`."""

    #: What a process that reads has imported before it is measured.
    modules = ()

    def __init__(self, work, rows, length, workers):
        self.work, self.rows, self.length, self.workers = work, rows, length, workers

    def close(self):
        pass


class Ours(Contestant):
    """corpusdb: `Plan.loader`, from the store."""

    modules = ("corpusdb",)
    views = []
    plan, files = "plan", ()

    def open(self, state):
        import corpusdb

        told = json.loads((self.work / "plan.json").read_text())
        plan = pickle.loads(bytes.fromhex(told[self.plan]))
        files = [self.work / name for name in self.files]
        self.loader = plan.loader(rank=0, world=1, views=self.views, memory=told["memory"], files=files)
        if state:
            self.loader.load_state_dict(state)
        return (batch["input_ids"] for batch in self.loader)

    def state(self, batches):
        told = json.loads((self.work / "plan.json").read_text())
        plan = pickle.loads(bytes.fromhex(told[self.plan]))
        return {"version": 1, "plan": plan.hash, "epoch": 0, "next_batch": batches}

    def close(self):
        self.loader.close()


class OursWithViews(Ours):
    """corpusdb with labels and positions."""

    views = ["labels", "position_ids"]


class OursOfFiles(Ours):
    """corpusdb: `Plan.loader`, with ids from the files of the build."""

    plan, files = "plan of files", ("raw",)


class OursOfFilesWithViews(OursOfFiles):
    """corpusdb with ids from files, with labels and positions."""

    views = ["labels", "position_ids"]


class Memmap(Contestant):
    """NumPy: a memory map of the ids, cut by rows; knows no state but a number."""

    def open(self, state):
        import numpy as np
        import torch

        (file,) = sorted((self.work / "raw").glob("*.bin"))
        ids = np.memmap(file, dtype=np.uint16, mode="r").reshape(-1, self.length)

        def batches():
            for at in range(state or 0, len(ids) // self.rows):
                yield torch.from_numpy(ids[at * self.rows : (at + 1) * self.rows].astype(np.int64))

        return batches()

    def state(self, batches):
        return batches


class Peer(Contestant):
    """A loader whose state is what it says after so many batches; `made` makes it, `tensor` is what a batch of it holds."""

    def open(self, state):
        self.loader = self.made()
        if state:
            self.loader.load_state_dict(state)
        return map(self.tensor, self.loader)

    def tensor(self, batch):
        return batch

    def state(self, batches):
        given = self.open(None)
        for _ in range(batches):
            next(given)
        return self.loader.state_dict()


def _stacked(samples):
    import numpy as np
    import torch

    return torch.from_numpy(np.stack([sample["tokens"] for sample in samples]).astype(np.int64))


class Mosaic(Peer):
    """MosaicML Streaming: `StreamingDataset` and `StreamingDataLoader`, shards without compression, no shuffle."""

    modules = ("streaming",)

    def made(self):
        from streaming import StreamingDataLoader, StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        clean_stale_shared_memory()
        data = StreamingDataset(local=str(self.work / "mosaic"), batch_size=self.rows, shuffle=False)
        return StreamingDataLoader(
            data, batch_size=self.rows, num_workers=self.workers, collate_fn=_stacked, drop_last=True
        )


class Lit(Peer):
    """LitData: `StreamingDataset` of a `TokensLoader`, and `StreamingDataLoader`."""

    modules = ("litdata",)

    def made(self):
        from litdata import StreamingDataLoader, StreamingDataset, TokensLoader

        data = StreamingDataset(
            str(self.work / "litdata"), item_loader=TokensLoader(block_size=self.length), shuffle=False, drop_last=True
        )
        return StreamingDataLoader(data, batch_size=self.rows, num_workers=self.workers, drop_last=True)

    def tensor(self, batch):
        return batch.long()


def _listed(samples):
    import torch

    return torch.stack([sample["input_ids"] for sample in samples])


class Datasets(Peer):
    """Hugging Face datasets: mapped Arrow files in torch's format, under torchdata's `StatefulDataLoader`."""

    modules = ("datasets", "torchdata.stateful_dataloader")

    def made(self):
        import datasets
        from torchdata.stateful_dataloader import StatefulDataLoader

        data = datasets.load_from_disk(str(self.work / "arrow")).select_columns(["input_ids"]).with_format("torch")
        return StatefulDataLoader(
            data, batch_size=self.rows, num_workers=self.workers, collate_fn=_listed, drop_last=True
        )


CONTESTANTS = {
    "corpusdb": Ours,
    "corpusdb, with labels and positions": OursWithViews,
    "corpusdb from files": OursOfFiles,
    "corpusdb from files, with labels and positions": OursOfFilesWithViews,
    "NumPy memmap": Memmap,
    "MosaicML Streaming": Mosaic,
    "LitData": Lit,
    "datasets + StatefulDataLoader": Datasets,
}
MOSAIC = "MosaicML Streaming"
#: Those that know of workers.
WITH_WORKERS = (MOSAIC, "LitData", "datasets + StatefulDataLoader")


# ---- preparation ----


def prepare(corpus, work, length, rows, eos, repeat, memory):
    """Exports and states; where they are, they are taken."""
    if (work / "ready").exists():
        return
    import corpusdb

    work.mkdir(parents=True, exist_ok=True)
    outputs = {
        "raw": {"format": "raw", "shard_bytes": 1 << 40},
        "litdata": {"format": "litdata"},
        "arrow": {"format": "arrow", "columns": []},
    }
    with corpusdb.open(str(corpus), mode="w") as writer:
        plan = writer.plan(recipe(length, rows, eos, repeat, {"format": "parquet"}))
        plans = {name: writer.plan(recipe(length, rows, eos, repeat, output)) for name, output in outputs.items()}
        for name, made in plans.items():
            if not (work / name).exists():
                made.build(work / name)
    told = {"plan": pickle.dumps(plan).hex(), "plan of files": pickle.dumps(plans["raw"]).hex()}
    told |= {"batches": plan.batches(), "memory": memory}
    (work / "plan.json").write_text(json.dumps(told))
    (work / "ready").touch()


def mosaic_shards(work, length):
    """The same rows as MosaicML writes them, in its interpreter."""
    import numpy as np
    from streaming import MDSWriter

    (file,) = sorted((work / "raw").glob("*.bin"))
    ids = np.fromfile(file, dtype=np.uint16).reshape(-1, length)
    with MDSWriter(out=str(work / "mosaic"), columns={"tokens": f"ndarray:uint16:{length}"}) as out:
        for row in ids:
            out.write({"tokens": row})


def one(arguments):
    """A contestant in this process: what it measured, as JSON."""
    work, rows = Path(arguments.work), arguments.rows[0]
    contestant = CONTESTANTS[arguments.one](work, rows, arguments.length[0], arguments.workers[0])
    batches = json.loads((work / "plan.json").read_text())["batches"]
    if arguments.make_state:
        if arguments.one == MOSAIC and not (work / "mosaic").exists():
            mosaic_shards(work, arguments.length[0])
        state = contestant.state(batches * 9 // 10)
        Path(arguments.make_state).write_bytes(pickle.dumps(state))
        return
    if arguments.state:
        state = pickle.loads(Path(arguments.state).read_bytes())
        warm(contestant)
        start = time.perf_counter()
        first = next(iter(contestant.open(state)))
        spent = time.perf_counter() - start
        print(json.dumps({"first_ms": spent * 1e3, "sum": int(first.sum())}), flush=True)
    else:
        total = count = 0
        spent = 0.0
        while spent < arguments.seconds:
            # Opening an epoch and its first batch are no part of the rate, and an epoch may be shorter than it is measured.
            given = iter(contestant.open(None))
            total = int(next(given).sum())
            start = time.perf_counter()
            for count, _ in enumerate(given, count + 1):
                if spent + time.perf_counter() - start >= arguments.seconds:
                    break
            spent += time.perf_counter() - start
            contestant.close()
        print(json.dumps({"rows_s": count * rows / spent, "sum": total}), flush=True)
    contestant.close()


def warm(contestant):
    """What is imported, and what a process does once, is no part of a resume."""
    import numpy  # noqa: F401
    import torch

    torch.zeros(1).long()
    for name in contestant.modules:
        importlib.import_module(name)


def child(python, name, work, length, rows, workers, *more):
    words = [python, __file__, "-", "--one", name, "--work", str(work), "--length", str(length)]
    words += ["--rows", str(rows), "--workers", str(workers), *map(str, more)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:] or ["failed"]
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return (json.loads(lines[-1]) if lines else {}), []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--length", type=int, nargs="+", default=[1024, 2048])
    parser.add_argument("--rows", type=int, nargs=1, default=[32])
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2])
    parser.add_argument("--repeat", type=int, default=1, help="how often every document comes in an epoch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--eos", default="<|endoftext|>")
    parser.add_argument("--memory", type=int, default=64 << 20)
    parser.add_argument("--work")
    parser.add_argument("--mosaic", help="the interpreter that runs MosaicML Streaming")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--state", help=argparse.SUPPRESS)
    parser.add_argument("--make-state", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given)
        return
    place = Path(given.work or tempfile.mkdtemp(prefix="loaders-"))
    rows = given.rows[0]
    for length in given.length:
        work = place / f"{length}x{rows}x{given.repeat}"
        prepare(given.corpus, work, length, rows, given.eos, given.repeat, given.memory)
        lanes = [(name, 0) for name in CONTESTANTS if name not in WITH_WORKERS]
        lanes += [(name, workers) for name in WITH_WORKERS for workers in given.workers]
        lanes = [lane for lane in lanes if lane[0] != MOSAIC or given.mosaic]
        pythons = {MOSAIC: given.mosaic}
        seen = {lane: {"rows_s": [], "first_ms": []} for lane in lanes}
        sums = {"rows_s": set(), "first_ms": set()}
        states = {lane: work / f"state-{lane[0].replace(' ', '-')}-{lane[1]}.pickle" for lane in lanes}
        for (name, workers), state in states.items():
            if not state.exists():
                child(pythons.get(name, sys.executable), name, work, length, rows, workers, "--make-state", state)
        for _ in range(given.rounds):
            for (name, workers), state in states.items():
                python = pythons.get(name, sys.executable)
                for figure, more in (("rows_s", ["--seconds", given.seconds]), ("first_ms", ["--state", state])):
                    answer, why = child(python, name, work, length, rows, workers, *more)
                    if not answer:
                        print(f"{name}, {workers} workers: {figure} not measured: {' '.join(why)}", file=sys.stderr)
                        continue
                    seen[name, workers][figure].append(answer[figure])
                    sums[figure].add(answer["sum"])
        told = json.loads((work / "plan.json").read_text())
        print(f"\nrows of {length} in batches of {rows}, {told['batches']} batches, {given.rounds} rounds")
        print(f"{'loader':<48}{'workers':>8}{'rows/s':>12}{'tokens/s':>15}{'resume ms':>11}")
        for (name, workers), figures in seen.items():
            speed, first = (statistics.median(figures[one]) if figures[one] else float("nan") for one in figures)
            print(f"{name:<48}{workers:>8}{speed:>12,.0f}{speed * length:>15,.0f}{first:>11.1f}")
        for figure, found in sums.items():
            if len(found) > 1:
                sys.exit(f"batches differ ({figure}): sums of ids {sorted(found)}")


if __name__ == "__main__":
    main()
