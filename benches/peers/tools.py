"""One tool of the field, once, in a process of its own: tools.py TOOL CONFIG INPUT.jsonl ANSWER.json SCRATCH

Started by speed.py and incremental.py, which measure the process. CONFIG `same`: 5-word shingles, 256 hashes in
32 bands of 8, threshold 0.8. CONFIG `default`: 5-word shingles and threshold 0.8, all else as the tool has it.
Writes the ids that the tool removes and the seconds (wall, and CPU of this process) of its stages.

How each is driven follows its own documentation and code:

* datasketch: shingles by the caller; `MinHash.generator`; a document is removed if `MinHashLSH.query` names a kept
  one whose estimated similarity (`MinHash.jaccard`) reaches the threshold, and inserted otherwise.
* rensa: shingles by the caller; `RMinHash.from_token_sets`, which hashes every shingle (the methods ending in
  `_rho` sample token positions and are not used); `RMinHashDeduplicator.add_pairs` with LSH, which checks the
  estimate of its candidates itself.
* text-dedup: its command `text_dedup.minhash`, from JSONL to a saved dataset; unverified and transitive.
* datatrove: its four MinHash blocks, from JSONL to JSONL; unverified and transitive. In `same` the words are those
  between spaces and numbers and marks stay, as for the others; in `default` its own normaliser and spaCy's words.
"""

import json
import re
import sys
import time
from pathlib import Path

THRESHOLD = 0.8
SHINGLE = 5
HASHES, BANDS, ROWS = 256, 32, 8


class Stages:
    """Seconds of wall and CPU time by stage."""

    def __init__(self):
        self.seconds = {}
        self.last = (time.perf_counter(), time.process_time())

    def end(self, name):
        """Counts what has passed since the end of the stage before."""
        now = (time.perf_counter(), time.process_time())
        self.add(name, now[0] - self.last[0], now[1] - self.last[1])
        self.last = now

    def add(self, name, wall, cpu):
        before = self.seconds.get(name, {"wall": 0.0, "cpu": 0.0})
        self.seconds[name] = {
            "wall": before["wall"] + wall,
            "cpu": None if cpu is None else before["cpu"] + cpu,
        }

    def timed(self, name, function):
        """The function, its time counted for the stage."""

        def run(*arguments):
            start = (time.perf_counter(), time.process_time())
            answer = function(*arguments)
            self.add(name, time.perf_counter() - start[0], time.process_time() - start[1])
            return answer

        return run


def read(path):
    with open(path, "rb") as file:
        return [json.loads(line)["text"] for line in file]


WORDS = re.compile(r"\w+")


def shingles(text):
    words = WORDS.findall(text.lower())
    return {" ".join(words[at : at + SHINGLE]) for at in range(max(len(words) - SHINGLE + 1, 1))}


def datasketch(config, path, stages, scratch):
    from datasketch import MinHash, MinHashLSH

    stages.end("start")
    texts = read(path)
    stages.end("read")
    sets = [[shingle.encode() for shingle in shingles(text)] for text in texts]
    stages.end("shingles")
    if config == "same":
        hashes = {"num_perm": HASHES}
        index = MinHashLSH(threshold=THRESHOLD, num_perm=HASHES, params=(BANDS, ROWS))
    else:
        hashes = {}
        index = MinHashLSH(threshold=THRESHOLD)
    sketches = list(MinHash.generator(sets, **hashes))
    stages.end("signature")
    removed = []
    for number, sketch in enumerate(sketches):
        if any(sketch.jaccard(sketches[other]) >= THRESHOLD for other in index.query(sketch)):
            removed.append(number)
        else:
            index.insert(number, sketch)
    stages.end("bands and decisions")
    return removed, f"{len(sketches[0])} hashes, {index.b} bands of {index.r}, estimate"


def rensa(config, path, stages, scratch):
    from rensa import RMinHash, RMinHashDeduplicator

    stages.end("start")
    texts = read(path)
    stages.end("read")
    sets = [list(shingles(text)) for text in texts]
    stages.end("shingles")
    if config == "same":
        hashes, bands = HASHES, {"num_bands": BANDS}
    else:
        hashes, bands = 128, {}
    sketches = RMinHash.from_token_sets(sets, hashes, 42)
    stages.end("signature")
    deduplicator = RMinHashDeduplicator(THRESHOLD, hashes, True, seed=42, **bands)
    keep = deduplicator.add_pairs([(str(number), sketch) for number, sketch in enumerate(sketches)])
    stages.end("bands and decisions")
    return [
        number for number, kept in enumerate(keep) if not kept
    ], f"{hashes} hashes, {'32 bands of 8' if bands else 'bands of its own'}, estimate"


def rensa_kernel(config, path, stages, scratch):
    """The signature alone, in its fastest forms: rows of a matrix, from strings and from hashes."""
    from array import array

    from rensa import RMinHash

    sets = [list(shingles(text)) for text in read(path)]
    stages.end("shingles")
    RMinHash.digest_matrix_from_token_sets(sets, HASHES, 42)
    stages.end("signature from strings")
    hashed = RMinHash.hash_token_sets(sets)
    flat = array("Q", [value for row in hashed for value in row])
    offsets = array("Q", [0])
    for row in hashed:
        offsets.append(offsets[-1] + len(row))
    stages.end("hashing")
    RMinHash.digest_matrix_from_flat_token_hashes(flat, offsets, HASHES, 42)
    stages.end("signature from hashes")
    return [], f"{HASHES} hashes"


def text_dedup(config, path, stages, scratch):
    import logging

    import datasets
    from text_dedup import logger, minhash

    lines = []

    class Keep(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    logger.handlers = [Keep()]
    stages.end("start")
    arguments = {
        "path": "json",
        "data_files": str(path),
        "split": "train",
        "column": "text",
        "cache_dir": str(scratch / "cache"),
        "output": str(scratch / "kept"),
        "num_proc": 1,
        "ngram": SHINGLE,
        "threshold": THRESHOLD,
    }
    if config == "same":
        arguments |= {"num_perm": HASHES, "b": BANDS, "r": ROWS}
    words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
    minhash.main(words, standalone_mode=False)
    for line in lines:
        timed = re.match(r"(\w+)\s*: ([0-9.]+)s$", line)
        if timed and timed[1] != "Total":
            # Its work is done in processes of its own, whose CPU time it does not tell.
            stages.add(timed[1].lower(), float(timed[2]), None)
    kept = {int(number) for number in datasets.load_from_disk(str(scratch / "kept"))["id"]}
    with open(path, "rb") as file:
        count = sum(1 for _ in file)
    hashes = "256 hashes, 32 bands of 8" if config == "same" else "250 hashes, bands of its own"
    return [number for number in range(count) if number not in kept], hashes


class Spaces:
    """Words are what stands between spaces."""

    def word_tokenize(self, text):
        return text.split(" ")


class Trove:
    """datatrove's blocks on folders of one scratch directory."""

    def __init__(self, config, path, stages, scratch):
        from datatrove.pipeline.dedup.minhash import MinhashConfig
        from datatrove.utils.logging import logger
        from datatrove.utils.text import TextNormConfig

        logger.remove()
        stages.end("start")
        self.words_between_spaces = config == "same"
        if config == "same":
            norm = TextNormConfig(norm_numbers=False, norm_unicode_diacritics=False)
            self.config = MinhashConfig(
                n_grams=SHINGLE, num_buckets=BANDS, hashes_per_bucket=ROWS, norm_config=norm
            )
        else:
            self.config = MinhashConfig()
        self.path, self.stages, self.scratch = Path(path), stages, scratch
        self.settings = f"{BANDS * ROWS} hashes, {BANDS} bands of {ROWS}"
        if config != "same":
            bands, rows = self.config.num_buckets, self.config.hashes_per_bucket
            self.settings = f"{bands * rows} hashes, {bands} bands of {rows}"

    def folder(self, name):
        return str(self.scratch / name)

    def reader(self):
        from datatrove.pipeline.readers import JsonlReader

        return JsonlReader(str(self.path.parent), glob_pattern=self.path.name, compression=None)

    def run(self, name, blocks, tasks=1):
        from datatrove.executor import LocalPipelineExecutor

        logs = f"{self.folder('logs')}/{self.path.stem}-{name}"
        LocalPipelineExecutor(blocks, tasks=tasks, workers=1, logging_dir=logs).run()
        self.stages.end(name)

    def signatures(self, folder):
        from datatrove.pipeline.dedup import MinhashDedupSignature

        block = MinhashDedupSignature(self.folder(folder), config=self.config)
        if self.words_between_spaces:
            block.word_tokenizer = Spaces()
        block.get_shingles = self.stages.timed("shingles", block.get_shingles)
        self.run("signature", [self.reader(), block])
        within = self.stages.seconds["shingles"]
        self.stages.add("signature", -within["wall"], -within["cpu"])

    def decisions(self, folder, **index):
        """Buckets, clusters and the filter; returns the removed."""
        from datatrove.pipeline.dedup import MinhashDedupCluster, MinhashDedupFilter
        from datatrove.pipeline.dedup.minhash import MinhashDedupBuckets
        from datatrove.pipeline.writers import JsonlWriter

        pairs, removals, removed = self.folder("pairs"), self.folder("removals"), self.folder("removed")
        buckets = MinhashDedupBuckets(self.folder(folder), pairs, config=self.config, **index)
        self.run("buckets", [buckets], self.config.num_buckets)
        self.run("cluster", [MinhashDedupCluster(pairs, removals, config=self.config)])
        block = MinhashDedupFilter(removals, exclusion_writer=JsonlWriter(removed, compression=None))
        self.run("filter", [self.reader(), block, JsonlWriter(self.folder("kept"), compression=None)])
        ids = (json.loads(line)["id"] for file in Path(removed).glob("*.jsonl") for line in file.open("rb"))
        return sorted(int(name) for name in ids)


def datatrove(config, path, stages, scratch):
    trove = Trove(config, path, stages, scratch)
    trove.signatures("signatures")
    return trove.decisions("signatures"), trove.settings


def datatrove_base(config, path, stages, scratch):
    """The index of a corpus, for `datatrove-new` with the same scratch directory."""
    from datatrove.pipeline.dedup.minhash import MinhashBuildIndex

    trove = Trove(config, path, stages, scratch)
    trove.signatures("old")
    block = MinhashBuildIndex(trove.folder("old"), trove.folder("index"), "old", config=trove.config)
    trove.run("index", [block], trove.config.num_buckets)
    return [], trove.settings


def datatrove_new(config, path, stages, scratch):
    """New documents against that index and each other."""
    trove = Trove(config, path, stages, scratch)
    trove.signatures("new")
    index = {"index_folder": trove.folder("index"), "only_dedup_in_index": False}
    return trove.decisions("new", **index), trove.settings


TOOLS = {
    "datasketch": datasketch,
    "rensa": rensa,
    "rensa-kernel": rensa_kernel,
    "text-dedup": text_dedup,
    "datatrove": datatrove,
    "datatrove-base": datatrove_base,
    "datatrove-new": datatrove_new,
}


def main():
    tool, config, path, answer, scratch = sys.argv[1:]
    Path(scratch).mkdir(parents=True, exist_ok=True)
    stages = Stages()
    removed, settings = TOOLS[tool](config, path, stages, Path(scratch))
    with open(answer, "w", encoding="utf-8") as file:
        json.dump({"removed": removed, "settings": settings, "stages": stages.seconds}, file)


if __name__ == "__main__":
    main()
