"""Tokenizers of forty published kinds against the `tokenizers` package: the same ids for texts that trip encoders.

Each kind has the normalizer, pre-tokenizer, model and added tokens that published files of it have, over a vocabulary
that is trained here. The file that the package wrote is registered; the package reads the same file and is the judge.
`CORPUSDB_KINDS_TEXTS` sets how many random texts are compared beside the fixed ones (200).
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import corpora
import pytest

import corpusdb

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, trainers  # noqa: E402
from tokenizers import pre_tokenizers as splits  # noqa: E402

CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
DIGITS = r"\p{N}{1,3}"
WORDS = (
    "Größe straße naïve café 你好世界 カタカナ 한국어 नमस्ते ไทย עולם مرحبا don't we'll 12345 3.14 x_y fooBar HTTP "
    "e\u0301 ﬁ ① Ａ １ \u200b \u00a0 👍🏽 👩‍👩‍👧 🇩🇪 ½ ² ª İ ı ẞ ǆ \u0308\u0323 — “ ” … ▁ Ġ \t \n \r\n <s> [MASK] <|im_start|> <0x41>"
).split(" ")


def texts() -> list[str]:
    """What models are trained on."""
    lines = [corpora.prose(n, 40) for n in range(60)]
    draw = random.Random(5)
    return lines + [" ".join(draw.choices(WORDS, k=30)) for _ in range(60)]


def fixed() -> list[str]:
    """Runs, prose, and every character of some blocks."""
    runs = [run * length for run in ("a", " ", "\n", "=", "1", "é", "語", "👍", "▁", " a") for length in (1, 2, 3, 7, 33)]
    return ["", *runs, *texts()[::7], "".join(map(chr, range(1, 0x300))), "".join(map(chr, range(0x2000, 0x2100)))]


def hostile(count: int) -> Iterator[str]:
    """Texts of spaces, marks, symbols, scripts, added tokens and words, glued at random."""
    draw = random.Random(11)
    glue = ["", " ", "  ", "   ", "\n", "\n\n", "\t", "\u00a0", "\u3000"]
    parts = [*WORDS, *corpora.prose(3, 60).split(), "a", "'s", "!!", "  ", "é", "e\u0301", "\u0301", "\0", "\x7f", "\ufffd", "<extra>", "<tool>", "-"]
    for _ in range(count):
        yield "".join(draw.choice(parts) + draw.choice(glue) for _ in range(draw.randrange(1, 14)))


def byte_level(split: Any = None, *, prefix: bool = False, ignore_merges: bool = False, normalizer: Any = None) -> Tokenizer:
    """A byte-level BPE: GPT-2's own split, or `split` before the step that spells bytes."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    last = splits.ByteLevel(add_prefix_space=prefix, use_regex=split is None)
    tokenizer.pre_tokenizer = last if split is None else splits.Sequence([*split, last])
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = splits.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False))
    return tokenizer


def split(pattern: str, behavior: str = "isolated", *, invert: bool = False) -> Any:
    return splits.Split(Regex(pattern), behavior, invert)


def characters(normalizer: Any, pre_tokenizer: Any = None) -> Tokenizer:
    """A BPE over characters that falls back to bytes, as those converted from SentencePiece."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = splits.Metaspace()
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=700, special_tokens=special, limit_alphabet=90, show_progress=False))
    tokenizer.pre_tokenizer, tokenizer.normalizer = pre_tokenizer, normalizer
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def wordpiece(*, lowercase: bool, chinese: bool = True, before: Any = None) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    bert = normalizers.BertNormalizer(lowercase=lowercase, handle_chinese_chars=chinese)
    tokenizer.normalizer = bert if before is None else normalizers.Sequence([before, bert])
    tokenizer.pre_tokenizer = splits.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(texts(), trainers.WordPieceTrainer(vocab_size=700, special_tokens=special, show_progress=False))
    return tokenizer


def unigram(normalizer: Any, pre_tokenizer: Any, *, byte_fallback: bool = False) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = splits.Metaspace()
    special = ["<pad>", "</s>", "<unk>"] + ([f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else [])
    tokenizer.train_from_iterator(texts(), trainers.UnigramTrainer(vocab_size=600, special_tokens=special, unk_token="<unk>", show_progress=False))
    if byte_fallback:
        model = json.loads(tokenizer.to_str())["model"]
        tokenizer.model = models.Unigram([tuple(entry) for entry in model["vocab"]], unk_id=2, byte_fallback=True)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def clip() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    tokenizer.pre_tokenizer = splits.Sequence([split(pattern, "removed", invert=True), splits.ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = trainers.BpeTrainer(vocab_size=800, end_of_word_suffix="</w>", special_tokens=["<|startoftext|>", "<|endoftext|>"], initial_alphabet=splits.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    return tokenizer


def openai_gpt() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = splits.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=700, end_of_word_suffix="</w>", special_tokens=["<unk>"], show_progress=False))
    return tokenizer


def word_level() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = splits.Whitespace()
    tokenizer.train_from_iterator(texts(), trainers.WordLevelTrainer(vocab_size=500, special_tokens=["[UNK]", "[PAD]"], show_progress=False))
    return tokenizer


def prepend() -> Any:
    return normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])


def spaced(*before: Any) -> Any:
    return normalizers.Sequence([*before, normalizers.Replace(Regex(" {2,}"), "▁")])


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "gpt2": byte_level,
    "roberta": lambda: byte_level(prefix=True),
    "neox": lambda: byte_level(normalizer=normalizers.NFC()),
    "mpt": lambda: byte_level(normalizer=normalizers.NFC(), prefix=True),
    "llama3": lambda: byte_level([split(CL100K)], ignore_merges=True),
    "cl100k": lambda: byte_level([split(CL100K, "removed", invert=True)]),
    "o200k": lambda: byte_level([split(O200K)]),
    "tekken": lambda: byte_level([split(O200K.replace(DIGITS, r"\p{N}"))]),
    "kimi": lambda: byte_level([split(r"[\p{Han}]+|" + O200K)]),
    "exaone": lambda: byte_level([split(r"[^\S\r\n]|\s*[\r\n]+|\p{N}{1,3}|[\p{L}\p{M}]+|[^\s\p{L}\p{N}]+")], normalizer=normalizers.NFKC()),
    "llama4": lambda: byte_level([split(O200K)], ignore_merges=True),
    "qwen2": lambda: byte_level([split(CL100K.replace(DIGITS, r"\p{N}"))], normalizer=normalizers.NFC()),
    "deepseek_v3": lambda: byte_level([split(DIGITS), split("[一-龥\u3040-ゟ゠-ヿ]+"), split(DEEPSEEK)]),
    "deepseek_coder": lambda: byte_level([split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"), splits.Digits(True)]),
    "falcon": lambda: byte_level([splits.Punctuation("contiguous"), splits.ByteLevel(False, use_regex=True), splits.Digits(False), split("[0-9][0-9][0-9]")]),
    "starcoder": lambda: byte_level([splits.Digits(True), split(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")]),
    "smollm": lambda: byte_level([splits.Digits(True), splits.ByteLevel(False, use_regex=True)]),
    "bloom": lambda: byte_level([split(BLOOM)]),
    "granite": lambda: byte_level([splits.Digits(True)]),
    "llama2": lambda: characters(prepend()),
    "llama2_legacy_off": lambda: characters(None, splits.Metaspace(prepend_scheme="first", split=False)),
    "yi": lambda: characters(normalizers.Replace(" ", "▁")),
    "gemma": lambda: characters(normalizers.Replace(" ", "▁"), splits.Split(" ", "merged_with_previous")),
    "gemma_metaspace": lambda: characters(None, splits.Metaspace(prepend_scheme="never", split=True)),
    "bert_uncased": lambda: wordpiece(lowercase=True),
    "bert_cased": lambda: wordpiece(lowercase=False),
    "bert_japanese": lambda: wordpiece(lowercase=False, before=normalizers.NFKC()),
    "electra": lambda: wordpiece(lowercase=True, before=normalizers.NFD()),
    "bert_no_chinese": lambda: wordpiece(lowercase=True, chinese=False),
    "t5": lambda: unigram(spaced(normalizers.NFKC()), splits.Metaspace(prepend_scheme="always")),
    "albert": lambda: unigram(spaced(normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()), splits.Metaspace()),
    "xlnet": lambda: unigram(spaced(normalizers.NFKD()), splits.Sequence([splits.WhitespaceSplit(), splits.Metaspace()])),
    "xlm_roberta": lambda: unigram(spaced(normalizers.NFKC()), splits.Sequence([splits.WhitespaceSplit(), splits.Metaspace()])),
    "nllb": lambda: unigram(spaced(normalizers.NFKC()), splits.Metaspace(prepend_scheme="first")),
    "deberta_v3": lambda: unigram(spaced(normalizers.Strip()), splits.Metaspace(prepend_scheme="always")),
    "unigram_bytes": lambda: unigram(normalizers.Replace(Regex(" {2,}"), " "), splits.Metaspace(), byte_fallback=True),
    "camembert": lambda: unigram(spaced(normalizers.Nmt(), normalizers.NFKC()), splits.Metaspace()),
    "clip": clip,
    "openai_gpt": openai_gpt,
    "word_level": word_level,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("added", ["plain", "none"])
def test_ids_are_those_of_the_package(tmp_path: Path, kind: str, added: str) -> None:
    theirs = KINDS[kind]()
    plain = ["<extra>", "<tool>", "\n"] if added == "plain" else []
    if plain:
        # A special token outside the vocabulary stands before the plain ones, as in DeBERTa v3.
        theirs.add_special_tokens(["[OUTSIDE]"])
        theirs.add_tokens([AddedToken(token, normalized=False) for token in plain])
    file = tmp_path / "tokenizer.json"
    theirs.save(str(file))
    judge = Tokenizer.from_file(str(file))
    judge.encode_special_tokens = True
    corpusdb.create(tmp_path / "corpus").close()
    with corpusdb.open(tmp_path / "corpus", mode="w") as w:
        w.tokenizers.add("kind", file)
        ours = w.tokenizer("kind")
        for token in plain:
            # Text behind it, since some kinds put a space before a text.
            assert judge.token_to_id(token) in ours.encode(f"a{token}b").tolist(), (kind, token)
        # In text a special token is text: a Unigram of the package takes those of its vocabulary out of it.
        special = [token.content for token in judge.get_added_tokens_decoder().values() if token.special]
        is_unigram = isinstance(theirs.model, models.Unigram)
        for text in [*fixed(), *hostile(int(os.environ.get("CORPUSDB_KINDS_TEXTS", "200")))]:
            if is_unigram and any(token in text for token in special):
                continue
            wanted = judge.encode(text, add_special_tokens=False).ids
            assert ours.encode(text).tolist() == wanted, (kind, text)
