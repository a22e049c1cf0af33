#!/usr/bin/env python3
"""Writes docs/tutorials/notebook.ipynb: the cells below, run in a fresh kernel, with what they printed.

Usage: scripts/notebook.py [--check]

With --check nothing is written: the notebook must hold the cells below, and must run to its end. It takes nbclient,
ipykernel and torch, which `make test-integrations` installs.
"""

import argparse
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs/tutorials/notebook.ipynb"

# Cells one after another: lines that open with `#:` are prose, and `#%%` stands between two cells of code.
CELLS = r'''
#:# From two crawls to a training step
#:
#:For those who prepare training data in Python: two crawls of the same site become one corpus without duplicates, a
#:tokenizer is trained on what is left, and packed batches reach a model, which is stopped and resumed. What stands alone
#:at the end of a cell shows itself: a report, pairs of duplicates, a table, a plan, the rows of a batch.
#:
#:The pages are the documentation of Python's own standard library, so nothing is downloaded.

import importlib, json, pydoc, tempfile
from pathlib import Path

import corpusdb

work = Path(tempfile.mkdtemp())

def page(name):
    whole = pydoc.plain(pydoc.render_doc(importlib.import_module(name)))
    return whole.partition("\nFILE\n")[0]   # a page ends in the place of its file on this machine

names = """argparse ast asyncio base64 bisect calendar cmd codecs collections configparser contextlib copy csv
dataclasses datetime decimal difflib doctest email enum fractions ftplib functools gettext glob gzip hashlib heapq
html http.client imaplib inspect io ipaddress json logging mailbox mimetypes numbers optparse os pathlib pdb pickle
platform plistlib poplib pprint queue random re sched shelve shlex shutil smtplib socket sqlite3 statistics string
subprocess tarfile tempfile textwrap threading timeit tokenize traceback types unittest urllib.request uuid
venv warnings wave weakref xml.dom zipfile""".split()
texts = {name: page(name) for name in names}
print(f"{len(texts)} pages, {sum(map(len, texts.values())):,} characters")

#:## Two crawls
#:
#:The first crawl has two thirds of the pages. The second one finds all of them: most are unchanged, four have changed under
#:their addresses, and a mirror has copied a few, each with a banner of its own.

def write(path, pages):
    with open(path, "w") as file:
        for url, text in pages:
            print(json.dumps({"url": url, "text": text, "length": len(text)}), file=file)

def address(name):
    return f"https://docs.example/{name}.html"

first = names[: len(names) * 2 // 3]
write(work / "crawl-1.jsonl", ((address(name), texts[name]) for name in first))

changed = {name: texts[name].replace("the", "that", 20) + "\nLast changed this autumn." for name in first[:4]}
second = [(address(name), changed.get(name, texts[name])) for name in names]
mirror = [(f"https://mirror.example/{name}", "Welcome to the mirror.\n\n" + texts[name]) for name in names[5:12]]
write(work / "crawl-2.jsonl", second + mirror)

#:A corpus is a directory. `open(..., mode="w")` is its one writer; what it has committed it reads at once.

corpusdb.create(work / "corpus", profile="web", fields={"length": int})
w = corpusdb.open(work / "corpus", mode="w")
w.ingest(work / "crawl-1.jsonl", source="docs", id_field="url")
#%%
w.ingest(work / "crawl-2.jsonl", source="docs", id_field="url")

#:The second crawl cost what was new in it: pages that were known were passed over, four took the place of what was stored
#:under their keys, and the copies of the mirror were removed, each with the name of the page it matched.

w.duplicates()
#%%
next(w.duplicates())

#:A second source: what Python says about its own language. `w` alone shows what the corpus has.

from pydoc_data.topics import topics

w.ingest(({"url": f"topic/{name}", "text": text, "length": len(text)} for name, text in topics.items()), source="topics",
         id_field="url")
w

#:Everything is one SELECT away, as Arrow without copies: `.to_polars()`, `.to_pandas()`, `.to_pyarrow()`.

w.sql("""
    SELECT source, standing, count(*) AS documents, sum(length) AS characters, max(length) AS longest
    FROM documents GROUP BY source, standing ORDER BY source, standing
""")

#:## A tokenizer of its own

w.tokenizers.train("own", vocab_size=2048, specials=["<|endoftext|>"])
#%%
w.sql("""
    SELECT source, count(*) AS documents, sum(tokens) AS tokens, sum(length) * 1.0 / sum(tokens) AS characters_a_token
    FROM documents WHERE kept GROUP BY source ORDER BY source
""")
#%%
own = w.tokenizer("own")
ids = own.encode("The default encoding of a text file is UTF-8.")
print(ids, "->", own.decode(ids))

#:## A plan, and a loader
#:
#:A plan is a pure function of a snapshot, a recipe and a seed. It has a hash; the same plan gives the same rows for ever,
#:whatever is ingested later. Three of four tokens are to be of the pages.

plan = w.plan("""
version = 1
seed = 42

[tokenizer]
name = "own"
specials = { eos = "<|endoftext|>", pad = "<|endoftext|>" }

[[source]]
name = "docs"
weight = 0.75

[[source]]
name = "topics"
weight = 0.25

[pack]
kind = "best-fit"
length = 1024

[batch]
rows = 12
""")
plan

#:What it will give, before anything is read: shares to the token, what is left out, and why.

plan.explain()

#:A batch is a dictionary of tensors, and knows its documents: a band is a row, a colour a source, a shade a document.

loader = plan.loader(views=["labels", "position_ids"], as_="torch")
batch = next(iter(loader))
batch

#:## One training step, a stop, and a resume

import torch

torch.manual_seed(0)

class Model(torch.nn.Module):
    """Predicts the next token from this one and its position: enough to see a loss go down."""

    def __init__(self, vocabulary, length, width=64):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Embedding(length, width)
        self.out = torch.nn.Linear(width, vocabulary)

    def forward(self, input_ids, labels, position_ids):
        hidden = self.tokens(input_ids) + self.positions(position_ids)
        logits = self.out(torch.tanh(hidden))[:, :-1]
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)

model = Model(own.vocab_size, 1024)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

def step(batch):
    loss = model(**batch)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()
#%%
loader = plan.loader(views=["labels", "position_ids"], as_="torch")
for batch in loader:
    print(f"batch {batch.number}: loss {step(batch):.3f}")
    if batch.number == 4:
        break
checkpoint = loader.state_dict()
checkpoint

#:Another process, another day, another number of ranks: the next batch is the next one. Rank 0 of 2 has the first half of
#:its rows.

resumed = plan.loader(rank=0, world=2, views=["labels", "position_ids"], as_="torch")
resumed.load_state_dict(checkpoint)
batch = next(iter(resumed))
print(f"batch {batch.number}: {tuple(batch['input_ids'].shape)}, loss {step(batch):.3f}")

w.close()
'''


def cells():
    """The cells, numbered, so that a run changes nothing but what they print."""
    prose, code, made = [], [], []

    def flush():
        if prose:
            made.append(nbformat.v4.new_markdown_cell("\n".join(prose)))
        if "\n".join(code).strip():
            made.append(nbformat.v4.new_code_cell("\n".join(code).strip()))
        prose.clear()
        code.clear()

    for line in CELLS.strip().splitlines():
        if line == "#%%":
            flush()
        elif line.startswith("#:"):
            if code:
                flush()
            prose.append(line[2:])
        else:
            if prose:
                flush()
            code.append(line)
    flush()
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="run it, and compare its cells; write nothing")
    check = parser.parse_args().check
    notebook = nbformat.v4.new_notebook(cells=cells())
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    if check:
        stored = nbformat.read(NOTEBOOK, as_version=4)
        if [cell.source for cell in stored.cells] != [cell.source for cell in notebook.cells]:
            sys.exit(f"{NOTEBOOK} has other cells than {__file__}: run it without --check")
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    if not check:
        for cell in notebook.cells:
            cell.metadata.clear()
            # A bar of progress leaves an output without content.
            cell.outputs = [one for one in cell.get("outputs", []) if any(one.get("data", {"text": one}).values())]
        nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
