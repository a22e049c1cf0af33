"""What other readers make of a file: Python's csv and json, pyarrow, DuckDB, warcio.

A judge returns rows, or raises. Each runs in a process of its own, with a limit of time and memory: files of fuzzers
end some of them.
"""

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import multiprocessing
import re
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from values import DECODER, parsed, rows

SECONDS = 300
MEMORY = 8 << 30
# A carriage return that ends no row, as docs/reference/inputs.md has it: Python's csv takes each for an end.
INNER_RETURN = "\ue00d"


@dataclass(frozen=True)
class Refusal:
    """Why a reader gives no rows, or not all."""

    why: str
    crashed: bool = False


Rows = list[Any]
Verdicts = dict[str, Rows | Refusal]


def apart(read: Callable[[Path], Rows], path: Path) -> Rows | Refusal:
    """What `read` returns, from a process that may end as it likes."""
    sys.setrecursionlimit(20_000)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=answer, args=(read, path, there))
    child.start()
    there.close()
    try:
        return here.recv() if here.poll(SECONDS) else Refusal(f"no answer in {SECONDS} s")
    except EOFError:
        child.join(5)
        return Refusal(f"the judge ended with {child.exitcode}")
    finally:
        child.kill()
        child.join()


def answer(read: Callable[[Path], Rows], path: Path, there: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        there.send(read(path))
    except BaseException as error:  # what a judge raises is its answer, whatever the type
        there.send(Refusal(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"))


def unpacked(path: Path) -> bytes:
    """The bytes of a file, decompressed by their first bytes."""
    raw = path.read_bytes()
    if raw.startswith(b"\x1f\x8b"):
        return gzip.decompress(raw)
    if raw.startswith(b"\x28\xb5\x2f\xfd"):
        with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as reader:
            return reader.read()
    if raw.startswith(b"\xfd7zXZ\0"):
        return lzma.decompress(raw)
    return bz2.decompress(raw) if raw.startswith(b"BZh") else raw


def delimiter_of(line: str) -> str:
    """What stands most often between the values of a row of names."""
    bare = re.sub(r'"[^"]*("|$)', "", line)
    return max(",\t;|", key=bare.count)


def csv_by_python(path: Path, strict: bool) -> Rows:
    """The row of names, then the cells of each row.

    Blank lines are no rows, nor are rows of names within, where there are two names or more and no number among them; a
    row of another width is refused.
    """
    text = unpacked(path).decode("utf-8-sig")
    text = text.replace("\r", "\n") if "\n" not in text[:65_536] else re.sub(r"\r(?!\n|\Z)", INNER_RETURN, text)
    first, _, rest = text.partition("\n")
    said = re.fullmatch(r'"?sep=(.?)"?', first.strip())
    if said:
        text = rest
    delimiter = (said.group(1) or "\t") if said else delimiter_of(first)
    csv.field_size_limit(1 << 30)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
    table = [[cell.replace(INNER_RETURN, "\r") for cell in row] for row in reader if row]
    if not table:
        raise ValueError("no row of names")
    uneven = next((at for at, row in enumerate(table) if len(row) != len(table[0])), None)
    if uneven is not None:
        raise ValueError(f"row {uneven} has {len(table[uneven])} values, the row of names {len(table[0])}")
    names = table[0]
    has_names = len(names) > 1 and not any(is_number(name) for name in names)
    has_names = has_names and all(any(map(str.isalpha, name)) for name in names[1:])
    return [names, *(row for row in table[1:] if not has_names or row != names)]


def is_number(name: str) -> bool:
    with contextlib.suppress(ValueError):
        return float(name) is not None
    return False


def strict_csv(path: Path) -> Rows:
    return csv_by_python(path, strict=True)


def lenient_csv(path: Path) -> Rows:
    return csv_by_python(path, strict=False)


def by_duckdb(query: str, path: Path) -> pa.Table:
    settings: dict[str, Any] = {"threads": 1, "memory_limit": "2GB", "autoinstall_known_extensions": False}
    with duckdb.connect(config=settings) as connection:
        return connection.sql(query, params=[str(path)]).to_arrow_table()


def csv_by_duckdb(path: Path) -> Rows:
    table = by_duckdb("SELECT * FROM read_csv(?, all_varchar = true, header = true, sample_size = -1)", path)
    return [list(table.column_names), *map(list, zip(*(column.to_pylist() for column in table.columns), strict=True))]


def records(values: list[Any]) -> Rows:
    """Records of the values of a JSON file: objects, those of a list too."""
    found = [record for value in values for record in (value if isinstance(value, list) else [value])]
    if not all(isinstance(record, dict) for record in found):
        raise ValueError("not objects")
    return found


def blank(text: str, at: int) -> int:
    """Where the next value begins: space and marks of byte order stand between the values of files put together."""
    found = re.compile(r"[ \t\r\n\ufeff]*").match(text, at)
    return found.end() if found else at


def json_by_python(path: Path) -> Rows:
    text = unpacked(path).decode("utf-8-sig")
    at, values = blank(text, 0), []
    while at < len(text):
        value, at = DECODER.raw_decode(text, at)
        values.append(value)
        at = blank(text, at)
    found = records(values)
    json.dumps(found, default=str, ensure_ascii=False).encode()  # half of a surrogate pair is not text
    return found


def json_by_duckdb(path: Path) -> Rows:
    table = by_duckdb("SELECT json::VARCHAR AS json FROM read_json_objects(?, maximum_object_size = 67108864)", path)
    return records([parsed(text) for text in table["json"].to_pylist()])


def parquet_by_pyarrow(path: Path) -> Rows:
    file = pq.ParquetFile(path, page_checksum_verification=True)
    if any(file.schema.column(at).physical_type == "INT96" for at in range(len(file.schema))):
        # Moments of INT96 reach beyond the nanoseconds of 64 bits, where pyarrow wraps them.
        wide = pq.ParquetFile(path, page_checksum_verification=True, coerce_int96_timestamp_unit="us").read()
        if any(map(is_beyond_nanoseconds, wide.columns)):
            return rows(wide)
    return rows(file.read())


def is_beyond_nanoseconds(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_timestamp(column.type):
        return False
    ends = pc.min_max(column.cast(pa.int64())).as_py()
    return any(end is not None and abs(end) > 2**63 // 1000 for end in ends.values())


def parquet_by_duckdb(path: Path) -> Rows:
    return rows(by_duckdb("SELECT * FROM read_parquet(?, hive_partitioning = false)", path))


def arrow_table(path: Path) -> pa.Table:
    source = pa.BufferReader(path.read_bytes())
    is_file = source.read(6) == b"ARROW1"
    source.seek(0)
    reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
    table = reader.read_all()
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        # Values out of the range of their type are values all the same; what else fails is damage.
        if not re.search(r"Decimal value|date64|time(32|64)?\b", str(error)):
            raise
    return table


def arrow_by_pyarrow(path: Path) -> Rows:
    return rows(arrow_table(path))


def is_text(record: ArcWarcRecord, kind: str) -> bool:
    """Conversions, resources and good answers of plain text; a part of a page is none."""
    if record.rec_type not in ("conversion", "resource", "response"):
        return False
    status = record.http_headers.get_statuscode() if record.http_headers else "200"
    good = status.startswith("2") and status != "206"
    good &= not record.http_headers or record.http_headers.protocol.startswith("HTTP/")
    return good and (kind.startswith("text/plain") or (not kind and record.rec_type != "response"))


def warc_by_warcio(path: Path) -> Rows:
    """Texts, with the fields that corpusdb gives a record of an archive."""
    found = []
    with path.open("rb") as source:
        for record in ArchiveIterator(source, check_digests=False):
            head = record.rec_headers
            kind = ((record.http_headers or head).get_header("Content-Type") or "").lower()
            if not is_text(record, kind):
                record.content_stream().read()
                continue
            languages = head.get_header("WARC-Identified-Content-Language")
            fields = {
                "url": (head.get_header("WARC-Target-URI") or "").strip("<>"),
                "date": head.get_header("WARC-Date"),
                "record_id": head.get_header("WARC-Record-ID"),
                "record_type": record.rec_type,
                "content_type": kind,
                "truncated": head.get_header("WARC-Truncated"),
                "languages": languages if "," in (languages or "") else None,
                "language": languages and languages.split(",")[0].strip(),
            }
            text = record.content_stream().read().decode()
            found.append({"text": text} | {name: value for name, value in fields.items() if value})
    if not found:
        raise ValueError("no text")
    return found


JUDGES: dict[str, dict[str, Callable[[Path], Rows]]] = {
    "csv": {"csv, strict": strict_csv, "csv": lenient_csv, "DuckDB": csv_by_duckdb},
    "json": {"json": json_by_python, "DuckDB": json_by_duckdb},
    "parquet": {"pyarrow": parquet_by_pyarrow, "DuckDB": parquet_by_duckdb},
    "arrow": {"pyarrow": arrow_by_pyarrow},
    "warc": {"warcio": warc_by_warcio},
}


def verdicts(kind: str, path: Path) -> Verdicts:
    found = {name: apart(judge, path) for name, judge in JUDGES[kind].items()}
    if any(isinstance(one, Refusal) and "CRC checksum" in one.why for one in found.values()):
        # DuckDB does not look at the checksums of pages.
        found = dict.fromkeys(found, Refusal("a page with another checksum"))
    return found


def with_a_text(path: Path, kind: str) -> pa.Table:
    """A table of Parquet or Arrow with a column `text`, the number of the row."""
    table = arrow_table(path) if kind == "arrow" else pq.ParquetFile(path).read()
    return table.append_column("text", pc.cast(pa.array(range(table.num_rows)), pa.string()))
