//! CSV: RFC 4180 with line feeds.
//!
//! An empty text is quoted and a value that is absent is not, so that they differ. A row that would repeat the line of
//! names has one value in quotes, so that a reader does not take it for such a line.

use super::lines::{LineFile, in_parallel};
use super::spelling::{Spelled, ValueSpelling, doubled_quotes};
use crate::output::compression::{CompressedFile, FileOutput, OutputCompression};
use crate::output::error::WriteError;
use crate::output::format::{
    EncodedGroup, FileSpec, OutputFormat, ShardFile, TableColumns, TableFormat,
};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

pub(super) static CSV: OutputFormat = OutputFormat {
    name: "csv",
    about: "Comma-separated with a header line (RFC 4180)",
    endings: &["csv"],
    compressions: &[OutputCompression::None, OutputCompression::Zstd, OutputCompression::Gzip],
    default_compression: OutputCompression::None,
    is_compressed_whole: true,
    streams: true,
    columns: TableColumns::Typed,
    loss: Some("not finite, written as null"),
    table: Some(&Csv),
};

struct Csv;

impl TableFormat for Csv {
    fn check(&self, spec: &FileSpec) -> Result<(), WriteError> {
        ValueSpelling::check(&spec.schema)
    }

    fn encode(&self, _: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError> {
        in_parallel(rows, csv_rows)
    }

    fn create<'a>(
        &self,
        spec: &FileSpec,
        out: FileOutput<'a>,
    ) -> Result<Box<dyn ShardFile + 'a>, WriteError> {
        let mut file = CompressedFile::of(out, spec.compression, None)?;
        file.put(&csv_header(&spec.schema))?;
        Ok(Box::new(LineFile::new(file)))
    }
}

/// The line of names.
pub fn csv_header(schema: &SchemaRef) -> Vec<u8> {
    names_line(schema, false)
}

/// The line of names, perhaps with the first name in quotes that needs none.
fn names_line(schema: &SchemaRef, mut has_more_quotes: bool) -> Vec<u8> {
    let mut line = Vec::new();
    for (at, field) in schema.fields().iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        let start = line.len();
        // What another delimiter may be found in is quoted, and a reader finds none there.
        match field.name().contains([';', '|', '\t']) {
            true => in_quotes(field.name(), &mut line),
            false => quoted(field.name(), &mut line),
        }
        if has_more_quotes && line.get(start) != Some(&b'"') {
            line.truncate(start);
            in_quotes(field.name(), &mut line);
            has_more_quotes = false;
        }
    }
    line.push(b'\n');
    line
}

/// The lines of a batch, and how many values of each column are not finite.
pub fn csv_rows(rows: &RecordBatch, out: &mut Vec<u8>) -> Result<Vec<u64>, WriteError> {
    let is_alone = rows.num_columns() == 1;
    let spelling = ValueSpelling::new(rows.num_columns());
    let mut columns = spelling.columns(rows).map_err(|error| WriteError::Bug(error.to_string()))?;
    let mut json = Vec::new();
    let names = csv_header(rows.schema_ref());
    for row in 0..rows.num_rows() {
        let first = out.len();
        for (at, column) in columns.iter_mut().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            let start = out.len();
            match column.value(row) {
                Spelled::Null => {}
                Spelled::Text(text) => quoted(text, out),
                Spelled::Json(values) => {
                    json.clear();
                    values.encode(row, &mut json);
                    put_json(&json, out);
                }
            }
            if is_alone && out.len() == start {
                // An empty line would be passed over.
                out.extend_from_slice(b"\"\"");
            }
        }
        out.push(b'\n');
        if out.get(first..) == Some(names.as_slice()) {
            out.truncate(first);
            out.extend(names_line(rows.schema_ref(), true));
        }
    }
    Ok(spelling.lost())
}

/// A value that is spelled as JSON: nothing for null, a text without the quotes of JSON.
fn put_json(json: &[u8], out: &mut Vec<u8>) {
    match json {
        b"null" => {}
        [b'"', ..] => match serde_json::from_slice::<std::borrow::Cow<'_, str>>(json) {
            Ok(text) => quoted(&text, out),
            Err(_) => quoted(&String::from_utf8_lossy(json), out),
        },
        [b'[' | b'{', ..] => quoted(&String::from_utf8_lossy(json), out),
        digits => out.extend_from_slice(digits),
    }
}

/// A text, quoted where it must be.
fn quoted(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let is_plain = !bytes.is_empty()
        && !bytes.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r' | 0))
        && !text.starts_with('\u{feff}')
        && !bytes.first().is_some_and(u8::is_ascii_whitespace)
        && !bytes.last().is_some_and(u8::is_ascii_whitespace);
    if is_plain {
        out.extend_from_slice(bytes);
        return;
    }
    in_quotes(text, out);
}

fn in_quotes(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    doubled_quotes(text, out);
    out.push(b'"');
}
