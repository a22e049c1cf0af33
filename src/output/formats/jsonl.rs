//! JSON lines: an object a line. The fields of a record stand as it spelled them, at top level or as one object.

use super::lines::{LineFile, in_parallel};
use super::spelling::{Spelled, ValueSpelling, json_on_one_line, json_text};
use crate::output::compression::{CompressedFile, FileOutput, OutputCompression};
use crate::output::error::WriteError;
use crate::output::format::{
    EncodedGroup, FileSpec, OutputFormat, ShardFile, TableColumns, TableFormat,
};
use arrow::array::RecordBatch;

pub(super) static JSON_LINES: OutputFormat = OutputFormat {
    name: "jsonl",
    about: "One JSON object a line",
    endings: &["jsonl", "ndjson"],
    compressions: &[OutputCompression::None, OutputCompression::Zstd, OutputCompression::Gzip],
    default_compression: OutputCompression::None,
    is_compressed_whole: true,
    streams: true,
    columns: TableColumns::Members,
    loss: Some("not finite, written as null"),
    table: Some(&JsonLines),
};

struct JsonLines;

impl TableFormat for JsonLines {
    fn check(&self, spec: &FileSpec) -> Result<(), WriteError> {
        ValueSpelling::check(&spec.schema)
    }

    fn encode(&self, spec: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError> {
        in_parallel(rows, |rows, out| lines(rows, spec.object, spec.spread, out))
    }

    fn create<'a>(
        &self,
        spec: &FileSpec,
        out: FileOutput<'a>,
    ) -> Result<Box<dyn ShardFile + 'a>, WriteError> {
        Ok(Box::new(LineFile::new(CompressedFile::of(out, spec.compression, None)?)))
    }
}

/// The lines of a batch of plain columns, and how many values of each column are not finite.
pub(crate) fn json_rows(rows: &RecordBatch, out: &mut Vec<u8>) -> Result<Vec<u64>, WriteError> {
    lines(rows, None, None, out)
}

/// `object` and `spread` are columns with a JSON object in text: one stands as an object under its name, the members
/// of the other at top level.
fn lines(
    rows: &RecordBatch,
    object: Option<usize>,
    spread: Option<usize>,
    out: &mut Vec<u8>,
) -> Result<Vec<u64>, WriteError> {
    let spelling = ValueSpelling::new(rows.num_columns());
    let mut columns = spelling.columns(rows).map_err(|error| WriteError::Bug(error.to_string()))?;
    let mut keys = Vec::with_capacity(columns.len());
    for field in rows.schema_ref().fields() {
        let mut key = Vec::new();
        json_text(field.name(), &mut key);
        key.push(b':');
        keys.push(key);
    }
    for row in 0..rows.num_rows() {
        out.push(b'{');
        let mut is_first = true;
        for (at, (column, key)) in columns.iter_mut().zip(&keys).enumerate() {
            if Some(at) == spread {
                put_members(column.text(row).unwrap_or_default(), &mut is_first, out);
                continue;
            }
            put_comma(&mut is_first, out);
            out.extend_from_slice(key);
            match column.value(row) {
                Spelled::Null => out.extend_from_slice(b"null"),
                Spelled::Text(json) if Some(at) == object => json_on_one_line(json, out),
                Spelled::Text(text) => json_text(text, out),
                Spelled::Json(values) => values.encode(row, out),
            }
        }
        out.extend_from_slice(b"}\n");
    }
    Ok(spelling.lost())
}

/// Appends the members of an object without its braces.
fn put_members(object: &str, is_first: &mut bool, out: &mut Vec<u8>) {
    let inside = object.trim().strip_prefix('{').and_then(|object| object.strip_suffix('}'));
    let inside = inside.unwrap_or_default().trim();
    if !inside.is_empty() {
        put_comma(is_first, out);
        json_on_one_line(inside, out);
    }
}

fn put_comma(is_first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(is_first) {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, StringArray};
    use std::sync::Arc;

    #[test]
    fn a_line_has_no_character_that_ends_one_elsewhere() {
        let text = "a\u{85}b\u{2028}c\u{2029}d\u{c2}\u{e9}\u{2030}\"\\\u{1}\u{8}\u{c}\n\r\t e";
        let object = "{\"x\":\n\"\u{2028}\u{2030}\",\r\"y\":1}";
        let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let objects: ArrayRef = Arc::new(StringArray::from(vec![object]));
        let rows = RecordBatch::try_from_iter([("t", texts), ("meta", objects)]).unwrap();
        let expected = "{\"t\":\"a\\u0085b\\u2028c\\u2029d\u{c2}\u{e9}\u{2030}\\\"\\\\\\u0001\\b\\f\\n\\r\\t e\"";
        let one = |object, spread| {
            let mut out = Vec::new();
            lines(&rows, object, spread, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let inside = "\"x\": \"\\u2028\u{2030}\", \"y\":1";
        assert_eq!(one(Some(1), None), format!("{expected},\"meta\":{{{inside}}}}}\n"));
        assert_eq!(one(None, Some(1)), format!("{expected},{inside}}}\n"));
        // The same escapes as the library's, for what both escape.
        for text in ["", "plain", "\u{0}\u{1f}\u{7f}", "é\"日\\本", &"long \"text\" ".repeat(99)]
        {
            let mut own = Vec::new();
            json_text(text, &mut own);
            assert_eq!(own, serde_json::to_vec(text).unwrap());
        }
    }
}
