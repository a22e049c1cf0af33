//! Prints rows with whole values, one column a line: for reading texts of any length.

use super::cell::harmless;
use crate::sql::error::SqlError;
use arrow::array::Array;
use arrow::record_batch::RecordBatch;
use model::shown_values;
use std::fmt::{self, Write as _};
use std::io::Write;

/// Writes the rows of a batch, numbered from `number`. No value is copied into a text.
pub(super) fn write(out: &mut dyn Write, batch: &RecordBatch, number: u64) -> Result<(), SqlError> {
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let wide = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut columns = Vec::with_capacity(names.len());
    for (name, column) in names.iter().zip(batch.columns()) {
        let values = shown_values(column).map_err(SqlError::arrow)?;
        columns.push((name, column, values));
    }
    for (row, number) in (0..batch.num_rows()).zip(number..) {
        writeln!(out, "--- row {number}").map_err(SqlError::Write)?;
        for (name, column, values) in &columns {
            let mut lines = IndentWriter { out: &mut *out, indent: wide + 3, failed: None };
            // A moment that no calendar has prints as nothing, so it is shown as NULL.
            let is_short = column.data_type().is_temporal();
            let is_null =
                column.is_null(row) || is_short && values.value(row).to_string().is_empty();
            let written = match is_null {
                true => write!(lines, "{name:<wide$} = NULL"),
                false => write!(lines, "{name:<wide$} = {}", values.value(row)),
            };
            let failed = lines.failed.take();
            match (written, failed) {
                (Ok(()), None) => {}
                (_, Some(error)) => return Err(SqlError::Write(error)),
                (Err(_), None) => {
                    return Err(SqlError::Run {
                        why: format!("a value of `{name}` has no text form"),
                    });
                }
            }
            writeln!(out).map_err(SqlError::Write)?;
        }
    }
    Ok(())
}

/// Passes text on, with the lines after the first indented.
struct IndentWriter<'a> {
    out: &'a mut dyn Write,
    indent: usize,
    failed: Option<std::io::Error>,
}

impl fmt::Write for IndentWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (at, line) in text.split('\n').enumerate() {
            let indent = if at > 0 { self.indent } else { 0 };
            let shown = match line.chars().all(|c| c == harmless(c)) {
                true => std::borrow::Cow::Borrowed(line),
                false => line.chars().map(|c| if c == '\t' { c } else { harmless(c) }).collect(),
            };
            let broken = if at > 0 { "\n" } else { "" };
            let written = write!(self.out, "{broken}{:indent$}", "")
                .and_then(|()| self.out.write_all(shown.as_bytes()));
            if let Err(error) = written {
                self.failed = Some(error);
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}
