//! What the command and Python make of a row of the table: its help, and the verb with its arguments, ready to run.

use super::keywords;
use super::spelling::{Face, spell, spell_command};
use super::verb::{
    AnswerForm, HandleKind, OpenHandle, VerbAnswer, VerbCall, VerbEntry, is_dry_run,
};
use super::verbs::find_verb;
use anyhow::Context as _;
use clap::{Arg, ArgMatches, Command};
use corpusdb::export::OutputError;
use corpusdb::pages::PageError;
use serde_json::{Map, Value};
use std::io;
use std::path::PathBuf;

/// The line about a verb in a list of verbs.
pub fn about(row: &VerbEntry) -> String {
    let whole = row.arguments();
    let text = whole.get_about().map(|text| text.ansi().to_string());
    spell(&text.unwrap_or_default(), Face::Command, &whole)
}

/// The command of a verb, with the corpus as its first argument, and names spelt as at a shell.
pub fn command(row: &VerbEntry) -> Command {
    let mut command = row.outline();
    if row.on != HandleKind::Nothing {
        let help = "The corpus; @ is the default one (`--corpus`)";
        let corpus = Arg::new("corpus").value_name("CORPUS").help(help);
        let corpus = corpus.value_parser(clap::value_parser!(PathBuf));
        command = command.arg(corpus.required(row.on != HandleKind::AnyCorpus));
    }
    spell_command(row.augmented(command), Face::Command).after_help(after_help(row))
}

fn after_help(row: &VerbEntry) -> String {
    let head = if row.examples.len() == 1 { "Example:" } else { "Examples:" };
    let examples: String = row.examples.iter().map(|line| format!("\n  {line}")).collect();
    let notes = if row.notes.is_empty() { "" } else { "\n\n" };
    format!("{head}{examples}{notes}{}", row.notes)
}

/// Options as the command parses them from keywords of Python, a JSON object.
///
/// # Errors
/// As [`PreparedVerb::of`].
pub fn options_of<O: clap::Args>(keywords: &str) -> Result<O, VerbError> {
    let options = || -> anyhow::Result<O> {
        let given: Map<String, Value> = serde_json::from_str(keywords).context("keywords")?;
        let command = O::augment_args(Command::new("options"));
        Ok(O::from_arg_matches(&keywords::matches(command, &given)?)?)
    };
    Ok(options()?)
}

/// A verb with its arguments, ready to run.
pub struct PreparedVerb {
    row: &'static VerbEntry,
    matches: ArgMatches,
}

/// Why a verb did not answer.
#[derive(Debug)]
pub enum VerbError {
    /// An error of the library.
    Library(corpusdb::Error),
    /// What is wrong with the arguments, in words.
    Arguments(String),
}

impl From<anyhow::Error> for VerbError {
    fn from(error: anyhow::Error) -> Self {
        // The context is put before the library's error; in other errors all causes are words.
        let words: Vec<String> = error
            .chain()
            .take_while(|cause| !is_of_library(*cause))
            .map(ToString::to_string)
            .collect();
        match of_library(error) {
            Ok(error) if words.is_empty() => Self::Library(error),
            Ok(error) => Self::Library(error.attempting(words.join(": "))),
            Err(_) => Self::Arguments(words.join(": ")),
        }
    }
}

fn is_of_library(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<corpusdb::Error>()
        || cause.is::<PageError>()
        || cause.is::<OutputError>()
        || cause.is::<io::Error>()
}

/// The error as one of the library, if it is one, or is of a file that the verb itself read or wrote.
fn of_library(error: anyhow::Error) -> Result<corpusdb::Error, anyhow::Error> {
    error
        .downcast::<corpusdb::Error>()
        .or_else(|error| error.downcast::<PageError>().map(Into::into))
        .or_else(|error| error.downcast::<OutputError>().map(|error| PageError::from(error).into()))
        .or_else(|error| error.downcast::<io::Error>().map(Into::into))
}

impl PreparedVerb {
    /// The verb of that path with its arguments from keywords, a JSON object.
    ///
    /// # Errors
    /// [`VerbError::Arguments`]: which keyword the verb does not have, or which value is not allowed.
    pub fn of(path: &str, keywords: &str) -> Result<Self, VerbError> {
        let prepared = || -> anyhow::Result<Self> {
            let row = find_verb(path).with_context(|| format!("there is no verb `{path}`"))?;
            let given: Map<String, Value> = serde_json::from_str(keywords).context("keywords")?;
            Ok(Self { row, matches: keywords::matches(row.arguments(), &given)? })
        };
        Ok(prepared()?)
    }

    /// The handle that the verb needs.
    pub fn on(&self) -> HandleKind {
        self.row.on
    }

    /// Whether the verb looks for a stop itself, to end at a safe point: then its caller waits for it.
    pub fn stops(&self) -> bool {
        self.row.manners.stops
    }

    /// Whether a dry run is asked for.
    pub fn is_dry_run(&self) -> bool {
        is_dry_run(self.row, &self.matches)
    }

    /// Runs the verb; the answer is JSON, an object a line.
    ///
    /// # Errors
    /// [`VerbError`].
    pub fn run(&self, open: OpenHandle<'_>, call: &VerbCall<'_>) -> Result<VerbAnswer, VerbError> {
        Ok((self.row.run)(&self.matches, open, call, AnswerForm::Json)?)
    }
}
