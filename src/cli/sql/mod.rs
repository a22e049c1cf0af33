//! `corpusdb sql`: statements over the corpus, from the arguments, a file or standard input; on a terminal, a shell.
//!
//! `script` reads statements and runs them one after another, `answer` prints one or writes it to a file, `shell` asks
//! for them line by line.

mod answer;
mod script;
mod shell;

use super::Outcome;
use super::session::CommandSession;
use answer::{Asked, Shape};
use corpusdb::query::SqlQuery;
use script::Source;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Ask with SQL: documents, duplicates, sources, commits, epochs, rejects, tokenizers, snapshots
///
/// Without a statement, on a terminal, it is a shell: it keeps a history, completes names, and `.help` lists its
/// commands.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb sql crawl
  corpusdb sql crawl \"SELECT source, sum(tokens) FROM documents WHERE kept GROUP BY source\"
  corpusdb sql crawl \"SELECT key, jaccard FROM documents WHERE dup_of = 42\" --format csv
  corpusdb sql crawl \"SELECT * FROM documents WHERE id = 42\" --format line
  corpusdb sql crawl \"SELECT key, bytes FROM documents WHERE kept\" -o kept.parquet
  corpusdb sql crawl 'DESCRIBE documents; SELECT count(*) FROM documents'
  corpusdb sql crawl -f report.sql
  corpusdb sql crawl \"SELECT meta ->> 'a.b' AS b, count(*) FROM documents GROUP BY b\"
  corpusdb sql crawl \"SELECT key, score FROM documents JOIN read_csv('s.csv') USING (key)\"
  corpusdb sql crawl --snapshot june \"SELECT count(*) FROM documents\"

The statements of a file or of standard input are run one after another until one fails, which is told with its line
and column. -o writes the answer to one statement: complete, or not at all.

docs/reference/sql.md lists every table and column.")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// A statement, or several separated by `;`; `-` stands for standard input
    #[arg(conflicts_with = "file")]
    statement: Option<String>,
    /// Read the statements from a file; `-` stands for standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write the answer to a file, also in a store (s3://, gs://, az://): .parquet, .arrow, .csv or .jsonl, the last
    /// two also with .gz or .zst behind
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file of -o
    #[arg(long, requires = "output")]
    force: bool,
    /// How the answer is printed or written [default: table; of -o: by the ending of its file]
    #[arg(long, value_enum)]
    format: Option<Shape>,
    /// `documents` holds only what this snapshot keeps; its columns are today's, `kept` too
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

pub(super) fn run(args: Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    // Whoever runs the command may read its files.
    let mut query = SqlQuery::default().files(true);
    if let Some(snapshot) = args.snapshot {
        query = query.snapshot(snapshot);
    }
    let stdin_is_terminal = std::io::stdin().is_terminal();
    let source = match (args.statement, args.file) {
        (Some(dash), _) if dash == "-" => Source::Stdin,
        (Some(text), _) => Source::Argument(text),
        (_, Some(dash)) if dash.as_os_str() == "-" => Source::Stdin,
        (_, Some(file)) => Source::File(file),
        _ if !stdin_is_terminal => Source::Stdin,
        _ if std::io::stdout().is_terminal() && args.output.is_none() => {
            let mode = answer::printed(args.format, session)?;
            return shell::run(&args.corpus, query, mode, session);
        }
        _ => anyhow::bail!(
            "no statement: give one behind the corpus, or a file of them with -f; the shell needs a terminal to print on"
        ),
    };
    let script = source.read()?;
    let corpus = session.read(&args.corpus)?;
    let asked = Asked { corpus: &corpus, query: &query };
    match args.output {
        Some(to) => {
            let to = answer::Target { to, force: args.force, shape: args.format };
            script.write(asked, &to, session)
        }
        None => script.print(asked, answer::printed(args.format, session)?),
    }
}
