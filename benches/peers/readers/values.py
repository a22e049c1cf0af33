"""Values of judges as JSON can have them, and when a value of corpusdb is the same.

The rules are those of docs/reference/inputs.md: null is absent, bytes are a text or hexadecimal digits, keys of maps
are texts, moments are ISO 8601. Moments are compared as points in time, numbers by value.
"""

import datetime
import itertools
import json
import math
import re
import struct
import uuid
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
EPOCH = datetime.date(1970, 1, 1).toordinal()
DAY = 86_400 * 10**9
# Arrow's own calendar ends there; what lies beyond is null, and counted.
CALENDAR = 262_142 * 366 * DAY
MOMENT = re.compile(r"([+-]?\d{4,6})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)?)?")
CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
SPAN = re.compile(r"(-?)P(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)(?:\.(\d+))?S)?)?")
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def fraction(digits: str | None) -> int:
    return int((digits or "0").ljust(9, "0")[:9])


def days(year: int, month: int, day: int) -> int:
    """Days since 1970 of any year: the calendar repeats every 400."""
    cycles, year = divmod(year - 1, 400)
    return datetime.date(year + 1, month, day).toordinal() + cycles * 146_097 - EPOCH


# How corpusdb gives a value: stored with a document; in a column that has its type; in a column of doubles or texts,
# which all its values can be.
Way = Literal["stored", "typed", "spelled"]


class Judged:
    """A value that a judge has and JSON spells as a text."""

    def same(self, ours: Any) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class Moment(Judged):
    """Nanoseconds since 1970."""

    at: int

    def same(self, ours: Any) -> bool:
        if ours is None:
            return abs(self.at) > CALENDAR
        found = MOMENT.fullmatch(ours) if isinstance(ours, str) else None
        if not found:
            return False
        year, month, day, hour, minute, second, rest, zone = found.groups()
        at = days(int(year), int(month), int(day)) * 86_400
        at += int(hour or 0) * 3_600 + int(minute or 0) * 60 + int(second or 0)
        if zone and zone != "Z":
            at -= int(zone[0] + "1") * (int(zone[1:3]) * 3_600 + int(zone[4:]) * 60)
        return at * 10**9 + fraction(rest) == self.at


@dataclass(frozen=True)
class Clock(Judged):
    """Nanoseconds since midnight."""

    at: int

    def same(self, ours: Any) -> bool:
        if ours is None:
            return not 0 <= self.at < DAY
        found = CLOCK.fullmatch(ours) if isinstance(ours, str) else None
        if not found:
            return False
        hour, minute, second, rest = found.groups()
        return (int(hour) * 3_600 + int(minute) * 60 + int(second)) * 10**9 + fraction(rest) == self.at


@dataclass(frozen=True)
class Span(Judged):
    """Nanoseconds of a duration; months and days of an interval are not compared."""

    length: int | None

    def same(self, ours: Any) -> bool:
        if self.length is None:
            return isinstance(ours, str) and not ours.startswith(("<", "ERROR"))
        if ours is None:
            return abs(self.length) >= 2**63 * 10**6
        found = SPAN.fullmatch(ours) if isinstance(ours, str) else None
        if not found:
            return False
        sign, *parts, rest = found.groups()
        count = sum(int(part or 0) * unit for part, unit in zip(parts, (86_400, 3_600, 60, 1), strict=True)) * 10**9
        negative = "-" in ours[1:] and not sign
        count += -fraction(rest) if negative else fraction(rest)
        return (-count if sign else count) == self.length


@dataclass(frozen=True)
class Single(Judged):
    """A number of fewer than 64 bits: the shortest digits of it are another double."""

    value: float
    form: str

    def same(self, ours: Any) -> bool:
        if isinstance(ours, bool) or not isinstance(ours, int | Decimal):
            return False
        try:
            return struct.pack(self.form, float(ours)) == struct.pack(self.form, self.value)
        except OverflowError:
            return False


@dataclass(frozen=True)
class Left(Judged):
    """A type that JSON lacks: the column is left out, and an alarm names it."""

    def same(self, ours: Any) -> bool:
        return ours is None


class BytesText(str):
    """Bytes are a text where they are UTF-8; a column of them is none of texts. Within structs SQL has their digits."""

    digits: str | None = None


def of_bytes(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        text = BytesText(value.decode())
    except UnicodeDecodeError:
        text = BytesText(value.hex())
    text.digits = value.hex()
    return text


def of_double(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def of_units(array: pa.Array, make: Any, unit: int) -> list[Any]:
    wide = array.cast(pa.int32()) if array.type.bit_width == 32 else array.cast(pa.int64())
    return [None if value is None else make(value * unit) for value in wide.to_pylist()]


def lists_of(members: list[Any], lengths: list[int | None]) -> list[Any]:
    lists: list[Any] = []
    at = 0
    for length in lengths:
        lists.append(None if length is None else members[at : at + length])
        at += length or 0
    return lists


def key_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def plain(array: pa.Array) -> list[Any]:
    """The values of a column."""
    kind = array.type
    test = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        inner = plain(array.storage)
        if kind.extension_name == "arrow.uuid":
            return [value and BytesText(uuid.UUID(bytes=value)) for value in array.storage.to_pylist()]
        if kind.extension_name == "arrow.json":
            return [value if value is None else parsed(value) for value in inner]
        return inner
    if test.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if test.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if test.is_union(kind):
        return [Left()] * len(array)
    if test.is_map(kind):
        names, items, ends = plain(array.keys), plain(array.items), array.offsets.to_pylist()
        return [
            {key_of(names[at]): items[at] for at in range(*ends[row : row + 2])} if valid else None
            for row, valid in enumerate(array.is_valid().to_pylist())
        ]
    if test.is_nested(kind) and not test.is_struct(kind):
        fixed = test.is_fixed_size_list(kind)
        lengths = (
            [kind.list_size if valid else None for valid in array.is_valid().to_pylist()]
            if fixed
            else pc.list_value_length(array).to_pylist()
        )
        return lists_of(plain(array.flatten()), lengths)
    if test.is_struct(kind):
        columns = [plain(member) for member in array.flatten()]
        names = [field.name for field in kind]
        valid = array.is_valid().to_pylist()
        return [
            {name: column[at] for name, column in zip(names, columns, strict=True)} if there else None
            for at, there in enumerate(valid)
        ]
    if test.is_date(kind):
        return of_units(array, Moment, DAY if test.is_date32(kind) else 10**6)
    if test.is_timestamp(kind):
        return of_units(array, Moment, NANOSECONDS[kind.unit])
    if test.is_time(kind):
        return of_units(array, Clock, NANOSECONDS[kind.unit])
    if test.is_duration(kind):
        return of_units(array, Span, NANOSECONDS[kind.unit])
    if test.is_interval(kind):
        return [None if valid is False else Span(None) for valid in array.is_valid().to_pylist()]
    if test.is_fixed_size_binary(kind):
        return [None if value is None else BytesText(value.hex()) for value in array.to_pylist()]
    if test.is_binary(kind) or test.is_large_binary(kind) or kind == pa.binary_view():
        return [of_bytes(value) for value in array.to_pylist()]
    if test.is_float64(kind):
        return [of_double(value) for value in array.to_pylist()]
    if test.is_floating(kind):
        form = "<f" if test.is_float32(kind) else "<e"
        found = (None if value is None else of_double(float(value)) for value in array.to_pylist())
        return [None if value is None else Single(value, form) for value in found]
    return list(array.to_pylist())


def one_of_each(given: list[str]) -> list[str]:
    """Names of columns: one that was there has the number of its column behind it."""
    names: list[str] = []
    for at, name in enumerate(given, 1):
        tried = (name if number < at else f"{name}_{number}" for number in itertools.count(at - 1))
        names.append(next(one for one in tried if one not in names))
    return names


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table, without those numbers of rows that pandas writes; names as `one_of_each` has them."""
    index = "__index_level_0__"
    if index in table.column_names and pa.types.is_integer(table.schema.field(index).type):
        table = table.drop_columns(index)
    columns = {
        name: [value for chunk in column.chunks for value in plain(chunk)]
        for name, column in zip(one_of_each(table.column_names), table.columns, strict=True)
    }
    return [{name: values[at] for name, values in columns.items()} for at in range(table.num_rows)]


def number(spelled: str) -> Decimal | str:
    """A number by its digits; what spells one whose exponent Python cannot hold stays a text."""
    try:
        return Decimal(spelled)
    except InvalidOperation:
        return spelled


DECODER = json.JSONDecoder(parse_float=number, parse_constant=lambda _: None)


def parsed(text: str) -> Any:
    """JSON with the digits of its numbers; NaN and the infinities are null."""
    return DECODER.decode(text)


def same(ours: Any, theirs: Any, way: Way) -> bool:
    """Whether both are one value."""
    if isinstance(theirs, Judged):
        return theirs.same(ours)
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return all(same(ours.get(name), theirs.get(name), way) for name in ours.keys() | theirs.keys())
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(same(a, b, way) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, bool) or isinstance(ours, bool):
        return ours is theirs or (way == "spelled" and isinstance(ours, str) and ours == json.dumps(theirs))
    if is_number(ours) and is_number(theirs):
        doubles = not (isinstance(ours, int) and isinstance(theirs, int)) and (
            way == "spelled" or isinstance(theirs, float)
        )
        return ours == theirs or (doubles and float(ours) == float(theirs))
    if way == "spelled" and isinstance(ours, str) and theirs is not None and not isinstance(theirs, str):
        try:
            again = parsed(ours)
        except ValueError:
            return False
        return not isinstance(again, str) and same(again, theirs, way)
    if way == "typed" and isinstance(theirs, BytesText) and ours == theirs.digits:
        return True
    return isinstance(theirs, type(ours)) and bool(ours == theirs)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def same_cell(ours: Any, text: str | None, way: Way) -> bool:
    """Whether a value is what a cell of a table says. Judges tell null from an empty text no more."""
    if ours is None or ours == "":
        return not text
    if isinstance(ours, str):
        return ours == text
    is_spelled = way == "spelled" and text is not None and NUMBER.fullmatch(text)
    return bool(is_spelled and same(ours, parsed(text or ""), way))
