"""Every output format against the reference writer and the reference reader of it, on one corpus.

    python compare.py --corpusdb BINARY [--corpus CORPUS] --work DIRECTORY [--tokens N] [--speed]

Without CORPUS one is made: documents of made-up words, seeded, and a tokenizer that is trained on them. An epoch is built in every format with `corpusdb epoch build`. Rows are taken from the Parquet build
by pyarrow, written again by the reference writer, and the files compared byte by byte; where the reference does
not fix its bytes (Arrow messages, the time in litdata's index) what they hold is compared. Then the
reference reader opens our files and must give the same rows. `--speed` prints what each writer takes: ours with reading the
store and syncing the files, theirs from rows in memory, and `cp` of ours. Exit code 1 when anything differs.
"""

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import pyarrow.parquet as pq
import zstandard

FAILED = []


def check(what, good, more=""):
    print(f"{'ok' if good else 'DIFFERS':8} {what} {more}", flush=True)
    if not good:
        FAILED.append(what)


class Build:
    """An epoch built by the command."""

    def __init__(self, options, name, output, pack='length = 512\n'):
        self.dir = Path(options.work) / name
        shutil.rmtree(self.dir, ignore_errors=True)
        recipe = Path(options.work) / f"{name}.toml"
        mix = f"[mix]\ntokens = {options.tokens}\n" if options.tokens else ""
        recipe.write_text(
            f'version = 1\nsnapshot = "formats"\nseed = 5\n{mix}[tokenizer]\n'
            f'specials = {{ eos = "{options.eos}", pad = "{options.eos}" }}\n[pack]\n{pack}'
            f"[output]\nshard_bytes = {options.shard_bytes}\n{output}\n"
        )
        command = [options.corpusdb, "epoch", "build", options.corpus, str(recipe), "--out", str(self.dir), "--json"]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        self.report = json.loads(ran.stdout)
        self.manifest = self.report["manifest"]
        self.seconds = self.report["seconds"]
        self.bytes = self.report["bytes"]

    def shards(self, suffix):
        """Paths and rows of the files that end in `suffix`, in order of their numbers."""
        found = [
            (self.dir / file["name"], file["rows"])
            for file in self.manifest["files"]
            if file["name"].endswith(suffix) and not file["name"].endswith(".segments" + suffix)
        ]
        return sorted(found, key=lambda pair: (len(pair[0].name), pair[0].name))


class Rows:
    """The rows of a Parquet build, as columns of NumPy arrays, one a row."""

    def __init__(self, build):
        table = pq.read_table([str(path) for path, _ in build.shards(".parquet")])
        self.table = table
        self.source = table["source"].to_pylist()
        for name in table.column_names:
            if name != "source":
                column = table[name].combine_chunks()
                values = column.values.to_numpy()
                offsets = column.offsets.to_numpy()
                setattr(self, name, [values[a:b] for a, b in zip(offsets, offsets[1:])])

    def __len__(self):
        return len(self.source)


def same_file(what, ours, theirs):
    ours, theirs = Path(ours), Path(theirs)
    check(what, theirs.exists() and ours.read_bytes() == theirs.read_bytes(), f"{ours.name}, {ours.stat().st_size} bytes")


def fresh(options, name):
    out = Path(options.work) / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    return out


def timed(options, what, build, seconds, size):
    if options.speed:
        ours, theirs = build.bytes / build.seconds / 1e6, size / max(seconds, 1e-9) / 1e6
        copy = Path(options.work) / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        start = time.time()
        subprocess.run(["cp", "-r", str(build.dir), str(copy)], check=True)
        copied = build.bytes / (time.time() - start) / 1e6
        shutil.rmtree(copy)
        print(
            f"speed    {what}: ours {ours:.0f} MB/s with reading and syncing, theirs {theirs:.0f} MB/s from memory,"
            f" x {ours / theirs:.2f}; cp {copied:.0f} MB/s, x {ours / copied:.2f}"
        )


def size_of(directory):
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())


def dtype_of(build):
    return {"u16": np.uint16, "i32": np.int32, "u32": np.uint32}[build.manifest["dtype"]]


def megatron(options, rows):
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

    build = Build(options, "megatron", 'format = "megatron"')
    out, start, at = fresh(options, "megatron-theirs"), time.time(), 0
    tensors = [torch.from_numpy(ids.copy()) for ids in rows.input_ids]
    start = time.time()
    for path, count in build.shards(".bin"):
        builder = IndexedDatasetBuilder(str(out / path.name), dtype=dtype_of(build))
        for ids in tensors[at : at + count]:
            builder.add_item(ids)
            builder.end_document()
        builder.finalize(str(out / path.with_suffix(".idx").name))
        at += count
    timed(options, "megatron", build, time.time() - start, size_of(out))
    at, good = 0, True
    for path, count in build.shards(".bin"):
        same_file("megatron .bin", path, out / path.name)
        same_file("megatron .idx", path.with_suffix(".idx"), out / path.with_suffix(".idx").name)
        dataset = IndexedDataset(str(path.with_suffix("")))
        good &= len(dataset) == count and dataset.document_indices.tolist() == list(range(count + 1))
        good &= all(np.array_equal(dataset[i], rows.input_ids[at + i]) for i in range(count))
        at += count
    check("megatron read by IndexedDataset", good and at == len(rows), f"{at} rows")


def megatron_unpacked(options, _):
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

    pack = 'kind = "none"\nlength = 512\n'
    rows = Rows(Build(options, "parquet-none", 'format = "parquet"', pack))
    build = Build(options, "megatron-none", 'format = "megatron"', pack)
    out, at = fresh(options, "megatron-none-theirs"), 0
    for path, count in build.shards(".bin"):
        builder = IndexedDatasetBuilder(str(out / path.name), dtype=dtype_of(build))
        for row in range(at, at + count):
            before = (rows.doc_ids[row - 1][0], rows.doc_offsets[row - 1][0] + rows.seq_lengths[row - 1][0]) if row > at else None
            if row > at and before != (rows.doc_ids[row][0], rows.doc_offsets[row][0]):
                builder.end_document()
            builder.add_item(torch.from_numpy(rows.input_ids[row].copy()))
        builder.end_document()
        builder.finalize(str(out / path.with_suffix(".idx").name))
        at += count
        same_file("megatron unpacked .bin", path, out / path.name)
        same_file("megatron unpacked .idx", path.with_suffix(".idx"), out / path.with_suffix(".idx").name)
        dataset = IndexedDataset(str(path.with_suffix("")))
        check("megatron unpacked read by IndexedDataset", len(dataset) == count, f"{len(dataset.document_indices) - 1} documents")


def mds(options, rows):
    from streaming import MDSWriter, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    build = Build(options, "mds", 'format = "mds"')
    out = Path(options.work) / "mds-theirs"
    shutil.rmtree(out, ignore_errors=True)
    columns = {
        "tokens": "ndarray:int32", "seq_lengths": "ndarray:int32", "source": "str",
        "doc_ids": "ndarray:int64", "doc_offsets": "ndarray:int64",
    }
    start = time.time()
    with MDSWriter(out=str(out), columns=columns, size_limit=options.shard_bytes) as writer:
        for at in range(len(rows)):
            writer.write({
                "tokens": rows.input_ids[at], "seq_lengths": rows.seq_lengths[at], "source": rows.source[at],
                "doc_ids": rows.doc_ids[at], "doc_offsets": rows.doc_offsets[at],
            })
    timed(options, "mds", build, time.time() - start, size_of(out))
    for path, _ in build.shards(".mds"):
        same_file("mds shard", path, out / path.name)
    same_file("mds index", build.dir / "index.json", out / "index.json")
    clean_stale_shared_memory()
    dataset = StreamingDataset(local=str(build.dir), shuffle=False, batch_size=1)
    good = len(dataset) == len(rows)
    for at in range(len(rows)):
        sample = dataset[at]
        good &= np.array_equal(sample["tokens"], rows.input_ids[at]) and sample["source"] == rows.source[at]
        good &= np.array_equal(sample["seq_lengths"], rows.seq_lengths[at]) and np.array_equal(sample["doc_ids"], rows.doc_ids[at])
        good &= np.array_equal(sample["doc_offsets"], rows.doc_offsets[at])
    check("mds read by StreamingDataset", good, f"{len(rows)} rows")


def mds_narrow(options, rows):
    """Ids of two bytes, compressed shards, labels and positions."""
    from streaming import MDSWriter, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    build = Build(
        options, "mds-narrow",
        'format = "mds"\nids = "u16"\ncompression = "zstd"\ncolumns = ["labels", "position_ids"]',
    )
    out = Path(options.work) / "mds-narrow-theirs"
    shutil.rmtree(out, ignore_errors=True)
    columns = {
        "tokens": "ndarray:uint16", "labels": "ndarray:int32", "position_ids": "ndarray:int32",
        "seq_lengths": "ndarray:int32", "source": "str", "doc_ids": "ndarray:int64", "doc_offsets": "ndarray:int64",
    }
    start = time.time()
    with MDSWriter(out=str(out), columns=columns, size_limit=options.shard_bytes, compression="zstd") as writer:
        for at in range(len(rows)):
            writer.write({
                "tokens": rows.input_ids[at].astype(np.uint16), "labels": rows.labels[at],
                "position_ids": rows.position_ids[at], "seq_lengths": rows.seq_lengths[at], "source": rows.source[at],
                "doc_ids": rows.doc_ids[at], "doc_offsets": rows.doc_offsets[at],
            })
    timed(options, "mds narrow", build, time.time() - start, size_of(out))
    decompress = zstandard.ZstdDecompressor().decompress
    for path, _ in build.shards(".mds.zstd"):
        same = decompress(path.read_bytes()) == decompress((out / path.name).read_bytes())
        check("mds narrow shard", same, f"{path.name}, what is inside")

    def without_sizes(path):
        index = json.loads(path.read_text())
        for shard in index["shards"]:
            shard["zip_data"].pop("bytes")
        return index

    same = without_sizes(build.dir / "index.json") == without_sizes(out / "index.json")
    check("mds narrow index", same, "but for compressed sizes")
    clean_stale_shared_memory()
    dataset = StreamingDataset(local=str(build.dir), shuffle=False, batch_size=1)
    good = len(dataset) == len(rows)
    for at in range(len(rows)):
        sample = dataset[at]
        good &= sample["tokens"].dtype == np.uint16 and np.array_equal(sample["tokens"], rows.input_ids[at])
        good &= np.array_equal(sample["labels"], rows.labels[at])
        good &= np.array_equal(sample["position_ids"], rows.position_ids[at])
    check("mds narrow read by StreamingDataset", good, f"{len(rows)} rows")


def litdata(options, rows):
    from litdata import StreamingDataset
    from litdata.streaming.item_loader import TokensLoader
    from litdata.streaming.writer import BinaryWriter

    build = Build(options, "litdata", 'format = "litdata"')
    length, dtype = build.manifest["capacity"], dtype_of(build)
    out = fresh(options, "litdata-theirs")
    start = time.time()
    writer = BinaryWriter(str(out), chunk_bytes=options.shard_bytes, item_loader=TokensLoader(length))
    for at, ids in enumerate(rows.input_ids):
        writer[at] = ids.astype(dtype)
    writer.done()
    writer.merge()
    timed(options, "litdata", build, time.time() - start, size_of(out))
    for path, _ in build.shards(".bin"):
        same_file("litdata chunk", path, out / path.name)
    ours, theirs = [json.loads((place / "index.json").read_text()) for place in (build.dir, out)]
    check("litdata index", ours.pop("updated_at") != theirs.pop("updated_at") and ours == theirs, "but for updated_at")
    dataset = StreamingDataset(str(build.dir), item_loader=TokensLoader(block_size=length), shuffle=False)
    good = len(dataset) == len(rows)
    good &= all(np.array_equal(np.asarray(item), ids) for item, ids in zip(dataset, rows.input_ids))
    check("litdata read by StreamingDataset", good, f"{len(dataset)} rows")


def arrow(options, rows):
    from datasets import Features, List, Value, load_from_disk, Dataset
    import pyarrow as pa

    build = Build(options, "arrow", 'format = "arrow"')
    dataset = load_from_disk(str(build.dir))
    good = len(dataset) == len(rows)
    table = dataset.data.table
    for name in rows.table.column_names:
        ours, theirs = table[name].combine_chunks(), rows.table[name].combine_chunks()
        if name == "source":
            good &= ours.equals(theirs)
        else:
            good &= ours.values.equals(theirs.values) and ours.offsets.equals(theirs.offsets)
    check("arrow read by load_from_disk", good, f"{len(dataset)} rows")
    features = {name: List(Value(str(field.type.value_type))) if name != "source" else Value("string")
                for name, field in zip(rows.table.column_names, rows.table.schema)}
    check("arrow features", dataset.features == Features(features))
    out = fresh(options, "arrow-theirs")
    copy = Dataset(pa.table(table.combine_chunks()), info=dataset.info)
    # Opening a dataset gives it another one.
    copy._fingerprint = json.loads((build.dir / "state.json").read_text())["_fingerprint"]
    start = time.time()
    copy.save_to_disk(str(out), num_shards=len(build.shards(".arrow")))
    timed(options, "arrow", build, time.time() - start, size_of(out))
    for name in ["state.json", "dataset_info.json"]:
        same_file(f"arrow {name}", build.dir / name, out / name)
    schema = [pa.ipc.open_stream(path / ("data-00000-of-%05d.arrow" % len(build.shards(".arrow")))).schema for path in (build.dir, out)]
    check("arrow schema and its metadata", schema[0].equals(schema[1], check_metadata=True))


def jsonl(options, rows):
    for compression in ["none", "zstd"]:
        build = Build(options, f"jsonl-{compression}", f'format = "jsonl"\ncompression = "{compression}"')
        at, good = 0, True
        start = time.time()
        from datasets import load_dataset

        files = [str(path) for path, _ in build.shards(".jsonl" if compression == "none" else ".jsonl.zst")]
        dataset = load_dataset("json", data_files=files, split="train", cache_dir=str(Path(options.work) / "hf"))
        good = len(dataset) == len(rows)
        for at, row in enumerate(dataset):
            good &= row["input_ids"] == rows.input_ids[at].tolist() and row["labels"] == rows.labels[at].tolist()
            good &= row["seq_lengths"] == rows.seq_lengths[at].tolist() and row["source"] == rows.source[at]
            good &= row["doc_ids"] == rows.doc_ids[at].tolist() and row["doc_offsets"] == rows.doc_offsets[at].tolist()
        check(f"jsonl {compression} read by load_dataset", good, f"{len(dataset)} rows")


def flat(options, rows):
    for layout in ["plain", "nanogpt", "llm.c", "olmo"]:
        build = Build(options, f"raw-{layout}", f'format = "raw"\nlayout = "{layout}"')
        at, dtype = 0, dtype_of(build)
        for path, count in build.shards(".npy" if layout == "olmo" else ".bin"):
            ids = np.concatenate(rows.input_ids[at : at + count])
            expected = ids.astype(dtype).tobytes()
            if layout == "llm.c":
                header = np.zeros(256, dtype=np.int32)
                header[:3] = 20240520, 1, len(ids)
                expected = header.tobytes() + expected
            check(f"raw {layout} bytes", path.read_bytes() == expected, path.name)
            mapped = np.memmap(path, dtype=dtype, mode="r", offset=1024 if layout == "llm.c" else 0)
            check(f"raw {layout} read by np.memmap", np.array_equal(mapped, ids), f"{len(ids)} tokens")
            if layout == "olmo":
                lines, start = [], 0
                for row in range(at, at + count):
                    place = start
                    for length, document, offset in zip(rows.seq_lengths[row], rows.doc_ids[row], rows.doc_offsets[row]):
                        lines.append(f"{place},{place + length},{document},{rows.source[row]},{offset}\r\n")
                        place += length
                    start += len(rows.input_ids[row])
                text = gzip.decompress(path.with_suffix(".csv.gz").read_bytes()).decode()
                check("raw olmo .csv.gz", text == "".join(lines), f"{len(lines)} lines")
            at += count


def datatrove(options, rows):
    from datatrove.io import DataFolder
    from datatrove.pipeline.tokens.tokenizer import TokenizedFile
    from datatrove.utils.dataset import DatatroveFileDataset

    build = Build(options, "datatrove", 'format = "raw"\nlayout = "datatrove"')
    size, length = np.dtype(dtype_of(build)).itemsize, build.manifest["capacity"]
    out, at, spent = fresh(options, "datatrove-theirs"), 0, 0.0
    for path, count in build.shards(".ds"):
        start = time.time()
        file = TokenizedFile(
            DataFolder(str(out)), path.name, save_index=True, save_final_metadata=True,
            tokenizer_name_or_path=build.manifest["tokenizer"]["name"], token_size=size,
        )
        for row in range(at, at + count):
            ids, begin = rows.input_ids[row], 0
            for piece in rows.seq_lengths[row]:
                file.write(ids[begin : begin + piece], None)
                begin += piece
            if begin < len(ids):
                file.write(ids[begin:], None)
        file.close()
        spent += time.time() - start
        for suffix in [".ds", ".ds.index", ".ds.metadata"]:
            same_file(f"datatrove {suffix}", path.with_suffix(suffix), out / path.with_suffix(suffix).name)
        dataset = DatatroveFileDataset(str(path), seq_len=length - 1, token_size=size, return_positions=True)
        good = len(dataset) == count
        for row in range(count):
            item = dataset[row]
            good &= np.array_equal(item["input_ids"], rows.input_ids[at + row])
            good &= np.array_equal(item["positions"], rows.position_ids[at + row])
        check("datatrove read by DatatroveFileDataset, with positions", good, f"{count} rows")
        at += count
    timed(options, "datatrove", build, spent, size_of(out))


def parquet(options, rows):
    import pyarrow as pa

    for compression in ["none", "snappy", "lz4", "zstd"]:
        build = Build(options, f"parquet-{compression}", f'format = "parquet"\ncompression = "{compression}"')
        again = pq.read_table([str(path) for path, _ in build.shards(".parquet")])
        check(f"parquet {compression} read by pyarrow", again.equals(rows.table), f"{build.bytes} bytes")
        out = fresh(options, "parquet-theirs")
        start = time.time()
        pq.write_table(rows.table, out / "theirs.parquet", compression=compression, row_group_size=1000)
        timed(options, f"parquet {compression}", build, time.time() - start, size_of(out))


def directories(options, rows):
    """Programs that are given a directory take every file in it for data."""
    import datasets
    import duckdb
    import polars
    import pyarrow.dataset

    datasets.disable_progress_bars()
    cache = str(fresh(options, "datasets-cache"))
    export = [options.corpusdb, "export", options.corpus, "--json", "--force", "--columns", "source,text"]
    export += ["--shard-bytes", str(options.shard_bytes)]
    made = {}
    for form in ["parquet", "jsonl"]:
        build = Build(options, f"epoch-{form}", f'format = "{form}"')
        made["epoch", form] = build.dir, build.manifest["totals"]["rows"]
        for name, more in [("export", []), ("partitions", ["--partition-by", "source"])]:
            out = Path(options.work) / f"{name}-{form}"
            ran = subprocess.run(export + ["--to", str(out), "--format", form] + more, check=True, capture_output=True)
            made[name, form] = out, json.loads(ran.stdout)["rows"]
    for (name, form), (out, count) in made.items():
        ending = {"parquet": "parquet", "jsonl": "json"}[form]
        readers = {
            "polars": lambda: {"parquet": polars.scan_parquet, "json": polars.scan_ndjson}[ending](f"{out}/").collect().height,
            "pyarrow": lambda: pyarrow.dataset.dataset(str(out), format=ending, partitioning="hive").count_rows(),
            "datasets": lambda: datasets.load_dataset(str(out), split="train", cache_dir=cache).num_rows,
            "datasets by its builder": lambda: datasets.load_dataset(
                ending, data_dir=str(out), split="train", cache_dir=cache
            ).num_rows,
            "duckdb": lambda: duckdb.sql(f"SELECT count(*) FROM read_{ending}('{out}/**/*')").fetchall()[0][0],
        }
        for reader, read in readers.items():
            try:
                found = read()
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            check(f"directory {name} of {form} read by {reader}", found == count, f"{found}")


def made_corpus(options):
    """A corpus of 3,000 made-up documents in three sources, with one tokenizer of 2,000 tokens."""
    corpus = Path(options.work) / "corpus"
    if corpus.exists():
        return str(corpus)
    dice = random.Random(2026)
    words = ["".join(dice.choices("etaoinshrdlcumwfgypbvkäüжд漢", k=dice.randint(1, 9))) for _ in range(4_000)]
    run = lambda *words, **more: subprocess.run([options.corpusdb, *words], check=True, stdout=subprocess.DEVNULL, **more)  # noqa: E731
    run("init", str(corpus))
    for source in ["web", "books", "code"]:
        pages = [" ".join(dice.choices(words, k=dice.choice([1, 12, 90, 900]))) for _ in range(1_000)]
        lines = "".join(json.dumps({"key": f"{source}/{at}", "text": page}) + "\n" for at, page in enumerate(pages))
        run("ingest", str(corpus), "-", "--source", source, input=lines.encode())
    run("tokenizer", "train", str(corpus), "own", "--vocab-size", "2000", "--special", options.eos)
    return str(corpus)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpusdb", required=True)
    parser.add_argument("--corpus", help="one with one tokenizer; made by default")
    parser.add_argument("--work", required=True)
    parser.add_argument("--tokens", type=int, default=0, help="of the epoch; everything by default")
    parser.add_argument("--shard-bytes", type=int, default=2_000_000)
    parser.add_argument("--eos", default="<|endoftext|>")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("formats", nargs="*")
    options = parser.parse_args()
    Path(options.work).mkdir(parents=True, exist_ok=True)
    options.corpus = options.corpus or made_corpus(options)
    made = subprocess.run([options.corpusdb, "snapshot", "create", options.corpus, "formats"], capture_output=True, text=True)
    if made.returncode and "exists" not in made.stderr:
        sys.exit(made.stderr)
    base = Rows(Build(options, "parquet", 'format = "parquet"'))
    for one in [parquet, megatron, megatron_unpacked, mds, mds_narrow, litdata, arrow, jsonl, flat, datatrove, directories]:
        if not options.formats or one.__name__ in options.formats:
            one(options, base)
    print(f"{len(FAILED)} differences")
    sys.exit(1 if FAILED else 0)
