"""Reads a built epoch with other people's readers and checks what docs/reference/outputs.md says of it.

    python3 -m venv venv && venv/bin/pip install numpy pyarrow
    venv/bin/python benches/peers/read_back.py EPOCH_DIRECTORY...

Parquet is read with pyarrow, Megatron and raw shards with numpy by the byte table of the format. Prints
what was found; an assertion that fails ends it with exit code 1. Not part of `cargo test`.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = {
    "input_ids": pa.int32(),
    "labels": pa.int32(),
    "loss_mask": pa.int8(),
    "position_ids": pa.int32(),
    "seq_lengths": pa.int32(),
    "seq_start_id": pa.int32(),
    "source": pa.string(),
    "doc_ids": pa.int64(),
    "doc_offsets": pa.int64(),
}
SEGMENTS = ["row", "seq_lengths", "source", "doc_ids", "doc_offsets"]


def check_types(schema, names):
    assert schema.names == names, schema.names
    for field in schema:
        wanted = pa.uint64() if field.name == "row" else COLUMNS[field.name]
        if field.name in ("row", "source"):
            assert field.type == wanted, field
        else:
            assert pa.types.is_list(field.type) and field.type.value_type == wanted, field
            assert field.type.value_field.name == "element", field
            assert not field.type.value_field.nullable, field
        assert not field.nullable, field


def check_views(ids, row, pad):
    """Everything in a Parquet row follows from its ids and segment lengths."""
    lengths = np.asarray(row["seq_lengths"])
    assert (lengths > 0).all() and len(lengths) == len(row["doc_ids"]) == len(row["doc_offsets"])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    real = int(starts[-1])
    assert real <= len(ids) and (ids[real:] == pad).all()
    assert (np.asarray(row["seq_start_id"]) == starts[:-1]).all()
    segment = np.repeat(np.arange(len(lengths)), lengths)
    segment = np.concatenate([segment, np.full(len(ids) - real, -1)])
    positions = np.concatenate([np.arange(length) for length in [*lengths, len(ids) - real]])
    assert (np.asarray(row["position_ids"]) == positions).all()
    labels = np.where((positions == 0) | (segment < 0), -100, ids)
    assert (np.asarray(row["labels"]) == labels).all()
    following = np.append(segment[1:], -1)
    assert (np.asarray(row["loss_mask"]) == ((segment == following) & (segment >= 0))).all()


def read_parquet(directory, manifest):
    pad = manifest["tokenizer"]["specials"]["pad"]
    for path in sorted(directory.glob("shard-*.parquet")):
        file = pq.ParquetFile(path)
        check_types(file.schema_arrow, list(COLUMNS))
        for batch in file.iter_batches(512):
            for row in batch.to_pylist():
                ids = np.asarray(row["input_ids"])
                check_views(ids, row, pad)
                yield ids, row


def read_index(path):
    """The byte table: 0 magic, 9 version, 17 type, 18 sequences, 26 boundaries, 34 the three arrays."""
    data = path.read_bytes()
    assert data[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, boundaries = struct.unpack_from("<QBQQ", data, 9)
    assert version == 1 and len(data) == 34 + 12 * sequences + 8 * boundaries
    lengths = np.frombuffer(data, "<i4", sequences, 34)
    offsets = np.frombuffer(data, "<i8", sequences, 34 + 4 * sequences)
    documents = np.frombuffer(data, "<i8", boundaries, 34 + 12 * sequences)
    assert (documents == np.arange(sequences + 1)).all()
    return {8: np.dtype("<u2"), 4: np.dtype("<i4")}[code], lengths, offsets


def read_tokens(directory, manifest):
    megatron = manifest["format"] == "megatron"
    fixed = 'kind = "none"' not in manifest["recipe"]
    number = 0
    for path in sorted(directory.glob("shard-*.bin")):
        table = pq.read_table(path.with_suffix(".segments.parquet"))
        check_types(table.schema, SEGMENTS)
        rows = table.to_pylist()
        if megatron:
            dtype, lengths, offsets = read_index(path.with_suffix(".idx"))
        else:
            dtype = np.dtype({"u16": "<u2", "u32": "<u4"}[manifest["dtype"]])
            real = [sum(row["seq_lengths"]) for row in rows]
            lengths = [manifest["capacity"]] * len(rows) if fixed else real
            offsets = np.concatenate([[0], np.cumsum(lengths)])[:-1] * dtype.itemsize
        assert len(rows) == len(lengths)
        tokens = np.memmap(path, dtype, mode="r")
        assert len(tokens) == sum(lengths)
        for row, length, offset in zip(rows, lengths, offsets):
            assert row["row"] == number
            number += 1
            start = int(offset) // dtype.itemsize
            yield np.asarray(tokens[start : start + int(length)], np.int64), row


def read_back(directory):
    beside = directory.with_name(f".{directory.name}.manifest.json")
    manifest = json.loads((beside if beside.exists() else directory / "manifest.json").read_text())
    specials, capacity = manifest["tokenizer"]["specials"], manifest["capacity"]
    read = read_parquet if manifest["format"] == "parquet" else read_tokens
    rows = tokens = pads = segments = ended = 0
    sources, whole = {}, {}
    for ids, row in read(directory, manifest):
        real = sum(row["seq_lengths"])
        assert 0 < real <= capacity and len(ids) <= capacity
        assert ids.min() >= 0 and ids.max() < manifest["tokenizer"]["vocab_size"]
        assert (ids[real:] == specials["pad"]).all()
        ends = np.cumsum(row["seq_lengths"]) - 1
        ended += int((ids[ends] == specials["eos"]).sum()) if specials["eos"] is not None else 0
        rows, tokens, pads = rows + 1, tokens + real, pads + len(ids) - real
        segments += len(ends)
        sources[row["source"]] = sources.get(row["source"], 0) + real
        for document, offset, length in zip(row["doc_ids"], row["doc_offsets"], row["seq_lengths"]):
            whole.setdefault(document, []).append((offset, length))
    if manifest["epoch"] == 0 and not any(source["unused_tokens"] for source in manifest["sources"]):
        # One pass at least: the pieces of a document are end to end, from its beginning.
        for document, pieces in whole.items():
            end = 0
            for offset, length in sorted(pieces):
                assert offset <= end, f"document {document}: {sorted(pieces)}"
                end = max(end, offset + length)
    totals = manifest["totals"]
    assert (rows, tokens, pads) == (totals["rows"], totals["tokens"], totals["pad_tokens"])
    for source in manifest["sources"]:
        assert sources[source["name"]] == source["tokens"]
    print(
        f"{directory}: {manifest['format']} of {manifest['dtype']}, {rows:,} rows of {capacity:,}, "
        f"{tokens:,} tokens, {pads:,} pads, {segments:,} segments of {len(whole):,} documents, "
        f"{ended:,} of them end in EOS; " + ", ".join(f"{k} {v:,}" for k, v in sources.items())
    )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for argument in sys.argv[1:]:
        read_back(Path(argument))
