//! `corpusdb sql`: runs statements from the arguments, a file or standard input; on a terminal, opens a shell.

use super::shell;
use super::sql_answer::{
    AnswerFile, AnswerFormat, SqlFileReport, StatementScope, answers_to, print_answer,
};
use crate::cli::files::decoded_text;
use crate::cli::output::Output;
use crate::cli::record::RecordArgs;
use crate::cli::verb::{CorpusPath, PythonMethod, Report, Verb, VerbCall};
use anyhow::Context as _;
use corpusdb::Context;
use corpusdb::sql::{PrintFormat, ScriptEnd, ScriptStatement, SqlQuery, SqlScript};
use serde::Serialize;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a script, at most.
const MOST: u64 = 64 << 20;

/// Run SQL over documents, duplicates, sources, commits and more.
///
/// Without a statement, on a terminal, a shell starts: it keeps a history, completes names and values, and lists its
/// commands with .help.
#[derive(clap::Args)]
pub(super) struct SqlArgs {
    /// A statement, or several separated by semicolons; - reads standard input.
    #[arg(conflicts_with = "file")]
    statement: Option<String>,
    /// Read the statements from a file; - reads standard input.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write the answer to a file, also in a store (s3://, gs://, az://): .parquet, .arrow, .csv or .jsonl.
    ///
    /// .csv and .jsonl may be followed by .gz or .zst.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file of `output` if it exists.
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    record: RecordArgs,
    /// How the answer is printed or written. By default a table; for a file its ending decides.
    #[arg(long, value_enum)]
    format: Option<AnswerFormat>,
    /// Only documents that this snapshot keeps are in the table documents; its columns have today's values, also kept.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,
}

/// The answer to statements.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum SqlAnswer {
    /// The answer to one is in a file.
    Written(SqlFileReport),
    /// The rows went to standard output.
    Streamed {},
}

impl Verb for SqlArgs {
    const PATH: &str = "sql";
    const PYTHON: PythonMethod = PythonMethod::ByHand("Corpus.sql");
    const EXAMPLES: &[&str] = &[
        "corpusdb sql crawl \"SELECT source, sum(tokens) FROM documents WHERE kept GROUP BY source\"",
        "corpusdb sql crawl \"SELECT key, jaccard FROM documents WHERE dup_of = 42\" --format csv",
        "corpusdb sql crawl \"SELECT * FROM documents WHERE id = 42\" --format line",
        "corpusdb sql crawl \"SELECT key, bytes FROM documents WHERE kept\" -o kept.parquet",
        "corpusdb sql crawl 'DESCRIBE documents; SELECT count(*) FROM documents'",
        "corpusdb sql crawl -f report.sql",
        "corpusdb sql crawl \"SELECT meta ->> 'a.b' AS b, count(*) FROM documents GROUP BY b\"",
        "corpusdb sql crawl \"SELECT key, score FROM documents JOIN read_csv('s.csv') USING (key)\"",
        "corpusdb sql crawl --snapshot june \"SELECT count(*) FROM documents\"",
    ];
    const NOTES: &str = "\
The statements of a file or of standard input run in order until one fails; the error names its line and column.
-o writes the answer to one statement: complete, or not at all.

docs/reference/sql.md lists every table and column.";
    type On = CorpusPath;
    type Report = SqlAnswer;

    fn run(self, path: &Path, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let session = call.session()?;
        // The user of the command may read the files anyway.
        let mut query = SqlQuery::default().files(true);
        if let Some(snapshot) = self.snapshot {
            query = query.snapshot(snapshot);
        }
        let source = match (self.statement, self.file) {
            (Some(dash), _) if dash == "-" => ScriptSource::Stdin,
            (Some(text), _) => ScriptSource::Argument(text),
            (_, Some(dash)) if dash.as_os_str() == "-" => ScriptSource::Stdin,
            (_, Some(file)) => ScriptSource::File(file),
            _ if !std::io::stdin().is_terminal() => ScriptSource::Stdin,
            _ if std::io::stdout().is_terminal() && self.output.is_none() => {
                let format = AnswerFormat::printed(self.format, session.json)?;
                shell::run(path, query, format, session)?;
                return Ok(SqlAnswer::Streamed {});
            }
            _ => anyhow::bail!(
                "no statement: give one after the corpus, or a file of them with `file=`; the shell needs a terminal"
            ),
        };
        let script = source.read()?;
        let corpus = session.read(path)?;
        let scope = StatementScope { corpus: &corpus, query: &query };
        match self.output {
            Some(to) => {
                let to = AnswerFile {
                    to,
                    force: self.force,
                    format: self.format,
                    record: self.record.record,
                };
                let interrupt = session.listen();
                let context = session.context().with_interrupt(&interrupt);
                Ok(SqlAnswer::Written(script.write(scope, &to, &context)?))
            }
            None => {
                let format = AnswerFormat::printed(self.format, session.json)?;
                if script.print(scope, format)? {
                    call.note(
                        "what ends in … is cut; `format=` line, csv or json prints complete values, `output=` FILE writes them",
                    );
                }
                Ok(SqlAnswer::Streamed {})
            }
        }
    }
}

impl Report for SqlAnswer {
    const TYPE: &'static str = "sql";

    fn print(&self, out: &mut Output) {
        match self {
            Self::Written(report) => report.print(out),
            Self::Streamed {} => {}
        }
    }

    fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed {})
    }
}

/// Where statements come from.
enum ScriptSource {
    Argument(String),
    File(PathBuf),
    Stdin,
}

/// A script of at least one statement.
struct ScriptFile {
    /// Their name in a message, before line and column.
    name: String,
    statements: Vec<ScriptStatement>,
}

impl ScriptSource {
    /// Reads the input and cuts it into statements.
    fn read(self) -> anyhow::Result<ScriptFile> {
        let (name, text) = match self {
            Self::Argument(text) => return argument(text),
            Self::File(path) => {
                let name = path.display().to_string();
                let file = File::open(&path).with_context(|| format!("opening {name}"))?;
                let text = read(file, &name)?;
                (format!("{name}: "), text)
            }
            Self::Stdin => {
                let name = "standard input".to_owned();
                let text = read(std::io::stdin().lock(), &name)?;
                (format!("{name}: "), text)
            }
        };
        let statements = cut(&name, &text)?;
        anyhow::ensure!(!statements.is_empty(), "{name}there is no statement");
        Ok(ScriptFile { name, statements })
    }
}

/// The statements of an argument. An argument that is not several statements is left whole, for the engine's own
/// errors.
fn argument(text: String) -> anyhow::Result<ScriptFile> {
    let is_alone = SqlScript::read(&text).statements.len() < 2;
    let statements = if is_alone { vec![ScriptStatement::alone(text)] } else { cut("", &text)? };
    Ok(ScriptFile { name: String::new(), statements })
}

fn cut(name: &str, text: &str) -> anyhow::Result<Vec<ScriptStatement>> {
    let script = SqlScript::read(text);
    if let ScriptEnd::Unclosed(fault) | ScriptEnd::Fault(fault) = &script.end {
        anyhow::bail!("{name}line {}, column {}: {}", fault.line, fault.column, fault.why);
    }
    Ok(script.statements)
}

fn read(from: impl Read, name: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.take(MOST + 1).read_to_end(&mut bytes).with_context(|| format!("reading {name}"))?;
    anyhow::ensure!(bytes.len() as u64 <= MOST, "{name} has more than {MOST} bytes of SQL: cut it");
    decoded_text(name, bytes)
}

impl ScriptFile {
    /// Prints the answers one by one until a statement fails. Returns whether a value was cut.
    fn print(&self, scope: StatementScope<'_>, format: PrintFormat) -> anyhow::Result<bool> {
        let mut out = answers_to(format);
        let mut is_cut = false;
        for (at, statement) in self.statements.iter().enumerate() {
            if at > 0
                && matches!(format, PrintFormat::Table | PrintFormat::Line | PrintFormat::Markdown)
            {
                out.write_all(b"\n")?;
            }
            let printed = print_answer(scope, &statement.text, format, &mut out, &Context::new());
            // Rows that were printed come before the error.
            let printed = match printed {
                Ok(printed) => printed,
                Err(error) => {
                    out.flush()?;
                    return Err(self.placed(error, statement));
                }
            };
            is_cut |= printed.is_cut;
        }
        out.flush()?;
        Ok(is_cut)
    }

    /// Writes the answer of the only statement to a file.
    fn write(
        &self,
        scope: StatementScope<'_>,
        to: &AnswerFile,
        context: &Context<'_>,
    ) -> anyhow::Result<SqlFileReport> {
        // Every statement has rows as its answer, also DESCRIBE and SHOW.
        let [statement] = self.statements.as_slice() else {
            anyhow::bail!(
                "`output=` writes the answer to one statement, and there are {}: run them one by one, each with its own file",
                self.statements.len()
            );
        };
        to.write(scope, &statement.text, context).map_err(|error| self.placed(error, statement))
    }

    /// The error with the place of the statement, if there are several.
    fn placed(&self, error: anyhow::Error, statement: &ScriptStatement) -> anyhow::Error {
        if self.name.is_empty() && self.statements.len() == 1 {
            return error;
        }
        let ScriptStatement { line, column, .. } = statement;
        error.context(format!("{}line {line}, column {column}", self.name))
    }
}
