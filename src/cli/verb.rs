//! The trait of a verb, the handle that it works on, and its row in the table.
//!
//! A verb's arguments are the type that implements [`Verb`]: what only a request has, and the options struct of the
//! room that does the work, flattened. Everything else follows from the row: help, completions, the reference,
//! `--dry-run`, what is opened, JSON, and for Python keywords, types and texts.

use super::output::{self, Output};
use super::session::CommandSession;
use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgMatches, Command};
use corpusdb::pages::{self, PageModel};
use corpusdb::{Context, Corpus, CorpusOptions, CorpusWriter};
use serde::Serialize;
use std::cell::RefCell;
use std::path::Path;

/// How the command ends if it does not fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitStatus {
    #[default]
    Done = 0,
    /// Done, but the answer is bad: faults were found, or nothing under that key.
    BadAnswer = 1,
}

impl ExitStatus {
    /// The status of an answer that is good or bad.
    pub const fn of(is_good: bool) -> Self {
        if is_good { Self::Done } else { Self::BadAnswer }
    }
}

/// Whether a verb can be tried out, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The verb has no `--dry-run`.
    No,
    /// The verb runs on a copy of the corpus, which is removed.
    Copy,
    /// The verb itself computes what it would write, and writes nothing.
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

/// The open handle for a verb.
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

/// A handle as a type, so that a verb that needs the writer cannot be given a reader.
pub trait VerbHandle {
    /// The kind of handle that is opened.
    const KIND: HandleKind;
    /// The reference that the verb gets.
    type Ref<'a>;

    /// The reference, if the open handle is of this kind.
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

/// What a request has beside the verb's arguments.
pub struct VerbCall<'a> {
    /// Progress, interrupt, threads.
    pub context: Context<'a>,
    /// Memory and threads, for corpora that the verb opens itself.
    pub options: CorpusOptions,
    /// Whether nothing is to be changed. A verb of [`DryRun::Copy`] has the copy as its handle then.
    pub dry_run: bool,
    /// Prints a note for people at once; names in backticks are spelt for the face.
    pub note: &'a dyn Fn(&str),
    /// The command's session, for verbs that ask, stream or wait. Python has none.
    pub(super) session: Option<&'a CommandSession>,
    /// Files that were written beside the answer: path, what is in it, bytes, how to open it.
    pub(super) written: RefCell<Vec<(String, String, u64, &'static str)>>,
}

impl<'a> VerbCall<'a> {
    /// A call from another face than the command.
    pub fn new(
        context: Context<'a>,
        options: CorpusOptions,
        dry_run: bool,
        note: &'a dyn Fn(&str),
    ) -> Self {
        Self { context, options, dry_run, note, session: None, written: RefCell::default() }
    }

    /// Prints a note for people.
    pub fn note(&self, text: &str) {
        (self.note)(text);
    }

    /// Writes a page, which the answer for people names at its end.
    pub(super) fn write_page(&self, file: &Path, page: &impl PageModel) -> anyhow::Result<()> {
        pages::write_page(file, &pages::page(page)?)?;
        self.wrote(file, page.title(), "open it in a browser");
        Ok(())
    }

    /// Names a file or a directory of files that was written beside the answer at the end of it, for people.
    pub(super) fn wrote(&self, file: &Path, what: String, way: &'static str) {
        let size = |path: &Path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        let bytes = match std::fs::read_dir(file) {
            Ok(files) => files.flatten().filter_map(|it| size(&it.path())).map(|it| it.len()).sum(),
            // What standard output goes to gets no line of ours behind it, and a pipe has no size.
            Err(_) if file.starts_with("/dev") => return,
            Err(_) => match size(file) {
                Some(of_file) => of_file.len(),
                None => return,
            },
        };
        self.written.borrow_mut().push((file.to_string_lossy().into_owned(), what, bytes, way));
    }

    /// The command, for what streams or asks.
    ///
    /// # Errors
    /// The verb was called by a Python program, which has calls of its own for that.
    pub(super) fn session(&self) -> anyhow::Result<&CommandSession> {
        self.session.context("this is of the command alone")
    }
}

/// The method or function of Python that does what a verb does, and who writes its parameters.
#[derive(Clone, Copy)]
pub enum PythonMethod {
    /// There is none: the verb is of the command alone.
    None,
    /// The parameters are keywords generated from the arguments of the verb.
    Generated(&'static str),
    /// The method itself names these parameters; keywords are generated from the other arguments.
    Mixed(&'static str, &'static [&'static str]),
    /// The method itself names all of its parameters.
    ByHand(&'static str),
}

impl PythonMethod {
    /// Its name, such as `Corpus.export`.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Generated(name) | Self::Mixed(name, _) | Self::ByHand(name) => Some(name),
        }
    }

    /// Whether a keyword is generated from this argument of the verb.
    pub fn has_keyword(self, argument: &str) -> bool {
        match self {
            Self::Generated(_) => true,
            Self::Mixed(_, by_hand) => !by_hand.contains(&argument),
            Self::None | Self::ByHand(_) => false,
        }
    }
}

/// What a verb does on a Ctrl-C, and while another process writes to the corpus.
#[derive(Clone, Copy)]
pub struct Manners {
    /// Whether it looks for a Ctrl-C itself, to stop where nothing is lost; else it ends there and then.
    pub stops: bool,
    /// Whether it waits a minute for another writer to end, as what is written in moments does; else it fails.
    pub waits: bool,
}

impl Manners {
    pub const NONE: Self = Self { stops: false, waits: false };
    pub const STOPS: Self = Self { stops: true, waits: false };
    pub const WAITS: Self = Self { stops: false, waits: true };
    pub const STOPS_AND_WAITS: Self = Self { stops: true, waits: true };
}

/// One verb: its arguments are the type that implements it. Each says the first four; the others have defaults.
pub trait Verb: clap::Args + Sized + 'static {
    /// The path as it is typed: `export`, `dedup redo`.
    const PATH: &'static str;
    /// Command lines that the tests of the documents run.
    const EXAMPLES: &'static [&'static str];
    /// What it works on.
    type On: VerbHandle;
    /// What it answers.
    type Report: Report;
    /// The text below the examples.
    const NOTES: &'static str = "";
    /// The method of Python that does the same.
    const PYTHON: PythonMethod = PythonMethod::None;
    /// Whether help and reference leave it out.
    const IS_HIDDEN: bool = false;
    /// Whether the verb can be tried out.
    const DRY_RUN: DryRun = DryRun::No;
    /// What it does on a Ctrl-C, and while another process writes.
    const MANNERS: Manners = match Self::On::KIND {
        HandleKind::Writer => Manners::STOPS,
        _ => Manners::NONE,
    };

    /// Runs the verb. Fails with errors of the library, or for arguments that do not go together.
    fn run(
        self,
        on: <Self::On as VerbHandle>::Ref<'_>,
        call: &VerbCall<'_>,
    ) -> anyhow::Result<Self::Report>;
}

/// What a verb answers.
pub trait Report: Serialize + schemars::JsonSchema + Sized + 'static {
    /// The `type` of its JSON.
    const TYPE: &'static str;

    /// Prints the report for people.
    fn print(&self, out: &mut Output);

    /// The report as JSON, an object a line; `tried` says whether `--dry-run` was given, and is `None` for a verb that
    /// does not have it.
    ///
    /// # Errors
    /// None that a report gives cause for.
    fn json(&self, tried: Option<bool>) -> serde_json::Result<String> {
        output::json_line(Self::TYPE, self, tried)
    }

    /// How the command ends.
    fn status(&self) -> ExitStatus {
        ExitStatus::Done
    }

    /// Whether the answer went to standard output as rows during the work, so that nothing is left to print.
    fn is_streamed(&self) -> bool {
        false
    }
}

/// The answer of a verb that lists things: in JSON one line each.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct ListReport<T>(pub Vec<T>);

pub trait ListRow: Serialize + schemars::JsonSchema + Sized + 'static {
    /// The `type` of an item's line of JSON.
    const TYPE: &'static str;

    /// Prints all items for people.
    fn print_all(all: &[Self], out: &mut Output);
}

impl<T: ListRow> Report for ListReport<T> {
    const TYPE: &'static str = T::TYPE;

    fn print(&self, out: &mut Output) {
        T::print_all(&self.0, out);
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        output::json_lines(T::TYPE, &self.0)
    }
}

/// The answer of a verb that lists things, or shows one of them.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ShowReport<T, D> {
    All(ListReport<T>),
    One(Box<D>),
}

impl<T: ListRow, D: Report> Report for ShowReport<T, D> {
    const TYPE: &'static str = D::TYPE;

    fn print(&self, out: &mut Output) {
        match self {
            Self::All(all) => all.print(out),
            Self::One(one) => one.print(out),
        }
    }

    fn json(&self, tried: Option<bool>) -> serde_json::Result<String> {
        match self {
            Self::All(all) => all.json(tried),
            Self::One(one) => one.json(tried),
        }
    }

    fn status(&self) -> ExitStatus {
        match self {
            Self::All(all) => all.status(),
            Self::One(one) => one.status(),
        }
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

/// A report in the form that was asked for: whole before the first byte is printed.
pub struct VerbAnswer {
    /// JSON, or text for people; each line ends.
    pub text: String,
    /// Notes to print on stderr after it.
    pub notes: Vec<String>,
    /// How the command ends.
    pub status: ExitStatus,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// One JSON object a line.
    Json,
    /// Text for people.
    Text,
}

pub struct VerbEntry {
    /// The path as it is typed.
    pub path: &'static str,
    /// Command lines as examples.
    pub examples: &'static [&'static str],
    pub notes: &'static str,
    is_hidden: bool,
    /// The method of Python that does the same.
    pub python: PythonMethod,
    /// Whether it can be tried out.
    pub dry_run: DryRun,
    /// What it does on a Ctrl-C, and while another process writes.
    pub manners: Manners,
    /// What it works on.
    pub on: HandleKind,
    augment: fn(Command) -> Command,
    /// Runs the verb with parsed arguments.
    pub run: RunVerb,
    /// The schema of the report.
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
    /// Fails if its options of the library differ, without arguments, from their defaults.
    #[cfg(test)]
    pub check_defaults: fn() -> Result<(), String>,
}

/// Runs the verb of a row.
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
        dry_run: V::DRY_RUN,
        manners: V::MANNERS,
        on: V::On::KIND,
        augment: V::augment_args,
        run: run::<V>,
        schema: schemars::SchemaGenerator::subschema_for::<V::Report>,
        #[cfg(test)]
        check_defaults: || Ok(()),
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
        AnswerForm::Json if report.is_streamed() => (String::new(), Vec::new()),
        AnswerForm::Json => {
            let tried = (V::DRY_RUN != DryRun::No).then_some(call.dry_run);
            (report.json(tried)?, Vec::new())
        }
        AnswerForm::Text => {
            let mut out = Output::new(call.dry_run);
            if !report.is_streamed() {
                report.print(&mut out);
            }
            for (path, what, bytes, way) in call.written.take() {
                out.wrote(&path, &what, bytes, way);
            }
            out.into_parts()
        }
    };
    Ok(VerbAnswer { text, notes, status: report.status() })
}

/// Checks that the options parsed from no arguments are the library's defaults.
#[cfg(test)]
fn check_defaults<O: clap::Args + Default + PartialEq + std::fmt::Debug>() -> Result<(), String> {
    // A required argument has no default.
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
    /// This row of a verb with the options `O` of the library; a test compares them, without arguments, with their
    /// defaults.
    #[cfg_attr(
        not(test),
        expect(clippy::extra_unused_type_parameters, reason = "a test alone asks for it")
    )]
    pub const fn defaults_of<O: clap::Args + Default + PartialEq + std::fmt::Debug>(self) -> Self {
        Self {
            #[cfg(test)]
            check_defaults: check_defaults::<O>,
            ..self
        }
    }

    /// The last word of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit(' ').next().unwrap_or(self.path)
    }

    /// The arguments alone, as Python has them: texts as they were written, no corpus.
    pub fn arguments(&self) -> Command {
        self.augmented(Command::new(self.name()))
    }

    /// The name alone.
    pub fn outline(&self) -> Command {
        Command::new(self.name()).hide(self.is_hidden)
    }

    /// Adds the arguments to a command.
    pub fn augmented(&self, command: Command) -> Command {
        let command = (self.augment)(command);
        let help = match self.dry_run {
            DryRun::No => return command,
            DryRun::Copy => {
                "Show what would change, and change nothing: the verb works on a temporary copy"
            }
            DryRun::Looks => "Estimate what would be written, and write nothing",
        };
        // Without a heading of its own, `--dry-run` would stand under that of the last struct.
        let dry_run = Arg::new("dry_run").long("dry-run").action(ArgAction::SetTrue);
        command.arg(dry_run.help_heading(None::<&str>).help(help))
    }
}

/// Whether parsed arguments ask for a dry run.
pub fn is_dry_run(row: &VerbEntry, matches: &ArgMatches) -> bool {
    row.dry_run != DryRun::No && matches.get_flag("dry_run")
}
