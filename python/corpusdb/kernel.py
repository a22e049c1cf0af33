"""The decisions of a corpus as pure functions over Arrow, for engines that work on many machines.

Import it with `import corpusdb.kernel`. Each function takes an Arrow stream (a record batch or table of pyarrow, Polars
or DuckDB) and returns an Arrow record batch: `pyarrow.record_batch(answer)`. A call runs on one thread without the
interpreter's lock, and keeps no state. The decisions equal those of an ingest of the same documents.

    prints = kernel.fingerprint(batch, {"profile": "web"}, order="number")
    # shuffle: pair the documents that share a band, and add the two texts of each pair
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
    """Any Arrow stream."""

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
    """Computes the fingerprint of each text, one row a text.

    `policy` has the options of `corpusdb.create`. `key` and `source` name columns that are copied. `order` names a
    column of whole numbers from 0 on: the document with the smaller number came first. With `order` the answer has the
    column `rank`. `number` names the column with the values for a keep order `field:NAME`.

    Columns: `key`, `source`, `order` and `rank` as requested; `raw_hash` and `text_hash` (16 bytes; texts with an equal
    `text_hash` count as one text, within the scope of the policy), `tokens`, `shingles`, `chars`, `sketch` (null for a
    text shorter than a shingle) and `bands` (5 bytes each, in order; documents that share a band are candidates).
    """
    settings = _settings(policy)
    answer: Batch = _native.kernel_fingerprint(batches, settings, text=text, key=key, source=source, order=order, number=number)
    return answer


def close(pairs: Stream, policy: InitOptions | None = None) -> Batch:
    """Selects the rows whose `left_sketch` and `right_sketch` are close enough to compare the texts.

    The answer has the other columns, without the sketches.
    """
    answer: Batch = _native.kernel_close(pairs, _settings(policy))
    return answer


def near(members: Stream, policy: InitOptions | None = None, *, most: int) -> Batch:
    """Finds the close pairs of crowded buckets without listing all pairs.

    Columns of `members`: `bucket`, `rank`, `sketch`, and, if known, `live` (whether the document may be kept), `bound`
    (a rank: only documents with a better rank matter to this one) and `cluster` (links within a cluster are not
    needed).

    In each bucket, the first `most` live members are paired with the members behind them: rows `left` and `right`, the
    better-ranked first. Members to which a further live member matters are open: they are rows without `right`, until
    `most` is large enough.
    """
    answer: Batch = _native.kernel_near(members, _settings(policy), most)
    return answer


def similar(members: Stream, policy: InitOptions | None = None, *, most: int) -> Batch:
    """Finds the similar pairs of crowded buckets by their texts.

    Use it if `near` finds very many pairs, and few of them are similar. Columns of `members`: those of `near`, and
    `text`. The rows are those of `near` whose texts reach the threshold, with `shared`, `left_shingles`,
    `right_shingles` and `jaccard` as in `verify`, and the rows without `right`. In the transitive modes, pairs that
    other pairs connect already are left out.
    """
    answer: Batch = _native.kernel_similar(members, _settings(policy), most)
    return answer


def verify(pairs: Stream, policy: InitOptions | None = None) -> Batch:
    """Computes the exact overlap of the texts `left_text` and `right_text` of each row.

    Columns: the other columns of the input, `shared`, `left_shingles`, `right_shingles`, `jaccard` and `similar`
    (whether the pair reaches the threshold). Pairs sorted by `left_text` are faster.
    """
    answer: Batch = _native.kernel_verify(pairs, _settings(policy))
    return answer


def components(pairs: Stream) -> Batch:
    """The connected components of pairs `left`, `right`: each `node` with its `component`, the best rank in it."""
    answer: Batch = _native.kernel_components(pairs)
    return answer


def decide(members: Stream, edges: Stream, policy: InitOptions | None = None) -> Batch:
    """Decides which documents are kept, given their similar pairs. The answer has one row a member, in their order.

    `members` are rows of `fingerprint` made with `order`; they must be complete components. `edges` has `left`,
    `right`, `shared`, `left_shingles` and `right_shingles`: every pair that `verify` calls similar (further pairs do no
    harm); in mode `lsh` every pair that shares a band, where the counts may be null. A member with a true `open` was
    not compared with all better-ranked candidates: members that depend on it get no standing.

    Columns: `rank`, `standing`, `kind`, `witness` (a rank), `shared`, `removed_shingles`, `witness_shingles`, `jaccard`
    and `cluster` (the rank of its kept document). In the transitive modes a document may have no edge to its witness:
    then the counts and `jaccard` are null; call `verify` on the two texts for them.
    """
    answer: Batch = _native.kernel_decide(members, edges, _settings(policy))
    return answer


def load_tokenizer(tokenizer: str | PathLike[str] | bytes) -> Tokenizer:
    """Loads a tokenizer from the path or the bytes of a `tokenizer.json` or a SentencePiece `.model`, without a corpus."""
    file = tokenizer if isinstance(tokenizer, bytes) else Path(tokenizer).read_bytes()
    return Tokenizer(_native.load_encoder(file))


def encode(batches: Stream, tokenizer: Tokenizer, *, text: str = "text") -> Batch:
    """Replaces a column of texts by the column `ids`: lists of their token ids.

    The list is null for a text that the tokenizer cannot encode.
    """
    answer: Batch = _native.kernel_encode(batches, tokenizer._encoder, text)
    return answer


def _settings(policy: InitOptions | None) -> str:
    return keyword_json(**(policy or {}))
