//! Formats rows as a Markdown table, as GitHub reads it: values whole, each row a line.

use super::cell::harmless;
use super::is_short;
use crate::sql::error::SqlError;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use model::shown_values;
use std::fmt::{self, Write};

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

impl Write for MarkdownWriter<'_> {
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
