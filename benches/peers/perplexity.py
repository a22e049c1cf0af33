"""Perplexities of `field compute --perplexity` against those of KenLM, document for document.

    venv/bin/python benches/peers/perplexity.py LMPLZ TEXTS.jsonl[.zst] [--documents 3000] [--orders 2 3 5]

LMPLZ is the program of KenLM 0.3.0 (cmake on its source distribution; needs Boost). Needs corpusdb, kenlm 0.3.0 and
zstandard. Documents are stored in a corpus, with a tokenizer of 2,000 tokens trained on them. The ids of those that are
kept are written as words, `lmplz --discount_fallback` estimates a model of each order, and KenLM's module scores each
document by it. Exit code 1 when a perplexity differs by more than 1e-4 of its value: KenLM computes in single precision.
"""

import argparse
import io
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corpusdb
import kenlm
import zstandard

MOST = 1e-4


def records(path):
    raw = open(path, "rb")
    stream = zstandard.ZstdDecompressor().stream_reader(raw) if path.endswith(".zst") else raw
    for line in io.TextIOWrapper(stream, encoding="utf-8"):
        yield {"text": json.loads(line)["text"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lmplz")
    parser.add_argument("texts")
    parser.add_argument("--documents", type=int, default=3_000)
    parser.add_argument("--orders", type=int, nargs="+", default=[2, 3, 5])
    options = parser.parse_args()
    is_wrong = False
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        corpusdb.create(place / "corpus").close()
        with corpusdb.open(place / "corpus", "w") as writer:
            writer.ingest(itertools.islice(records(options.texts), options.documents), source="texts")
            writer.tokenizers.train("own", vocab_size=2_000)
            documents = [row[0] for row in writer.sql("SELECT id FROM documents WHERE kept ORDER BY id").fetchall()]
            words = [" ".join(map(str, writer.tokens(document, "own"))) for document in documents]
            (place / "ids.txt").write_text("".join(f"{line}\n" for line in words if line))
            for order in options.orders:
                start = time.perf_counter()
                report = writer.fields.compute("ppl", perplexity="own", order=order)
                seconds = time.perf_counter() - start
                ours = dict(writer.sql("SELECT id, ppl FROM documents WHERE kept").fetchall())
                arpa = place / "model.arpa"
                command = [options.lmplz, "-o", str(order), "--discount_fallback", "-T", folder, "-S", "1G"]
                with open(place / "ids.txt") as ids, open(arpa, "w") as out:
                    subprocess.run(command, stdin=ids, stdout=out, stderr=subprocess.DEVNULL, check=True)
                model = kenlm.Model(str(arpa))
                theirs = {document: model.perplexity(line) for document, line in zip(documents, words) if line}
                worst = max(abs(ours[document] - of) / of for document, of in theirs.items())
                is_wrong |= worst > MOST
                print(
                    f"order {order}: {len(theirs)} documents, {report.models[0].tokens} tokens, "
                    f"{seconds:.1f} s; largest relative difference {worst:.1e}"
                )
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
