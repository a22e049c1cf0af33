//! The line editor of the shell: history, completion from the corpus and the engine, and statements of several lines.

use super::shell_input::{COMMANDS, ShellCommandHelp, ShellStep, step};
use super::shell_values::ValuePlace;
use corpusdb::Corpus;
use corpusdb::sql::{SqlNames, SqlValues};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::ffi::OsString;
use std::path::PathBuf;

const DIRECTORY: &str = "corpusdb";
const FILE: &str = "sql_history";

/// An input of the user.
pub(super) enum ShellInput {
    /// All lines of a statement, or a command.
    Text(String),
    /// Ctrl-C dropped the input.
    Cleared,
    /// Ctrl-D: the input has ended.
    End,
}

pub(super) struct LineEditor {
    editor: Editor<ShellHelper, FileHistory>,
    /// The file of the history, if there can be one.
    history: Option<PathBuf>,
}

impl LineEditor {
    /// Loads the history. It is a convenience, so errors of its file are ignored.
    pub(super) fn open(corpus: &Corpus) -> anyhow::Result<Self> {
        let config =
            Config::builder().completion_type(CompletionType::List).auto_add_history(false).build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(ShellHelper {
            names: corpus.sql_names()?,
            values: corpus.sql_values(),
            files: FilenameCompleter::new(),
        }));
        let history = history_file();
        if let Some(file) = &history {
            if let Some(directory) = file.parent() {
                let _ = std::fs::create_dir_all(directory);
            }
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }

    /// Takes the names and values of this corpus for completion.
    pub(super) fn name(&mut self, corpus: &Corpus) {
        if let (Some(words), Ok(names)) = (self.editor.helper_mut(), corpus.sql_names()) {
            (words.names, words.values) = (names, corpus.sql_values());
        }
    }

    /// Waits for input, and adds it to the history.
    pub(super) fn read(&mut self, prompt: &str) -> anyhow::Result<ShellInput> {
        match self.editor.readline(prompt) {
            Ok(typed) => {
                if !typed.trim().is_empty() && self.editor.add_history_entry(typed.as_str())? {
                    // Written at once: a shell that is killed, or another one beside it, loses nothing.
                    let _ = self.history.as_ref().map(|file| self.editor.append_history(file));
                }
                Ok(ShellInput::Text(typed))
            }
            Err(ReadlineError::Interrupted) => Ok(ShellInput::Cleared),
            Err(ReadlineError::Eof) => Ok(ShellInput::End),
            Err(error) => Err(error.into()),
        }
    }
}

struct ShellHelper {
    names: SqlNames,
    values: SqlValues,
    files: FilenameCompleter,
}

impl Completer for ShellHelper {
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
        let (start, words) = match ValuePlace::of(typed) {
            Some(place) => (place.start, place.complete(&self.values)),
            None => complete(&self.names, typed),
        };
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Validator for ShellHelper {
    fn validate(&self, session: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match step(session.input()) {
            ShellStep::Incomplete => ValidationResult::Incomplete,
            _ => ValidationResult::Valid(None),
        })
    }
}

impl Hinter for ShellHelper {
    type Hint = String;
}

impl Highlighter for ShellHelper {}

impl Helper for ShellHelper {}

/// Completions at the end of `typed`: the byte at which the word begins, and words for it.
fn complete(names: &SqlNames, typed: &str) -> (usize, Vec<String>) {
    if typed.trim_start().starts_with('.') {
        return complete_command(names, typed);
    }
    // Within a quoted name the word begins at the quote.
    let quote = typed.rfind('"').filter(|_| typed.matches('"').count() % 2 == 1);
    let start = quote.unwrap_or_else(|| begin(typed));
    let (before, word) = typed.split_at(start);
    let word = word.trim_start_matches('"');
    let tables = || names.tables.iter();
    let mut found = Vec::new();
    if let Some(table) = before.strip_suffix('.') {
        // Of the table that is named; of any where it is named by another word.
        let (_, table) = table.split_at(begin(table));
        let is_known = tables().any(|it| it.name == table);
        let of = tables().filter(|it| !is_known || it.name == table);
        add(&mut found, word, of.flat_map(|it| &it.columns).map(|name| quoted(name)));
        return (start, found);
    }
    let last = before.trim_end().rsplit(|c: char| !is_of_word(c)).next().unwrap_or_default();
    if ["from", "join", "describe"].contains(&last.to_ascii_lowercase().as_str()) {
        add(&mut found, word, tables().map(|it| quoted(&it.name)));
        if !found.is_empty() {
            return (start, found);
        }
    }
    if word.is_empty() {
        return (start, found);
    }
    add(&mut found, word, tables().flat_map(|it| &it.columns).map(|name| quoted(name)));
    add(&mut found, word, tables().map(|it| quoted(&it.name)));
    if quote.is_none() {
        add(&mut found, word, names.functions.iter().cloned());
        let is_small = word.starts_with(|c: char| c.is_lowercase());
        let keyword = |word: &&str| if is_small { word.to_lowercase() } else { (*word).to_owned() };
        add(&mut found, word, names.keywords.iter().map(keyword));
    }
    (start, found)
}

/// Completions of a word of a command.
fn complete_command(names: &SqlNames, typed: &str) -> (usize, Vec<String>) {
    let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let (before, word) = typed.split_at_checked(start).unwrap_or((typed, ""));
    let mut found = Vec::new();
    match before.trim() {
        "" => add(&mut found, word, COMMANDS.iter().map(|it| it.word().to_owned())),
        ".schema" => add(&mut found, word, names.tables.iter().map(|it| it.name.clone())),
        known => {
            // The usage lists what may follow: `a|b`.
            let entry: Option<&ShellCommandHelp> = COMMANDS.iter().find(|it| it.word() == known);
            let choices = entry.and_then(|it| it.usage.split_once(' ')).map_or("", |(_, it)| it);
            let choices = choices.trim_matches(['[', ']']).split('|');
            add(
                &mut found,
                word,
                choices.filter(|it| it.chars().all(is_of_word)).map(str::to_owned),
            );
        }
    }
    (start, found)
}

/// Adds those of `words` that begin with `word`, each once.
fn add(found: &mut Vec<String>, word: &str, words: impl Iterator<Item = String>) {
    let word = word.to_lowercase();
    for candidate in words {
        let plain = candidate.trim_start_matches('"').to_lowercase();
        if plain.starts_with(&word) && !found.contains(&candidate) {
            found.push(candidate);
        }
    }
}

/// Where the last word begins.
fn begin(typed: &str) -> usize {
    typed.trim_end_matches(is_of_word).len()
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A name as SQL takes it: in double quotes, unless it is plain.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The file of the history; none where the environment names no directory.
pub(super) fn history_file() -> Option<PathBuf> {
    state_file(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"))
}

/// The file by the two variables; a path that is not absolute is ignored.
fn state_file(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute =
        |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute(state).or_else(|| Some(absolute(home)?.join(".local/state")))?;
    Some(state.join(DIRECTORY).join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpusdb::{DedupMode, FieldKind, Policy};

    fn names() -> SqlNames {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("corpus");
        let fields = ["quality", "Site-Rank"].map(|name| (name.to_owned(), FieldKind::Float));
        Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &fields).unwrap();
        Corpus::open(&path).unwrap().sql_names().unwrap()
    }

    #[test]
    fn words_are_completed_from_the_schema_by_where_they_stand() {
        let names = names();
        let complete_typed = |typed: &str| {
            let (start, words) = complete(&names, typed);
            (typed[..start].to_owned(), words)
        };
        let all = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for (typed, before, words) in [
            ("SELECT qual", "SELECT ", &["quality", "qualify"][..]),
            ("SELECT site", "SELECT ", &["\"Site-Rank\""]),
            ("SELECT \"Si", "SELECT ", &["\"Site-Rank\""]),
            ("sel", "", &["select"]),
            ("SEL", "", &["SELECT"]),
            ("SELECT id FROM docu", "SELECT id FROM ", &["documents"]),
            ("SELECT d.quali", "SELECT d.", &["quality"]),
            ("SELECT snapshots.k", "SELECT snapshots.", &["kept", "kept_hash"]),
            (".mo", "", &[".mode"]),
            (".mode m", ".mode ", &["markdown"]),
            (".timer o", ".timer ", &["on", "off"]),
            (".schema dup", ".schema ", &["duplicates"]),
        ] {
            assert_eq!(complete_typed(typed), (before.to_owned(), all(words)), "{typed}");
        }
        let (_, functions) = complete_typed("SELECT regexp_ma");
        assert!(functions.contains(&"regexp_match".to_owned()), "{functions:?}");
        assert!(complete_typed("SELECT é FROM so").1.contains(&"sources".to_owned()));
        assert!(complete_typed("SELECT id FROM ").1.contains(&"documents".to_owned()));
    }

    #[test]
    fn the_history_is_where_xdg_has_it() {
        let place = |state: Option<&str>, home: Option<&str>| {
            state_file(state.map(OsString::from), home.map(OsString::from))
        };
        let default = Some(PathBuf::from("/h/.local/state/corpusdb/sql_history"));
        assert_eq!(place(Some("/s"), Some("/h")), Some("/s/corpusdb/sql_history".into()));
        assert_eq!(place(None, Some("/h")), default);
        assert_eq!(place(Some(""), Some("/h")), default);
        assert_eq!(place(Some("relative"), Some("/h")), default);
        assert_eq!(place(None, None), None);
    }
}
