"""Races encoders on the same text, one core, cold and warm, and compares the ids of every document.

    python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
    cargo build --release
    VENV/bin/python encoders.py --data DIRECTORY --binary target/release/encoders [--megabytes 16]

DIRECTORY holds peps.jsonl.zst (English), code.jsonl.zst, tldr.jsonl.zst (forty languages) and gpt2/.
Time is CPU time of the process while it encodes; files are read and tokenizers loaded outside it.
"x 0.23" is how many times faster than tokenizers 0.23 in the same pass. "differs" counts documents
whose ids are not those of tokenizers 0.23, which is the reference.

The split patterns cl100k, o200k and qwen2 run with GPT-2's merges: speed depends on the pattern, and
equality needs no particular vocabulary. The other models are trained here on every twentieth document.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import blake3
import numpy
import zstandard
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
_LOWER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
_UPPER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
_TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (
    f"{_LOWER}{_TAIL}|{_UPPER}{_TAIL}|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = {"gpt2": None, "cl100k": CL100K, "o200k": O200K, "qwen2": QWEN2}
TEXTS = {"english": "peps.jsonl.zst", "code": "code.jsonl.zst", "languages": "tldr.jsonl.zst"}


def documents(path, limit):
    """The documents of a file until `limit` bytes of text."""
    found, size = [], 0
    with zstandard.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            found.append(json.loads(line)["text"])
            size += len(found[-1].encode())
            if size >= limit:
                break
    return found


def byte_level(data, pattern):
    """GPT-2's vocabulary behind a split pattern."""
    tokenizer = Tokenizer(
        models.BPE.from_file(f"{data}/gpt2/vocab.json", f"{data}/gpt2/merges.txt")
    )
    if pattern is None:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def trained(kind, texts):
    """A model of another kind, in the form its published files have."""
    size = 16_000
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special)
        tokenizer.train_from_iterator(texts, trainer)
        return tokenizer
    special = ["<unk>", "<s>", "</s>"]
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    fallback = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if kind == "llama":
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        # The trainer needs words; the finished tokenizer, as LLaMA's, joins over whole texts.
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.BpeTrainer(
            vocab_size=size, special_tokens=special + byte_tokens, limit_alphabet=1000
        )
        tokenizer.train_from_iterator(texts, trainer)
        tokenizer.pre_tokenizer = None
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        tokenizer.decoder = decoders.Sequence(fallback + [decoders.Strip(" ", 1, 0)])
        return tokenizer
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def in_process(library, path, data, pattern, texts):
    """tiktoken and gigatoken, in this process; None when it cannot load such a tokenizer."""
    if library == "tiktoken":
        import tiktoken

        if pattern == "none":
            return None
        decode = {c: b for b, c in zip(*_byte_alphabet())}
        with open(f"{data}/gpt2/vocab.json", encoding="utf-8") as file:
            vocab = json.load(file)
        ranks = {
            bytes(decode[c] for c in token): rank
            for token, rank in vocab.items()
            if token != "<|endoftext|>"
        }
        regex = PATTERNS[pattern] or (
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
        )
        encoding = tiktoken.Encoding(
            "race", pat_str=regex, mergeable_ranks=ranks, special_tokens={}
        )
        encode = lambda: [encoding.encode_ordinary(text) for text in texts]
    else:
        import gigatoken

        try:
            tokenizer = gigatoken.Tokenizer(path)
        except Exception:
            return None
        encode = lambda: tokenizer.encode_batch(texts, parallel=False)
    seconds = []
    for _ in range(2):
        started = time.process_time()
        found = encode()
        seconds.append(time.process_time() - started)
    hashes = [
        blake3.blake3(numpy.asarray(ids, dtype="<u4").tobytes()).hexdigest()[:16] for ids in found
    ]
    return {"cold": seconds[0], "warm": seconds[1], "hashes": hashes}


def _byte_alphabet():
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return shown + hidden, [*map(chr, shown), *(chr(256 + n) for n in range(len(hidden)))]


def separate(arguments, library, path, name, text):
    """Runs in a process of its own, so that every library starts cold."""
    if library in ("tiktoken", "gigatoken"):
        pattern = name if name in PATTERNS else "none"
        command = [sys.executable, __file__, "--data", arguments.data, "--one", library, path]
        command += [pattern, text, "--megabytes", str(arguments.megabytes)]
    else:
        command = [arguments.binary, library, path, f"{arguments.data}/{TEXTS[text]}"]
        command += [str(arguments.megabytes * 1_000_000)]
    # tiktoken and tokenizers would else use every core.
    environment = dict(os.environ, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:60]
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--binary", default="target/release/encoders")
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--scratch", default="encoders-scratch")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        library, path, pattern, text = arguments.one
        texts = documents(f"{arguments.data}/{TEXTS[text]}", arguments.megabytes * 1_000_000)
        print(json.dumps(in_process(library, path, arguments.data, pattern, texts)))
        return
    os.makedirs(arguments.scratch, exist_ok=True)
    libraries = ["tokenizers-0.23", "tokenizers-1.0", "fastokens", "tiktoken", "gigatoken"]
    print("| tokenizer | text | library | cold MB/s | warm MB/s | x 0.23 | differs |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.only or [*PATTERNS, "llama", "unigram", "wordpiece"]:
        path = f"{arguments.scratch}/{name}.json"
        if name in PATTERNS:
            byte_level(arguments.data, PATTERNS[name]).save(path)
        elif not os.path.exists(path):
            texts = [documents(f"{arguments.data}/{file}", 30_000_000)[::20] for file in TEXTS.values()]
            trained(name, [text for some in texts for text in some]).save(path)
        for text in TEXTS:
            reference = separate(arguments, libraries[0], path, name, text)
            for library in libraries:
                if library == libraries[0]:
                    found = reference
                else:
                    found = separate(arguments, library, path, name, text)
                if not isinstance(found, dict):
                    print(f"| {name} | {text} | {library} | - | - | - | {found or 'not offered'} |")
                    continue
                size = reference["bytes"] / 1e6
                pairs = zip(found["hashes"], reference["hashes"], strict=True)
                differs = sum(ours != theirs for ours, theirs in pairs)
                times = reference["cold"] / found["cold"], reference["warm"] / found["warm"]
                print(
                    f"| {name} | {text} | {library} | {size / found['cold']:.1f} "
                    f"| {size / found['warm']:.1f} | {times[0]:.0f} / {times[1]:.0f} "
                    f"| {differs} of {reference['documents']} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
