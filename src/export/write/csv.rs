//! Rows as CSV: RFC 4180 with line feeds. An empty text is quoted and a value that is absent is not, so that they
//! differ.

use super::value::{Value, value};
use crate::export::error::ExportError;
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::SchemaRef;

/// The line of names.
pub(super) fn header(schema: &SchemaRef) -> Vec<u8> {
    let mut line = Vec::new();
    for (at, field) in schema.fields().iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        text(field.name(), &mut line);
    }
    line.push(b'\n');
    line
}

/// Appends the lines of a batch.
pub(super) fn rows(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ExportError> {
    let alone = batch.num_columns() == 1;
    for row in 0..batch.num_rows() {
        for (at, column) in batch.columns().iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            match value(column as &dyn Array, row)? {
                // A line of nothing would be skipped.
                Value::Null if alone => out.extend_from_slice(b"\"\""),
                Value::Null => {}
                Value::Plain(digits) => out.extend_from_slice(digits.as_bytes()),
                Value::Text(content) => text(&content, out),
            }
        }
        out.push(b'\n');
    }
    Ok(())
}

fn text(content: &str, out: &mut Vec<u8>) {
    let bytes = content.as_bytes();
    let is_plain = !bytes.is_empty()
        && !bytes.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r' | 0))
        && !bytes.first().is_some_and(u8::is_ascii_whitespace)
        && !bytes.last().is_some_and(u8::is_ascii_whitespace);
    if is_plain {
        out.extend_from_slice(bytes);
        return;
    }
    out.push(b'"');
    for piece in bytes.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(piece);
        if piece.last() == Some(&b'"') {
            out.push(b'"');
        }
    }
    out.push(b'"');
}
