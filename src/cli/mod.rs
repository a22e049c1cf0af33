//! The command `corpusdb`: parses its arguments, runs the verb, and prints the answer.
//!
//! Answers go to stdout, notes and errors to stderr. Exit codes: 0 done; 1 done, but the answer is bad (faults found,
//! verification failed, nothing under that key); 2 failed; 130 interrupted, the corpus consistent.
//!
//! The binary calls `main`; the Python package, which has the command too, calls `main_from` and shows the same pages
//! (`pages`). Only the public API of the library is used.
//!
//! A verb is a struct of its arguments that implements `Verb`, in a file of `verbs/`, and a row of the table `VERBS`:
//! help, completions, `reference`, `--dry-run`, the handle to open, JSON and its schema, and Python's `keywords` follow
//! from the row. Options of the library are declared in the room that uses them, with `clap::Args` behind the feature
//! `cli`, and flattened. `output` is the only writer to the terminal, `spelling` writes names as each face has them,
//! `find` finds documents as users name them, `session` has the flags of all verbs and opens corpora.

mod bar;
mod columns;
mod files;
mod find;
mod keywords;
mod limits;
mod memory_watch;
mod output;
mod paint;
mod record;
mod reference;
mod session;
mod spelling;
mod stop_signals;
mod table;
mod verb;
#[cfg(test)]
mod verb_tests;
mod verbs;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use session::{CommandSession, WrittenFromVerbs};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verb::{AnswerForm, DryRun, HandleKind, OpenHandle, VerbAnswer, VerbCall, VerbEntry};
use verbs::find_verb;

/// The table of verbs for the Python package: calls a verb by name, with keywords as JSON.
pub mod rows {
    pub use super::session::now;
    pub use super::spelling::{Face, spell_message};
    pub use super::table::{PreparedVerb, VerbError, options_of};
    pub use super::verb::{HandleKind, OpenHandle, VerbAnswer, VerbCall};
    pub use super::verbs::field::FieldSetSettings;
    pub use super::verbs::ingest::IngestSettings;
    pub use super::verbs::rejects::RejectSelectionArgs;
    pub use super::verbs::remove::RemovalArgs;
}

const EXAMPLES: &str = "\
Examples:
  corpusdb init crawl --field url:keyword --field quality:float
  corpusdb ingest crawl pages/*.jsonl.zst --source web --id-field id
  corpusdb tokenizer add crawl gpt2 tokenizer.json
  corpusdb sql crawl \"SELECT source, sum(tokens) FROM documents WHERE kept GROUP BY source\"
  corpusdb duplicates crawl
  corpusdb similar crawl --file page.txt
  corpusdb epoch build crawl recipe.toml --out epoch-0
  corpusdb export crawl --where \"quality > 0.5\" --to good.jsonl.zst
  corpusdb check crawl --deep

Exit codes: 0 done; 1 done, but the answer is bad; 2 failed; 130 interrupted (run the same command
again).

With --json every line is an object with a `type`: answers on stdout, a `note` (`message`) or an `error`
(`message`, `causes` from the nearest to the first, `exit_code`) on stderr.";

/// An embedded database for language-model training corpora.
///
/// Ingest documents. corpusdb removes exact and near duplicates against everything stored, and names the document that
/// each one matched. It tokenizes and indexes the kept documents, answers SQL about them, and writes them as packed,
/// source-mixed epochs. One directory, one process, no server.
#[derive(Parser)]
#[command(name = "corpusdb", version, after_help = EXAMPLES, propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    globals: session::GlobalArgs,
}

/// The program: its arguments are those of the process.
pub fn main() -> ExitCode {
    silence_contained_panics();
    let arguments: Vec<_> = std::env::args_os().collect();
    let own_name = || arguments.first().cloned().unwrap_or_default();
    let program = std::env::current_exe().map_or_else(|_| own_name(), OsString::from);
    ExitCode::from(main_from(&arguments, vec![program]))
}

/// Keeps a panic that the library turns into an error from being printed as well.
pub fn silence_contained_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !corpusdb::is_panic_caught() {
            told(panic);
        }
    }));
}

/// Runs the command with `arguments` (the first is its own name) and returns the exit code. `program` is the words that
/// start the command again.
pub fn main_from(arguments: &[OsString], program: Vec<OsString>) -> u8 {
    spelling::remember_typed(arguments);
    // Set before parsing: errors of the arguments are printed as JSON too.
    let mut words = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    if words.any(|argument| argument == "--json") {
        output::talk_json();
    }
    let command = command_of(arguments);
    let words = escape_names(arguments, &command);
    let matches = match command.try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => return refused(&with_way_out(error, arguments)),
        Err(help) => {
            let _ = help.print();
            return 0;
        }
    };
    limits::survive_file_size_limit();
    let (path, inner) = deepest(&matches);
    match find_verb(&path) {
        Some(row) => {
            if let Some(words) = forgotten_value(row, arguments) {
                output::error(&[words], 2);
                return 2;
            }
            let code = run_row(row, &matches, inner, program);
            // A statement that was stopped may be within a call of a function.
            if corpusdb::sql::has_left_statements() {
                let _ = std::io::stdout().flush();
                memory_watch::leave(code);
            }
            code
        }
        None => {
            output::error(&[format!("unknown verb `{path}`")], 2);
            2
        }
    }
}

/// Puts a mark before words that name a record without a key, such as `-:0@5` of standard input, so that clap does not
/// take them for flags. Values of options and words behind `--` stay as they are.
fn escape_names(arguments: &[OsString], command: &Command) -> Vec<OsString> {
    let is_name = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with("-:"));
    if !arguments.iter().any(is_name) {
        return arguments.to_vec();
    }
    let mut options: Vec<&clap::Arg> = command.get_arguments().collect();
    let mut verb = command;
    let mut takes_value = false;
    let mut words = Vec::with_capacity(arguments.len());
    for word in arguments {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            break;
        }
        if let Some(deeper) = verb.find_subcommand(text).filter(|_| !takes_value) {
            verb = deeper;
            options.extend(verb.get_arguments());
        }
        words.push(match is_name(word) && !takes_value {
            true => OsString::from(format!("{}{text}", session::ESCAPE)),
            false => word.clone(),
        });
        let is_it = |option: &&&clap::Arg| {
            let long = text.strip_prefix("--");
            let short = text.strip_prefix('-').and_then(|text| text.parse().ok());
            (long.is_some() && option.get_long() == long)
                || (short.is_some() && option.get_short() == short)
        };
        let option = options.iter().find(is_it).filter(|_| !takes_value);
        takes_value = option.is_some_and(|option| option.get_action().takes_values());
    }
    words.extend(arguments.iter().skip(words.len()).cloned());
    words
}

/// The message on a flag in the place of a value. Options that take text or SQL take values that begin with a
/// hyphen (`--where "-1 < id"`), so clap would search for the text `--all`.
fn forgotten_value(row: &VerbEntry, arguments: &[OsString]) -> Option<String> {
    let flag = |word: &OsString| word.to_str()?.strip_prefix("--").map(str::to_owned);
    let pairs = arguments.windows(2).filter_map(|pair| match pair {
        [option, value] => Some((flag(option)?, flag(value)?)),
        _ => None,
    });
    let pairs: Vec<(String, String)> = pairs.collect();
    if pairs.is_empty() {
        return None;
    }
    let (verb, root) = (table::command(row), Cli::command());
    let known: Vec<&clap::Arg> = verb.get_arguments().chain(root.get_arguments()).collect();
    let find = |name: &str| known.iter().find(|arg| arg.get_long() == Some(name));
    let is_forgotten = |(option, value): &&(String, String)| {
        find(option).is_some_and(|arg| arg.is_allow_hyphen_values_set()) && find(value).is_some()
    };
    let (option, value) = pairs.iter().find(is_forgotten)?;
    Some(format!(
        "a value is required for --{option}, and --{value} is an option; a text that is spelt so is given as --{option}=--{value}"
    ))
}

/// How much of a verb is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VerbDetail {
    /// With its arguments.
    Whole,
    /// Its name and the line about it in a list of verbs.
    About,
    /// Its name, without which another word could not be refused.
    Name,
}

fn command() -> Command {
    command_with(|_| VerbDetail::Whole)
}

/// The command with what is needed to parse these arguments, to report errors in them, and to print the help that they
/// ask for. To build all verbs would take half of the time of a small one.
fn command_of(arguments: &[OsString]) -> Command {
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let is_first =
        |word: &str| verbs::VERBS.iter().any(|row| row.path.split(' ').next() == Some(word));
    let before = words.iter().position(|word| is_first(word));
    let before = before.and_then(|at| words.get(..at));
    let asks_help = |word: &&str| {
        *word == "help" || *word == "--help" || (word.starts_with('-') && !word.starts_with("--"))
    };
    let is_run = before.is_some_and(|words| !words.contains(&"--") && !words.iter().any(asks_help));
    let others = match is_run || words == ["--version"] || words == ["-V"] {
        true => VerbDetail::Name,
        false => VerbDetail::About,
    };
    // A flag before its verb may belong to any verb that the arguments name.
    command_with(|first| if words.contains(&first) { VerbDetail::Whole } else { others })
}

/// The command, with each verb built as far as `detail` says of the first word of its path. A family (`dedup`) is made
/// at its first row.
fn command_with(detail: impl Fn(&str) -> VerbDetail) -> Command {
    let mut root = Cli::command();
    if detail("help") != VerbDetail::Name {
        root = root.help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options of every verb:\n{{options}}{{after-help}}",
            grouped_verbs()
        ));
    }
    for row in verbs::VERBS {
        let first = row.path.split(' ').next().unwrap_or_default();
        let detail = detail(first);
        if detail != VerbDetail::Whole && row.path != first {
            if root.find_subcommand(first).is_none() {
                root = root.subcommand(Command::new(first).about(family_text(first)));
            }
            continue;
        }
        let verb = match detail {
            VerbDetail::Whole => table::command(row),
            VerbDetail::About => row.outline().about(table::about(row)),
            VerbDetail::Name => row.outline(),
        };
        root = match row.path.split_once(' ') {
            None => root.subcommand(verb),
            Some((family, _)) => {
                if root.find_subcommand(family).is_none() {
                    root = root.subcommand(family_command(family));
                }
                root.mut_subcommand(family, |family| family.subcommand(verb))
            }
        };
    }
    root
}

/// All verbs and families by what they are for, a line each.
fn grouped_verbs() -> String {
    let mut text = String::new();
    for (group, names) in verbs::GROUPS {
        text.push_str(&format!("{group}:\n"));
        for name in *names {
            let about = match find_verb(name) {
                Some(row) => table::about(row),
                None => family_text(name).to_owned(),
            };
            text.push_str(&format!("  {name:<13} {about}\n"));
        }
        text.push('\n');
    }
    text
}

/// The command above the verbs of a family, with the first example of each.
fn family_command(family: &'static str) -> Command {
    let text = family_text(family);
    let rows = verbs::VERBS.iter().filter(|row| row.path.split(' ').next() == Some(family));
    let examples = rows.filter_map(|row| row.examples.first());
    let examples: String = examples.map(|line| format!("\n  {line}")).collect();
    let made = Command::new(family).about(text).after_help(format!("Examples:{examples}"));
    made.subcommand_required(true).arg_required_else_help(true)
}

/// The text above the verbs of a family.
fn family_text(family: &str) -> &'static str {
    let text = verbs::FAMILIES.iter().find(|(name, _)| *name == family);
    text.map_or("", |(_, text)| *text)
}

/// The path of the verb that was typed, and its arguments.
fn deepest(matches: &ArgMatches) -> (String, &ArgMatches) {
    let (mut path, mut inner) = (Vec::new(), matches);
    while let Some((name, deeper)) = inner.subcommand() {
        path.push(name);
        inner = deeper;
    }
    (path.join(" "), inner)
}

/// Runs a row, then prints the answer. The exit code is the answer's, even if its reader has gone away.
fn run_row(
    row: &'static VerbEntry,
    matches: &ArgMatches,
    inner: &ArgMatches,
    program: Vec<OsString>,
) -> u8 {
    let globals = match session::GlobalArgs::from_arg_matches(matches) {
        Ok(globals) => globals,
        Err(error) => return refused(&error),
    };
    let verbs = WrittenFromVerbs { command, page: |page| reference::page(page, command()) };
    let session = match CommandSession::new(globals, row.manners.stops, program, verbs) {
        Ok(session) => session,
        Err(error) => return failed(&error),
    };
    let answer = work(row, inner, &session);
    // A bar that is still drawn would stand in the answer.
    session.progress.end();
    match answer {
        Ok(answer) => match output::print(&answer.text) {
            Ok(()) => {
                answer.notes.iter().for_each(|text| {
                    output::note(&spelling::spell_message(text, spelling::Face::Command));
                });
                answer.status as u8
            }
            Err(error) => {
                failed(&anyhow::Error::new(error).context("cannot write to standard output"))
            }
        },
        // A reader that wants no more rows is not a failure.
        Err(_) if output::is_stdout_closed() => 0,
        Err(error) => failed(&error),
    }
}

/// Opens the handle of the row, or a copy of the corpus, and runs the verb.
fn work(
    row: &'static VerbEntry,
    inner: &ArgMatches,
    session: &CommandSession,
) -> anyhow::Result<VerbAnswer> {
    let form = if session.json { AnswerForm::Json } else { AnswerForm::Text };
    let dry_run = verb::is_dry_run(row, inner);
    let note = |text: &str| {
        output::note(&spelling::spell_message(text, spelling::Face::Command));
    };
    let call = VerbCall {
        context: session.context(),
        options: session.options(),
        dry_run,
        note: &note,
        session: Some(session),
        written: RefCell::default(),
    };
    let named = match row.on {
        HandleKind::Nothing => None,
        _ => inner.get_one::<PathBuf>("corpus"),
    };
    let Some(named) = named else { return (row.run)(inner, OpenHandle::Nothing, &call, form) };
    let named = session.corpus_of(named)?;
    let copy = session.target(&named, dry_run && row.dry_run == DryRun::Copy)?;
    let path: &Path = copy.path();
    match row.on {
        HandleKind::Nothing | HandleKind::Path => {
            (row.run)(inner, OpenHandle::Path(path), &call, form)
        }
        HandleKind::Corpus | HandleKind::AnyCorpus => {
            (row.run)(inner, OpenHandle::Corpus(&session.read(path)?), &call, form)
        }
        HandleKind::Writer => {
            let mut writer =
                if row.manners.waits { session.write_soon(path)? } else { session.write(path)? };
            (row.run)(inner, OpenHandle::Writer(&mut writer), &call, form)
        }
    }
}

/// Removes clap's advice to write an option as a value from an error, and adds the option `--where` if a condition may
/// have been given without it.
fn with_way_out(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    if error.kind() != clap::error::ErrorKind::UnknownArgument {
        return error;
    }
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.retain(|tip| !tip.to_string().contains("as a value"));
    let is_option = error
        .get(ContextKind::InvalidArg)
        .is_none_or(|argument| argument.to_string().starts_with('-'));
    let root = command();
    let mut verb = &root;
    for word in arguments.iter().filter_map(|word| word.to_str()) {
        verb = verb.find_subcommand(word).unwrap_or(verb);
    }
    if !is_option && verb.get_arguments().any(|argument| argument.get_id() == "where") {
        tips.push(StyledStr::from("a condition is given with '--where'"));
    }
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Prints an error of the arguments; 2.
fn refused(error: &clap::Error) -> u8 {
    if output::is_json() {
        let text = error.render().to_string();
        // Behind the empty line is the usage of the verb.
        let text = text.split("\n\n").next().unwrap_or_default();
        let text = text.trim().strip_prefix("error: ").unwrap_or(text).trim();
        output::error(&[text.to_owned()], 2);
    } else {
        let _ = error.print();
    }
    2
}

/// Prints an error with its causes.
fn failed(error: &anyhow::Error) -> u8 {
    memory_watch::claim_end();
    let code = exit_code(error);
    output::error(&causes(error), code);
    code
}

/// The exit code for an error's kind; 2 for an error of the command itself.
fn exit_code(error: &anyhow::Error) -> u8 {
    let known = error.chain().find_map(|cause| cause.downcast_ref::<corpusdb::Error>());
    known.map_or(2, |error| error.kind().exit_status())
}

/// The messages of an error, from what was attempted to the last cause, with the hint.
fn causes(error: &anyhow::Error) -> Vec<String> {
    let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.dedup();
    let spell = |text: &mut String| *text = spelling::spell_message(text, spelling::Face::Command);
    causes.iter_mut().for_each(spell);
    if let (Some(last), Some(hint)) = (causes.last_mut(), hint(error)) {
        let hint = spelling::spell_message(&hint.to_string(), spelling::Face::Command);
        *last = format!("{last}; {hint}");
    }
    causes
}

/// The hint of the library's error.
fn hint(error: &anyhow::Error) -> Option<corpusdb::Hint> {
    error.chain().find_map(|cause| cause.downcast_ref::<corpusdb::Error>()?.hint().cloned())
}
