//! The shell: reads statements and commands line by line, runs them, and stays open whatever becomes of them.
//!
//! `step` tells what was typed, without doing anything; `command` names the dot-commands; `editor` is what rustyline is
//! given to read lines with, `words` what it completes them by; `history` says where they are kept.

mod command;
mod editor;
mod history;
mod step;
mod words;

use super::answer::{self, Asked, Shape, Target};
use crate::cli::session::CommandSession;
use crate::cli::{Outcome, causes, print};
use command::{COMMANDS, Command};
use corpusdb::query::{Format, SqlQuery};
use corpusdb::{Context, Corpus};
use editor::{Lines, Typed};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use step::{Step, step};

const PROMPT: &str = "corpusdb> ";

/// Runs the shell until it is left.
pub(super) fn run(
    path: &Path,
    query: SqlQuery,
    mode: Format,
    session: &CommandSession,
) -> anyhow::Result<Outcome> {
    let corpus = session.read(path)?;
    let mut lines = Lines::open(&corpus)?;
    let (documents, kept) =
        (corpus.count(None)?, corpus.view().kept().map_err(corpusdb::Error::from)?);
    print::talk(&format!(
        "corpusdb {}: {}, {} documents, {} kept\nStatements end with `;`. `.help` lists commands, Ctrl-C cancels a statement, Ctrl-D leaves.",
        env!("CARGO_PKG_VERSION"),
        path.display(),
        print::number(documents),
        print::number(kept.len()),
    ));
    let path = path.to_path_buf();
    let mut shell = Shell { path, corpus, query, session, mode, timer: false, output: None };
    loop {
        let typed = match lines.read(PROMPT)? {
            Typed::Input(typed) => typed,
            Typed::Cleared => continue,
            Typed::End => return Ok(Outcome::Good),
        };
        match step(&typed) {
            // An end of input within a statement.
            Step::Nothing | Step::Incomplete => {}
            Step::Wrong(why) => print::talk(&format!("error: {why}")),
            Step::Command(Command::Quit) => return Ok(Outcome::Good),
            Step::Command(command) => shell.obey(command),
            Step::Statements(statements) => {
                shell.look_again(&mut lines);
                // Those behind one that failed were meant to follow on it.
                let _ = statements.iter().try_for_each(|it| shell.ask(&it.text));
            }
        }
    }
}

/// What the next statement meets.
struct Shell<'a> {
    path: PathBuf,
    corpus: Corpus,
    query: SqlQuery,
    session: &'a CommandSession,
    mode: Format,
    timer: bool,
    /// The file that the next answer goes to.
    output: Option<Target>,
}

/// A statement that failed, of which all was said.
struct Failed;

impl Shell<'_> {
    /// Opens the corpus again where a writer has committed since.
    fn look_again(&mut self, lines: &mut Lines) {
        let looked = match self.corpus.is_current() {
            Ok(true) => return,
            Ok(false) => self.session.read(&self.path),
            Err(error) => Err(error.into()),
        };
        match looked {
            Ok(corpus) => {
                lines.name(&corpus);
                self.corpus = corpus;
            }
            Err(error) => print::talk(&format!(
                "note: this is the corpus as of commit {}, since it cannot be opened again: {}",
                self.corpus.view().commit(),
                causes(&error).join(": ")
            )),
        }
    }

    /// Runs a statement; Ctrl-C cancels it, and a second one ends the command.
    fn ask(&mut self, statement: &str) -> Result<(), Failed> {
        let (interrupt, started) = (self.session.listen(), Instant::now());
        let output = self.output.take();
        let context = self.session.context().with_interrupt(&interrupt);
        let answered = match &output {
            Some(to) => to.write(self.asked(), statement, self.session, &context).map(|()| None),
            None => self.show(statement, &context).map(Some),
        };
        self.session.listen_no_more();
        self.session.progress.end();
        let seconds = started.elapsed().as_secs_f64();
        match answered {
            Ok(rows) => {
                let rows =
                    rows.map_or(String::new(), |rows| format!("{} rows, ", print::number(rows)));
                if self.timer {
                    print::talk(&format!("({rows}{seconds:.3} s)"));
                }
                Ok(())
            }
            Err(error) => {
                // What went wrong is mended and asked again, into the same file.
                self.output = output;
                match interrupt.is_raised() {
                    true => print::talk("cancelled"),
                    false => print::talk(&format!("error: {}", causes(&error).join(": "))),
                }
                Err(Failed)
            }
        }
    }

    fn asked(&self) -> Asked<'_> {
        Asked { corpus: &self.corpus, query: &self.query }
    }

    fn show(&self, statement: &str, context: &Context<'_>) -> anyhow::Result<u64> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let printed = answer::print(self.asked(), statement, self.mode, &mut out, context);
        out.flush()?;
        let printed = printed?;
        if printed.is_cut {
            print::talk("values that end in … are cut; `.mode line` shows them whole");
        }
        Ok(printed.rows)
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Quit => {}
            Command::Help => {
                let wide = COMMANDS.iter().map(|it| it.usage.len()).max().unwrap_or(0);
                for it in &COMMANDS {
                    print::talk(&format!("{:<wide$}  {}", it.usage, it.help));
                }
            }
            Command::Mode(None) => print::talk(&format!("mode is {}", self.mode.name())),
            Command::Mode(Some(mode)) => self.mode = mode,
            Command::Timer(on) => self.timer = on,
            Command::Tables => drop(self.ask("SHOW TABLES")),
            Command::Schema(Some(table)) => {
                drop(self.ask(&format!("DESCRIBE {}", words::quoted(&table))));
            }
            Command::Schema(None) => self.schemas(),
            Command::Output(None) => {
                self.output = None;
                print::talk("answers are printed");
            }
            Command::Output(Some((to, force))) => {
                // Where the ending tells nothing the mode does.
                let shape = match (to.extension(), self.mode) {
                    (None, Format::Csv) => Some(Shape::Csv),
                    (None, Format::Json) => Some(Shape::Jsonl),
                    _ => None,
                };
                print::talk(&format!("the next answer goes to {}", to.display()));
                self.output = Some(Target { to, force, shape });
            }
        }
    }

    fn schemas(&mut self) {
        let names = match self.corpus.sql_names() {
            Ok(names) => names,
            Err(error) => return print::talk(&format!("error: {error}")),
        };
        for table in names.tables {
            print::talk(&table.name);
            if self.ask(&format!("DESCRIBE {}", words::quoted(&table.name))).is_err() {
                break;
            }
        }
    }
}
