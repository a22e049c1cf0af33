"""The ways into corpusdb, and what each must make of the rows of a judge."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from warcio.archiveiterator import ArchiveIterator

from judges import Refusal, Rows, Verdicts, with_a_text
from values import NUMBER, rows, same, same_cell

USUAL = ("text", "content", "raw_content", "document", "body")
Difference = str | None


@dataclass(frozen=True)
class Outcome:
    collection: str
    face: str
    file: str
    kind: str
    note: str = ""


def outcome(ours: Rows | Refusal, theirs: Verdicts, difference: Callable[[Rows, Rows], Difference]) -> tuple[str, str]:
    """The kind of outcome, and a word on it."""
    taken = {name: found for name, found in theirs.items() if not isinstance(found, Refusal)}
    whys = "; ".join(f"{name}: {found.why[:160]}" for name, found in theirs.items() if isinstance(found, Refusal))
    if isinstance(ours, Refusal):
        if ours.crashed:
            return "crash", ours.why
        if not taken:
            return "refused by all", ours.why
        if len(taken) < len(theirs):
            return "refused, judges disagree", f"{ours.why} | taken by {', '.join(taken)} | {whys}"
        return "refused by us alone", ours.why
    if "another checksum" in whys:
        return "differs", f"a page whose checksum is another: {len(ours)} rows"
    if not taken:
        return "taken by us alone", f"{len(ours)} rows | {whys}"
    differences = {name: difference(ours, found) for name, found in taken.items()}
    if None in differences.values():
        return "equal", ""
    return "differs", "; ".join(f"{name}: {what}" for name, what in differences.items()) + (
        f" | {whys}" if whys else ""
    )


def first_difference(ours: list[Any], theirs: list[Any], is_same: Callable[[Any, Any], bool]) -> Difference:
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, not {len(theirs)}"
    at = next((at for at, pair in enumerate(zip(ours, theirs, strict=True)) if not is_same(*pair)), None)
    return None if at is None else f"row {at}: {shown(ours[at], theirs[at])} is not {shown(theirs[at], ours[at])}"


def shown(row: Any, other: Any) -> str:
    """What of a row is spelled otherwise in another."""
    if isinstance(row, tuple) and isinstance(other, tuple):
        return shown(dict(row[1], text=row[0]), dict(other[1], text=other[0]))
    if isinstance(row, dict) and isinstance(other, dict):
        row = {name: value for name, value in row.items() if repr(other.get(name)) != repr(value)}
    return str(row) if len(str(row)) < 400 else str(row)[:400] + ".."


def nameless_numbers(table: Rows) -> bool:
    """A first column without a name and with whole numbers alone: pandas numbers rows so."""
    return (
        table[0][0] in ("", "column0")
        and len(table) > 1
        and all(row[0] is not None and row[0].isdigit() for row in table[1:])
    )


def table_difference(ours: Rows, theirs: Rows) -> Difference:
    """Of an answer of SQL and a table, by position."""

    def is_same(row: Any, cells: list[Any]) -> bool:
        values = list(row.values()) if isinstance(row, dict) else []
        if len(values) == len(cells) - 1 and nameless_numbers(theirs):
            cells = cells[1:]
        return len(values) == len(cells) and all(
            same_cell(a, b, way="spelled") for a, b in zip(values, cells, strict=True)
        )

    return first_difference(ours, theirs[1:], is_same)


def records_difference(ours: Rows, theirs: Rows) -> Difference:
    return first_difference(ours, theirs, lambda a, b: same(a, b, way="spelled"))


def columns_difference(ours: Rows, theirs: Rows) -> Difference:
    """Of an answer of SQL over columns that have their types."""
    return first_difference(ours, theirs, lambda a, b: same(a, b, way="typed"))


DIFFERENCE_OF_ANSWERS = {"csv": table_difference, "json": records_difference, "parquet": columns_difference}


def documents_difference(ours: Rows, theirs: Rows) -> Difference:
    return first_difference(ours, theirs, lambda a, b: a[0] == b[0] and same(a[1], b[1], way="stored"))


def table_documents_difference(ours: Rows, theirs: Rows) -> Difference:
    def is_same(document: Any, judged: Any) -> bool:
        (text, fields), (cell, cells) = document, judged
        names = fields.keys() | cells.keys()
        return text == cell and all(same_cell(fields.get(name), cells.get(name), way="stored") for name in names)

    return first_difference(ours, theirs, is_same)


def column_names(row: list[str]) -> list[str]:
    """As docs/reference/inputs.md names them: the number of a column where it has no name, or one that was there."""
    names: list[str] = []
    for at, given in enumerate(row, 1):
        name, number = given or f"column_{at}", at
        while name in names:
            name, number = f"{given}_{number}", number + 1
        names.append(name)
    return names


def table_documents(table: Rows, text: str) -> Rows:
    """Text and cells of each row that has a text."""
    names = column_names(table[0])
    at, bare = names.index(text), nameless_numbers(table)
    return [
        (
            row[at],
            {
                name: cell
                for place, (name, cell) in enumerate(zip(names, row, strict=True))
                if place != at and not (bare and place == 0)
            },
        )
        for row in table[1:]
        if row[at]
    ]


def record_documents(records: Rows, text: str) -> Rows:
    return [
        (record[text], {name: value for name, value in record.items() if name != text})
        for record in records
        if type(record.get(text)) is str
    ]


def best(names: Iterator[str], is_text: Callable[[str], list[bool]]) -> str | None:
    """The first name whose values all are texts, of the usual ones before others; else the first with any."""
    there = list(names)
    ordered = sorted(there, key=lambda name: (name not in USUAL, there.index(name)))
    found = {name: is_text(name) for name in ordered}
    return next((name for name in ordered if all(found[name])), None) or next(
        (name for name in ordered if any(found[name])), None
    )


def text_of_table(table: Rows) -> str | None:
    names = column_names(table[0])
    columns = dict(zip(names, zip(*table[1:], strict=True), strict=True)) if len(table) > 1 else {}
    named = [name for name, given in zip(names, table[0], strict=True) if given]
    words = [name for name in named if any(cell and not NUMBER.fullmatch(cell) for cell in columns.get(name, ()))]
    return (
        best(iter(words or named), lambda name: [bool(cell and cell.strip()) for cell in columns.get(name, ())])
        if columns
        else None
    )


def text_of_records(records: Rows) -> str | None:
    names = dict.fromkeys(name for record in records for name in record)
    return best(
        iter(names),
        lambda name: [type(record.get(name)) is str and bool(record[name].strip()) for record in records],
    )


def table_with_text(path: Path, kind: str, out: Path) -> Rows:
    """Writes the table again, with a column `text`; returns its rows."""
    table = with_a_text(path, kind)
    if kind == "arrow":
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    else:
        pq.write_table(table, out)
    return rows(table)


def html_as_text(path: Path, out: Path) -> Rows:
    """Writes the archive again, its pages as plain text."""
    with path.open("rb") as source, out.open("wb") as to:
        for record in ArchiveIterator(source, no_record_parse=True):
            payload = record.raw_stream.read()
            if record.rec_type == "response":
                head, end, body = payload.partition(b"\r\n\r\n")
                payload = re.sub(rb"(?im)^(content-type: *)text/html", rb"\1text/plain", head) + end + body
            record.rec_headers.replace_header("Content-Length", str(len(payload)))
            to.write(record.rec_headers.to_ascii_bytes() + payload + b"\r\n\r\n")
    return []
