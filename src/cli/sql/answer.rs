//! The answer to one statement: printed in a form for people or programs, or written to a file.

use crate::cli::print;
use crate::cli::session::{CommandSession, stores};
use clap::ValueEnum;
use corpusdb::export::{AnswerOptions, ExportFormat, ExportJob, ExportedFile, write_answer};
use corpusdb::query::{Format, Printer, Rows, SqlQuery};
use corpusdb::{Context, Corpus};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    /// Columns beside one another, cut to the width of the terminal (160 characters elsewhere)
    Table,
    /// Columns under one another, one a line, with their values whole
    Line,
    /// Comma-separated with a header line
    Csv,
    /// One JSON object a line
    Json,
    /// The same
    Jsonl,
    /// A table of Markdown, with values whole
    Markdown,
    /// Parquet, with -o
    Parquet,
    /// The Arrow file format, with -o
    Arrow,
}

/// The form in which answers are printed.
pub(super) fn printed(shape: Option<Shape>, session: &CommandSession) -> anyhow::Result<Format> {
    Ok(match shape {
        Some(Shape::Parquet | Shape::Arrow) => {
            anyhow::bail!("Parquet and Arrow are no forms to print: write a file with -o FILE")
        }
        _ if session.json => Format::Json,
        None | Some(Shape::Table) => Format::Table,
        Some(Shape::Line) => Format::Line,
        Some(Shape::Csv) => Format::Csv,
        Some(Shape::Json | Shape::Jsonl) => Format::Json,
        Some(Shape::Markdown) => Format::Markdown,
    })
}

/// What statements are asked of.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) query: &'a SqlQuery,
}

impl Asked<'_> {
    /// The rows of a statement.
    fn rows(&self, statement: &str, context: &Context<'_>) -> Result<Rows, corpusdb::Error> {
        self.corpus.sql(self.query.clone().text(statement).interrupt(context.interrupt()))
    }
}

/// What was printed.
pub(super) struct Printed {
    pub(super) rows: u64,
    /// Whether a value is not whole.
    pub(super) is_cut: bool,
}

/// Prints the answer to a statement, as it comes.
pub(super) fn print(
    asked: Asked<'_>,
    statement: &str,
    format: Format,
    out: &mut dyn Write,
    context: &Context<'_>,
) -> anyhow::Result<Printed> {
    let rows = asked.rows(statement, context)?;
    let (schema, mut count, mut any) = (rows.schema(), 0, false);
    let mut printer = Printer::new(format, out).within(print::width());
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
    Ok(Printed { rows: count, is_cut: printer.has_cut() })
}

/// A file that is to have an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) to: PathBuf,
    pub(super) force: bool,
    pub(super) shape: Option<Shape>,
}

impl Target {
    /// Writes the answer to a statement, and says so.
    pub(super) fn write(
        &self,
        asked: Asked<'_>,
        statement: &str,
        session: &CommandSession,
        context: &Context<'_>,
    ) -> anyhow::Result<()> {
        let format = match self.shape {
            None => None,
            Some(Shape::Parquet) => Some(ExportFormat::Parquet),
            Some(Shape::Arrow) => Some(ExportFormat::Arrow),
            Some(Shape::Csv) => Some(ExportFormat::Csv),
            Some(Shape::Json | Shape::Jsonl) => Some(ExportFormat::Jsonl),
            Some(Shape::Table | Shape::Line | Shape::Markdown) => anyhow::bail!(
                "a file has the form parquet, arrow, csv or jsonl; the others are printed, and `> FILE` takes them"
            ),
        };
        let options = AnswerOptions { format, compression: None };
        let stores = stores();
        let job = ExportJob { to: &self.to, stores: Some(&stores), force: self.force };
        let rows = asked.rows(statement, context)?;
        let written = write_answer(rows, options, &job, context).map_err(corpusdb::Error::from)?;
        self.told(&written, session)
    }

    fn told(&self, written: &ExportedFile, session: &CommandSession) -> anyhow::Result<()> {
        #[derive(Serialize)]
        struct Report<'a> {
            to: std::borrow::Cow<'a, str>,
            rows: u64,
            bytes: u64,
            blake3: &'a str,
        }
        let ExportedFile { rows, bytes, blake3, .. } = written;
        if session.json {
            let to = self.to.to_string_lossy();
            return print::typed("sql", &Report { to, rows: *rows, bytes: *bytes, blake3 });
        }
        let (rows, bytes) = (print::number(*rows), print::size(*bytes));
        print::line(&format!("{}: {rows} rows, {bytes}", self.to.display()))
    }
}
