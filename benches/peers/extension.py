"""An extended tokenizer judged from Python: ids that stay, documents that are affected, embeddings that start.

    venv/bin/python benches/peers/extension.py BASE.json EXTENDED.json MAP.safetensors MAP.jsonl
        [--texts FILE.jsonl[.zst]]... [--limit N]

Needs corpusdb, tokenizers, transformers, torch, safetensors, zstandard (compared with 0.23.3, 5.24.0, 2.15.0, 0.8.0,
0.25.0).

1. Both files are loaded by transformers. Every old token has its old id, every new one the id of the map.
2. Every document of the texts is encoded by both. Which are affected is told here anew, from the merges alone and the
   slow way: any two adjacent old ids that a new merge joins. All others must have the same ids. Counts are printed.
   (BPE only; other models are compared by their ids.)
3. `corpusdb.torch.start_new_rows` runs on a small random GPT-2, tied and untied, and with spare rows as padded models
   have them; each new row must be the mean of the rows that MAP.jsonl names, each old one unchanged.

Exit code 1 when anything differs.
"""

import argparse
import io
import json
import pathlib
import sys

import torch
import zstandard
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from corpusdb.torch import start_new_rows


def texts(path):
    raw = open(path, "rb")
    stream = zstandard.ZstdDecompressor().stream_reader(raw) if path.endswith(".zst") else raw
    for line in io.TextIOWrapper(stream, encoding="utf-8"):
        yield json.loads(line)["text"]


def plain(path):
    """The tokenizer as a corpus uses it: special tokens spelled in a text are text."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True
    return tokenizer, backend


def same_ids(base, extended, rows):
    old, new = base.get_vocab(), extended.get_vocab()
    moved = [token for token, id in old.items() if new.get(token) != id]
    wrong = [row["token"] for row in rows if new.get(row["token"]) != row["id"]]
    extra = len(new) - len(old) - len(rows)
    print(f"tokens: {len(old)} old, {len(moved)} moved; {len(rows)} new, {len(wrong)} with another id, {extra} not in the map")
    return not moved and not wrong and extra == 0


def new_pairs(base, extended, old):
    """Pairs of old ids that a new merge joins."""
    def merges(path):
        model = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["model"]
        return [tuple(merge.split(" ", 1)) if isinstance(merge, str) else tuple(merge) for merge in model.get("merges", [])]
    before, after = merges(base), merges(extended)
    assert after[: len(before)] == before, "old merges come first, in their order"
    pairs = after[len(before):]
    return {(old[left], old[right]) for left, right in pairs if left in old and right in old}


def documents(args, base, extended, pairs):
    good = True
    for path in args.texts:
        count = affected = needless = wrong = before = after = 0
        for text in texts(path):
            if count == args.limit:
                break
            a, b = (backend.encode(text, add_special_tokens=False).ids for backend in (base, extended))
            is_affected = any(pair in pairs for pair in zip(a, a[1:]))
            count, before, after = count + 1, before + len(a), after + len(b)
            affected += is_affected
            needless += is_affected and a == b
            wrong += not is_affected and a != b
        print(f"{pathlib.Path(path).name}: {count} documents, {affected} affected ({needless} of them the same), "
              f"{wrong} wrongly left; {before} tokens become {after}")
        good &= wrong == 0
    return good


def embeddings(args, base_size, rows):
    """New rows of models whose old ones are known."""
    good = True
    for tied, spare in [(True, 0), (False, 0), (True, 47), (False, 100_000)]:
        torch.manual_seed(1)
        model = GPT2LMHeadModel(GPT2Config(vocab_size=base_size + spare, n_embd=8, n_layer=1, n_head=1, n_positions=8,
                                           tie_word_embeddings=tied, bos_token_id=None, eos_token_id=None))
        tables = [model.get_input_embeddings().weight.detach().clone(), model.get_output_embeddings().weight.detach().clone()]
        start_new_rows(model, args.map)
        now = [model.get_input_embeddings().weight.detach(), model.get_output_embeddings().weight.detach()]
        worst = 0.0
        for was, table in zip(tables, now):
            good &= torch.equal(table[:base_size], was[:base_size])
            good &= table.shape[0] == max(base_size + spare, rows[-1]["id"] + 1)
            for row in rows:
                worst = max(worst, (table[row["id"]] - was[row["old_ids"]].mean(0)).abs().max().item())
        good &= worst < 1e-6 and (now[0].data_ptr() == now[1].data_ptr()) == tied
        logits = model(torch.tensor([[row["id"] for row in rows[:8]]])).logits
        good &= bool(torch.isfinite(logits).all())
        print(f"embeddings: {'tied' if tied else 'untied'}, {spare} spare rows: {len(rows)} rows started, largest difference {worst:.1e}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("extended")
    parser.add_argument("map")
    parser.add_argument("rows")
    parser.add_argument("--texts", action="append", default=[])
    parser.add_argument("--limit", type=int, default=-1)
    args = parser.parse_args()
    rows = [json.loads(line) for line in open(args.rows, encoding="utf-8")]
    (base, base_backend), (extended, extended_backend) = plain(args.base), plain(args.extended)
    good = same_ids(base, extended, rows)
    good &= documents(args, base_backend, extended_backend, new_pairs(args.base, args.extended, base.get_vocab()))
    good &= embeddings(args, max(base.get_vocab().values()) + 1, rows)
    print("all equal" if good else "DIFFERENT")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
