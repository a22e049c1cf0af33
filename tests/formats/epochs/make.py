"""Makes the golden shards beside it with the reference writers: python make.py (the environment of
benches/peers/formats). Three rows of 8 tokens, the same as in src/epoch/write/format_tests.rs."""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np

here = Path(__file__).resolve().parent
os.environ.setdefault("HF_HOME", "/tmp/hf")

# ids, pads included; segments as (document, offset, length); source
ROWS = [
    ([11, 12, 13, 14, 50256, 21, 22, 50256], [(7, 0, 5), (300, 0, 3)], "a"),
    ([31, 32, 33, 34, 35, 36, 37, 38], [(2, 0, 8)], "b"),
    ([39, 40, 50256, 0, 0, 0, 0, 0], [(2, 8, 3)], "b"),
]


def views(ids, segments):
    labels, mask, positions, lengths, starts = [], [], [], [], []
    at = 0
    for _, _, length in segments:
        starts.append(at)
        lengths.append(length)
        labels += [-100] + ids[at + 1 : at + length]
        mask += [1] * (length - 1) + [0]
        positions += range(length)
        at += length
    pads = len(ids) - at
    return labels + [-100] * pads, mask + [0] * pads, positions + list(range(pads)), lengths, starts


def fresh(name):
    shutil.rmtree(here / name, ignore_errors=True)
    (here / name).mkdir()
    return here / name


def real(row):
    return row[0][: sum(length for _, _, length in row[1])]


def megatron():
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

    out = fresh("megatron")
    for name, dtype in [("u16", np.uint16), ("i32", np.int32)]:
        builder = IndexedDatasetBuilder(str(out / f"{name}.bin"), dtype=dtype)
        for ids, _, _ in ROWS:
            builder.add_item(torch.tensor(ids))
            builder.end_document()
        builder.finalize(str(out / f"{name}.idx"))
    builder = IndexedDatasetBuilder(str(out / "unpacked.bin"), dtype=np.uint16)
    # Two documents of their own, then two fragments of one.
    builder.add_item(torch.tensor(ROWS[0][0][:5]))
    builder.end_document()
    builder.add_item(torch.tensor(ROWS[0][0][5:]))
    builder.end_document()
    builder.add_item(torch.tensor(real(ROWS[1])))
    builder.add_item(torch.tensor(real(ROWS[2])))
    builder.end_document()
    builder.finalize(str(out / "unpacked.idx"))


def mds():
    from streaming import MDSWriter

    columns = {
        "tokens": "ndarray:int32",
        "seq_lengths": "ndarray:int32",
        "source": "str",
        "doc_ids": "ndarray:int64",
        "doc_offsets": "ndarray:int64",
    }
    for name, limit in [("mds", 4096), ("mds-split", 500)]:
        shutil.rmtree(here / name, ignore_errors=True)
        with MDSWriter(out=str(here / name), columns=columns, size_limit=limit) as writer:
            for ids, segments, source in ROWS:
                writer.write(
                    {
                        "tokens": np.array(ids, np.int32),
                        "seq_lengths": np.array([s[2] for s in segments], np.int32),
                        "source": source,
                        "doc_ids": np.array([s[0] for s in segments], np.int64),
                        "doc_offsets": np.array([s[1] for s in segments], np.int64),
                    }
                )


def mds_narrow():
    """Ids of two bytes, shards compressed, more columns."""
    from streaming import MDSWriter

    columns = {
        "tokens": "ndarray:uint16",
        "labels": "ndarray:int32",
        "position_ids": "ndarray:int32",
        "seq_lengths": "ndarray:int32",
        "source": "str",
        "doc_ids": "ndarray:int64",
        "doc_offsets": "ndarray:int64",
    }
    shutil.rmtree(here / "mds-narrow", ignore_errors=True)
    with MDSWriter(out=str(here / "mds-narrow"), columns=columns, size_limit=4096, compression="zstd") as writer:
        for ids, segments, source in ROWS:
            labels, _, positions, lengths, _ = views(ids, segments)
            writer.write(
                {
                    "tokens": np.array(ids, np.uint16),
                    "labels": np.array(labels, np.int32),
                    "position_ids": np.array(positions, np.int32),
                    "seq_lengths": np.array(lengths, np.int32),
                    "source": source,
                    "doc_ids": np.array([s[0] for s in segments], np.int64),
                    "doc_offsets": np.array([s[1] for s in segments], np.int64),
                }
            )


def litdata():
    from litdata.streaming.item_loader import TokensLoader
    from litdata.streaming.writer import BinaryWriter

    for name, dtype in [("litdata-u16", np.uint16), ("litdata-i32", np.int32)]:
        out = fresh(name)
        writer = BinaryWriter(str(out), chunk_bytes=4096, item_loader=TokensLoader(8))
        for at, (ids, _, _) in enumerate(ROWS):
            writer[at] = np.array(ids, dtype)
        writer.done()
        writer.merge()


def datatrove():
    from datatrove.io import DataFolder
    from datatrove.pipeline.tokens.tokenizer import TokenizedFile

    for name, size in [("datatrove-u16", 2), ("datatrove-u32", 4)]:
        out = fresh(name)
        file = TokenizedFile(
            DataFolder(str(out)), "00000_unshuffled.ds", save_index=True, save_final_metadata=True,
            tokenizer_name_or_path="gpt2", token_size=size,
        )
        for ids, segments, _ in ROWS:
            at = 0
            for _, _, length in segments:
                file.write(ids[at : at + length], None)
                at += length
            if at < len(ids):
                file.write(ids[at:], None)
        file.close()


def flat():
    out = fresh("flat")
    ids = np.array([id for row in ROWS for id in row[0]])
    ids.astype(np.uint16).tofile(out / "u16.bin")
    ids.astype(np.uint32).tofile(out / "u32.bin")
    header = np.zeros(256, dtype=np.int32)
    header[:3] = 20240520, 1, len(ids)
    (out / "llmc.bin").write_bytes(header.tobytes() + ids.astype(np.uint16).tobytes())


def arrow():
    from datasets import Dataset, Features, List, Value

    columns = {name: [] for name in COLUMNS}
    for ids, segments, source in ROWS:
        labels, mask, positions, lengths, starts = views(ids, segments)
        row = [ids, labels, mask, positions, lengths, starts, source, [s[0] for s in segments], [s[1] for s in segments]]
        for name, value in zip(COLUMNS, row):
            columns[name].append(value)
    features = Features({n: Value("string") if t == "string" else List(Value(t)) for n, t in COLUMNS.items()})
    shutil.rmtree(here / "arrow", ignore_errors=True)
    dataset = Dataset.from_dict(columns, features=features)
    dataset._fingerprint = "0123456789abcdef"
    dataset.save_to_disk(str(here / "arrow"))


COLUMNS = {
    "input_ids": "int32",
    "labels": "int32",
    "loss_mask": "int8",
    "position_ids": "int32",
    "seq_lengths": "int32",
    "seq_start_id": "int32",
    "source": "string",
    "doc_ids": "int64",
    "doc_offsets": "int64",
}

if __name__ == "__main__":
    for make in [megatron, mds, mds_narrow, litdata, datatrove, flat, arrow]:
        if len(sys.argv) == 1 or make.__name__ in sys.argv[1:]:
            make()
