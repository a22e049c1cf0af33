"""Writes the files of this folder with the reference libraries; run once, in a place that has them:

    pip install pandas pyarrow datasets warcio lz4
    python make.py
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import shutil
from pathlib import Path

import datasets
import lz4.frame
import pandas
import pyarrow
from pyarrow import feather, ipc
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

HERE = Path(__file__).parent

RECORDS = [
    {"url": "https://a.example/1", "text": "A plain page, of one line.", "n": 1, "score": 0.5, "lang": "en"},
    {"url": "https://a.example/2", "text": "Two lines,\nand \"quotes\", and a tab:\t.", "n": -2, "score": 1.25, "lang": "de"},
    {"url": "https://a.example/3", "text": "Grüße, 世界 \U0001f30d\r\n\r\nA second paragraph; with a semicolon | and a bar.", "n": 3, "score": -0.125, "lang": None},
    {"url": "https://a.example/4", "text": " space around ", "n": 9007199254740993, "score": 1e-07, "lang": "fr"},
]


def tables() -> None:
    table = pandas.DataFrame(RECORDS)
    table.to_csv(HERE / "pandas.csv", index=False)
    table.to_csv(HERE / "pandas-index.csv")
    table.to_csv(HERE / "pandas.tsv", sep="\t", index=False)
    table.to_csv(HERE / "pandas-semicolon.csv", sep=";", index=False, lineterminator="\r\n")
    table.to_csv(HERE / "pandas-quoted.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    table.to_json(HERE / "pandas.json", orient="records", force_ascii=False, double_precision=15)
    (HERE / "pretty.json").write_text(json.dumps(RECORDS, indent=2) + "\n")
    (HERE / "objects.json").write_text("\n".join(json.dumps(record, indent=1) for record in RECORDS) + "\n")
    plain = (HERE / "pandas.csv").read_bytes()
    (HERE / "pandas.csv.bz2").write_bytes(bz2.compress(plain[:200]) + bz2.compress(plain[200:]))
    (HERE / "pandas.csv.xz").write_bytes(lzma.compress(plain[:200]) + lzma.compress(plain[200:]))
    (HERE / "pandas.csv.lz4").write_bytes(lz4.frame.compress(plain[:200]) + lz4.frame.compress(plain[200:]))


def arrow() -> None:
    table = pyarrow.Table.from_pylist(RECORDS)
    feather.write_feather(table, HERE / "lz4.feather", compression="lz4", chunksize=3)
    feather.write_feather(table, HERE / "zstd.feather", compression="zstd", chunksize=1)
    coded = table.set_column(4, "lang", table["lang"].dictionary_encode())
    with ipc.new_file(HERE / "plain.arrow", coded.schema) as out:
        out.write_table(coded, max_chunksize=2)
    with ipc.new_stream(HERE / "stream.arrow", coded.schema) as out:
        out.write_table(coded, max_chunksize=2)
    feather.write_feather(table, HERE / "v1.feather", version=1)


def folders() -> None:
    for name in ("dataset", "dataset-dict", "hub"):
        shutil.rmtree(HERE / name, ignore_errors=True)
    dataset = datasets.Dataset.from_list(RECORDS)
    dataset.save_to_disk(HERE / "dataset", num_shards=2)
    parts = datasets.DatasetDict(train=dataset.select(range(3)), test=dataset.select([3]))
    parts.save_to_disk(HERE / "dataset-dict")
    data = HERE / "hub" / "data"
    data.mkdir(parents=True)
    dataset.select(range(2)).to_parquet(data / "train-00000-of-00002.parquet")
    dataset.select(range(2, 4)).to_parquet(data / "train-00001-of-00002.parquet")
    (HERE / "hub" / "README.md").write_text("---\nlicense: mit\n---\n# A dataset\n\nOf four records.\n")


def archive(name: str, is_packed: bool, fill) -> None:
    with open(HERE / name, "wb") as out:
        writer = WARCWriter(out, gzip=is_packed)
        fill(writer)


def header(url: str, **more: str) -> dict:
    number = int(url.rsplit("/", 1)[-1])
    return {
        "WARC-Date": "2026-01-02T03:04:05Z",
        "WARC-Record-ID": f"<urn:uuid:00000000-0000-0000-0000-{number:012}>",
        **more,
    }


def wet(writer: WARCWriter) -> None:
    first = writer.create_warc_record("https://a.example/0", "warcinfo", payload=io.BytesIO(b"software: make.py\r\n"),
                                      warc_headers_dict=header("https://a.example/0"))
    writer.write_record(first)
    for record, languages in zip(RECORDS, ("eng", "deu,eng", None, "fra")):
        more = {"WARC-Identified-Content-Language": languages} if languages else {}
        writer.write_record(writer.create_warc_record(
            record["url"], "conversion", payload=io.BytesIO(record["text"].encode()),
            warc_content_type="text/plain", warc_headers_dict=header(record["url"], **more)))


def warc(writer: WARCWriter) -> None:
    answers = [
        ("https://a.example/1", "200 OK", "text/html; charset=utf-8", [], b"<html><p>A page</p></html>"),
        ("https://a.example/2", "200 OK", "text/plain; charset=utf-8", [], RECORDS[1]["text"].encode()),
        ("https://a.example/3", "200 OK", "text/plain", [("Transfer-Encoding", "chunked")],
         b"5\r\nChunk\r\n4;x=y\r\ned, \r\n7\r\nin part\r\n0\r\n\r\n"),
        ("https://a.example/4", "404 Not Found", "text/plain", [], b"Not found"),
        ("https://a.example/5", "200 OK", "image/png", [], b"\x89PNG\r\n\x1a\n"),
        ("https://a.example/6", "200 OK", "text/plain", [("Content-Encoding", "gzip")],
         gzip.compress(b"Compressed in transfer", mtime=0)),
    ]
    for url, status, kind, more, body in answers:
        http = StatusAndHeaders(status, [("Content-Type", kind), *more], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record(
            url, "response", payload=io.BytesIO(body), http_headers=http, warc_headers_dict=header(url)))
        request = StatusAndHeaders("GET / HTTP/1.1", [("Host", "a.example")], is_http_request=True)
        writer.write_record(writer.create_warc_record(
            url, "request", http_headers=request, warc_headers_dict=header(url)))


def polars_files() -> None:
    """Arrow files whose description of the columns has no length before it."""
    import polars as pl

    columns = {"id": ["1", "2", "3"], "text": ["alpha one", "beta two", "gamma three"], "lang": ["de", "fr", "de"]}
    pl.DataFrame(columns).write_ipc(HERE / "polars.arrow", compression="zstd")
    # Dictionaries behind the batches.
    categories = {"lang": pl.Categorical, "kind": pl.Enum(["news", "web"])}
    table = pl.DataFrame(columns | {"kind": ["web", "news", "web"]}).cast(categories)
    table.write_ipc(HERE / "polars-categories.arrow", compression="lz4", record_batch_size=2)


def checksums() -> None:
    """Pages with checksums, small row groups; the notes in dictionaries."""
    from pyarrow import parquet

    rows = range(12)
    table = pyarrow.table({
        "text": [f"Row {row} tells of {row * 7} boats and of the nets on the quay." for row in rows],
        "note": [f"note {row % 2}" for row in rows],
    })
    parquet.write_table(
        table, HERE / "checksums.parquet", row_group_size=4, write_page_checksum=True, use_dictionary=["note"])


def main() -> None:
    (HERE / "records.jsonl").write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in RECORDS))
    tables()
    arrow()
    polars_files()
    checksums()
    folders()
    archive("wet.warc", False, wet)
    archive("wet.warc.gz", True, wet)
    archive("pages.warc.gz", True, warc)
    for folder in HERE.rglob("cache-*"):
        folder.unlink()


main()
