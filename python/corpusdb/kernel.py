"""The decisions of a corpus as pure functions over Arrow: for engines that spread documents over many machines.

`import corpusdb.kernel` brings it in. Each function takes anything that is an Arrow stream (a record batch or table of
pyarrow, polars, duckdb) and answers an Arrow record batch: `pyarrow.record_batch(answer)`. Nothing is kept between
calls, each runs on one thread without the interpreter's lock, and what they decide is what an ingest of the same
documents decides.

    prints = kernel.fingerprint(batch, {"profile": "web"}, order="number")
    # bring together what shares a band, and of each pair the two texts
    overlaps = kernel.verify(pairs, {"profile": "web"})
    outcomes = kernel.decide(prints, overlaps, {"profile": "web"})
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from corpusdb import _native
from corpusdb._call import keyword_json
from corpusdb._options import InitOptions
from corpusdb._tokenizers import Tokenizer

__all__ = ["close", "components", "decide", "encode", "fingerprint", "load_tokenizer", "near", "similar", "verify"]


class Stream(Protocol):
    """Whatever is an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Batch(Protocol):
    """An Arrow record batch."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


def fingerprint(
    batches: Stream,
    policy: InitOptions | None = None,
    *,
    text: str = "text",
    key: str | None = None,
    source: str | None = None,
    order: str | None = None,
    number: str | None = None,
) -> Batch:
    """What is compared of each text, one row a text.

    `policy` has the words of `corpusdb.create`. `key` and `source` name columns that come along; `order` names a column
    of whole numbers from 0 on that tells which document came first, and with it comes `rank`; `number` names the column
    that a keep order `field:NAME` looks at.

    Columns: `key`, `source`, `order` and `rank` where they are asked for; `raw_hash` and `text_hash` (16 bytes; equal
    `text_hash`: one text, within the scope of the policy), `tokens`, `shingles`, `chars`, `sketch` (none for a text
    shorter than a shingle) and `bands` (5 bytes each, in order; documents that share one are candidates).
    """
    settings = _settings(policy)
    answer: Batch = _native.kernel_fingerprint(batches, settings, text=text, key=key, source=source, order=order, number=number)
    return answer


def close(pairs: Stream, policy: InitOptions | None = None) -> Batch:
    """The rows whose `left_sketch` and `right_sketch` are close enough for their texts to be compared.

    Other columns come along; the sketches do not.
    """
    answer: Batch = _native.kernel_close(pairs, _settings(policy))
    return answer


def near(members: Stream, policy: InitOptions | None = None, *, most: int) -> Batch:
    """The close pairs of crowded buckets, without all pairs being named.

    Columns of `members`: `bucket`, `rank`, `sketch`, and, where something is known already, `live` (whether the document
    may be kept), `bound` (only documents of better rank matter to it) and `cluster` (a second link within one says
    nothing). Of each bucket the first `most` live members are paired with those behind them: rows `left` and `right`,
    better-ranked first. Members to whom a live one beyond matters come as rows without `right`: they are open until `most`
    reaches it.
    """
    answer: Batch = _native.kernel_near(members, _settings(policy), most)
    return answer


def similar(members: Stream, policy: InitOptions | None = None, *, most: int) -> Batch:
    """The similar pairs of crowded buckets, by their texts: where `near` would name very many pairs, few of them similar.

    Columns of `members`: those of `near`, and `text`. Rows are those of `near` whose texts reach the threshold, with the
    `shared`, `left_shingles`, `right_shingles` and `jaccard` of `verify`, and those without `right`. In the transitive
    modes no pair is among them that others connect already.
    """
    answer: Batch = _native.kernel_similar(members, _settings(policy), most)
    return answer


def verify(pairs: Stream, policy: InitOptions | None = None) -> Batch:
    """The exact overlap of the texts `left_text` and `right_text` of each row.

    Columns: the others that were given, `shared`, `left_shingles`, `right_shingles`, `jaccard` and `similar` (whether the
    threshold is reached). Pairs sorted by `left_text` cost less.
    """
    answer: Batch = _native.kernel_verify(pairs, _settings(policy))
    return answer


def components(pairs: Stream) -> Batch:
    """What pairs of ranks `left` and `right` connect: each `node` with its `component`, the best rank of it."""
    answer: Batch = _native.kernel_components(pairs)
    return answer


def decide(members: Stream, edges: Stream, policy: InitOptions | None = None) -> Batch:
    """What stays of documents whose similarities are known, one row a member and in their order.

    `members` are rows of `fingerprint` made with `order`, whole components of them. `edges` has `left`, `right`, `shared`,
    `left_shingles` and `right_shingles`: every pair that `verify` calls similar (others may be among them); in mode `lsh`
    every pair that shares a band, and the counts may be null. Members with a true `open` have better-ranked candidates
    that they were not compared with: what depends on them is left without a standing.

    Columns: `rank`, `standing`, `kind`, `witness` (a rank), `shared`, `removed_shingles`, `witness_shingles`, `jaccard`
    and `cluster` (the rank of its kept document). In the transitive modes a witness may be one that no edge leads to:
    then the counts and `jaccard` are null, and `verify` of the two texts tells them.
    """
    answer: Batch = _native.kernel_decide(members, edges, _settings(policy))
    return answer


def load_tokenizer(tokenizer: str | PathLike[str] | bytes) -> Tokenizer:
    """A tokenizer from the path or the bytes of a `tokenizer.json`, without a corpus."""
    file = tokenizer if isinstance(tokenizer, bytes) else Path(tokenizer).read_bytes()
    return Tokenizer(_native.load_encoder(file))


def encode(batches: Stream, tokenizer: Tokenizer, *, text: str = "text") -> Batch:
    """The token ids of the texts of a column, as lists of numbers in a column `ids` in its place.

    A text that the tokenizer refuses has no list.
    """
    answer: Batch = _native.kernel_encode(batches, tokenizer._encoder, text)
    return answer


def _settings(policy: InitOptions | None) -> str:
    return keyword_json(**(policy or {}))
