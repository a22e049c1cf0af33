//! Prints the answer to one statement in a format for people or programs, or writes it to a file.

use crate::cli::columns::reading;
use crate::cli::output::{self, Output, Stdout};
use crate::cli::record::OnRecord;
use crate::cli::session::{now, stores};
use anyhow::Context as _;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use corpusdb::export::{AnswerOptions, ExportJob, ExportedFile, FormatName, write_answer};
use corpusdb::show::count;
use corpusdb::sql::{PrintFormat, RowPrinter, SqlQuery, SqlRows};
use corpusdb::{Context, Corpus};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The format of an answer, for printing or for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    Printed(PrintFormat),
    Written(FormatName),
}

impl ValueEnum for AnswerFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<AnswerFormat>> = LazyLock::new(|| {
            let printed = PrintFormat::ALL.into_iter().map(AnswerFormat::Printed);
            let written = FormatName::all().filter(|format| format.has_columns());
            // A format for both is listed once, and JSON lines under both of its names.
            let written = written.filter(|format| {
                format.name() == "jsonl" || PrintFormat::from_name(format.name()).is_none()
            });
            printed.chain(written.map(AnswerFormat::Written)).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Printed(format) => Some(PossibleValue::new(format.name()).help(format.about())),
            Self::Written(format) => format.to_possible_value(),
        }
    }
}

impl AnswerFormat {
    /// The format for printing.
    pub(super) fn printed(asked: Option<Self>, is_json: bool) -> anyhow::Result<PrintFormat> {
        let asked = match asked {
            Some(Self::Written(format)) => {
                Some(PrintFormat::from_name(format.name()).with_context(|| {
                    format!("{} cannot be printed: write a file with `output=` FILE", format.name())
                })?)
            }
            Some(Self::Printed(format)) => Some(format),
            None => None,
        };
        Ok(if is_json { PrintFormat::Json } else { asked.unwrap_or(PrintFormat::Table) })
    }

    /// The format for a file.
    fn written(self) -> anyhow::Result<FormatName> {
        let format = match self {
            Self::Written(format) => Some(format),
            Self::Printed(PrintFormat::Json) => FormatName::from_name("jsonl"),
            Self::Printed(format) => FormatName::from_name(format.name()),
        };
        format.with_context(|| {
            let formats = FormatName::list_with_columns();
            format!(
                "a file can be {formats}; the other formats are printed, and `> FILE` redirects them"
            )
        })
    }
}

/// What statements run against.
#[derive(Clone, Copy)]
pub(super) struct StatementScope<'a> {
    pub(super) corpus: &'a Corpus,
    pub(super) query: &'a SqlQuery,
}

impl StatementScope<'_> {
    fn rows(&self, statement: &str, context: &Context<'_>) -> Result<SqlRows, corpusdb::Error> {
        self.corpus.sql(self.query.clone().text(statement).interrupt(context.interrupt()))
    }
}

/// The outcome of printing.
pub(super) struct PrintSummary {
    pub(super) rows: u64,
    /// Whether a value was cut.
    pub(super) is_cut: bool,
}

/// Standard output for answers in a format. The printer filters tables itself, since they have marks.
pub(super) fn answers_to(format: PrintFormat) -> BufWriter<Stdout> {
    let out = output::stdout();
    BufWriter::new(if format == PrintFormat::Table { out.unfiltered() } else { out })
}

/// Prints the answer to a statement, as it comes.
pub(super) fn print_answer(
    scope: StatementScope<'_>,
    statement: &str,
    format: PrintFormat,
    out: &mut BufWriter<Stdout>,
    context: &Context<'_>,
) -> anyhow::Result<PrintSummary> {
    let rows = scope.rows(statement, context)?;
    let (schema, mut count, mut any) = (rows.schema(), 0, false);
    let mut printer = RowPrinter::new(format, out).within(output::width());
    if io::stdout().is_terminal() {
        printer = printer.on_terminal(output::has_colours(&io::stdout()));
    }
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

/// A file for an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerFile {
    pub(super) to: PathBuf,
    pub(super) force: bool,
    pub(super) format: Option<AnswerFormat>,
    /// Whether an answer with texts is put on record.
    pub(super) record: bool,
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
    /// Columns with numbers that are not finite, which JSON lines and CSV have as null, with how many there are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    losses: BTreeMap<String, u64>,
    #[serde(flatten)]
    on_record: OnRecord,
    #[serde(skip)]
    format: String,
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
        let (written, recorded) = match self.record {
            true => {
                let answer = (statement, rows);
                scope.corpus.write_answer_on_record(answer, options, &job, now(), context)?
            }
            false => (write_answer(rows, options, &job, context)?, None),
        };
        let on_record = recorded.map(|made| OnRecord::noting(made, &output::note));
        let ExportedFile { rows, bytes, blake3, losses, .. } = written;
        let format = format.or_else(|| FormatName::of_path(&self.to));
        for (column, values) in &losses {
            let note = format.map(|format| format.loss_note(column, *values));
            output::note(&note.unwrap_or_default());
        }
        Ok(SqlFileReport {
            to: self.to.to_string_lossy().into_owned(),
            rows,
            bytes,
            blake3,
            losses,
            on_record: on_record.unwrap_or_default(),
            format: format.map_or_else(String::new, |format| format.name().to_owned()),
        })
    }
}

impl SqlFileReport {
    /// Prints a summary for people.
    pub(super) fn print(&self, out: &mut Output) {
        let what = count(self.rows, "row", "rows");
        out.wrote(&self.to, &what, self.bytes, &reading(&self.format, &self.to));
    }
}
