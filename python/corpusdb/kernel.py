"""The decisions of a corpus as pure functions over Arrow, for engines that work on many machines.

Import it with `import corpusdb.kernel`. Each function takes an Arrow stream (a record batch or table of pyarrow, Polars
or DuckDB) and returns an Arrow record batch: `pyarrow.record_batch(answer)`. A call runs on one thread without the
interpreter's lock, and keeps no state. The decisions equal those of an ingest of the same documents.

    prints = kernel.fingerprint(batch, {"profile": "web"}, order="number")
    # shuffle: pair the documents that share a band, and add the two texts of each pair
    overlaps = kernel.verify(pairs, {"profile": "web"})
    outcomes = kernel.decide(prints, overlaps, {"profile": "web"})

Four functions need no Arrow. They take lists, arrays and tensors of your own, without a corpus: `length_grouped_indices`
orders documents by length as transformers does, `pack` makes rows of documents as a recipe does, `unpad` and `repad` take
the pads out of a batch and put them back. Tensors of torch come back as tensors on the same device.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from corpusdb import _native
from corpusdb._arrays import alike, array_of, gathered, is_tensor, scattered, whole_numbers
from corpusdb._call import keyword_json
from corpusdb._options import InitOptions
from corpusdb._recipe import recipe_text
from corpusdb._tokenizers import Tokenizer
from corpusdb.errors import BadInput

__all__ = [
    "SegmentArrays", "UnpadBatch", "close", "components", "decide", "encode", "fingerprint", "length_grouped_indices",
    "load_tokenizer", "near", "pack", "repad", "similar", "unpad", "verify",
]


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


def length_grouped_indices(
    lengths: Any, batch_size: int, mega_batch_mult: int | None = None, generator: Any = None
) -> list[int]:
    """The order of transformers' length-grouped sampler, index for index: `get_length_grouped_indices`.

    A random permutation is cut into mega-batches of `mega_batch_mult` batches, each sorted by length, longest first; then
    the longest document of all changes places with the first. `mega_batch_mult` is by default a quarter of the batches,
    at most 50 and at least 1. The answer is a list, so that it serves as the `sampler` of a `DataLoader`:

        class Grouped(Sampler):
            def __init__(self, lengths, batch_size, generator=None):
                self.arguments = np.asarray(lengths), batch_size, None, generator
            def __len__(self):
                return len(self.arguments[0])
            def __iter__(self):
                return iter(kernel.length_grouped_indices(*self.arguments))

    `lengths` is a list, an array or a tensor of whole numbers. `generator` is a `torch.Generator` of the CPU, whose state
    is read and moved as `torch.randperm` moves it, so that one that is held gives the next epoch at the next call; or a
    number, the seed of a new one. None is torch's default generator, as after `torch.manual_seed`, if torch is imported.

    Raises `corpusdb.BadInput` for a length below 0, a batch size or multiple below 1, and a generator that is missing.
    """
    numbers = whole_numbers(lengths, "lengths")
    multiple = None if mega_batch_mult is None else operator.index(mega_batch_mult)
    drawn = _generator(generator)
    if isinstance(drawn, int):
        return _native.kernel_length_grouped(numbers, operator.index(batch_size), multiple, drawn)[0]
    state = drawn.get_state().numpy()
    order, behind = _native.kernel_length_grouped(numbers, operator.index(batch_size), multiple, 0, state.tobytes())
    state[:] = np.frombuffer(behind or b"", np.uint8)
    drawn.set_state(sys.modules["torch"].from_numpy(state))
    return order


class SegmentArrays(NamedTuple):
    """Rows of a packing, as arrays of int64: row `r` has the segments from `row_offsets[r]` to before `row_offsets[r + 1]`.

    With PyArrow, `pa.LargeListArray.from_arrays(rows.row_offsets, rows.documents)` is a list a row, without a copy.

    * `row_offsets` (rows + 1): Where each row begins among the segments, leading 0, and their number.
    * `documents` (segments): The document of each segment, as its index in `lengths`.
    * `starts` (segments): The first token of each segment, within its document.
    * `stops` (segments): The token behind its last one.
    """

    row_offsets: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]


def pack(
    lengths: Any,
    length: int,
    kind: Literal["best-fit", "greedy", "concat", "none"] = "best-fit",
    *,
    long: Literal["split", "truncate", "drop"] = "split",
    most_segments: int | None = None,
) -> SegmentArrays:
    """Packs documents of these lengths into rows of at most `length` tokens, as `[pack]` of a recipe does.

    `lengths` is a list, an array or a tensor of whole numbers: the tokens of each document with BOS and EOS, if it has
    them. `kind` is `best-fit` (the fewest rows; a document is cut only if it is longer than a row), `greedy` (in order; a
    new row if the next document does not fit), `concat` (in order, end to end, cut into full rows) or `none` (a document
    a row). `long` is what happens to a document longer than a row, and `most_segments` how many segments a row may have, if
    that is limited. No token is lost, unless `long` is `truncate` or `drop`, and none is twice; a rest that is an EOS
    alone, which a recipe leaves out, is a token like any other here. Rows of `best-fit` come as they were filled: shuffle
    them.

    The answer has for each segment the document, and where in it the segment starts and stops:

        rows = kernel.pack([len(ids) for ids in texts], 2048)
        for first, last in zip(rows.row_offsets, rows.row_offsets[1:]):
            row = [texts[d][start:stop] for d, start, stop in zip(*(of[first:last] for of in rows[1:]))]

    Raises `corpusdb.BadInput` for a length below 0, `corpusdb.BadRecipe` for options that a recipe refuses.
    """
    options: dict[str, Any] = {"kind": kind, "length": operator.index(length), "options": {"long": long}}
    if most_segments is not None:
        options["most_segments"] = operator.index(most_segments)
    recipe = recipe_text({"version": 1, "pack": options})
    return SegmentArrays(*_native.kernel_pack(whole_numbers(lengths, "lengths"), recipe))


class UnpadBatch(NamedTuple):
    """The tokens of a batch that a mask keeps, row after row, under the names of flash-attn and transformers.

    All but `max_seqlen` are arrays, or tensors on the device of the mask if that is a tensor.

    * `aligned`: Each aligned array or tensor without its pads: tokens x the rest of its shape.
    * `indices` (int64, tokens): Places of the tokens in the batch seen as one row.
    * `cu_seqlens` (int32, rows + 1): Where the rows end among the tokens, leading 0. A row of pads is empty.
    * `max_seqlen`: Tokens of the fullest row, a number.
    * `position_ids` (int64, tokens): The position of each token in its row, from 0, pads not counted.
    * `padded_position_ids` (int64, rows x width): The same for the batch with its pads, as verl's
      `compute_position_id_with_mask`.
    """

    aligned: tuple[Any, ...]
    indices: Any
    cu_seqlens: Any
    max_seqlen: int
    position_ids: Any
    padded_position_ids: Any


def unpad(mask: Any, *aligned: Any) -> UnpadBatch:
    """Takes the pads out of a batch, as flash-attn's `unpad_input`, and out of all that is aligned with it.

    `mask` is rows x width of 0 and 1 (False and True; of any type): pads may be left, right or anywhere. Each `aligned` is
    an array or a tensor of rows x width x anything, such as ids, labels and logits. Tensors are gathered by torch, so
    gradients flow through them.

        (ids, labels), indices, cu_seqlens, max_seqlen, position_ids, _ = kernel.unpad(mask, input_ids, labels)
        logits = model(ids[None], position_ids=position_ids[None]).logits[0]
        padded = kernel.repad(logits, indices, mask.shape)

    Raises `corpusdb.BadInput` for a mask with another value, with its row and column, and for a shape that does not fit.
    """
    values = array_of(mask)
    if values.ndim != 2:
        raise BadInput(f"the mask has {values.ndim} dimensions; expected rows x width")
    kinds = {"b": np.uint8, "i": np.int64, "u": np.int64, "f": np.float64}
    if values.dtype.kind not in kinds:
        raise BadInput(f"the mask has values of type {values.dtype}; expected 0 and 1")
    values = np.ascontiguousarray(values, kinds[values.dtype.kind])
    tensors = [one if is_tensor(one) else np.asarray(one) for one in aligned]
    for number, one in enumerate(tensors):
        if tuple(one.shape[:2]) != values.shape:
            shapes = f"{tuple(one.shape)}, and the mask {values.shape}"
            raise BadInput(f"aligned tensor {number} has the shape {shapes}: its first two dimensions must be those")
    indices, cu_seqlens, longest, positions, padded = _native.kernel_unpad(values)
    kept = tuple(gathered(one.reshape(values.size, *one.shape[2:]), indices) for one in tensors)
    places, ends = alike(indices, mask), alike(cu_seqlens, mask)
    return UnpadBatch(kept, places, ends, longest, alike(positions, mask), alike(padded, mask))


def repad(values: Any, indices: Any, shape: Sequence[int], fill: Any = 0) -> Any:
    """Puts what `unpad` kept back into a batch of `shape` (rows, width), as flash-attn's `pad_input`; pads are `fill`.

    `values` is an array or a tensor of tokens x anything, and `indices` those of `unpad`. Gradients flow through a tensor.
    """
    values = values if is_tensor(values) else np.asarray(values)
    rows, width = (operator.index(of) for of in shape)
    places = array_of(indices)
    if values.ndim == 0 or len(values) != len(places):
        raise BadInput(f"values of the shape {tuple(values.shape)} are not one for each of the {len(places)} indices")
    return scattered(values, places, rows * width, fill).reshape(rows, width, *values.shape[1:])


def _generator(given: Any) -> Any:
    """The generator of torch to draw from, or the seed of a new one."""
    torch = sys.modules.get("torch")
    if given is None:
        if torch is None:
            raise BadInput(
                "torch is not imported, so there is no default generator: give `generator=`, a seed (a whole number) or a "
                "torch.Generator"
            )
        return torch.default_generator
    if torch is not None and isinstance(given, torch.Generator):
        if given.device.type != "cpu":
            raise BadInput(f"the generator is one of {given.device}, and permutations are drawn on the CPU: give one of it")
        return given
    seed = operator.index(given)
    if not -(1 << 63) <= seed < 1 << 64:
        raise BadInput(f"the seed {seed} has more than 64 bits, which torch refuses too")
    return seed % (1 << 64)


def _settings(policy: InitOptions | None) -> str:
    return keyword_json(**(policy or {}))
