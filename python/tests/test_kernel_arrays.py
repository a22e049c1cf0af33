"""Orders by length, packing and masks over arrays of a user's own, without a corpus and without torch."""

from __future__ import annotations

import hashlib
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import corpora
import numpy as np
import pyarrow as pa
import pytest

import corpusdb
from corpusdb import kernel

#: Twelve samples of a published walk through the sampler.
SAMPLES = [3, 2, 5, 1, 4, 6, 7, 8, 3, 4, 1, 5]

#: (documents, batch size, multiple, seed): the first of the order, and a digest of it, as the function of transformers
#: gives them with torch 2.15.
ORDERS: dict[tuple[int, int, int | None, int], tuple[list[int], str]] = {
    (1, 1, None, 0): ([0], "af5570f5a1810b7a"),
    (2, 3, None, 1): ([1, 0], "4cbbd8ca5215b8d1"),
    (50, 4, None, 7): ([25, 17, 42, 48, 15], "34ed92221c225f9d"),
    (1000, 8, None, 0): ([158, 61, 934, 837, 449], "b5140cc1414dbfa8"),
    (1000, 8, 3, 2**40 + 7): ([934, 998, 610, 599, 987], "6cd6e1bce462c09e"),
    (5000, 16, None, -1): ([2292, 158, 740, 837, 61], "a38fbbf06b5b43ec"),
    (20000, 4, None, 2**64 - 1): ([2874, 352, 3323, 4099, 15897], "247cab5eb0ed06f5"),
    (777, 1, 1, 5): ([158, 207, 394, 420, 443], "fd66ff0885d93fdc"),
}


@pytest.mark.parametrize(("asked", "wanted"), ORDERS.items())
def test_orders_are_those_of_transformers(asked: tuple[int, int, int | None, int], wanted: tuple[list[int], str]) -> None:
    documents, batch_size, multiple, seed = asked
    lengths = [at * 7919 % 97 + 1 for at in range(documents)]
    order = kernel.length_grouped_indices(lengths, batch_size, multiple, generator=seed)
    assert order[:5] == wanted[0]
    assert hashlib.sha256(np.array(order, "<i8").tobytes()).hexdigest()[:16] == wanted[1]


def test_twelve_samples_in_threes() -> None:
    order = kernel.length_grouped_indices(SAMPLES, 3, 2, generator=42)
    assert order == [7, 6, 2, 8, 0, 1, 5, 11, 4, 9, 10, 3]
    assert isinstance(order, list) and all(type(one) is int for one in order)
    assert kernel.length_grouped_indices(SAMPLES, 3, generator=42) == [7, 8, 1, 6, 2, 0, 11, 4, 10, 5, 9, 3]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4"])
def test_lengths_of_every_type(kind: str) -> None:
    wanted = kernel.length_grouped_indices(SAMPLES, 3, 2, generator=42)
    strided = np.repeat(np.array(SAMPLES, kind), 2)[::2]
    for lengths in (np.array(SAMPLES, kind), strided, tuple(SAMPLES), pa.array(SAMPLES), memoryview(np.array(SAMPLES))):
        assert kernel.length_grouped_indices(lengths, np.int64(3), np.int8(2), np.int32(42)) == wanted
        assert all(map(np.array_equal, kernel.pack(lengths, np.int16(8)), kernel.pack(SAMPLES, 8)))
    assert kernel.length_grouped_indices([], 3, generator=1) == []


def test_lengths_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(match: str, *arguments: Any, generator: Any = 0) -> None:
        with pytest.raises(corpusdb.BadInput, match=match):
            kernel.length_grouped_indices(*arguments, generator=generator)

    refused("`lengths` has -2 at 1; a length is a whole number from 0 to", [1, -2, -3], 1)
    refused("`lengths` has values of type float64; expected whole numbers", [1.0, 2.5], 1)
    refused("`lengths` has values of type bool", [True], 1)
    refused("`lengths` has values of type uint64; expected whole numbers below", np.array([2**63], np.uint64), 1)
    refused("`lengths` has 2 dimensions", [[1]], 1)
    refused("a batch of 0 rows groups nothing; give a batch size of at least 1", [1], 0)
    refused("`batch_size` is -4; give a whole number", [1], -4)
    refused("a mega-batch of 0 batches groups nothing", [1], 1, 0)
    refused("the seed 18446744073709551616 has more than 64 bits", [1], 1, generator=2**64)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    refused("torch is not imported, .* give `generator=`, a seed", [1], 1, generator=None)
    with pytest.raises(TypeError, match="integer"):
        kernel.length_grouped_indices([1], 1, generator="seven")
    with pytest.raises(corpusdb.BadInput, match=r"`lengths` has 4294967296 at 0; a length is .* to 4294967295"):
        kernel.pack([2**32], 8)


def test_an_order_of_many_ends_at_a_signal() -> None:
    lengths = np.arange(8_000_000) % 4096
    begun = time.perf_counter()
    kernel.length_grouped_indices(lengths, 32, generator=1)
    whole = time.perf_counter() - begun
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        begun = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, whole / 10)
        with pytest.raises(KeyboardInterrupt):
            kernel.length_grouped_indices(lengths, 32, generator=1)
        assert time.perf_counter() - begun < whole * 0.7
    finally:
        signal.signal(signal.SIGALRM, before)


# ---- packing


def rows_of(packed: kernel.SegmentArrays) -> list[list[tuple[int, int, int]]]:
    """(document, start, stop) of the segments of each row."""
    segments = list(zip(*(of.tolist() for of in packed[1:]), strict=True))
    return [segments[a:b] for a, b in zip(packed.row_offsets, packed.row_offsets[1:], strict=False)]


def concatenated(lengths: Sequence[int], length: int) -> list[list[tuple[int, int, int]]]:
    """Rows cut from all tokens end to end, token by token."""
    tokens = [(document, at) for document, tokens in enumerate(lengths) for at in range(tokens)]
    rows = []
    for begin in range(0, len(tokens), length):
        row: list[tuple[int, int, int]] = []
        for document, at in tokens[begin:begin + length]:
            if row and row[-1][0] == document:
                row[-1] = (document, row[-1][1], at + 1)
            else:
                row.append((document, at, at + 1))
        rows.append(row)
    return rows


def best_fit(lengths: Sequence[int], length: int) -> list[int]:
    """Places left in the rows of best-fit-decreasing over whole rows and rests, item by item; ascending."""
    items = [length] * sum(tokens // length for tokens in lengths) + [tokens % length for tokens in lengths]
    free: list[int] = []
    for item in sorted((item for item in items if item), reverse=True):
        fits = [at for at, left in enumerate(free) if left >= item]
        if fits:
            free[min(fits, key=free.__getitem__)] -= item
        else:
            free.append(length - item)
    return sorted(free)


@pytest.mark.parametrize("seed", range(40))
def test_no_token_is_lost_or_twice(seed: int) -> None:
    draw = random.Random(seed)
    lengths = [draw.choice((0, draw.randrange(1, 9), draw.randrange(1, 70))) for _ in range(draw.randrange(60))]
    length = draw.randrange(2, 40)
    for kind in ("best-fit", "greedy", "concat", "none"):
        for long in ("split", "truncate", "drop"):
            packed = kernel.pack(lengths, length, kind, long=long)  # type: ignore[arg-type]
            assert [of.dtype for of in packed] == [np.int64] * 4 and packed.row_offsets[0] == 0
            rows = rows_of(packed)
            assert all(0 < sum(stop - start for _, start, stop in row) <= length for row in rows)
            kept = [n if n <= length or long == "split" else length if long == "truncate" else 0 for n in lengths]
            found = sorted((d, at) for row in rows for d, start, stop in row for at in range(start, stop))
            assert found == [(d, at) for d, n in enumerate(kept) for at in range(n)]
            if kind == "concat":
                assert rows == concatenated(kept, length)
            elif kind == "none":
                assert all(len(row) == 1 for row in rows) and len(rows) == sum(-(-n // length) for n in kept)
            elif kind == "greedy":
                ends = [sum(stop - start for _, start, stop in row) for row in rows]
                firsts = [row[0][2] - row[0][1] for row in rows]
                assert all(end + first > length for end, first in zip(ends, firsts[1:], strict=False))
            else:
                assert sorted(length - sum(stop - start for _, start, stop in row) for row in rows) == best_fit(kept, length)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pack") / "corpus"
    corpusdb.create(path, mode="exact").close()
    with corpusdb.open(path, mode="w", memory="128MiB") as w:
        w.ingest(({"text": corpora.prose(n, 3 + n * 37 % 90)} for n in range(150)), source="web")
        w.tokenizers.train("own", vocab_size=300)
    return path


@pytest.mark.parametrize("long", ["split", "truncate", "drop"])
@pytest.mark.parametrize("kind", ["best-fit", "greedy", "concat", "none"])
def test_rows_are_those_of_a_recipe(corpus: Path, kind: Any, long: Any) -> None:
    order = "shuffle" if kind == "best-fit" else "sequential"
    recipe = {
        "version": 1, "order": {"kind": order}, "pack": {"kind": kind, "length": 64, "options": {"long": long}},
        "batch": {"rows": 1}, "tokenizer": {"name": "own"},
    }
    with corpusdb.open(corpus, mode="w", memory="128MiB") as w:
        lengths = [len(w.tokens(document)) for document in range(150)]
        wanted = []
        for batch in w.plan(recipe).loader(rank=0, world=1, as_="numpy", layout="rows", views=["doc_lens"]):
            starts, tokens = batch.offsets[0].tolist(), batch["doc_lens"][0].tolist()
            wanted.append([(d, a, a + n) for d, a, n in zip(batch.documents[0].tolist(), starts, tokens, strict=True)])
    assert max(lengths) > 200 and min(lengths) < 20
    rows = rows_of(kernel.pack(lengths, 64, kind, long=long))
    if kind != "best-fit":
        assert rows == wanted
        return
    # Epochs put rows, and documents of one length, into an order of their own.
    def sizes(rows: list[list[tuple[int, int, int]]]) -> list[list[int]]:
        return sorted([stop - start for _, start, stop in row] for row in rows)

    assert sizes(rows) == sizes(wanted)
    assert sorted(sum(rows, [])) == sorted(sum(wanted, []))


def test_segments_become_arrow_lists() -> None:
    rows = kernel.pack([4, 5, 3, 11], 10, "concat")
    segments = pa.StructArray.from_arrays([pa.array(of) for of in rows[1:]], ["document", "start", "stop"])
    lists = pa.LargeListArray.from_arrays(rows.row_offsets, segments)
    assert [len(row) for row in lists.to_pylist()] == [3, 2, 1]
    assert lists.to_pylist()[1] == [{"document": 2, "start": 1, "stop": 3}, {"document": 3, "start": 0, "stop": 8}]


def test_options_that_recipes_refuse() -> None:
    for arguments, message in {
        (1, "best-fit", "split"): "pack.length is 1, not in 2 to 16777216",
        (8, "bestfit", "split"): "unknown variant `bestfit`.* `best-fit`",
        (8, "greedy", "cut"): "unknown variant `cut`",
        (8, "greedy", "paragraph"): "there are no texts beside the lengths; use \"split\"",
    }.items():
        length, kind, long = arguments
        with pytest.raises(corpusdb.errors.BadRecipe, match=message):
            kernel.pack([1, 2], length, kind, long=long)  # type: ignore[arg-type]


# ---- masks


def masks(count: int) -> list[Any]:
    """Masks with pads left, right, anywhere, in some rows only, and everywhere."""
    draw = np.random.default_rng(5)
    made = []
    for number in range(count):
        rows, width = draw.integers(0, 7), draw.integers(0, 12)
        ends = draw.integers(0, width + 1, (rows, 1))
        left, right = np.arange(width) >= ends, np.arange(width) < ends
        made.append((left, right, draw.random((rows, width)) < 0.5, np.zeros((rows, width), bool))[number % 4])
    return made


@pytest.mark.parametrize("kind", ["bool", "uint8", "int8", "int32", "int64", "uint64", "float16", "float32", "float64"])
def test_masks_take_the_pads_out_and_put_them_back(kind: str) -> None:
    for mask in masks(120):
        rows, width = mask.shape
        ids = np.arange(rows * width).reshape(rows, width)
        logits = np.arange(rows * width * 3, dtype=np.float32).reshape(rows, width, 3)
        found = kernel.unpad(mask.astype(kind), ids, logits, logits[..., None])
        assert found.indices.dtype == np.int64 and np.array_equal(found.indices, np.flatnonzero(mask))
        lengths = mask.sum(1)
        assert found.cu_seqlens.dtype == np.int32 and found.cu_seqlens.tolist() == [0, *lengths.cumsum().tolist()]
        assert type(found.max_seqlen) is int and found.max_seqlen == max(lengths.tolist(), default=0)
        positions = np.maximum(mask.cumsum(1) - 1, 0)
        assert found.padded_position_ids.dtype == found.position_ids.dtype == np.int64
        assert np.array_equal(found.padded_position_ids, positions)
        assert np.array_equal(found.position_ids, positions[mask])
        assert all(map(np.array_equal, found.aligned, (ids[mask], logits[mask], logits[..., None][mask])))
        padded = kernel.repad(found.aligned[1], found.indices, mask.shape)
        assert padded.dtype == np.float32 and np.array_equal(padded, logits * mask[..., None])
        assert np.array_equal(kernel.repad(found.aligned[0], found.indices, mask.shape, -1), np.where(mask, ids, -1))


def test_masks_as_lists_and_slices() -> None:
    mask = [[0, 1, 1], [1, 0, 0]]
    (ids,), indices, *rest = kernel.unpad(mask, [[7, 8, 9], [4, 5, 6]])
    assert (ids.tolist(), indices.tolist()) == ([8, 9, 4], [1, 2, 3])
    assert kernel.repad([8, 9, 4], [1, 2, 3], (2, 3)).tolist() == [[0, 8, 9], [4, 0, 0]]
    wide = np.array([[0, 5, 1, 5, 1], [1, 5, 0, 5, 0]])[:, ::2]
    assert kernel.unpad(wide).indices.tolist() == [1, 2, 3] and len(rest) == 4


def test_masks_that_are_none_are_refused() -> None:
    for mask, message in [
        (np.array([[1, 1], [1, 257]]), "has 257 at row 1, column 1; only 0 and 1"),
        (np.array([[1, 1], [-1, 2]], np.int8), "has -1 at row 1, column 0"),
        (np.array([[1, 0.5]]), "has 0.5 at row 0, column 1"),
        (np.array([[np.nan, 0.5]], np.float32), "has NaN at row 0, column 0"),
        (np.ones(3), "the mask has 1 dimensions; expected rows x width"),
        (np.array([["1"]]), "the mask has values of type <U1"),
    ]:
        with pytest.raises(corpusdb.BadInput, match=message):
            kernel.unpad(mask)
    ones = np.ones((2, 3), np.int64)
    with pytest.raises(corpusdb.BadInput, match=r"aligned tensor 1 has the shape \(3, 2\), and the mask \(2, 3\)"):
        kernel.unpad(ones, ones, ones.T)
    with pytest.raises(corpusdb.BadInput, match=r"the shape \(5,\) are not one for each of the 6 indices"):
        kernel.repad(np.zeros(5), np.arange(6), (2, 3))


def test_rows_have_at_most_as_many_segments_as_asked() -> None:
    lengths = [1, 2, 3, 4, 5, 6, 20]
    kinds: tuple[Literal["best-fit", "greedy", "concat"], ...] = ("best-fit", "greedy", "concat")
    for kind in kinds:
        rows = kernel.pack(lengths, 16, kind, most_segments=2)
        assert np.diff(rows.row_offsets).max() == 2
        assert (rows.stops - rows.starts).sum() == sum(lengths)
    with pytest.raises(corpusdb.BadRecipe, match="most_segments"):
        kernel.pack(lengths, 16, most_segments=0)
