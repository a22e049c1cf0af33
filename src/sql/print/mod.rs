//! Prints query results as a table, as one column a line, as CSV, as JSON lines, or as Markdown.

mod cell;
mod records;
mod table;

use crate::sql::SqlRows;
use crate::sql::error::SqlError;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::record_batch::RecordBatch;
use arrow::util::display::ArrayFormatter;
use cell::{TableCell, visible};
use files::output::{WriteError, csv_header, csv_rows, json_rows};
use model::shown_values;
use std::io::Write;
use std::sync::Arc;
use table::{TableHead, TablePage};

/// Columns of a terminal that a cell of a table takes at most, where no width is asked for.
const WIDEST: usize = 200;
/// Bytes of values that are formatted as CSV or JSON at a time.
const BYTES: usize = 1 << 20;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintFormat {
    /// Columns beside one another, for people: long values are cut.
    Table,
    /// Columns under one another, one a line, for people: values are whole.
    Line,
    /// Comma-separated with a header line.
    Csv,
    /// One JSON object a line; nulls are printed.
    Json,
    /// A table of Markdown: values are whole, on one line.
    Markdown,
}

impl PrintFormat {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Table, Self::Line, Self::Csv, Self::Json, Self::Markdown];

    /// The word used on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Line => "line",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Markdown => "markdown",
        }
    }

    /// What it is, for help.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Table => {
                "Columns side by side, cut to the width of the terminal (elsewhere 160 characters)"
            }
            Self::Line => "One column a line, with complete values",
            Self::Csv => "Comma-separated with a header line",
            Self::Json => "One JSON object a line",
            Self::Markdown => "A Markdown table with complete values",
        }
    }

    /// The format of that name, if there is one; `jsonl` is another name of `json`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "jsonl" { "json" } else { name };
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Prints batches as they come; holds one page of a table at most, which is bounded in rows and in bytes.
pub struct RowPrinter<'a> {
    format: PrintFormat,
    out: &'a mut dyn Write,
    width: Option<usize>,
    on_terminal: bool,
    heads: Vec<TableHead>,
    page: TablePage,
    rows: u64,
    started: bool,
    cut: bool,
}

impl<'a> RowPrinter<'a> {
    /// Prints to `out`, which should be buffered.
    pub fn new(format: PrintFormat, out: &'a mut dyn Write) -> Self {
        Self {
            format,
            out,
            width: None,
            on_terminal: false,
            heads: Vec::new(),
            page: TablePage::default(),
            rows: 0,
            started: false,
            cut: false,
        }
    }

    /// Makes tables at most `width` columns of a terminal wide, by cutting texts; rows that no such table
    /// holds are printed under one another.
    #[must_use]
    pub fn within(mut self, width: usize) -> Self {
        self.width = Some(width);
        self
    }

    /// Prints tables as people read them on a terminal: nulls as `NULL`, dim where there may be colours, and commas in
    /// amounts ([`has_thousands`]). Nothing in a table but these marks acts on a terminal.
    #[must_use]
    pub fn on_terminal(mut self, has_colours: bool) -> Self {
        self.on_terminal = true;
        self.page.has_colours = has_colours;
        self
    }

    /// Whether a value or a name has been cut so far, which only tables do. What is cut ends in `…`.
    #[must_use]
    pub const fn has_cut(&self) -> bool {
        self.cut
    }

    /// Prints a batch; an empty one prints its columns' names, if that is the first thing printed.
    ///
    /// # Errors
    /// [`SqlError::Write`] when the output refuses, [`SqlError::Run`] for values that have no text form,
    /// [`SqlError::SameNames`] for two columns of one name where programs read the answer: as CSV and JSON.
    pub fn batch(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        match self.format {
            PrintFormat::Table => self.table(batch),
            PrintFormat::Line => {
                records::write(self.out, batch, self.rows + 1)?;
                self.rows += u64::try_from(batch.num_rows()).unwrap_or(0);
                Ok(())
            }
            PrintFormat::Csv | PrintFormat::Json | PrintFormat::Markdown => {
                if self.format != PrintFormat::Markdown && !self.started {
                    refuse_same_names(batch.schema().fields())?;
                }
                for part in parts(batch) {
                    let text = match self.format {
                        PrintFormat::Csv => self.csv(&part)?,
                        PrintFormat::Markdown => self.markdown(&part)?,
                        _ => json(&part)?,
                    };
                    self.started = true;
                    self.write(&text)?;
                }
                Ok(())
            }
        }
    }

    /// Prints what an answer without rows has: the names of its columns.
    ///
    /// # Errors
    /// As [`RowPrinter::batch`].
    pub fn empty(&mut self, schema: &arrow::datatypes::SchemaRef) -> Result<(), SqlError> {
        self.batch(&RecordBatch::new_empty(Arc::clone(schema)))
    }

    /// Prints all rows of an answer as they come; of one without rows the names of its columns.
    ///
    /// # Errors
    /// What fails while the statement runs, and as [`RowPrinter::batch`].
    pub fn rows(&mut self, rows: SqlRows) -> Result<(), SqlError> {
        let schema = rows.schema();
        let mut any = false;
        for batch in rows {
            self.batch(&batch?)?;
            any = true;
        }
        if any { Ok(()) } else { self.empty(&schema) }
    }

    /// Prints what is still held.
    ///
    /// # Errors
    /// As [`RowPrinter::batch`].
    pub fn finish(&mut self) -> Result<(), SqlError> {
        self.flush_page()?;
        self.out.flush().map_err(SqlError::Write)
    }

    fn csv(&self, batch: &RecordBatch) -> Result<Vec<u8>, SqlError> {
        let mut text = if self.started { Vec::new() } else { csv_header(&batch.schema()) };
        csv_rows(batch, &mut text).map_err(unprintable)?;
        Ok(text)
    }

    fn markdown(&self, batch: &RecordBatch) -> Result<Vec<u8>, SqlError> {
        let mut text = if self.started { String::new() } else { records::head(&batch.schema()) };
        text.push_str(&records::rows(batch)?);
        Ok(text.into_bytes())
    }

    fn table(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        if is_plan(&batch.schema()) {
            return self.plan(batch);
        }
        let most = self.width.unwrap_or(WIDEST).max(1);
        if self.heads.is_empty() {
            let head = |field: &arrow::datatypes::FieldRef| TableHead {
                name: TableCell::of(field.name(), most),
                is_text: !is_short(field.data_type()),
                is_amount: self.on_terminal && has_thousands(field),
            };
            self.heads = batch.schema().fields().iter().map(head).collect();
        }
        let columns: Result<Vec<ArrayFormatter<'_>>, _> =
            batch.columns().iter().map(|column| shown_values(column)).collect();
        let columns = columns.map_err(SqlError::arrow)?;
        for row in 0..batch.num_rows() {
            let cell =
                |((values, column), head): ((&ArrayFormatter<'_>, &ArrayRef), &TableHead)| {
                    let most = if head.is_text { most } else { WIDEST };
                    // A moment that no calendar has prints as nothing.
                    let shown = match self.on_terminal && column.is_null(row) {
                        true => TableCell::null(),
                        false => TableCell::of(&values.value(row), most),
                    };
                    let is_no_moment = shown.text.is_empty() && column.data_type().is_temporal();
                    if self.on_terminal && is_no_moment { TableCell::null() } else { shown }
                };
            let cells = columns.iter().zip(batch.columns()).zip(&self.heads);
            self.page.push(cells.map(cell).collect());
            if self.page.is_full() {
                self.flush_page()?;
            }
        }
        Ok(())
    }

    /// Prints the answer of EXPLAIN whole: a table would wrap its trees.
    fn plan(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        for row in 0..batch.num_rows() {
            let mut lines = String::new();
            for (at, column) in batch.columns().iter().enumerate() {
                let values = shown_values(column).map_err(SqlError::arrow)?;
                let indent = if at == 0 { "" } else { "  " };
                for line in values.value(row).to_string().lines() {
                    lines.push_str(indent);
                    lines.extend(line.chars().map(visible));
                    lines.push('\n');
                }
            }
            self.write(lines.as_bytes())?;
        }
        self.started = true;
        Ok(())
    }

    fn flush_page(&mut self) -> Result<(), SqlError> {
        if self.heads.is_empty() || (self.page.is_empty() && self.started) {
            return Ok(());
        }
        let (text, cut) = self.page.take(&self.heads, self.width);
        self.cut |= cut;
        self.started = true;
        self.write(text.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        self.out.write_all(bytes).map_err(SqlError::Write)
    }
}

/// Readers find columns, and members of objects within them, by their names: of two with one name they keep one.
///
/// # Errors
/// [`SqlError::SameNames`].
pub fn refuse_same_names(fields: &Fields) -> Result<(), SqlError> {
    let mut names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    if let Some([name, _]) = names.array_windows().find(|[one, next]| one == next) {
        return Err(SqlError::SameNames { name: (*name).to_owned() });
    }
    fields.iter().try_for_each(|field| refuse_within(field.data_type()))
}

fn refuse_within(kind: &DataType) -> Result<(), SqlError> {
    match kind {
        DataType::Struct(fields) => refuse_same_names(fields),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => refuse_within(item.data_type()),
        _ => Ok(()),
    }
}

fn json(batch: &RecordBatch) -> Result<Vec<u8>, SqlError> {
    let mut text = Vec::new();
    json_rows(batch, &mut text).map_err(unprintable)?;
    Ok(text)
}

/// The values are formatted in memory, so no file can be at fault.
fn unprintable(error: WriteError) -> SqlError {
    SqlError::Run {
        why: match error {
            WriteError::Unfit(why) | WriteError::Bug(why) => why,
            _ => "a value has no text form".to_owned(),
        },
    }
}

/// Splits a batch into runs of rows of about [`BYTES`], at least one row each; an empty batch stays one.
fn parts(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + '_ {
    let rows = batch.num_rows();
    let bytes = batch.get_array_memory_size().max(1);
    let some = rows.saturating_mul(BYTES).checked_div(bytes).unwrap_or(rows).clamp(1, rows.max(1));
    let starts = (0..rows.max(1)).step_by(some);
    starts.map(move |start| batch.slice(start, some.min(rows - start.min(rows))))
}

/// Whether values are a few characters that must not be cut: numbers, booleans, times.
fn is_short(kind: &DataType) -> bool {
    kind.is_numeric() || kind.is_temporal() || matches!(kind, DataType::Boolean | DataType::Null)
}

/// Whether whole numbers of a column are amounts, which people read with commas. Numbers of things are not: they are
/// unsigned in a corpus, as its ids and commits are, and elsewhere columns called `id`, `.._id`, `year` or `.._year`.
#[must_use]
pub fn has_thousands(column: &Field) -> bool {
    let name = column.name().to_lowercase();
    let is_of_thing =
        ["id", "year"].iter().any(|of| name == *of || name.ends_with(&format!("_{of}")));
    column.data_type().is_signed_integer() && !is_of_thing
}

fn is_plan(schema: &Schema) -> bool {
    schema.fields().iter().map(|field| field.name().as_str()).eq(["plan_type", "plan"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array, StringViewArray};

    fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
        let numbers: ArrayRef =
            Arc::new(rows.clone().map(|n| (n != 1).then_some(n)).collect::<Int64Array>());
        let texts: ArrayRef =
            Arc::new(rows.map(|n| Some(format!("a,\"{n}\n"))).collect::<StringViewArray>());
        RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("text", texts, false)])
            .unwrap()
    }

    fn printed(format: PrintFormat, batches: &[RecordBatch]) -> String {
        let mut out = Vec::new();
        let mut printer = RowPrinter::new(format, &mut out);
        for batch in batches {
            printer.batch(batch).unwrap();
        }
        printer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_has_one_header_and_quotes() {
        let text = printed(PrintFormat::Csv, &[batch(0..1), batch(1..2)]);
        assert_eq!(text, "n,text\n0,\"a,\"\"0\n\"\n,\"a,\"\"1\n\"\n");
        assert_eq!(printed(PrintFormat::Csv, &[batch(0..0)]), "n,text\n");
    }

    #[test]
    fn json_is_a_line_an_object_with_nulls() {
        let text = printed(PrintFormat::Json, &[batch(0..1), batch(1..2)]);
        assert_eq!(
            text,
            "{\"n\":0,\"text\":\"a,\\\"0\\n\"}\n{\"n\":null,\"text\":\"a,\\\"1\\n\"}\n"
        );
        assert_eq!(printed(PrintFormat::Json, &[batch(0..0)]), "");
    }

    #[test]
    fn markdown_keeps_every_value_in_its_cell() {
        let text = printed(PrintFormat::Markdown, &[batch(0..1), batch(1..2)]);
        let rows = "| 0 | a,\"0<br> |\n|  | a,\"1<br> |\n";
        assert_eq!(text, format!("| n | text |\n| ---: | --- |\n{rows}"));
        let piped: ArrayRef = Arc::new(StringViewArray::from(vec!["a|b\x1b\t\r\n"]));
        let piped = RecordBatch::try_from_iter([("x|y", piped)]).unwrap();
        let expected = "| x\\|y |\n| --- |\n| a\\|b\u{fffd} <br> |\n";
        assert_eq!(printed(PrintFormat::Markdown, &[piped]), expected);
        assert_eq!(
            printed(PrintFormat::Markdown, &[batch(0..0)]),
            "| n | text |\n| ---: | --- |\n"
        );
    }

    #[test]
    fn tables_come_in_pages() {
        let headers = |text: &str| text.lines().filter(|line| line.starts_with("| n ")).count();
        assert_eq!(headers(&printed(PrintFormat::Table, &[batch(0..700), batch(0..700)])), 2);
        assert_eq!(headers(&printed(PrintFormat::Table, &[batch(0..1000)])), 1);
        assert_eq!(headers(&printed(PrintFormat::Table, &[batch(0..0)])), 1);
    }

    #[test]
    fn a_table_of_long_texts_stays_small() {
        // 1,000 rows of up to 1 MB were padded to the widest: gigabytes for one page.
        let long = "word ".repeat(200_000);
        let texts = (0..1000).map(|n| Some(if n == 500 { long.as_str() } else { "short" }));
        let texts: ArrayRef = Arc::new(texts.collect::<StringViewArray>());
        let numbers: ArrayRef = Arc::new((0..1000).map(Some).collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter([("n", numbers), ("text", texts)]).unwrap();
        let mut out = Vec::new();
        let mut printer = RowPrinter::new(PrintFormat::Table, &mut out).within(80);
        printer.batch(&batch).unwrap();
        printer.finish().unwrap();
        assert!(printer.has_cut());
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("| 500 | word word") && text.contains("…"));
        let whole = printed(PrintFormat::Line, &[batch.slice(499, 2)]);
        assert!(whole.starts_with("--- row 1\nn    = 499\ntext = short\n--- row 2\n"));
        assert!(whole.contains(&long));
        assert!(printed(PrintFormat::Table, &[batch.slice(499, 2)]).len() < 2000);
    }

    #[test]
    fn a_terminal_has_commas_and_nulls_and_a_file_has_none() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(12_345_678), None]));
        let named = |name| (name, Arc::clone(&numbers), true);
        let unsigned: ArrayRef = Arc::new(arrow::array::UInt64Array::from(vec![1_234_567, 7]));
        let names = ["n", "id", "user_ID", "year", "idle"].map(named);
        let columns = names.into_iter().chain([("commit", unsigned, true)]);
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let mut out = Vec::new();
        let mut printer = RowPrinter::new(PrintFormat::Table, &mut out).on_terminal(true);
        printer.batch(&batch).unwrap();
        printer.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        let row = "| 12,345,678 | 12345678 | 12345678 | 12345678 | 12,345,678 | 1234567 |";
        assert!(text.contains(row) && text.contains("| \x1b[2mNULL\x1b[0m       |"), "{text}");
        let plain = printed(PrintFormat::Table, &[batch.clone()]);
        assert!(!plain.contains([',', '\x1b']) && !plain.contains("NULL"), "{plain}");
        for format in
            [PrintFormat::Csv, PrintFormat::Json, PrintFormat::Markdown, PrintFormat::Line]
        {
            let mut out = Vec::new();
            let mut printer = RowPrinter::new(format, &mut out).on_terminal(true);
            printer.batch(&batch).unwrap();
            printer.finish().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), printed(format, &[batch.clone()]));
        }
    }

    #[test]
    fn rows_under_one_another_keep_their_lines_and_say_null() {
        let text = printed(PrintFormat::Line, &[batch(0..1), batch(1..2)]);
        assert_eq!(
            text,
            "--- row 1\nn    = 0\ntext = a,\"0\n       \n--- row 2\nn    = NULL\ntext = a,\"1\n       \n"
        );
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
        for format in PrintFormat::ALL {
            let mut closed = Closed;
            let mut printer = RowPrinter::new(format, &mut closed);
            let done = printer.batch(&batch(0..2)).and_then(|()| printer.finish());
            assert!(
                matches!(done, Err(SqlError::Write(why)) if why.kind() == std::io::ErrorKind::BrokenPipe)
            );
        }
    }
}
