//! Spells one value as text, for every format of lines and for printed answers: as JSON, or as CSV.
//!
//! In CSV a value is its JSON without the quotes of a text.
//!
//! Numbers have the shortest digits that give them back, and no exponent before 10^16; what is not finite has no
//! spelling and is null, as what no calendar has. A moment is RFC 3339 in UTC with its `Z`. Other types are spelled as
//! `arrow-json` does: bytes in hexadecimal, dates and times of day as ISO 8601, lists and structs as arrays and objects
//! with their nulls; a map is an object, its names the keys as texts.

use crate::output::error::WriteError;
use arrow::array::{
    Array, ArrowPrimitiveType, AsArray, LargeStringArray, PrimitiveArray, RecordBatch, StringArray,
    StringViewArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, FieldRef, Float16Type, Float32Type, Float64Type, SchemaRef, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow::error::ArrowError;
use arrow::json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder, make_encoder};
use arrow::temporal_conversions::as_datetime;
use model::invariant::part;
use model::{decimal_encoder, map_encoder, moment_encoder, shown_moment};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the values of columns are spelled, and how many of each column have no spelling.
pub(super) struct ValueSpelling {
    options: Vec<EncoderOptions>,
    not_finite: Vec<Arc<AtomicU64>>,
}

impl ValueSpelling {
    /// For batches of so many columns.
    pub fn new(columns: usize) -> Self {
        let not_finite: Vec<Arc<AtomicU64>> = (0..columns).map(|_| Arc::default()).collect();
        let options = not_finite.iter().map(|not_finite| {
            let factory = OwnSpelling { not_finite: Arc::clone(not_finite) };
            EncoderOptions::default()
                .with_explicit_nulls(true)
                .with_encoder_factory(Arc::new(factory))
        });
        Self { options: options.collect(), not_finite }
    }

    /// The columns of a batch.
    pub fn columns<'a>(
        &'a self,
        rows: &'a RecordBatch,
    ) -> Result<Vec<ColumnSpelling<'a>>, ArrowError> {
        let fields = rows.schema_ref().fields().iter().zip(rows.columns()).zip(&self.options);
        fields
            .map(|((field, array), options)| ColumnSpelling::of(field, array.as_ref(), options))
            .collect()
    }

    /// How many values of each column were null for want of a spelling.
    pub fn lost(&self) -> Vec<u64> {
        self.not_finite.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// Refuses columns of a type that has no spelling.
    pub fn check(schema: &SchemaRef) -> Result<(), WriteError> {
        let rows = RecordBatch::new_empty(Arc::clone(schema));
        let spelling = Self::new(rows.num_columns());
        for (field, options) in schema.fields().iter().zip(&spelling.options) {
            let array = arrow::array::new_empty_array(field.data_type());
            make_encoder(field, array.as_ref(), options).map_err(|_| {
                let (name, kind) = (field.name(), field.data_type());
                WriteError::Unfit(format!(
                    "the column `{name}` has the type {kind}, which has no form as text: cast it"
                ))
            })?;
        }
        Ok(())
    }
}

/// The values of a column in a batch.
pub(super) enum ColumnSpelling<'a> {
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Json(NullableEncoder<'a>),
}

/// A value: a text as it is, or JSON.
pub(super) enum Spelled<'a, 'e> {
    Null,
    Text(&'a str),
    Json(&'e mut NullableEncoder<'a>),
}

impl<'a> ColumnSpelling<'a> {
    fn of(
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::LargeUtf8 => Self::LargeText(array.as_string()),
            DataType::Utf8View => Self::TextView(array.as_string_view()),
            _ => Self::Json(make_encoder(field, array, options)?),
        })
    }

    /// The value in a row.
    pub fn value(&mut self, row: usize) -> Spelled<'a, '_> {
        match self {
            Self::Text(texts) if texts.is_valid(row) => Spelled::Text(texts.value(row)),
            Self::LargeText(texts) if texts.is_valid(row) => Spelled::Text(texts.value(row)),
            Self::TextView(texts) if texts.is_valid(row) => Spelled::Text(texts.value(row)),
            Self::Json(values) if !values.is_null(row) => Spelled::Json(values),
            _ => Spelled::Null,
        }
    }

    /// The text in a row, of a column of texts.
    pub fn text(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Text(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Self::LargeText(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Self::TextView(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Self::Json(_) => None,
        }
    }
}

/// What is spelled otherwise than `arrow-json` does, at any depth.
#[derive(Debug)]
struct OwnSpelling {
    not_finite: Arc<AtomicU64>,
}

impl EncoderFactory for OwnSpelling {
    fn make_default_encoder<'a>(
        &self,
        _field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let (count, nulls) = (&self.not_finite, array.nulls().cloned());
        Ok(Some(match array.data_type() {
            DataType::Utf8 => {
                let texts = array.as_string::<i32>();
                with_nulls(nulls, move |row, out| json_text(texts.value(row), out))
            }
            DataType::LargeUtf8 => {
                let texts = array.as_string::<i64>();
                with_nulls(nulls, move |row, out| json_text(texts.value(row), out))
            }
            DataType::Utf8View => {
                let texts = array.as_string_view();
                with_nulls(nulls, move |row, out| json_text(texts.value(row), out))
            }
            DataType::Float16 => {
                floats::<Float16Type>(array, count, |value, out| json_number(value.to_f32(), out))
            }
            DataType::Float32 => floats::<Float32Type>(array, count, json_number),
            DataType::Float64 => floats::<Float64Type>(array, count, json_number),
            DataType::Timestamp(TimeUnit::Second, _) => {
                moments::<TimestampSecondType>(array, 1, count)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                moments::<TimestampMillisecondType>(array, 1_000, count)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                moments::<TimestampMicrosecondType>(array, 1_000_000, count)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                moments::<TimestampNanosecondType>(array, 1_000_000_000, count)
            }
            DataType::Map(..) => return map_encoder(array, options),
            kind if kind.is_decimal() => return Ok(decimal_encoder(array)),
            kind if kind.is_temporal() => {
                let count = Arc::clone(count);
                return moment_encoder(array, move |_, out| lose(&count, out));
            }
            _ => return Ok(None),
        }))
    }
}

/// Null in the place of a value without a spelling, which is counted.
fn lose(count: &AtomicU64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"null");
    count.fetch_add(1, Ordering::Relaxed);
}

/// An encoder that is a function of the row.
struct RowEncoder<F>(F);

impl<F: FnMut(usize, &mut Vec<u8>)> Encoder for RowEncoder<F> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        (self.0)(row, out);
    }
}

fn with_nulls<'a>(
    nulls: Option<NullBuffer>,
    encode: impl FnMut(usize, &mut Vec<u8>) + 'a,
) -> NullableEncoder<'a> {
    NullableEncoder::new(Box::new(RowEncoder(encode)), nulls)
}

/// Numbers; `write` says whether one has a spelling, and the count is of those that have none.
fn floats<'a, T: ArrowPrimitiveType>(
    array: &'a dyn Array,
    count: &Arc<AtomicU64>,
    write: impl Fn(T::Native, &mut Vec<u8>) -> bool + 'a,
) -> NullableEncoder<'a> {
    let values: &PrimitiveArray<T> = array.as_primitive();
    let count = Arc::clone(count);
    with_nulls(array.nulls().cloned(), move |row, out| {
        if !write(values.value(row), out) {
            lose(&count, out);
        }
    })
}

fn json_number(value: impl serde::Serialize + Into<f64> + Copy, out: &mut Vec<u8>) -> bool {
    value.into().is_finite() && serde_json::to_writer(out, &value).is_ok()
}

/// Moments in so many parts of a second.
fn moments<'a, T: ArrowPrimitiveType<Native = i64>>(
    array: &'a dyn Array,
    parts: i64,
    count: &Arc<AtomicU64>,
) -> NullableEncoder<'a> {
    let values: &PrimitiveArray<T> = array.as_primitive();
    let nanoseconds = 1_000_000_000 / parts;
    let count = Arc::clone(count);
    with_nulls(array.nulls().cloned(), move |row, out| {
        let moment = values.value(row);
        if as_datetime::<T>(moment).is_none() {
            return lose(&count, out);
        }
        let fraction = moment.rem_euclid(parts) * nanoseconds;
        out.push(b'"');
        out.extend_from_slice(shown_moment(moment.div_euclid(parts), fraction).as_bytes());
        out.push(b'"');
    })
}

/// Appends a text as JSON has it. Escaped are also what other readers take for the end of a line, but JSON lines does
/// not: U+0085, U+2028, U+2029.
pub(super) fn json_text(text: &str, out: &mut Vec<u8>) {
    // Most texts have an escape for some line breaks and quotes.
    out.reserve(text.len() + text.len() / 16 + 2);
    out.push(b'"');
    let specials = |bytes: u64| {
        marks_of_zeros(bytes & of_each(0xe0))
            | marks_of_zeros(bytes ^ of_each(b'"'))
            | marks_of_zeros(bytes ^ of_each(b'\\'))
            | line_end_marks(bytes)
    };
    copy_escaping(text.as_bytes(), specials, out, |special, out| match special {
        [b'"', ..] => escape(b"\\\"", 1, out),
        [b'\\', ..] => escape(b"\\\\", 1, out),
        [b'\n', ..] => escape(b"\\n", 1, out),
        [b'\r', ..] => escape(b"\\r", 1, out),
        [b'\t', ..] => escape(b"\\t", 1, out),
        [0x08, ..] => escape(b"\\b", 1, out),
        [0x0c, ..] => escape(b"\\f", 1, out),
        [control @ ..0x20, ..] => escape(format!("\\u{control:04x}").as_bytes(), 1, out),
        other => line_end(other, out),
    });
    out.push(b'"');
}

/// Appends JSON as it is spelled, on one line: a line break in it is space between values, since texts have theirs
/// escaped, and what only some readers take for a line end stands within texts.
pub(super) fn json_on_one_line(json: &str, out: &mut Vec<u8>) {
    let specials = |bytes: u64| {
        marks_of_zeros(bytes ^ of_each(b'\n'))
            | marks_of_zeros(bytes ^ of_each(b'\r'))
            | line_end_marks(bytes)
    };
    copy_escaping(json.as_bytes(), specials, out, |special, out| match special {
        [b'\n' | b'\r', ..] => escape(b" ", 1, out),
        other => line_end(other, out),
    });
}

/// Appends a text with each quote doubled, as CSV has it within quotes.
pub(super) fn doubled_quotes(text: &str, out: &mut Vec<u8>) {
    let specials = |bytes: u64| marks_of_zeros(bytes ^ of_each(b'"'));
    copy_escaping(text.as_bytes(), specials, out, |_, out| escape(b"\"\"", 1, out));
}

fn line_end(special: &[u8], out: &mut Vec<u8>) -> usize {
    match special {
        [0xc2, 0x85, ..] => escape(b"\\u0085", 2, out),
        [0xe2, 0x80, 0xa8, ..] => escape(b"\\u2028", 3, out),
        [0xe2, 0x80, 0xa9, ..] => escape(b"\\u2029", 3, out),
        _ => 1,
    }
}

fn escape(spelled: &[u8], bytes: usize, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(spelled);
    bytes
}

/// Copies bytes in runs. `specials` marks, in eight bytes at once, those that need an escape, letters apart that begin as
/// U+0085 and U+2028 do; `escape` writes something in place of as many bytes as it says.
fn copy_escaping(
    bytes: &[u8],
    specials: impl Fn(u64) -> u64,
    out: &mut Vec<u8>,
    escape: impl Fn(&[u8], &mut Vec<u8>) -> usize,
) {
    let mut start = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    // Behind the last bytes stand letters, which no escape is for.
    let mut last = [b'x'; 8];
    last.iter_mut().zip(rest).for_each(|(byte, own)| *byte = *own);
    for (at, word) in (0..).step_by(8).zip(words.iter().chain([&last])) {
        let mut marks = specials(u64::from_le_bytes(*word));
        while marks != 0 {
            let special = at + marks.trailing_zeros() as usize / 8;
            marks &= marks - 1;
            let from = part(bytes, special..);
            if is_letter(from) {
                continue;
            }
            out.extend_from_slice(part(bytes, start..special));
            start = special + escape(from, out);
        }
    }
    out.extend_from_slice(part(bytes, start..));
}

/// Whether bytes begin with a character that begins as U+0085 or U+2028 do, and is neither these nor U+2029.
const fn is_letter(bytes: &[u8]) -> bool {
    match bytes {
        [0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..] => false,
        [first, ..] => matches!(first, 0xc2 | 0xe2),
        [] => true,
    }
}

/// A word of eight equal bytes.
const fn of_each(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// The highest bit of each byte that is zero, of no other.
const fn marks_of_zeros(bytes: u64) -> u64 {
    let low = of_each(0x7f);
    !(((bytes & low) + low) | bytes | low)
}

/// Marks of the bytes that U+0085, U+2028 and U+2029 begin with, and many other characters.
const fn line_end_marks(bytes: u64) -> u64 {
    marks_of_zeros((bytes | of_each(0x20)) ^ of_each(0xe2))
}

/// JSON as Python's `json.dump` spaces it, which the reference writers use: a space after every comma and colon.
#[must_use]
pub fn python_json(value: &Value) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail, and a `Value` has no other keys than strings.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut out, PythonSpacing));
    String::from_utf8(out).unwrap_or_default()
}

struct PythonSpacing;

fn separate<W: Write + ?Sized>(writer: &mut W, first: bool) -> io::Result<()> {
    if first { Ok(()) } else { writer.write_all(b", ") }
}

impl Formatter for PythonSpacing {
    fn begin_array_value<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        separate(to, first)
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        separate(to, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}
