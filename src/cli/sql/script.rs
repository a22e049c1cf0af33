//! Statements one after another: where they come from, and where the one that fails stands.

use super::answer::{self, Asked, Target};
use crate::cli::session::CommandSession;
use crate::cli::{Outcome, print};
use anyhow::Context as _;
use corpusdb::Context;
use corpusdb::query::{Format, ScriptEnd, ScriptStatement};
use corpusdb::text_file::decode_text;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;

/// Bytes of a script.
const MOST: u64 = 64 << 20;

/// Where statements come from.
pub(super) enum Source {
    Argument(String),
    File(PathBuf),
    Stdin,
}

/// Statements, at least one.
pub(super) struct Script {
    /// What stands before the place of a statement in a message.
    name: String,
    statements: Vec<ScriptStatement>,
}

impl Source {
    /// Cuts what is there into statements.
    pub(super) fn read(self) -> anyhow::Result<Script> {
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
        let script = cut(&name, &text)?;
        anyhow::ensure!(!script.is_empty(), "{name}there is no statement");
        Ok(Script { name, statements: script })
    }
}

/// The statements of an argument. What is not several the engine refuses itself, in its own words.
fn argument(text: String) -> anyhow::Result<Script> {
    let is_alone = corpusdb::query::Script::read(&text).statements.len() < 2;
    let statements = if is_alone { vec![ScriptStatement::alone(text)] } else { cut("", &text)? };
    Ok(Script { name: String::new(), statements })
}

fn cut(name: &str, text: &str) -> anyhow::Result<Vec<ScriptStatement>> {
    let script = corpusdb::query::Script::read(text);
    if let ScriptEnd::Unclosed(fault) | ScriptEnd::Fault(fault) = &script.end {
        anyhow::bail!("{name}line {}, column {}: {}", fault.line, fault.column, fault.why);
    }
    Ok(script.statements)
}

fn read(from: impl Read, name: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.take(MOST + 1).read_to_end(&mut bytes).with_context(|| format!("reading {name}"))?;
    anyhow::ensure!(bytes.len() as u64 <= MOST, "{name} has more than {MOST} bytes of SQL: cut it");
    Ok(decode_text(name, bytes)?)
}

impl Script {
    /// Prints the answers one after another, until a statement fails.
    pub(super) fn print(&self, asked: Asked<'_>, format: Format) -> anyhow::Result<Outcome> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut cut = false;
        for (at, statement) in self.statements.iter().enumerate() {
            if at > 0 && matches!(format, Format::Table | Format::Line | Format::Markdown) {
                out.write_all(b"\n")?;
            }
            let printed = answer::print(asked, &statement.text, format, &mut out, &Context::new());
            // What was printed stands before what failed.
            let printed = match printed {
                Ok(printed) => printed,
                Err(error) => {
                    out.flush()?;
                    return Err(self.placed(error, statement));
                }
            };
            cut |= printed.is_cut;
        }
        out.flush()?;
        if cut {
            print::talk(
                "values that end in … are cut; --format line, csv or json prints them whole",
            );
        }
        Ok(Outcome::Good)
    }

    /// Writes the answer of the only statement to a file.
    pub(super) fn write(
        &self,
        asked: Asked<'_>,
        to: &Target,
        session: &CommandSession,
    ) -> anyhow::Result<Outcome> {
        // Every statement that is run has rows for an answer, also DESCRIBE and SHOW.
        let [statement] = self.statements.as_slice() else {
            anyhow::bail!(
                "-o writes the answer to one statement, and there are {}: run them one by one, each with a file of its own",
                self.statements.len()
            );
        };
        let interrupt = session.listen();
        to.write(asked, &statement.text, session, &session.context().with_interrupt(&interrupt))
            .map_err(|error| self.placed(error, statement))?;
        Ok(Outcome::Good)
    }

    /// The error with the place of the statement, where that is not plain.
    fn placed(&self, error: anyhow::Error, statement: &ScriptStatement) -> anyhow::Error {
        if self.name.is_empty() && self.statements.len() == 1 {
            return error;
        }
        let ScriptStatement { line, column, .. } = statement;
        error.context(format!("{}line {line}, column {column}", self.name))
    }
}
