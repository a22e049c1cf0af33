"""Tokenizers of a corpus: encode and decode, register, train, extend, compare, check."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpusdb import _native
from corpusdb._native import one_line
from corpusdb._progress import ProgressOption, listening
from corpusdb._report import Report
from corpusdb._sizes import optional_size, size
from corpusdb.errors import AlreadyExists, BadTokenizer, CorpusError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Tokenizer", "TokenizerAnalysis", "TokenizerCheck", "TokenizerDiff", "TokenizerRecord", "Tokenizers",
    "WriterTokenizers",
]


class TokenizerRecord(Report):
    """What is stored about a tokenizer, and of a call that encoded with it, what was encoded."""

    name: str
    #: One more than its largest id.
    vocab_size: int
    #: blake3 of its `tokenizer.json`, in hexadecimal.
    hash: str
    #: Where it came from.
    lineage: str
    #: The encoder that is used, and the library it was compared with.
    backend: str
    reference: str
    #: The files it was registered with.
    originals: list[Report]
    #: Whether all kept documents have ids of it.
    complete: bool


class TokenizerCheck(Report):
    """Whether a tokenizer's ids can be trusted; true when they can."""

    #: Whether no case is at fault and stored ids are those of the texts.
    good: bool
    #: A document whose stored ids are not the ones of its text.
    other_ids: int | None
    check: Report

    def __bool__(self) -> bool:
        return self.good


class TokenizerDiff(Report):
    """What differs between two tokenizers."""

    kept: int
    moved: list[list[Any]]
    removed: list[list[Any]]
    added: list[list[Any]]
    merges_kept: int
    merges_removed: int
    merges_added: int
    merges_in_order: bool
    #: Whether every old id keeps its token.
    keeps_old_ids: bool


class TokenizerAnalysis(Report):
    """What tokenizers make of the corpus."""

    grouped_by: str
    reference: str
    selected_documents: int
    selected_bytes: int
    documents: int
    bytes: int
    tokenizers: list[Report]


class Tokenizer:
    """A tokenizer to encode and decode with. It needs no corpus any more, and may go through a fork."""

    __slots__ = ("_encoder",)

    def __init__(self, encoder: _native.Encoder) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """Its name in the corpus."""
        return self._encoder.name

    @property
    def vocab_size(self) -> int:
        """One more than its largest id."""
        return self._encoder.vocab_size

    @property
    def specials(self) -> dict[str, int]:
        """Its special tokens with their ids."""
        return {token: number for number, token in self._encoder.specials()}

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; none when there is no such token."""
        return self._encoder.token_to_id(token)

    def encode(self, text: str, *, specials: bool = False) -> NDArray[np.uint32]:
        """The ids of a text. With `specials`, special tokens that it spells are special tokens, not text."""
        return self._encoder.encode(text, specials)

    def encode_batch(self, texts: Iterable[str], *, specials: bool = False) -> list[NDArray[np.uint32]]:
        """The ids of many texts, on all cores."""
        return self._encoder.encode_batch(list(texts), specials)

    def encode_with_offsets(
        self, text: str, *, specials: bool = False
    ) -> tuple[NDArray[np.uint32], list[tuple[int, int]]]:
        """The ids of a text, and for each where the UTF-8 bytes that it stands for begin and end."""
        return self._encoder.encode_with_offsets(text, specials)

    def decode(self, ids: ArrayLike | Sequence[int]) -> str:
        """The text of ids, special tokens spelled out."""
        listed: Any = ids
        return self._encoder.decode(listed.tolist() if hasattr(listed, "tolist") else list(listed))

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        head = one_line(f"<corpusdb.Tokenizer {self.name!r}: {self.vocab_size:,} ids>")
        return f"{head}\n  next: .encode(text), .decode(ids), .encode_batch(texts), .specials"


class Tokenizers:
    """The tokenizers of a corpus, in the order they were registered."""

    #: What can be asked of them.
    _next = "next: tokenizers[\"NAME\"].encode(text), .show(name), .check(name), .diff(a, b), .analyse(names)"

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def names(self) -> list[str]:
        """Their names."""
        return _native.tokenizer_names(self._handle)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __getitem__(self, name: str) -> Tokenizer:
        return Tokenizer(_native.encoder(self._handle, name))

    def __repr__(self) -> str:
        kind = f"corpusdb.{type(self).__name__}"
        try:
            names = self.names()
        except CorpusError as error:
            return f"<{kind}: {type(error).__name__.lower()}>"
        return f"<{kind}: {one_line(', '.join(names)) or 'none'}>\n  {self._next}"

    def encode(self, name: str, text: str, *, specials: bool = False) -> NDArray[np.uint32]:
        """The ids of a text by a tokenizer; for many texts keep `Corpus.tokenizer(name)`."""
        return self[name].encode(text, specials=specials)

    def decode(self, name: str, ids: ArrayLike | Sequence[int]) -> str:
        """The text of ids by a tokenizer."""
        return self[name].decode(ids)

    def pieces(self, name: str, text: str, *, specials: bool = False) -> list[tuple[int, str]]:
        """The tokens of a text: each id with what it stands for."""
        return [(piece["id"], piece["text"]) for piece in json.loads(_native.pieces(self._handle, name, text, specials))]

    def show(self, name: str) -> TokenizerRecord:
        """Everything known of a tokenizer, with every decision of its training."""
        return TokenizerRecord.from_json(_native.tokenizer_record(self._handle, name))

    def check(self, name: str) -> TokenizerCheck:
        """Compares both encoders, and stored ids with those of the texts, and goes through what trips tokenizers."""
        return TokenizerCheck.from_json(_native.check_tokenizer(self._handle, name))

    def diff(self, a: str, b: str) -> TokenizerDiff:
        """Which ids are kept, moved, removed and added between two tokenizers."""
        return TokenizerDiff.from_json(_native.diff_tokenizers(self._handle, a, b))

    def analyse(
        self,
        names: str | Iterable[str],
        *,
        by: str | None = None,
        reference: str | None = None,
        where: str | None = None,
        sample_bytes: int | str = "64MiB",
        d_model: int = 4096,
        html: str | os.PathLike[str] | None = None,
        progress: ProgressOption = None,
    ) -> TokenizerAnalysis:
        """Measures tokenizers on the corpus: compression, fertility, parity, use and price of the vocabulary.

        `by` tells figures apart by `language` or `source`; `html` writes a page that needs no server or other file.
        """
        listed = [names] if isinstance(names, str) else list(names)
        with listening(progress) as listener:
            report = _native.analyse_tokenizers(
                self._handle, listed, by=by, reference=reference, condition=where,
                sample_bytes=size(sample_bytes, "sample_bytes"), d_model=d_model, html=html, listener=listener,
            )
        return TokenizerAnalysis.from_json(report)

    def export(self, name: str, file: str | os.PathLike[str], *, originals: bool = False) -> None:
        """Writes a tokenizer: a SentencePiece model where the name ends in `.model`, else its `tokenizer.json`.

        With `originals`, the files that it was registered with, to the new directory `file`.
        """
        path = Path(file)
        if originals:
            files = _native.tokenizer_originals(self._handle, name)
            path.mkdir()
            for file_name, content in files:
                (path / file_name).write_bytes(content)
        else:
            path.write_bytes(_native.tokenizer_file(self._handle, name, path.suffix == ".model"))


class WriterTokenizers(Tokenizers):
    """The tokenizers of a corpus that is open for writing."""

    _next = "next: .add(name, file), .train(name), .extend(base, name), .drop(name), tokenizers[\"NAME\"].encode(text)"

    def add(
        self,
        name: str,
        file: str | os.PathLike[str] | None = None,
        *,
        vocab: str | os.PathLike[str] | None = None,
        merges: str | os.PathLike[str] | None = None,
        pattern: str | None = None,
        specials: Mapping[str, int] | None = None,
        backfill: bool = True,
        progress: ProgressOption = None,
    ) -> TokenizerRecord:
        """Registers a tokenizer and encodes what is stored.

        `file` is a `tokenizer.json`, a SentencePiece `.model`, or with `pattern` a tiktoken rank file (`pattern` is gpt2,
        cl100k, llama3, o200k, qwen2, tekken or a regular expression; `specials` are its special tokens with their ids).
        GPT-2's two files are given as `vocab` and `merges`. With `backfill=False` it is only registered.
        """
        kind, content, more = "json", b"", None
        if file is not None and vocab is None and merges is None:
            content, lineage = Path(file).read_bytes(), os.fspath(file)
            if pattern is not None:
                kind = "tiktoken"
            elif Path(file).suffix == ".model":
                kind = "sentencepiece"
        elif file is None and vocab is not None and merges is not None:
            kind, content, more = "vocab", Path(vocab).read_bytes(), Path(merges).read_bytes()
            lineage = f"{os.fspath(vocab)} and {os.fspath(merges)}"
        else:
            raise TypeError("give a file, or vocab= and merges=")
        if specials and pattern is None:
            raise TypeError("specials= goes with pattern=: other files name their special tokens themselves")
        with listening(progress) as listener:
            told = _native.add_tokenizer(
                self._handle, name, kind, content, lineage, merges=more, pattern=pattern,
                specials=list((specials or {}).items()), backfill=backfill, listener=listener,
            )
        return TokenizerRecord.from_json(told)

    def train(
        self,
        name: str,
        *,
        model: str = "bpe",
        vocab_size: int = 32_768,
        where: str | None = None,
        by: str = "language",
        alpha: float = 1.0,
        weights: Mapping[str, float] | None = None,
        byte_fallback: bool = False,
        end_of_word: bool = False,
        digits: str = "keep",
        reserve: int = 0,
        specials: Sequence[str] = ("<|endoftext|>",),
        pattern: str | None = None,
        normalizer: str = "none",
        character_coverage: float | None = None,
        sample_bytes: int | str | None = None,
        min_frequency: int = 2,
        max_token_length: int | None = None,
        seed_tokens: Sequence[str] = (),
        backfill: bool = True,
        progress: ProgressOption = None,
    ) -> TokenizerRecord:
        """Trains a tokenizer on the kept documents, registers it and encodes what is stored.

        The same corpus and options give the same file. The options are those of `corpusdb tokenizer train`.
        """
        options = {
            "model": model, "vocab_size": vocab_size, "byte_fallback": byte_fallback, "end_of_word": end_of_word,
            "digits": digits, "reserve": reserve, "specials": list(specials), "normalizer": normalizer,
            "character_coverage": character_coverage, "min_frequency": min_frequency,
            "max_token_length": max_token_length, "alpha": alpha, "weights": dict(weights or {}),
            "seed_tokens": list(seed_tokens),
        }
        with listening(progress) as listener:
            told, decisions = _native.train_tokenizer(
                self._handle, name, json.dumps(options), pattern=pattern, condition=where, by=by,
                sample_bytes=optional_size(sample_bytes, "sample_bytes"), backfill=backfill, listener=listener,
            )
        return TokenizerRecord({**json.loads(told), "decisions": json.loads(decisions)})

    def extend(
        self,
        base: str,
        name: str,
        *,
        terms: Sequence[str] | None = None,
        forms: str = "both",
        added_tokens: bool = False,
        grow: int | None = None,
        where: str | None = None,
        min_frequency: int = 2,
        max_token_length: int | None = None,
        out: str | os.PathLike[str] | None = None,
        backfill: bool = True,
        progress: ProgressOption = None,
    ) -> TokenizerRecord | None:
        """Extends a tokenizer: old ids stay, new ones follow; by `terms`, or by `grow` more ids of BPE training.

        `forms` says where a term is one token: `both`, `after-space` or `bare`. `added_tokens` makes added tokens of
        terms that the pre-tokenizer splits. `out` is a new directory for `tokenizer.json` and the maps that start the new
        embedding rows. None comes back, and nothing is registered or written, where nothing is new.
        """
        if (terms is None) == (grow is None):
            raise TypeError("give terms= or grow=")
        if terms is not None and not terms:
            raise BadTokenizer("terms: there is no term in it")
        directory = None if out is None else Path(out)
        if directory is not None and directory.exists():
            raise AlreadyExists(f"{directory} exists already; name a new directory")
        settings = {
            "terms": None if terms is None else list(terms), "forms": forms, "added_tokens": added_tokens,
            "grow": grow, "condition": where, "min_frequency": min_frequency, "max_token_length": max_token_length,
        }
        with listening(progress) as listener:
            told, told_terms, files = _native.extend_tokenizer(
                self._handle, base, name, settings, backfill=backfill, listener=listener
            )
        if told is None:
            return None
        if directory is not None:
            directory.mkdir()
            for file_name, content in files:
                (directory / file_name).write_bytes(content)
        return TokenizerRecord({**json.loads(told), "terms": json.loads(told_terms)})

    def backfill(self, name: str, *, progress: ProgressOption = None) -> TokenizerRecord:
        """Encodes what a registered tokenizer has not encoded yet; goes on where an interrupt stopped."""
        with listening(progress) as listener:
            return TokenizerRecord.from_json(_native.backfill_tokenizer(self._handle, name, listener))

    def drop(self, name: str, *, force: bool = False) -> list[int]:
        """Forgets a tokenizer with all its ids; the numbers of plans that cannot be opened any more.

        Refused while a stored plan is by it or ids of it came with records, unless `force`.
        """
        return _native.drop_tokenizer(self._handle, name, force)
