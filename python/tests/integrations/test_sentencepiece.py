"""Ids of SentencePiece models are those of the package `sentencepiece`, whatever options they were trained with.

`SENTENCEPIECE_TEXTS` texts are encoded by each of some hundred models: 25 by default, 1,000 for a long run.
"""

from __future__ import annotations

import functools
import io
import itertools
import os
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import corpora
import corpusdb
from corpusdb import kernel

TEXTS = int(os.environ.get("SENTENCEPIECE_TEXTS", "25"))
RULES = ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]
SETTINGS = range(5)
CJK = "你好世界日本語カタカナ한국어텍스트ภาษาไทย"
#: Spaces, marks, characters that a rule of normalisation changes, emoji, and what is spelled like a piece.
ODD = [
    "▁", "▁▁", " ", "  ", "   ", "\u3000", "\u00a0", "\u2003", "\u200b", "\ufeff", "\u00ad", "\t", "\n", "\r\n", "\0",
    "\x01", "\x7f", "é", "e\u0301", "A\u030a", "ﬁ", "①", "½", "Ⅷ", "ＡＢＣ", "１２３", "ｶﾞ", "ﾊﾟ", "㍿", "İ", "ß",
    "ẞ", "o\u0308\u0323", "\u0301", "\u0300\u0301", "👍", "👍🏽", "👩‍👩‍👧", "🇩🇪", "🏳️‍🌈", "\U0010ffff",
    "\ufffd", "<s>", "</s>", "<unk>", "<pad>", "<0x41>", "<0x00>", "<|user|>", "<sym>", "ab", "user", "a b",
    "▁user", " user", "user ", "<|user|> ", "123",
    "007", "3.14", "don't", "!!!", "...", "ﷺ", "ǆ", "ſ", "\u1100\u1161\u11a8", "각", "क्षि", "שלום", "مرحبا", "\u202b",
    "\u2028", "\u0085", "…", "～", "〜", "－", "ー", "¨", "´", "¯", "¸", "\u037a",
]
BLOCKS = [(0x20, 0x250), (0x250, 0x3000), (0x3000, 0xD800), (0xE000, 0x11000), (0x1F000, 0x20000)]
SYMBOLS = [["<|user|>", "<sym>"], ["▁▁", "▁▁▁", "\t"], ["ab", "abc", "user", "bcd"], ["e\u0301", "①", " ", "a b"]]


@functools.cache
def words() -> list[str]:
    return sorted({word for number in range(60) for word in corpora.prose(number).split()})


@functools.cache
def lines() -> list[str]:
    rng = random.Random(5)
    kinds = [odd for odd in ODD if not set(odd) & set("\0\r\n")] + words() + list(CJK)
    odd = ["".join(rng.choice(kinds) + rng.choice(["", " "]) for _ in range(12)) for _ in range(300)]
    return [corpora.prose(number) for number in range(200)] + odd


def text(rng: random.Random) -> str:
    def part() -> str:
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(words())
        if kind < 0.8:
            return rng.choice(ODD)
        if kind < 0.88:
            return rng.choice(CJK)
        if kind < 0.92:
            return rng.choice(ODD) * rng.randint(2, 9)
        if kind < 0.96:
            return chr(rng.randrange(*rng.choice(BLOCKS)))
        return "".join(rng.choice("abcdefgh ▁") for _ in range(rng.randint(1, 20)))

    return "".join(part() + rng.choice(["", "", " "]) for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 12, 30])))


def options(model_type: str, rule: str, setting: int) -> dict[str, Any]:
    """Options of the trainer: the same for the same arguments."""
    rng = random.Random(f"{model_type}{rule}{setting}")
    falls_back = setting % 2 == 1
    sizes = [200, 400, 800, 1500] if model_type in ("bpe", "unigram") else [60, 120, 500]
    chosen: dict[str, Any] = {
        "model_type": model_type,
        "normalization_rule_name": rule,
        "vocab_size": rng.choice(sizes) + 256 * falls_back,
        "byte_fallback": falls_back,
        "add_dummy_prefix": rng.random() < 0.6,
        "remove_extra_whitespaces": rng.random() < 0.5,
        "treat_whitespace_as_suffix": rng.random() < 0.3,
        "split_digits": rng.random() < 0.4,
        "allow_whitespace_only_pieces": rng.random() < 0.4,
        "split_by_whitespace": rng.random() < 0.7,
        "split_by_unicode_script": rng.random() < 0.7,
        "character_coverage": rng.choice([1.0, 0.9995, 0.98]),
    }
    if rng.random() < 0.6:
        chosen["user_defined_symbols"] = rng.choice(SYMBOLS)
    if rng.random() < 0.4:
        chosen["control_symbols"] = rng.choice([["<pad>", "<cls>"], ["the", "in"], ["e", "▁"]])
    return chosen


def train(**chosen: Any) -> bytes:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines()),
        model_writer=out,
        minloglevel=3,
        num_threads=1,
        hard_vocab_limit=False,
        **chosen,
    )
    return out.getvalue()


def models() -> list[tuple[str, str, int]]:
    return list(itertools.product(["bpe", "unigram", "char", "word"], RULES, SETTINGS))


@pytest.mark.parametrize(("model_type", "rule", "setting"), models())
def test_ids_places_and_decoded_texts_are_those_of_sentencepiece(model_type: str, rule: str, setting: int) -> None:
    model = train(**options(model_type, rule, setting))
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    ours = kernel.load_tokenizer(model)
    assert ours.vocab_size == theirs.get_piece_size()
    rng = random.Random(f"texts of {model_type}{rule}{setting}")
    texts = [text(rng) for _ in range(TEXTS)]
    for each, ids in zip(texts, ours.encode_batch(texts), strict=True):
        assert ids.tolist() == theirs.encode(each), each
        if theirs.unk_id() not in ids:
            assert ours.decode(ids) == theirs.decode(ids.tolist()), each


@pytest.mark.parametrize(("rule", "setting"), itertools.product(RULES, SETTINGS))
def test_best_segmentations_are_those_of_sentencepiece(rule: str, setting: int) -> None:
    """The same scores in the same order, and the same ids where no other segmentation is as good in 32 bits."""
    model = train(**options("unigram", rule, setting))
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    ours = kernel.load_tokenizer(model)
    rng = random.Random(f"best of {rule}{setting}")
    for each in [text(rng) for _ in range(TEXTS * 2)]:
        n = rng.choice([2, 5, 16, 64])
        expected = theirs.nbest_encode_as_proto(each, nbest_size=n).nbests
        found = ours.nbest(each, n)
        assert len(found) == len(expected), each
        scores = [one.score for one in expected]
        near = 1e-5 * max(1.0, *(abs(score) for score in scores))
        for at, (one, score) in enumerate(zip(found, scores, strict=True)):
            assert abs(one.log_probability - score) <= near, each
            tied = [other for other, near_by in zip(expected, scores, strict=True) if abs(near_by - score) <= 2 * near]
            if len(expected) < n or abs(score - scores[-1]) > 2 * near:
                assert one.ids.tolist() in [[piece.id for piece in other.pieces] for other in tied], (each, at)
            assert "".join(one.pieces) == "".join(found[0].pieces)


def test_a_registered_model_has_its_ids_and_is_exported_as_it_was(tmp_path: Path) -> None:
    model = train(model_type="unigram", vocab_size=400, user_defined_symbols=["<|user|>", "ab"])
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    (tmp_path / "spiece.model").write_bytes(model)
    corpusdb.create(tmp_path / "corpus").close()
    with corpusdb.open(tmp_path / "corpus", mode="w", memory="128MiB") as w:
        rng = random.Random(8)
        texts = [f"{number} {text(rng)}" for number in range(200)]
        w.ingest(({"text": each} for each in texts), source="odd")
        added = w.tokenizers.add("piece", tmp_path / "spiece.model")
        assert (added.backend, added.reference, added.complete) == ("sentencepiece", "sentencepiece 0.2.3", True)
        for number in range(len(texts)):
            assert w.tokens(number, "piece").tolist() == theirs.encode(w.document(number).text), texts[number]
        assert w.tokenizers.check("piece").check.backend == "sentencepiece"
        w.tokenizers.export("piece", tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == model


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_sentencepiece_gives_the_ids_of_exported_tokenizers(tmp_path: Path, model: str) -> None:
    corpusdb.create(tmp_path / "corpus").close()
    with corpusdb.open(tmp_path / "corpus", mode="w", memory="128MiB") as w:
        w.ingest(corpora.pages(200), source="web")
        w.tokenizers.train("own", model=model, vocab_size=700, byte_fallback=True)
        w.tokenizers.export("own", tmp_path / "own.model")
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "own.model"))
        for number in range(200):
            assert w.tokens(number, "own").tolist() == theirs.encode(w.document(number).text)
