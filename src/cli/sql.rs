//! `corpusdb sql`: one SELECT over the corpus.

use super::Outcome;
use super::setup::Context;
use clap::ValueEnum;
use corpusdb::{Printer, QueryFormat};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Run one SELECT over documents, duplicates, sources, commits, epochs, rejects, tokenizers, snapshots
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb sql crawl \"SELECT source, count(*) AS n, sum(tokens) FROM documents WHERE kept GROUP BY source\"
  corpusdb sql crawl \"SELECT key, jaccard FROM documents WHERE standing = 'near' LIMIT 5\" --format csv
  corpusdb sql crawl 'DESCRIBE documents'")]
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
    /// Columns under one another
    Table,
    /// Comma-separated with a header line
    Csv,
    /// One JSON object a line
    Json,
}

pub(super) fn run(args: Args, context: &Context) -> anyhow::Result<Outcome> {
    let format = match args.format {
        _ if context.json => QueryFormat::Json,
        Shape::Table => QueryFormat::Table,
        Shape::Csv => QueryFormat::Csv,
        Shape::Json => QueryFormat::Json,
    };
    let corpus = context.read(&args.corpus)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut printer = Printer::new(format, &mut out);
    corpus.sql(&args.statement, &mut |batch| printer.batch(batch))?;
    printer.finish().map_err(corpusdb::Error::from)?;
    out.flush()?;
    Ok(Outcome::Good)
}
