"""Tokenizers of a corpus: encode and decode, register, train, extend, compare, check."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

from corpusdb import _native
from corpusdb._call import call, expand_keywords
from corpusdb._native import one_line
from corpusdb._options import (
    TokenizerAddOptions,
    TokenizerAnalyseOptions,
    TokenizerExtendOptions,
    TokenizerTermsOptions,
    TokenizerTrainOptions,
)
from corpusdb._progress import ProgressOption
from corpusdb._reader import Readable
from corpusdb._report import html_of_all
from corpusdb.errors import CorpusError
from corpusdb.reports import (
    AnalysisReport,
    CandidateReport,
    ExtendReport,
    NothingAdded,
    TokenizerCheckReport,
    TokenizerDetails,
    TokenizerDropReport,
    TokenizerReport,
    TrainedTokenizer,
    VocabularyDiff,
    WordCostReport,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Segmentation", "Tokenizer", "Tokenizers", "WriterTokenizers"]


class Segmentation(NamedTuple):
    """One segmentation of a text by a Unigram."""

    #: The ids of its tokens.
    ids: NDArray[np.uint32]
    #: For each token the part of the normalised text that it stands for.
    pieces: list[str]
    #: The sum of the log probabilities of its pieces: SentencePiece's score.
    log_probability: float
    #: Its share of the probability of all segmentations of the text.
    probability: float


class Tokenizer:
    """A tokenizer to encode and decode with. It works after its corpus was closed, and in forked processes."""

    __slots__ = ("_encoder",)

    def __init__(self, encoder: _native.Encoder) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """Its name in the corpus."""
        return self._encoder.name

    @property
    def vocab_size(self) -> int:
        """The largest id plus one."""
        return self._encoder.vocab_size

    @property
    def specials(self) -> dict[str, int]:
        """The special tokens and their ids."""
        return {token: number for number, token in self._encoder.specials()}

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None if the vocabulary does not have it."""
        return self._encoder.token_to_id(token)

    def encode(
        self,
        text: str,
        *,
        specials: bool = False,
        segmentation_seed: int | None = None,
        alpha: float | None = None,
        dropout: float | None = None,
    ) -> NDArray[np.uint32]:
        """The ids of a text. With `specials`, special tokens spelled in the text are encoded as such, not as text.

        With a seed, a segmentation is drawn, the same for the same text and seed: of a Unigram with probability
        proportional to P^`alpha`, of a BPE by passing over each merge with the probability `dropout`.
        """
        return self._encoder.encode(text, specials, (segmentation_seed, alpha, dropout))

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        specials: bool = False,
        segmentation_seed: int | None = None,
        alpha: float | None = None,
        dropout: float | None = None,
    ) -> list[NDArray[np.uint32]]:
        """The ids of many texts, on all cores; each as `encode` gives them."""
        return self._encoder.encode_batch(list(texts), specials, (segmentation_seed, alpha, dropout))

    def nbest(self, text: str, n: int, *, specials: bool = False) -> list[Segmentation]:
        """The `n` best segmentations of a text by a Unigram, the best first: all, if there are fewer."""
        return [Segmentation(*one) for one in self._encoder.nbest(text, n, specials)]

    def entropy(self, text: str, *, alpha: float = 1.0, specials: bool = False) -> float:
        """The entropy in nats of all segmentations of a text by a Unigram, each of weight P^`alpha`."""
        return self._encoder.entropy(text, alpha, specials)

    def encode_with_offsets(
        self, text: str, *, specials: bool = False
    ) -> tuple[NDArray[np.uint32], list[tuple[int, int]]]:
        """The ids of a text, and for each id the begin and end of its UTF-8 bytes in the text."""
        return self._encoder.encode_with_offsets(text, specials)

    def decode(self, ids: ArrayLike | Sequence[int]) -> str:
        """The text of ids. Special tokens are spelled out."""
        listed: Any = ids
        return self._encoder.decode(listed.tolist() if hasattr(listed, "tolist") else list(listed))

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        head = one_line(f"<corpusdb.Tokenizer {self.name!r}: {self.vocab_size:,} ids>")
        return f"{head}\n  next: .encode(text), .decode(ids), .encode_batch(texts), .nbest(text, n), .specials"


class Tokenizers(Readable):
    """The tokenizers of a corpus, in the order in which they were registered."""

    #: What to call next: the last line of `repr`.
    _next = "next: tokenizers[\"NAME\"].encode(text), .show(name), .diff(a, b), .analyse(names), .terms(name)"

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def names(self) -> list[str]:
        """The names of the tokenizers."""
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

    def _repr_html_(self) -> str:
        return html_of_all(self, self.show, "tokenizer", self._next)

    def encode(
        self,
        name: str,
        text: str,
        *,
        specials: bool = False,
        segmentation_seed: int | None = None,
        alpha: float | None = None,
        dropout: float | None = None,
    ) -> NDArray[np.uint32]:
        """The ids of a text. For many texts, call `Corpus.tokenizer(name)` once and use its answer.

        With a seed, a segmentation is drawn: see `Tokenizer.encode`.
        """
        return self[name].encode(
            text, specials=specials, segmentation_seed=segmentation_seed, alpha=alpha, dropout=dropout
        )

    def nbest(self, name: str, text: str, n: int, *, specials: bool = False) -> list[Segmentation]:
        """The `n` best segmentations of a text by a Unigram, the best first: all, if there are fewer."""
        return self[name].nbest(text, n, specials=specials)

    def decode(self, name: str, ids: ArrayLike | Sequence[int]) -> str:
        """The text of ids."""
        return self[name].decode(ids)

    def pieces(
        self,
        name: str,
        text: str,
        *,
        specials: bool = False,
        segmentation_seed: int | None = None,
        alpha: float | None = None,
        dropout: float | None = None,
    ) -> list[tuple[int, str]]:
        """The tokens of a text: each id with its piece of the text."""
        draw = (segmentation_seed, alpha, dropout)
        pieces = json.loads(_native.pieces(self._handle, name, text, specials, draw))
        return [(piece["id"], piece["text"]) for piece in pieces]

    @overload
    def show(self, name: None = None) -> list[TokenizerReport]: ...
    @overload
    def show(self, name: str) -> TokenizerDetails: ...
    def show(self, name: str | None = None) -> list[TokenizerReport] | TokenizerDetails:
        """All tokenizers, with what is stored about each; or all about one, with every decision of its training."""
        if name is None:
            return TokenizerReport.each(call("tokenizer show", self._handle))
        return TokenizerDetails.from_json(call("tokenizer show", self._handle, name=name))

    def check(self, name: str) -> TokenizerCheckReport:
        """Compares the fast encoder with the reference, and stored ids with the texts, and tries difficult inputs."""
        return TokenizerCheckReport.from_json(call("tokenizer check", self._handle, name=name))

    def diff(self, a: str, b: str) -> VocabularyDiff:
        """Compares two vocabularies: which ids are kept, moved, removed and added."""
        return VocabularyDiff.from_json(call("tokenizer diff", self._handle, a=a, b=b))

    @expand_keywords(TokenizerAnalyseOptions)
    def analyse(
        self,
        names: str | Iterable[str],
        *,
        progress: ProgressOption = None,
        **options: Unpack[TokenizerAnalyseOptions],
    ) -> AnalysisReport:
        """Measures tokenizers on the corpus: compression, fertility, parity, use and cost of the vocabulary."""
        return AnalysisReport.from_json(
            call("tokenizer analyse", self._handle, progress=progress, names=names, **options)
        )

    @expand_keywords(TokenizerTermsOptions)
    def terms(
        self, name: str, *, progress: ProgressOption = None, **options: Unpack[TokenizerTermsOptions]
    ) -> WordCostReport:
        """Lists the words that cost a tokenizer most, by the tokens that it would save if each were one token.

        With `out` they are written to a file, one a line, for `Writer.tokenizers.extend`.
        """
        return WordCostReport.from_json(
            call("tokenizer terms", self._handle, progress=progress, name=name, **options)
        )

    def export(
        self,
        name: str,
        file: str | os.PathLike[str],
        *,
        originals: bool = False,
        pretrained: bool = False,
        bos: str | None = None,
        eos: str | None = None,
        pad: str | None = None,
        chat_template: str | os.PathLike[str] | None = None,
    ) -> None:
        """Writes a tokenizer to `file`: a SentencePiece model if the name ends in `.model`, otherwise `tokenizer.json`.

        With `originals` it writes the files that the tokenizer was registered with, to the new directory `file`. With
        `pretrained` it writes a new directory for `transformers.AutoTokenizer.from_pretrained`, with the special tokens
        `bos`, `eos` and `pad` and the file `chat_template`, or else the template that wrote the stored conversations.
        """
        call(
            "tokenizer export", self._handle, name=name, file=file, originals=originals, pretrained=pretrained, bos=bos,
            eos=eos, pad=pad, chat_template=chat_template,
        )


class WriterTokenizers(Tokenizers):
    """The tokenizers of a corpus that is open for writing."""

    _next = "next: .add(name, file), .train(name), .extend(base, name), .drop(name), tokenizers[\"NAME\"].encode(text)"

    @expand_keywords(TokenizerAddOptions)
    def add(
        self,
        name: str,
        file: str | os.PathLike[str] | None = None,
        *,
        progress: ProgressOption = None,
        **options: Unpack[TokenizerAddOptions],
    ) -> TokenizerReport:
        """Registers a tokenizer and encodes the stored texts.

        `file` is a `tokenizer.json`, a SentencePiece `.model`, or with `pattern` a tiktoken rank file.
        """
        return TokenizerReport.from_json(
            call("tokenizer add", self._handle, progress=progress, name=name, file=file, **options)
        )

    @overload
    def train(
        self, name: str, *, progress: ProgressOption = None, **options: Unpack[TokenizerTrainOptions]
    ) -> TrainedTokenizer: ...

    @overload
    def train(
        self, name: None = None, *, progress: ProgressOption = None, **options: Unpack[TokenizerTrainOptions]
    ) -> CandidateReport: ...

    @expand_keywords(TokenizerTrainOptions)
    def train(
        self, name: str | None = None, *, progress: ProgressOption = None, **options: Unpack[TokenizerTrainOptions]
    ) -> TrainedTokenizer | CandidateReport:
        """Trains a tokenizer on the kept documents, registers it and encodes the stored texts.

        The same corpus and options give the same file. With `out` in place of a name it is only written to that file,
        and the answer is a `CandidateReport`.
        """
        answer = json.loads(call("tokenizer train", self._handle, progress=progress, name=name, **options))
        kind = CandidateReport if answer.pop("type") == "tokenizer_candidate" else TrainedTokenizer
        return kind(answer)

    @expand_keywords(TokenizerExtendOptions)
    def extend(
        self, base: str, name: str, *, progress: ProgressOption = None, **options: Unpack[TokenizerExtendOptions]
    ) -> ExtendReport | NothingAdded:
        """Extends a tokenizer by `terms`, or by `grow` more ids of BPE training. Old ids stay, new ones follow them.

        If nothing is new, the answer is `NothingAdded`, and nothing is registered or written.
        """
        answer = json.loads(call("tokenizer extend", self._handle, progress=progress, base=base, name=name, **options))
        kind = NothingAdded if answer.pop("type") == "nothing_added" else ExtendReport
        return kind(answer)

    def backfill(self, name: str, *, progress: ProgressOption = None) -> TokenizerReport:
        """Encodes the stored texts that a tokenizer has not encoded yet. After an interrupt the same call continues."""
        return TokenizerReport.from_json(call("tokenizer backfill", self._handle, progress=progress, name=name))

    def drop(self, name: str, *, force: bool = False) -> TokenizerDropReport:
        """Drops a tokenizer with all its ids. The answer lists the plans that cannot be opened any more.

        Raises an error while a stored plan uses the tokenizer, or if records brought ids of it, unless `force` is set.
        """
        return TokenizerDropReport.from_json(call("tokenizer drop", self._handle, name=name, force=force))
