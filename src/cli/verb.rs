//! A verb of the command: the trait, its row in the table, and the call by name that Python makes.
//!
//! A verb's arguments are the type that implements [`Verb`]: what only a request has, and the options struct of the room
//! that does the work, flattened. Everything else follows from the row: help, completions, the reference, `--dry-run`,
//! what is opened, JSON, and for Python keywords, types and texts.

use super::keywords;
use super::output::{self, Output};
use super::session::CommandSession;
use super::spelling::{Face, spell, spell_command};
use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgMatches, Command};
use corpusdb::export::OutputError;
use corpusdb::pages::PageError;
use corpusdb::{Context, Corpus, CorpusOptions, CorpusWriter};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io;
use std::path::{Path, PathBuf};

/// How the command ends where it did not fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitStatus {
    /// All is well.
    #[default]
    Done = 0,
    /// Done, but the answer is bad: faults were found, or nothing under that key.
    BadAnswer = 1,
}

/// Whether a verb can be tried out, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// It has no `--dry-run`.
    No,
    /// It works on a copy of the corpus that is removed.
    Copy,
    /// It only looks, by itself.
    Looks,
}

/// What a verb works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    /// No corpus.
    Nothing,
    /// The directory of a corpus, which the verb opens itself.
    Path,
    /// A corpus that is read.
    Corpus,
    /// A corpus that is read, where one is named.
    AnyCorpus,
    /// A corpus that is written.
    Writer,
}

/// What is open for a verb.
pub enum OpenHandle<'a> {
    /// Nothing, or no corpus where one may be named.
    Nothing,
    /// The directory of a corpus.
    Path(&'a Path),
    /// A corpus that is read.
    Corpus(&'a Corpus),
    /// A corpus that is written.
    Writer(&'a mut CorpusWriter),
}

/// The directory of a corpus, for verbs that open it themselves.
#[derive(Debug)]
pub enum CorpusPath {}

/// What a verb asks for by a type: one that asks for the writer cannot be given a reader.
pub trait VerbHandle {
    /// What is opened.
    const KIND: HandleKind;
    /// What the verb is given.
    type Ref<'a>;

    /// It, when it is what is open.
    fn of(open: OpenHandle<'_>) -> Option<Self::Ref<'_>>;
}

impl VerbHandle for () {
    const KIND: HandleKind = HandleKind::Nothing;
    type Ref<'a> = ();

    fn of(_: OpenHandle<'_>) -> Option<()> {
        Some(())
    }
}

impl VerbHandle for CorpusPath {
    const KIND: HandleKind = HandleKind::Path;
    type Ref<'a> = &'a Path;

    fn of(open: OpenHandle<'_>) -> Option<&Path> {
        if let OpenHandle::Path(path) = open { Some(path) } else { None }
    }
}

impl VerbHandle for Corpus {
    const KIND: HandleKind = HandleKind::Corpus;
    type Ref<'a> = &'a Self;

    fn of(open: OpenHandle<'_>) -> Option<&Self> {
        if let OpenHandle::Corpus(corpus) = open { Some(corpus) } else { None }
    }
}

impl VerbHandle for Option<Corpus> {
    const KIND: HandleKind = HandleKind::AnyCorpus;
    type Ref<'a> = Option<&'a Corpus>;

    fn of(open: OpenHandle<'_>) -> Option<Option<&Corpus>> {
        match open {
            OpenHandle::Corpus(corpus) => Some(Some(corpus)),
            OpenHandle::Nothing => Some(None),
            _ => None,
        }
    }
}

impl VerbHandle for CorpusWriter {
    const KIND: HandleKind = HandleKind::Writer;
    type Ref<'a> = &'a mut Self;

    fn of(open: OpenHandle<'_>) -> Option<&mut Self> {
        if let OpenHandle::Writer(writer) = open { Some(writer) } else { None }
    }
}

/// What goes with a request beside its arguments.
pub struct VerbCall<'a> {
    /// Progress, interrupt, threads.
    pub context: Context<'a>,
    /// Memory and threads, for what the verb opens itself.
    pub options: CorpusOptions,
    /// Whether nothing is to be changed. Of a verb that works on a copy the copy is what it was given.
    pub dry_run: bool,
    /// Says at once what a person should read beside the answer; names in backticks are spelt for the face.
    pub note: &'a dyn Fn(&str),
    /// The command's own: what a verb needs that asks, streams or waits. Python has none.
    pub(super) session: Option<&'a CommandSession>,
}

impl<'a> VerbCall<'a> {
    /// A call of another face than the command.
    pub fn new(
        context: Context<'a>,
        options: CorpusOptions,
        dry_run: bool,
        note: &'a dyn Fn(&str),
    ) -> Self {
        Self { context, options, dry_run, note, session: None }
    }

    /// Says something beside the answer.
    pub fn note(&self, text: &str) {
        (self.note)(text);
    }

    /// The command, for what streams or asks.
    ///
    /// # Errors
    /// That nobody is there: a Python program has calls of its own for that.
    pub(super) fn session(&self) -> anyhow::Result<&CommandSession> {
        self.session.context("this is of the command alone")
    }
}

/// [`Verb::PYTHON_BY_HAND`] of a verb that has a method with other parameters than the command's.
pub const ALL_BY_HAND: &[&str] = &["*"];

/// One verb: its arguments are the type that implements it.
pub trait Verb: clap::Args + Sized + 'static {
    /// As it is typed: `export`, `dedup redo`.
    const PATH: &'static str;
    /// Command lines that the tests of the documents run.
    const EXAMPLES: &'static [&'static str];
    /// The text below the examples.
    const NOTES: &'static str = "";
    /// The Python method or function, such as `Corpus.export`; empty for a verb of the command alone.
    const PYTHON: &'static str = "";
    /// Parameters that the Python method names itself: the generated keywords leave them out.
    const PYTHON_BY_HAND: &'static [&'static str] = &[];
    /// Whether no list of verbs has it.
    const IS_HIDDEN: bool = false;
    /// Whether it can be tried out.
    const DRY_RUN: DryRun = DryRun::No;
    /// Whether it looks for a Ctrl-C itself, to stop where nothing is lost.
    const STOPS: bool = matches!(Self::On::KIND, HandleKind::Writer);
    /// Whether it waits a minute for another writer to end: what is written in moments does.
    const WAITS: bool = false;
    /// What it works on.
    type On: VerbHandle;
    /// The options of the room, for the test of the defaults.
    type Options: clap::Args + Default + PartialEq + std::fmt::Debug;
    /// What it answers.
    type Report: Report;

    /// Does the work.
    ///
    /// # Errors
    /// Those of the library, and what is wrong with the arguments together.
    fn run(
        self,
        on: <Self::On as VerbHandle>::Ref<'_>,
        call: &VerbCall<'_>,
    ) -> anyhow::Result<Self::Report>;
}

/// The options of a verb that has none.
#[derive(clap::Args, Debug, Default, PartialEq)]
pub struct NoOptions {}

/// What a verb answers.
pub trait Report: Serialize + schemars::JsonSchema + Sized + 'static {
    /// The `type` of its JSON.
    const TYPE: &'static str;

    /// Prints it for people.
    fn print(&self, out: &mut Output);

    /// It as JSON, an object a line; `tried` says whether a verb that can be tried out was.
    ///
    /// # Errors
    /// None that a report gives cause for.
    fn json(&self, tried: Option<bool>) -> serde_json::Result<String> {
        Ok(output::json_of(Self::TYPE, self, tried)? + "\n")
    }

    /// How the command ends.
    fn status(&self) -> ExitStatus {
        ExitStatus::Done
    }

    /// Whether the answer is rows that went to standard output while the work went on: nothing is left to print.
    fn is_streamed(&self) -> bool {
        false
    }
}

/// The answer of a verb that lists things: in JSON one line each.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct ListReport<T>(pub Vec<T>);

/// A thing that is listed.
pub trait ListRow: Serialize + schemars::JsonSchema + Sized + 'static {
    /// The `type` of its line of JSON.
    const TYPE: &'static str;

    /// Prints all of them for people.
    fn print_all(all: &[Self], out: &mut Output);
}

impl<T: ListRow> Report for ListReport<T> {
    const TYPE: &'static str = T::TYPE;

    fn print(&self, out: &mut Output) {
        T::print_all(&self.0, out);
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        self.0.iter().map(|one| Ok(output::json_of(T::TYPE, one, None)? + "\n")).collect()
    }
}

/// The answer of a verb whose rows went to standard output while it worked.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct Streamed {
    #[serde(skip)]
    status: ExitStatus,
}

impl From<ExitStatus> for Streamed {
    fn from(status: ExitStatus) -> Self {
        Self { status }
    }
}

impl Report for Streamed {
    const TYPE: &'static str = "streamed";

    fn print(&self, _: &mut Output) {}

    fn status(&self) -> ExitStatus {
        self.status
    }

    fn is_streamed(&self) -> bool {
        true
    }
}

/// A report whose type is forgotten: whole before the first byte is printed.
pub struct VerbAnswer {
    /// JSON, or text for people; each line ends.
    pub text: String,
    /// What is to be said on stderr behind it.
    pub notes: Vec<String>,
    /// How the command ends.
    pub status: ExitStatus,
}

/// In what form an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// One JSON object a line.
    Json,
    /// Text for people.
    Text,
}

/// One row of the table.
pub struct VerbEntry {
    /// As it is typed.
    pub path: &'static str,
    /// Command lines that show it.
    pub examples: &'static [&'static str],
    notes: &'static str,
    is_hidden: bool,
    /// The Python method.
    pub python: &'static str,
    /// Parameters that the method names itself.
    pub python_by_hand: &'static [&'static str],
    /// Whether it can be tried out.
    pub dry_run: DryRun,
    /// Whether it looks for a Ctrl-C itself.
    pub stops: bool,
    /// Whether it waits for another writer.
    pub waits: bool,
    /// What it works on.
    pub on: HandleKind,
    augment: fn(Command) -> Command,
    /// Does the work of parsed arguments.
    pub run: RunVerb,
    /// The schema of its report.
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
    /// Whether no argument comes to the defaults of the library.
    #[cfg(test)]
    pub check_defaults: fn() -> Result<(), String>,
}

/// Does the work of a row.
pub type RunVerb =
    fn(&ArgMatches, OpenHandle<'_>, &VerbCall<'_>, AnswerForm) -> anyhow::Result<VerbAnswer>;

/// The row of a verb.
pub const fn entry<V: Verb>() -> VerbEntry {
    VerbEntry {
        path: V::PATH,
        examples: V::EXAMPLES,
        notes: V::NOTES,
        is_hidden: V::IS_HIDDEN,
        python: V::PYTHON,
        python_by_hand: V::PYTHON_BY_HAND,
        dry_run: V::DRY_RUN,
        stops: V::STOPS,
        waits: V::WAITS,
        on: V::On::KIND,
        augment: V::augment_args,
        run: run::<V>,
        schema: schemars::SchemaGenerator::subschema_for::<V::Report>,
        #[cfg(test)]
        check_defaults: check_defaults::<V::Options>,
    }
}

fn run<V: Verb>(
    matches: &ArgMatches,
    open: OpenHandle<'_>,
    call: &VerbCall<'_>,
    form: AnswerForm,
) -> anyhow::Result<VerbAnswer> {
    let verb = V::from_arg_matches(matches)?;
    let on = V::On::of(open).with_context(|| format!("`{}` works on another handle", V::PATH))?;
    let report = verb.run(on, call)?;
    let (text, notes) = match form {
        _ if report.is_streamed() => (String::new(), Vec::new()),
        AnswerForm::Json => {
            let tried = (V::DRY_RUN != DryRun::No).then_some(call.dry_run);
            (report.json(tried)?, Vec::new())
        }
        AnswerForm::Text => {
            let mut out = Output::new(call.dry_run);
            report.print(&mut out);
            out.into_parts()
        }
    };
    Ok(VerbAnswer { text, notes, status: report.status() })
}

/// What the command makes of no argument is what the library has by default.
#[cfg(test)]
fn check_defaults<O: clap::Args + Default + PartialEq + std::fmt::Debug>() -> Result<(), String> {
    // What must be given has no default.
    let command = O::augment_args(Command::new("defaults").no_binary_name(true));
    let command = command.mut_args(|arg| arg.required(false));
    let none: [&str; 0] = [];
    let matches = command.try_get_matches_from(none).map_err(|error| error.to_string())?;
    let parsed = O::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    match parsed == O::default() {
        true => Ok(()),
        false => Err(format!("no argument: {parsed:?}, by default: {:?}", O::default())),
    }
}

impl VerbEntry {
    /// The last word of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit(' ').next().unwrap_or(self.path)
    }

    /// `export` -> `Export`, `dedup redo` -> `DedupRedo`.
    pub fn class_name(&self) -> String {
        let word = |word: &str| {
            let mut characters = word.chars();
            let first = characters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(characters).collect::<String>()
        };
        self.path.split([' ', '-']).map(word).collect()
    }

    /// The arguments alone, as Python has them: texts as they were written, no corpus.
    pub fn arguments(&self) -> Command {
        self.augmented(Command::new(self.name()))
    }

    /// Its name alone.
    pub fn outline(&self) -> Command {
        Command::new(self.name()).hide(self.is_hidden)
    }

    /// What a list of verbs says of it.
    pub fn about(&self) -> String {
        let whole = self.arguments();
        let text = whole.get_about().map(|text| text.ansi().to_string());
        spell(&text.unwrap_or_default(), Face::Command, &whole)
    }

    /// With the corpus first, and names spelt as the command has them.
    pub fn command(&self) -> Command {
        let mut command = self.outline();
        if self.on != HandleKind::Nothing {
            let corpus = Arg::new("corpus").value_name("CORPUS").help("The corpus");
            let corpus = corpus.value_parser(clap::value_parser!(PathBuf));
            command = command.arg(corpus.required(self.on != HandleKind::AnyCorpus));
        }
        spell_command(self.augmented(command), Face::Command).after_help(self.after_help())
    }

    fn after_help(&self) -> String {
        let head = if self.examples.len() == 1 { "Example:" } else { "Examples:" };
        let examples: String = self.examples.iter().map(|line| format!("\n  {line}")).collect();
        let notes = if self.notes.is_empty() { "" } else { "\n\n" };
        format!("{head}{examples}{notes}{}", self.notes)
    }

    fn augmented(&self, command: Command) -> Command {
        let command = (self.augment)(command);
        let help = match self.dry_run {
            DryRun::No => return command,
            DryRun::Copy => {
                "Show what would change, and change nothing: the verb works on a temporary copy"
            }
            DryRun::Looks => "Estimate what would be written, and write nothing",
        };
        // The heading of the last struct would continue.
        let dry_run = Arg::new("dry_run").long("dry-run").action(ArgAction::SetTrue);
        command.arg(dry_run.help_heading(None::<&str>).help(help))
    }
}

/// The options that keywords of Python, a JSON object, come to as arguments of the command.
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

/// The row of a path.
pub fn find_verb(path: &str) -> Option<&'static VerbEntry> {
    super::verbs::VERBS.iter().find(|row| row.path == path)
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
        // What was attempted stands before the error of the library; in others all causes are words.
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

/// The error as one of the library, where it is one, or of a file that the verb itself read or wrote.
fn of_library(error: anyhow::Error) -> Result<corpusdb::Error, anyhow::Error> {
    error
        .downcast::<corpusdb::Error>()
        .or_else(|error| error.downcast::<PageError>().map(Into::into))
        .or_else(|error| error.downcast::<OutputError>().map(|error| PageError::from(error).into()))
        .or_else(|error| error.downcast::<io::Error>().map(Into::into))
}

impl PreparedVerb {
    /// The verb of that path with what keywords, a JSON object, come to as arguments of the same command.
    ///
    /// # Errors
    /// [`VerbError::Arguments`]: which keyword is not one of the verb, or has a value that it cannot have.
    pub fn of(path: &str, keywords: &str) -> Result<Self, VerbError> {
        let prepared = || -> anyhow::Result<Self> {
            let row = find_verb(path).with_context(|| format!("there is no verb `{path}`"))?;
            let given: Map<String, Value> = serde_json::from_str(keywords).context("keywords")?;
            Ok(Self { row, matches: keywords::matches(row.arguments(), &given)? })
        };
        Ok(prepared()?)
    }

    /// What it works on.
    pub fn on(&self) -> HandleKind {
        self.row.on
    }

    /// Whether it looks for a stop itself, to end where nothing is lost: then it is waited for.
    pub fn stops(&self) -> bool {
        self.row.stops
    }

    /// Whether a dry run is asked for.
    pub fn is_dry_run(&self) -> bool {
        is_dry_run(self.row, &self.matches)
    }

    /// Does the work; the answer as JSON, an object a line.
    ///
    /// # Errors
    /// [`VerbError`].
    pub fn run(&self, open: OpenHandle<'_>, call: &VerbCall<'_>) -> Result<VerbAnswer, VerbError> {
        Ok((self.row.run)(&self.matches, open, call, AnswerForm::Json)?)
    }
}

/// Whether parsed arguments ask for a dry run.
pub fn is_dry_run(row: &VerbEntry, matches: &ArgMatches) -> bool {
    row.dry_run != DryRun::No && matches.get_flag("dry_run")
}
