//! Reads what is typed: with a history, with words completed, until a statement has its end.

use super::history;
use super::step::{Step, step};
use super::words::completed;
use corpusdb::Corpus;
use corpusdb::query::SqlNames;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::path::PathBuf;

/// What was typed.
pub(super) enum Typed {
    /// Lines up to the end of a statement, or a command.
    Input(String),
    /// Something that Ctrl-C took away.
    Cleared,
    /// Ctrl-D: nothing more comes.
    End,
}

/// The lines of a terminal.
pub(super) struct Lines {
    editor: Editor<Words, FileHistory>,
    /// Where the history is kept, if it can be.
    history: Option<PathBuf>,
}

impl Lines {
    /// Begins with the history that is kept. It is a convenience: what cannot be read or written of it is no failure.
    pub(super) fn open(corpus: &Corpus) -> anyhow::Result<Self> {
        let config =
            Config::builder().completion_type(CompletionType::List).auto_add_history(false).build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Words {
            names: corpus.sql_names()?,
            files: FilenameCompleter::new(),
        }));
        let history = history::place();
        if let Some(file) = &history {
            if let Some(directory) = file.parent() {
                let _ = std::fs::create_dir_all(directory);
            }
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }

    /// From now on the names of this corpus complete words.
    pub(super) fn name(&mut self, corpus: &Corpus) {
        if let (Some(words), Ok(names)) = (self.editor.helper_mut(), corpus.sql_names()) {
            words.names = names;
        }
    }

    /// Waits for input, and remembers it.
    pub(super) fn read(&mut self, prompt: &str) -> anyhow::Result<Typed> {
        match self.editor.readline(prompt) {
            Ok(typed) => {
                if !typed.trim().is_empty() && self.editor.add_history_entry(typed.as_str())? {
                    // Written at once: a shell that is killed, or another one beside it, loses nothing.
                    let _ = self.history.as_ref().map(|file| self.editor.append_history(file));
                }
                Ok(Typed::Input(typed))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Cleared),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(error.into()),
        }
    }
}

/// What helps to type.
struct Words {
    names: SqlNames,
    files: FilenameCompleter,
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        session: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..at).unwrap_or(line);
        if typed.trim_start().starts_with(".output ") {
            return self.files.complete(line, at, session);
        }
        let (start, words) = completed(&self.names, typed);
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Validator for Words {
    fn validate(&self, session: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match step(session.input()) {
            Step::Incomplete => ValidationResult::Incomplete,
            _ => ValidationResult::Valid(None),
        })
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}

impl Helper for Words {}
