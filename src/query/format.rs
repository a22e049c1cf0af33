//! Prints result batches as a table, as CSV, or as one JSON object a line.

use super::error::QueryError;
use arrow::csv::WriterBuilder as CsvBuilder;
use arrow::json::WriterBuilder as JsonBuilder;
use arrow::json::writer::LineDelimited;
use arrow::record_batch::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use std::io::Write;

/// Rows of one printed table; a longer result is printed in pages, each as wide as it needs.
const PAGE: usize = 1000;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns under one another, for people.
    Table,
    /// Comma-separated with a header line.
    Csv,
    /// One JSON object a line; nulls are printed.
    Json,
}

impl Format {
    /// The word used on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    /// The format of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Table, Self::Csv, Self::Json].into_iter().find(|format| format.name() == name)
    }
}

/// Prints batches as they come; holds one page at most.
pub struct Printer<'a> {
    format: Format,
    out: &'a mut dyn Write,
    page: Vec<RecordBatch>,
    rows: usize,
    started: bool,
}

impl<'a> Printer<'a> {
    /// Prints to `out`, which should be buffered.
    pub fn new(format: Format, out: &'a mut dyn Write) -> Self {
        Self { format, out, page: Vec::new(), rows: 0, started: false }
    }

    /// Prints a batch; an empty one prints its columns' names, if that is the first thing printed.
    ///
    /// # Errors
    /// [`QueryError::Write`] when the output refuses, [`QueryError::Run`] for values that have no
    /// text form.
    pub fn batch(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        match self.format {
            Format::Table => self.table(batch),
            Format::Csv => {
                let mut text = Vec::new();
                let mut writer = CsvBuilder::new().with_header(!self.started).build(&mut text);
                writer.write(batch).map_err(QueryError::arrow)?;
                drop(writer);
                self.started = true;
                self.write(&text)
            }
            Format::Json => {
                let mut text = Vec::new();
                let mut writer = JsonBuilder::new()
                    .with_explicit_nulls(true)
                    .build::<_, LineDelimited>(&mut text);
                writer.write(batch).map_err(QueryError::arrow)?;
                writer.finish().map_err(QueryError::arrow)?;
                drop(writer);
                self.write(&text)
            }
        }
    }

    /// Prints what is still held.
    ///
    /// # Errors
    /// As [`Printer::batch`].
    pub fn finish(mut self) -> Result<(), QueryError> {
        self.flush_page()?;
        self.out.flush().map_err(QueryError::Write)
    }

    fn table(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        let mut at = 0;
        loop {
            let taken = (PAGE - self.rows).min(batch.num_rows() - at);
            self.page.push(batch.slice(at, taken));
            self.rows += taken;
            at += taken;
            if self.rows >= PAGE {
                self.flush_page()?;
            }
            if at >= batch.num_rows() {
                return Ok(());
            }
        }
    }

    fn flush_page(&mut self) -> Result<(), QueryError> {
        if self.page.is_empty() || (self.rows == 0 && self.started) {
            return Ok(());
        }
        let text = pretty_format_batches(&self.page).map_err(QueryError::arrow)?.to_string();
        self.page.clear();
        self.rows = 0;
        self.started = true;
        self.write(text.as_bytes())?;
        self.write(b"\n")
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), QueryError> {
        self.out.write_all(bytes).map_err(QueryError::Write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array, StringViewArray};
    use std::sync::Arc;

    fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
        let numbers: ArrayRef =
            Arc::new(rows.clone().map(|n| (n != 1).then_some(n)).collect::<Int64Array>());
        let texts: ArrayRef =
            Arc::new(rows.map(|n| Some(format!("a,\"{n}\n"))).collect::<StringViewArray>());
        RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("text", texts, false)])
            .unwrap()
    }

    fn printed(format: Format, batches: &[RecordBatch]) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(format, &mut out);
        for batch in batches {
            printer.batch(batch).unwrap();
        }
        printer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_has_one_header_and_quotes() {
        let text = printed(Format::Csv, &[batch(0..1), batch(1..2)]);
        assert_eq!(text, "n,text\n0,\"a,\"\"0\n\"\n,\"a,\"\"1\n\"\n");
        assert_eq!(printed(Format::Csv, &[batch(0..0)]), "n,text\n");
    }

    #[test]
    fn json_is_a_line_an_object_with_nulls() {
        let text = printed(Format::Json, &[batch(0..1), batch(1..2)]);
        assert_eq!(
            text,
            "{\"n\":0,\"text\":\"a,\\\"0\\n\"}\n{\"n\":null,\"text\":\"a,\\\"1\\n\"}\n"
        );
        assert_eq!(printed(Format::Json, &[batch(0..0)]), "");
    }

    #[test]
    fn tables_come_in_pages() {
        let headers = |text: &str| text.lines().filter(|line| line.starts_with("| n ")).count();
        assert_eq!(headers(&printed(Format::Table, &[batch(0..700), batch(0..700)])), 2);
        assert_eq!(headers(&printed(Format::Table, &[batch(0..1000)])), 1);
        assert_eq!(headers(&printed(Format::Table, &[batch(0..0)])), 1);
    }

    #[test]
    fn a_refusing_output_is_a_write_error() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        for format in [Format::Table, Format::Csv, Format::Json] {
            let mut closed = Closed;
            let mut printer = Printer::new(format, &mut closed);
            let done = printer.batch(&batch(0..2)).and_then(|()| printer.finish());
            assert!(
                matches!(done, Err(QueryError::Write(why)) if why.kind() == std::io::ErrorKind::BrokenPipe)
            );
        }
    }
}
