//! The answer to one statement: printed in a form for people or programs, or written to a file.

use crate::cli::output::{self, Output};
use crate::cli::session::stores;
use clap::ValueEnum;
use corpusdb::export::{AnswerOptions, ExportFormat, ExportJob, ExportedFile, write_answer};
use corpusdb::query::{Format, Printer, Rows, SqlQuery};
use corpusdb::show::{number, size};
use corpusdb::{Context, Corpus};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AnswerFormat {
    /// Columns side by side, cut to the width of the terminal (elsewhere 160 characters)
    Table,
    /// One column a line, with complete values
    Line,
    /// Comma-separated with a header line
    Csv,
    /// One JSON object a line
    Json,
    /// The same
    Jsonl,
    /// A Markdown table with complete values
    Markdown,
    /// Parquet, in a file
    Parquet,
    /// The Arrow file format, in a file
    Arrow,
}

impl AnswerFormat {
    /// The form in which answers are printed.
    pub(super) fn printed(asked: Option<Self>, is_json: bool) -> anyhow::Result<Format> {
        Ok(match asked {
            Some(Self::Parquet | Self::Arrow) => anyhow::bail!(
                "Parquet and Arrow cannot be printed: write a file with `output=` FILE"
            ),
            _ if is_json => Format::Json,
            None | Some(Self::Table) => Format::Table,
            Some(Self::Line) => Format::Line,
            Some(Self::Csv) => Format::Csv,
            Some(Self::Json | Self::Jsonl) => Format::Json,
            Some(Self::Markdown) => Format::Markdown,
        })
    }

    /// The form of a file.
    fn written(self) -> anyhow::Result<ExportFormat> {
        Ok(match self {
            Self::Parquet => ExportFormat::Parquet,
            Self::Arrow => ExportFormat::Arrow,
            Self::Csv => ExportFormat::Csv,
            Self::Json | Self::Jsonl => ExportFormat::Jsonl,
            Self::Table | Self::Line | Self::Markdown => anyhow::bail!(
                "a file can be parquet, arrow, csv or jsonl; the other formats are printed, and `> FILE` redirects them"
            ),
        })
    }
}

/// What statements are asked of.
#[derive(Clone, Copy)]
pub(super) struct StatementScope<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) query: &'a SqlQuery,
}

impl StatementScope<'_> {
    /// The rows of a statement.
    fn rows(&self, statement: &str, context: &Context<'_>) -> Result<Rows, corpusdb::Error> {
        self.corpus.sql(self.query.clone().text(statement).interrupt(context.interrupt()))
    }
}

/// What was printed of an answer.
pub(super) struct PrintSummary {
    pub(super) rows: u64,
    /// Whether a value is not whole.
    pub(super) is_cut: bool,
}

/// Prints the answer to a statement, as it comes.
pub(super) fn print_answer(
    scope: StatementScope<'_>,
    statement: &str,
    format: Format,
    out: &mut dyn Write,
    context: &Context<'_>,
) -> anyhow::Result<PrintSummary> {
    let rows = scope.rows(statement, context)?;
    let (schema, mut count, mut any) = (rows.schema(), 0, false);
    let mut printer = Printer::new(format, out).within(output::width());
    for batch in rows {
        let batch = batch.map_err(corpusdb::Error::from)?;
        printer.batch(&batch).map_err(corpusdb::Error::from)?;
        count += batch.num_rows() as u64;
        any = true;
    }
    if !any {
        printer.empty(&schema).map_err(corpusdb::Error::from)?;
    }
    printer.finish().map_err(corpusdb::Error::from)?;
    Ok(PrintSummary { rows: count, is_cut: printer.has_cut() })
}

/// A file that is to have an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerFile {
    pub(super) to: PathBuf,
    pub(super) force: bool,
    pub(super) format: Option<AnswerFormat>,
}

/// A file that has the answer to a statement.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct SqlFileReport {
    /// The file.
    to: String,
    /// Rows of the answer.
    rows: u64,
    /// Bytes of the file.
    bytes: u64,
    /// blake3 of its bytes, in hexadecimal.
    blake3: String,
}

impl AnswerFile {
    /// Writes the answer to a statement.
    pub(super) fn write(
        &self,
        scope: StatementScope<'_>,
        statement: &str,
        context: &Context<'_>,
    ) -> anyhow::Result<SqlFileReport> {
        let format = self.format.map(AnswerFormat::written).transpose()?;
        let options = AnswerOptions { format, compression: None };
        let stores = stores();
        let job = ExportJob { to: &self.to, stores: Some(&stores), force: self.force };
        let rows = scope.rows(statement, context)?;
        let written = write_answer(rows, options, &job, context).map_err(corpusdb::Error::from)?;
        let ExportedFile { rows, bytes, blake3, .. } = written;
        Ok(SqlFileReport { to: self.to.to_string_lossy().into_owned(), rows, bytes, blake3 })
    }
}

impl SqlFileReport {
    /// Prints it for people.
    pub(super) fn print(&self, out: &mut Output) {
        out.line(format!("{}: {} rows, {}", self.to, number(self.rows), size(self.bytes)));
    }
}
