"""Trains a byte-level BPE with corpusdb and with the stock trainer from Python: equal, how long, how much memory.

    venv/bin/python benches/peers/training.py CORPUSDB CORPUS [--vocab-size 32768] [--name race] [--work DIRECTORY]

CORPUS holds what is to be trained on; `corpusdb tokenizer train` takes all kept documents, and the stock trainer
(`tokenizers`, BpeTrainer, `train_from_iterator`) the same texts, which are written to WORK first. Both have GPT-2's
split, the 256 bytes, one special token and a least frequency of 2. Each is a process of its own, told by its wall and
CPU seconds and its peak memory, reading included. corpusdb's also registers the tokenizer and encodes what is stored,
which is told apart when the command is given `--train-only OPTION`, an option of `tokenizer train` that leaves it out.

The trained file is had by `corpusdb tokenizer export CORPUS NAME -`; `--show` names other words for it.

Prints a table, then `equal` or the first difference. Exit code 1 when they differ.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from measure import run, table

SPECIAL = "<|endoftext|>"


def stock(texts, vocab_size, out):
    """The peer, in a process of its own."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=[SPECIAL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    with open(texts, encoding="utf-8") as lines:
        tokenizer.train_from_iterator((json.loads(line)["text"] for line in lines), trainer)
    tokenizer.save(out)


def merges(model):
    """Merges as pairs; older files write them as strings."""
    return [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]


def difference(ours, theirs):
    """The first difference in words, or None."""
    pairs = [merges(ours), merges(theirs)]
    for place, (mine, other) in enumerate(zip(*pairs)):
        if mine != other:
            return f"merge {place}: {mine} against {other}"
    if len(pairs[0]) != len(pairs[1]):
        return f"{len(pairs[0])} merges against {len(pairs[1])}"
    by_id = sorted(set(ours["vocab"].items()) ^ set(theirs["vocab"].items()), key=lambda item: (item[1], item[0]))
    return f"id {by_id[0][1]}: {by_id[0][0]!r}" if by_id else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpusdb", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--vocab-size", type=int, default=32768)
    parser.add_argument("--name", default="race")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--core", help="run on this core alone, with one thread")
    parser.add_argument("--train-only", metavar="OPTION", help="an option of `tokenizer train` that only trains")
    parser.add_argument("--show", nargs="+", default=["tokenizer", "export", "CORPUS", "NAME", "-"])
    given = parser.parse_args()

    work = given.work or Path(tempfile.mkdtemp(prefix="training-"))
    work.mkdir(parents=True, exist_ok=True)
    texts, theirs, log = work / "texts.jsonl", work / "stock.json", work / "errors.log"
    rows, _ = run(
        [given.corpusdb, "sql", given.corpus, "SELECT text FROM documents WHERE kept ORDER BY id", "--format", "json"],
        log=log,
    )
    texts.write_bytes(rows)
    documents = rows.count(b"\n")
    del rows

    figures = {}
    command = [given.corpusdb, "tokenizer", "train", given.corpus, given.name, "--model", "bpe"]
    command += ["--vocab-size", given.vocab_size, "--special", SPECIAL, "--no-progress"]
    command += [given.train_only] if given.train_only else []
    _, figures["corpusdb" if given.train_only else "corpusdb, encoding too"] = run(command, given.core, log=log)
    # The library's own switch is for its threads; one core alone says it all.
    threads = {"TOKENIZERS_PARALLELISM": "false" if given.core else "true"}
    peer = [sys.executable, __file__, "--stock", texts, given.vocab_size, theirs]
    _, figures["stock trainer"] = run(peer, given.core, environment=threads, log=log)

    show = [{"CORPUS": given.corpus, "NAME": given.name}.get(word, word) for word in given.show]
    shown, _ = run([given.corpusdb, *show], log=log)
    head = ["trainer", "wall s", "CPU s", "peak MB"]
    cells = [
        [name, f"{spent['wall']:.1f}", f"{spent['cpu']:.1f}", f"{spent['peak_mb']:.0f}"]
        for name, spent in figures.items()
    ]
    print(f"{documents} documents, {texts.stat().st_size / 1e6:.1f} MB as JSON lines, {given.vocab_size} tokens\n")
    print(table(head, cells))
    found = difference(json.loads(shown)["model"], json.loads(theirs.read_bytes())["model"])
    print(f"\n{found or 'equal'}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stock"]:
        stock(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
