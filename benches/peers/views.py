"""Derived views against torch and transformers: tests/it/views.json, and the columns of a Parquet epoch.

    python3 -m venv venv && venv/bin/pip install numpy pyarrow torch transformers
    venv/bin/python benches/peers/views.py [--write] [--functions FILE.py] [--masked] [EPOCH_DIRECTORY...]

The vectors that the Rust tests of `corpusdb::views` read are made here, by torch functions that know
nothing of corpusdb: masks and positions from the index of EOS, `_unpad_input` and `_pad_input` (what
flash-attn's do) and `DataCollatorWithFlattening` of transformers. Without `--write` the file is compared
with what they give now. `--functions` names a Python file with functions under the names of an article
on packed sequences (see ARTICLE), which are held against the same vectors. Each EPOCH_DIRECTORY is a
built Parquet epoch: all its views are computed anew from `seq_lengths`; with `--masked` less than all of a
segment may be trained. A difference ends it with exit code 1.
"""

import argparse
import importlib.util
import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import torch
import torch.nn.functional as F
import transformers
from transformers import DataCollatorWithFlattening
from transformers.modeling_flash_attention_utils import (
    _pad_input,
    _unpad_input,
    prepare_fa_kwargs_from_position_ids,
)

VECTORS = Path(__file__).resolve().parents[2] / "tests/it/views.json"
EOS = 50256
# GPT-2 ids of five sentences, three in the first row and two in the second.
SENTENCES = [
    [
        [464, 3797, 3332, 319, 262, 2603],  # The cat sat on the mat
        [464, 3290, 15063, 616, 26131],  # The dog ate my homework
        [3666, 25949, 318, 257, 4701],  # My aunt is a teacher
    ],
    [
        [49, 462, 2492, 470, 3170, 287, 257, 1110],  # Rome wasn't built in a day
        [3666, 20599, 3323, 318, 1336, 286, 304, 1424],  # My hovercraft is full of eels
    ],
]
# Batches of sentence lengths, EOS included, padded with EOS to the longest row.
BATCHES = [[[7, 6, 6], [9, 9]], [[4, 1, 3], [2], [1, 1], [5, 2, 1]], [[1], [6]]]
MASKS = [
    ["1110", "1111"],
    ["0011", "0001", "1111"],
    ["10110", "00000", "01010", "11111"],
    ["0", "1"],
]
# Rows: width, spans (start, length), pads, trained spans (start, end, weight) or None.
ROWS = [
    (8, [(0, 3), (3, 1), (4, 2)], "suffix", None),
    (8, [(0, 3), (3, 1), (4, 2)], "each", None),
    (8, [(2, 3), (5, 3)], "suffix", [(3, 5, 1.0), (6, 7, 0.25)]),
    (12, [(0, 3), (4, 4), (8, 1)], "suffix", [(1, 9, 1.0)]),
    (12, [(0, 3), (4, 4), (8, 1)], "each", [(0, 2, 0.5), (5, 8, 2.0)]),
    (5, [(0, 5)], "suffix", []),
    (4, [], "suffix", None),
    (4, [], "each", None),
    (6, [(0, 1), (1, 1), (2, 4)], "suffix", [(0, 2, 1.0), (3, 4, 0.0), (4, 6, 1.5)]),
    (10, [(1, 7), (8, 1)], "suffix", [(2, 4, 1.0), (5, 9, 0.5)]),
]
ARTICLE = ["get_attention_mask_for_packed_sequence", "packed_position_ids", "get_batched_attention_mask",
           "batched_position_ids", "unpad_input"]  # fmt: skip


# ---- what torch says: from ids, by the index of EOS ----


def eos_segments(ids):
    """A segment ends with its EOS, a row with its last token; segments are numbered through the batch."""
    closes = ids == EOS
    closes[:, -1] = True
    flat = closes.flatten()
    return (flat.cumsum(0) - flat.long()).view(ids.shape)


def eos_mask(ids):
    segment = eos_segments(ids)
    return (segment[:, :, None] == segment[:, None, :]).tril()


def eos_positions(ids):
    flat = eos_segments(ids).flatten()
    first = torch.searchsorted(flat, flat)
    return (torch.arange(len(flat)) - first).view(ids.shape)


def packed_rows():
    rows = [[i for sentence in row for i in [*sentence, EOS]] for row in SENTENCES]
    batches = [rows]
    for lengths in BATCHES[1:]:
        batches.append([[i for n in row for i in [*range(100, 99 + n), EOS]] for row in lengths])
    return [
        torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in batch], True, EOS) for batch in batches
    ]


def bits(mask):
    return ["".join(str(int(bit)) for bit in row) for row in mask]


def packed_vectors():
    for ids, lengths in zip(packed_rows(), BATCHES):
        yield {
            "ids": ids.tolist(),
            "lengths": lengths,
            "mask": [bits(row) for row in eos_mask(ids)],
            "position_ids": eos_positions(ids).tolist(),
        }


def unpad_vectors():
    for rows in MASKS:
        mask = torch.tensor([[int(bit) for bit in row] for row in rows])
        values = torch.arange(mask.numel() * 2).view(*mask.shape, 2) + 10
        kept, indices, cu_seqlens, max_seqlen, used = _unpad_input(values, mask)
        yield {
            "mask": mask.tolist(),
            "indices": indices.tolist(),
            "cu_seqlens": cu_seqlens.tolist(),
            "max_seqlen": max_seqlen,
            "seqused": used.tolist(),
            "position_ids": (mask.cumsum(-1) - 1).clip(min=0).tolist(),
            "values": values.flatten().tolist(),
            "kept": kept.flatten().tolist(),
            "repadded": _pad_input(kept, indices, *mask.shape).flatten().tolist(),
        }


# ---- what torch says: from spans, by a segment number a token ----


def row_vector(width, spans, pads, trained):
    ids = torch.arange(width) + 10
    owner = torch.full((width,), -1)
    for number, (start, length) in enumerate(spans):
        owner[start : start + length] = number
    real = owner >= 0
    if pads == "each":
        owner[~real] = torch.arange(len(spans), len(spans) + int((~real).sum()))
    # Segments in order of the row; runs of pads that are none count positions all the same.
    changes = torch.ones(width, dtype=torch.bool)
    changes[1:] = owner[1:] != owner[:-1]
    starts = changes.nonzero().flatten()
    lengths = torch.diff(starts, append=torch.tensor([width]))
    positions = torch.arange(width) - torch.repeat_interleave(starts, lengths)
    segment = owner[starts] >= 0
    number = torch.where(segment, segment.cumsum(0) - 1, -1)
    number = torch.repeat_interleave(number, lengths)
    weight = torch.ones(width) if trained is None else torch.zeros(width)
    for start, end, value in trained or []:
        weight[start:end] = value
    weight[~real | (positions == 0)] = 0.0
    targets = weight > 0
    per_segment = weight.clone()
    for one in number.unique():
        at = (number == one) & targets
        per_segment[at] = (weight[at].double() / at.sum()).float()
    labels = torch.where(targets, ids, -100)
    seen = (number[:, None] == number[None, :]) & (number >= 0)[:, None]
    starts, lengths = starts[segment], lengths[segment]
    return {
        "width": width,
        "spans": [list(span) for span in spans],
        "pads": pads,
        "trained": None if trained is None else [list(span) for span in trained],
        "ids": ids.tolist(),
        "cu_seqlens": F.pad(lengths.cumsum(0), (1, 0)).tolist(),
        "cu_seqlens_padded": [*starts.tolist(), width],
        "max_seqlen": int(lengths.max()) if len(lengths) else 0,
        "doc_lens": lengths.tolist(),
        "seq_start_id": starts.tolist(),
        "position_ids": positions.tolist(),
        "segment_ids": (number + 1).tolist(),
        "seq_idx": number.tolist(),
        "mask": bits(seen.tril()),
        "labels": labels.tolist(),
        "shifted_labels": F.pad(labels, (0, 1), value=-100)[1:].tolist(),
        "loss_mask": F.pad(targets, (0, 1))[1:].int().tolist(),
        "loss_weights": weight.tolist(),
        "loss_weights_by_sequence": per_segment.tolist(),
    }


def flatten_vectors(rows):
    collate = DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True)
    for group in (rows[:1], rows[2:4], [rows[0], rows[3], rows[8]]):
        features = []
        for row in group:
            weight = [1.0] * row["width"] if row["trained"] is None else [0.0] * row["width"]
            for start, end, value in row["trained"] or []:
                weight[start:end] = [value] * (end - start)
            for start, length in row["spans"]:
                ids = row["ids"][start : start + length]
                kept = weight[start : start + length]
                labels = [i if value > 0 else -100 for i, value in zip(ids, kept)]
                features.append({"input_ids": ids, "labels": labels})
        batch = collate(features)
        yield {"rows": [rows.index(row) for row in group]} | {
            key: value if isinstance(value, int) else value.squeeze(0).tolist() for key, value in batch.items()
        }


def vectors():
    rows = [row_vector(*row) for row in ROWS]
    return {
        "packed": list(packed_vectors()),
        "unpad": list(unpad_vectors()),
        "rows": rows,
        "flattened": list(flatten_vectors(rows)),
    }


# ---- the article's functions, and an epoch ----


def check_functions(path, known):
    spec = importlib.util.spec_from_file_location("article", path)
    article = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(article)
    mask_one, positions_one, mask_batch, positions_batch, unpad = (getattr(article, name) for name in ARTICLE)
    for case in known["packed"]:
        ids = torch.tensor(case["ids"])
        assert [bits(mask) for mask in mask_batch(ids, EOS)] == case["mask"]
        assert positions_batch(ids, EOS).tolist() == case["position_ids"]
        for row, lengths, mask, positions in zip(ids, case["lengths"], case["mask"], case["position_ids"]):
            # One sequence: pads are cut off, since each of them is an EOS.
            real = sum(lengths)
            if len(lengths) > 1:
                found = bits(mask_one(row[:real], EOS))
                assert found == [line[:real] for line in mask[:real]]
                assert positions_one(row[:real], EOS).tolist() == positions[:real]
    for case in known["unpad"]:
        mask = torch.tensor(case["mask"])
        values = torch.tensor(case["values"]).view(*mask.shape, 2)
        kept, indices, cu_seqlens, max_seqlen = unpad(values, mask)
        assert kept.flatten().tolist() == case["kept"] and indices.tolist() == case["indices"]
        assert cu_seqlens.tolist() == case["cu_seqlens"] and max_seqlen == case["max_seqlen"]
    print(f"{path}: its functions agree with {len(known['packed'])} batches and {len(known['unpad'])} masks")


def check_epoch(directory, masked):
    """Columns against the same functions as the vectors, and against what transformers makes of them."""
    collate = DataCollatorWithFlattening(return_flash_attn_kwargs=True)
    rows = tokens = 0
    for path in sorted(directory.glob("shard-*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(256):
            for row in batch.to_pylist():
                ids, lengths, starts = row["input_ids"], row["seq_lengths"], row["seq_start_id"]
                width = len(ids)
                spans = list(zip(starts, lengths))
                assert all(a + n <= b for (a, n), b in zip(spans, [*starts[1:], width])), path
                check_row(row, ids, width, spans, collate, masked)
                rows, tokens = rows + 1, tokens + width
    assert rows, f"{directory}: no Parquet shards"
    print(f"{directory}: {rows:,} rows, {tokens:,} tokens; every view follows from the segment lengths")


def check_row(row, ids, width, spans, collate, masked):
    ids = torch.tensor(ids)
    trained = torch.zeros(width, dtype=torch.bool)
    features = []
    for start, length in spans:
        trained[start + 1 : start + length] = True
        part = slice(start, start + length)
        features.append({"input_ids": ids[part].tolist(), "labels": row["labels"][part]})
    given = torch.tensor(row["labels"])
    kept = given != -100
    assert torch.equal(given[kept], ids[kept]) and not kept[~trained].any()
    assert masked or torch.equal(kept, trained)
    mask = F.pad(kept, (0, 1))[1:].int()
    assert mask.tolist() == row["loss_mask"]
    covered, position = [], torch.zeros(width, dtype=torch.long)
    free = 0
    for start, length in [*spans, (width, 0)]:
        for begin, count in ((free, start - free), (start, length)):
            if count:
                position[begin : begin + count] = torch.arange(count)
                covered.append(begin)
        free = start + length
    given = torch.tensor(row["position_ids"])
    pads = torch.ones(width, dtype=torch.bool)
    for start, length in spans:
        pads[start : start + length] = False
    # Pads count on in their run, or are 0 if every pad is a segment.
    each = bool(pads.any()) and bool((given[pads] == 0).all())
    if each:
        position[pads] = 0
        covered = (position == 0).nonzero().flatten().tolist()
    assert torch.equal(given, position)
    (cu_seqlens, _), _ = prepare_fa_kwargs_from_position_ids(given[None])
    assert cu_seqlens.tolist() == [*covered, width]
    if features:
        batch = collate(features)
        assert batch["position_ids"].squeeze(0).tolist() == given[~pads].tolist()
        assert batch["labels"].squeeze(0).tolist() == torch.tensor(row["labels"])[~pads].tolist()
        ends = torch.tensor(row["seq_lengths"]).cumsum(0)
        assert batch["cu_seq_lens_q"].tolist() == [0, *ends.tolist()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--functions", type=Path)
    parser.add_argument("--masked", action="store_true")
    parser.add_argument("epochs", nargs="*", type=Path)
    options = parser.parse_args()
    made = vectors()
    if options.write:
        text = ",\n".join(
            f'"{name}": [\n' + ",\n".join("  " + json.dumps(case) for case in cases) + "\n]"
            for name, cases in made.items()
        )
        VECTORS.write_text("{\n" + text + "\n}\n")
    known = json.loads(VECTORS.read_text())
    wrong = [f"{name} {n}" for name in made for n, case in enumerate(made[name]) if known[name][n : n + 1] != [case]]
    print(
        f"torch {torch.__version__}, transformers {transformers.__version__}: "
        f"{sum(map(len, made.values()))} vectors, {len(wrong)} differ {wrong or ''}".rstrip()
    )
    if options.functions:
        check_functions(options.functions, known)
    for epoch in options.epochs:
        check_epoch(epoch, options.masked)
    sys.exit(bool(wrong) or any(len(known[name]) != len(made[name]) for name in made))


if __name__ == "__main__":
    main()
