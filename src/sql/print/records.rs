//! Prints rows one under another, or as a table of Markdown.

use super::cell::harmless;
use super::is_short;
use crate::sql::error::SqlError;
use arrow::array::Array;
use arrow::datatypes::Schema;
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

/// The line of names, and the line below it, which aligns numbers to the right.
pub(super) fn head(schema: &Schema) -> String {
    let (mut names, mut rule) = ("|".to_owned(), "|".to_owned());
    for field in schema.fields() {
        names.push(' ');
        let _ = MarkdownWriter(&mut names).write_str(field.name());
        names.push_str(" |");
        rule.push_str(if is_short(field.data_type()) { " ---: |" } else { " --- |" });
    }
    format!("{names}\n{rule}\n")
}

pub(super) fn rows(batch: &RecordBatch) -> Result<String, SqlError> {
    let schema = batch.schema();
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        columns.push((field.name(), shown_values(column).map_err(SqlError::arrow)?));
    }
    let mut out = String::new();
    for row in 0..batch.num_rows() {
        out.push('|');
        for (name, values) in &columns {
            out.push(' ');
            write!(MarkdownWriter(&mut out), "{}", values.value(row)).map_err(|_| {
                SqlError::Run { why: format!("a value of `{name}` has no text form") }
            })?;
            out.push_str(" |");
        }
        out.push('\n');
    }
    Ok(out)
}

/// Escapes text so that it stays in its cell.
struct MarkdownWriter<'a>(&'a mut String);

impl fmt::Write for MarkdownWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '|' => self.0.push_str("\\|"),
                '\n' => self.0.push_str("<br>"),
                '\r' => {}
                '\t' => self.0.push(' '),
                c => self.0.push(harmless(c)),
            }
        }
        Ok(())
    }
}
