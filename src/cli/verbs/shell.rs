//! The shell of `corpusdb sql`: reads statements and commands, runs them, and continues after errors.

use super::shell_editor::{LineEditor, ShellInput, quoted};
use super::shell_input::{COMMANDS, ShellCommand, ShellStep, step};
use super::sql_answer::{AnswerFile, AnswerFormat, StatementScope, answers_to, print_answer};
use crate::cli::causes;
use crate::cli::output::{self, Output};
use crate::cli::session::CommandSession;
use corpusdb::show::number;
use corpusdb::sql::{PrintFormat, SqlQuery};
use corpusdb::{Context, Corpus};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

const PROMPT: &str = "corpusdb> ";

/// Runs the shell until the user leaves it.
pub(super) fn run(
    path: &Path,
    query: SqlQuery,
    mode: PrintFormat,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let corpus = session.read(path)?;
    let mut lines = LineEditor::open(&corpus)?;
    let (documents, kept) =
        (corpus.count(None)?, corpus.view().kept().map_err(corpusdb::Error::from)?);
    output::note(&format!(
        "corpusdb {}: {}, {} documents, {} kept\nStatements end with `;`. `.help` lists commands, Ctrl-C cancels a statement, Ctrl-D leaves.",
        env!("CARGO_PKG_VERSION"),
        path.display(),
        number(documents),
        number(kept.len()),
    ));
    let path = path.to_path_buf();
    let (timer, output) = (false, None);
    let mut shell =
        SqlShell { path, corpus, is_in_place: true, query, session, mode, timer, output };
    loop {
        let typed = match lines.read(PROMPT)? {
            ShellInput::Text(typed) => typed,
            ShellInput::Cleared => continue,
            ShellInput::End => return Ok(()),
        };
        match step(&typed) {
            // The input has ended within a statement.
            ShellStep::Nothing | ShellStep::Incomplete => {}
            ShellStep::Wrong(why) => output::note(&format!("error: {why}")),
            ShellStep::Command(ShellCommand::Quit) => return Ok(()),
            ShellStep::Command(command) => shell.obey(command),
            ShellStep::Statements(statements) => {
                shell.reopen_if_changed(&mut lines);
                // Statements after one that failed are skipped, since they may build on it.
                let _ = statements.iter().try_for_each(|it| shell.run_statement(&it.text));
            }
        }
    }
}

/// The state of the shell between statements.
struct SqlShell<'a> {
    path: PathBuf,
    corpus: Corpus,
    /// Whether the corpus was at its path at the last look.
    is_in_place: bool,
    query: SqlQuery,
    session: &'a CommandSession,
    mode: PrintFormat,
    timer: bool,
    /// The file for the next answer.
    output: Option<AnswerFile>,
}

/// A statement failed, and its error was printed.
struct StatementFailure;

impl SqlShell<'_> {
    /// Opens the corpus again if a writer has committed since. Another corpus at its path is left alone.
    fn reopen_if_changed(&mut self, lines: &mut LineEditor) {
        let looked = match (self.corpus.is_in_place(), self.corpus.is_current()) {
            (Ok(false), _) => {
                if std::mem::replace(&mut self.is_in_place, false) {
                    output::note(&format!(
                        "note: another folder stands at {}, or none: this shows the corpus that was opened, as of commit {}",
                        self.path.display(),
                        self.corpus.view().commit(),
                    ));
                }
                return;
            }
            (Ok(true), Ok(true)) => {
                self.is_in_place = true;
                return;
            }
            (Ok(true), Ok(false)) => self.session.read(&self.path),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        };
        match looked {
            Ok(corpus) => {
                self.is_in_place = true;
                lines.name(&corpus);
                self.corpus = corpus;
            }
            Err(error) => output::note(&format!(
                "note: this shows the corpus as of commit {}, since it cannot be reopened: {}",
                self.corpus.view().commit(),
                causes(&error).join(": ")
            )),
        }
    }

    /// Runs a statement; Ctrl-C cancels it, and a second one ends the command.
    fn run_statement(&mut self, statement: &str) -> Result<(), StatementFailure> {
        let (interrupt, started) = (self.session.listen(), Instant::now());
        let output = self.output.take();
        let context = self.session.context().with_interrupt(&interrupt);
        let answered = match &output {
            Some(to) => self.write(to, statement, &context).map(|()| None),
            None => self.show(statement, &context).map(Some),
        };
        self.session.listen_no_more();
        self.session.progress.end();
        let seconds = started.elapsed().as_secs_f64();
        match answered {
            Ok(rows) => {
                let rows = rows.map_or(String::new(), |rows| format!("{} rows, ", number(rows)));
                if self.timer {
                    output::note(&format!("({rows}{seconds:.3} s)"));
                }
                Ok(())
            }
            Err(error) => {
                // The user will correct the statement, and wants the answer in the same file.
                self.output = output;
                match interrupt.is_raised() {
                    true => output::note("cancelled"),
                    false => output::note(&format!("error: {}", causes(&error).join(": "))),
                }
                Err(StatementFailure)
            }
        }
    }

    fn scope(&self) -> StatementScope<'_> {
        StatementScope { corpus: &self.corpus, query: &self.query }
    }

    /// Writes the answer to a statement to a file, and reports that.
    fn write(&self, to: &AnswerFile, statement: &str, context: &Context<'_>) -> anyhow::Result<()> {
        let report = to.write(self.scope(), statement, context)?;
        let text = match self.session.json {
            true => output::json_line("sql", &report, None)?,
            false => {
                let mut out = Output::new(false);
                report.print(&mut out);
                out.into_parts().0
            }
        };
        Ok(output::print(&text)?)
    }

    fn show(&self, statement: &str, context: &Context<'_>) -> anyhow::Result<u64> {
        let mut out = answers_to(self.mode);
        let printed = print_answer(self.scope(), statement, self.mode, &mut out, context);
        out.flush()?;
        let printed = printed?;
        if printed.is_cut {
            output::note(
                "what ends in … is cut; `.mode line` shows complete values, `.output FILE` writes them",
            );
        }
        Ok(printed.rows)
    }

    fn obey(&mut self, command: ShellCommand) {
        match command {
            ShellCommand::Quit => {}
            ShellCommand::Help => {
                let wide = COMMANDS.iter().map(|it| it.usage.len()).max().unwrap_or(0);
                for it in &COMMANDS {
                    output::note(&format!("{:<wide$}  {}", it.usage, it.help));
                }
            }
            ShellCommand::Mode(None) => output::note(&format!("mode is {}", self.mode.name())),
            ShellCommand::Mode(Some(mode)) => self.mode = mode,
            ShellCommand::Timer(on) => self.timer = on,
            ShellCommand::Tables => drop(self.run_statement("SHOW TABLES")),
            ShellCommand::Schema(Some(table)) => {
                drop(self.run_statement(&format!("DESCRIBE {}", quoted(&table))));
            }
            ShellCommand::Schema(None) => self.schemas(),
            ShellCommand::Output(None) => {
                self.output = None;
                output::note("answers are printed");
            }
            ShellCommand::Output(Some((to, force))) => {
                // Where the file's ending names no format, the mode does.
                let format = match (to.extension(), self.mode) {
                    (None, PrintFormat::Csv) => Some(AnswerFormat::Printed(PrintFormat::Csv)),
                    (None, PrintFormat::Json) => Some(AnswerFormat::Printed(PrintFormat::Json)),
                    _ => None,
                };
                output::note(&format!("the next answer goes to {}", to.display()));
                self.output = Some(AnswerFile { to, force, format, record: true });
            }
        }
    }

    fn schemas(&mut self) {
        let names = match self.corpus.sql_names() {
            Ok(names) => names,
            Err(error) => return output::note(&format!("error: {error}")),
        };
        for table in names.tables {
            output::note(&table.name);
            if self.run_statement(&format!("DESCRIBE {}", quoted(&table.name))).is_err() {
                break;
            }
        }
    }
}
