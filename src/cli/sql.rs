//! `corpusdb sql`: one SELECT over the corpus.

use super::setup::Context;
use super::{Outcome, print};
use clap::ValueEnum;
use corpusdb::query::{Format, Printer};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Run one SELECT over documents, duplicates, sources, commits, epochs, rejects, tokenizers, snapshots
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb sql crawl \"SELECT source, sum(tokens) FROM documents WHERE kept GROUP BY source\"
  corpusdb sql crawl \"SELECT key, jaccard FROM documents WHERE dup_of = 42\" --format csv
  corpusdb sql crawl \"SELECT * FROM documents WHERE id = 42\" --format line
  corpusdb sql crawl 'DESCRIBE documents'

docs/reference/sql.md lists every table and column.")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// The statement
    statement: String,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Shape::Table)]
    format: Shape,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    /// Columns beside one another, cut to the width of the terminal (160 characters elsewhere)
    Table,
    /// Columns under one another, one a line, with their values whole
    Line,
    /// Comma-separated with a header line
    Csv,
    /// One JSON object a line
    Json,
}

pub(super) fn run(args: Args, context: &Context) -> anyhow::Result<Outcome> {
    let format = match args.format {
        _ if context.json => Format::Json,
        Shape::Table => Format::Table,
        Shape::Line => Format::Line,
        Shape::Csv => Format::Csv,
        Shape::Json => Format::Json,
    };
    let corpus = context.read(&args.corpus)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut printer = Printer::new(format, &mut out).within(print::width());
    printer.rows(corpus.sql(&args.statement)?).map_err(corpusdb::Error::from)?;
    printer.finish().map_err(corpusdb::Error::from)?;
    let cut = printer.has_cut();
    out.flush()?;
    if cut {
        print::talk("values that end in … are cut; --format line, csv or json prints them whole");
    }
    Ok(Outcome::Good)
}
