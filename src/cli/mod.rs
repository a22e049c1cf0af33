//! The command line: one file a verb, each with its `Args` and `run`. Sees only the public API.
//!
//! stdout is data, stderr is talk. Exit codes: 0 done; 1 done, but the answer is bad (faults found,
//! verification failed, nothing under that key); 2 failed; 130 interrupted, the corpus consistent.
//!
//! The binary calls `main`; the Python package, which has the command too, calls `main_from` and shows the same pages and
//! words (`pages`, `words`).

mod backup;
mod bar;
mod bulk_load;
mod chat;
mod check;
mod compact;
mod completions;
mod contamination;
mod count;
mod dedup;
mod demo;
mod duplicates;
mod epoch;
mod export;
mod field;
mod find;
mod info;
mod ingest;
mod init;
mod limits;
mod migrate;
mod policy;
mod print;
mod purge;
mod rejects;
mod remove;
mod report;
mod sample;
mod setup;
mod show;
mod signals;
mod similar;
mod snapshot;
mod sql;
mod stats;
mod tables;
mod tokenizer;

use clap::{CommandFactory, Parser, Subcommand};
use setup::CommandSession;
use std::ffi::OsString;
use std::process::ExitCode;

/// What the command says of a step, for the Python package.
pub mod words {
    pub use super::tokenizer::told;
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

With --json everything is one object a line with a `type`: answers on stdout; on stderr a `note`
(`message`), or what failed as an `error` (`message`, `causes` from the nearest to the first,
`exit_code`).";

/// An embedded database for language-model training corpora.
///
/// Pour documents in; exact and near duplicates are removed against everything already held, each
/// with the name of the document it matched; what is left is tokenized, indexed, queried with SQL,
/// and handed back as packed, source-mixed epochs. One directory, one process, no server.
#[derive(Parser)]
#[command(name = "corpusdb", version, after_help = EXAMPLES, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    setup: setup::Setup,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Init(init::Args),
    Ingest(Box<ingest::Args>),
    BulkLoad(bulk_load::Args),
    Rejects(rejects::Args),
    Info(info::Args),
    Stats(stats::Args),
    Report(report::Args),
    Count(count::Args),
    Sql(sql::Args),
    Sample(sample::Args),
    Show(show::Args),
    Duplicates(duplicates::Args),
    Similar(similar::Args),
    #[command(subcommand)]
    Dedup(dedup::Verb),
    Remove(remove::Remove),
    Purge(purge::Args),
    Restore(remove::Restore),
    #[command(subcommand)]
    Tokenizer(tokenizer::Verb),
    #[command(subcommand)]
    Snapshot(snapshot::Verb),
    #[command(subcommand)]
    Field(field::Verb),
    #[command(subcommand)]
    Contamination(contamination::Verb),
    #[command(subcommand)]
    Signals(signals::Verb),
    Epoch(epoch::Arguments),
    Export(export::Args),
    Check(check::Args),
    #[command(subcommand)]
    Backup(backup::Verb),
    Compact(compact::Args),
    Migrate(migrate::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    /// Print the reference of all verbs as Markdown (docs/reference/cli.md).
    #[command(hide = true)]
    Reference,
}

impl Verb {
    /// Whether the verb looks for Ctrl-C itself, to stop where nothing is lost.
    const fn has_safe_points(&self) -> bool {
        match self {
            Self::Ingest(_)
            | Self::BulkLoad(_)
            | Self::Dedup(dedup::Verb::Redo(_) | dedup::Verb::Settle(_))
            | Self::Compact(_)
            | Self::Remove(_)
            | Self::Purge(_)
            | Self::Restore(_)
            | Self::Export(_)
            | Self::Demo(_) => true,
            Self::Backup(verb) => verb.has_safe_points(),
            Self::Check(args) => args.has_safe_points(),
            Self::Rejects(args) => args.has_safe_points(),
            Self::Field(verb) => verb.has_safe_points(),
            Self::Contamination(verb) => verb.has_safe_points(),
            Self::Signals(verb) => verb.has_safe_points(),
            Self::Tokenizer(verb) => verb.has_safe_points(),
            Self::Epoch(arguments) => matches!(
                arguments.verb,
                epoch::Verb::Build { .. }
                    | epoch::Verb::Explain { .. }
                    | epoch::Verb::Extend { .. }
                    | epoch::Verb::Verify { .. }
            ),
            _ => false,
        }
    }
}

/// What a verb answers when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All is well.
    Good,
    /// The answer is bad: exit code 1.
    Bad,
}

/// The program: its arguments are those of the process.
pub fn main() -> ExitCode {
    silence_contained_panics();
    let arguments: Vec<_> = std::env::args_os().collect();
    ExitCode::from(main_from(&arguments))
}

/// What the library makes an error of is told as one, not as a panic too.
pub fn silence_contained_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !corpusdb::is_panic_caught() {
            told(panic);
        }
    }));
}

/// Runs the command with `arguments`, of which the first is its own name; the exit code says how it went.
pub fn main_from(arguments: &[OsString]) -> u8 {
    // Also for what is wrong with the arguments themselves.
    let mut words = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    if words.any(|argument| argument == "--json") {
        print::talk_json();
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return refused(&error),
        Err(help) => {
            let _ = help.print();
            return 0;
        }
    };
    limits::lift();
    let session = match CommandSession::new(cli.setup, cli.verb.has_safe_points()) {
        Ok(session) => session,
        Err(error) => return failed(&error),
    };
    match run(cli.verb, &session) {
        Ok(Outcome::Good) => 0,
        Ok(Outcome::Bad) => 1,
        Err(error) => {
            // What is still drawn would stand in the message.
            session.progress.end();
            failed(&error)
        }
    }
}

fn run(verb: Verb, session: &CommandSession) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Init(args) => init::run(args, session),
        Verb::Ingest(args) => ingest::run(*args, session),
        Verb::BulkLoad(args) => bulk_load::run(args, session),
        Verb::Rejects(args) => rejects::run(args, session),
        Verb::Info(args) => info::run(args, session),
        Verb::Stats(args) => stats::run(&args, session),
        Verb::Report(args) => report::run(&args, session),
        Verb::Count(args) => count::run(args, session),
        Verb::Sql(args) => sql::run(args, session),
        Verb::Sample(args) => sample::run(args, session),
        Verb::Show(args) => show::run(args, session),
        Verb::Duplicates(args) => duplicates::run(args, session),
        Verb::Similar(args) => similar::run(args, session),
        Verb::Dedup(verb) => dedup::run(verb, session),
        Verb::Remove(args) => remove::remove(args, session),
        Verb::Purge(args) => purge::run(args, session),
        Verb::Restore(args) => remove::restore(args, session),
        Verb::Tokenizer(verb) => tokenizer::run(verb, session),
        Verb::Snapshot(verb) => snapshot::run(verb, session),
        Verb::Field(verb) => field::run(verb, session),
        Verb::Contamination(verb) => contamination::run(verb, session),
        Verb::Signals(verb) => signals::run(verb, session),
        Verb::Epoch(arguments) => epoch::run(arguments, session),
        Verb::Export(args) => export::run(args, session),
        Verb::Check(args) => check::run(args, session),
        Verb::Backup(verb) => backup::run(verb, session),
        Verb::Compact(args) => compact::run(args, session),
        Verb::Migrate(args) => migrate::run(args, session),
        Verb::Demo(args) => demo::run(args, session),
        Verb::Completions(args) => completions::run(args),
        Verb::Reference => completions::reference(Cli::command()),
    }
}

/// Says what is wrong with the arguments.
fn refused(error: &clap::Error) -> u8 {
    if print::is_json() {
        let text = error.render().to_string();
        let text = text.trim().strip_prefix("error: ").unwrap_or(&text).trim();
        print::error(&[text.to_owned()], 2);
    } else {
        let _ = error.print();
    }
    2
}

/// Says what failed and why; a reader that went away is no failure.
fn failed(error: &anyhow::Error) -> u8 {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    if io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe) {
        return 0;
    }
    let interrupted = error.chain().any(|cause| {
        cause.downcast_ref::<corpusdb::Error>().is_some_and(corpusdb::Error::is_interrupt)
    });
    let code = if interrupted { 130 } else { 2 };
    print::error(&causes(error), code);
    code
}

/// What an error says, from what was attempted to the last cause, with the way out.
fn causes(error: &anyhow::Error) -> Vec<String> {
    let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.dedup();
    if let (Some(last), Some(hint)) = (causes.last_mut(), hint(error)) {
        *last = format!("{last}; {hint}");
    }
    causes
}

/// The way out that an error of the library names.
fn hint(error: &anyhow::Error) -> Option<corpusdb::Hint> {
    error.chain().find_map(|cause| cause.downcast_ref::<corpusdb::Error>()?.hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tokenizer encode` went on waiting for its text after a Ctrl-C, and `dedup settle --dry-run` left its
    /// copy of the corpus behind.
    #[test]
    fn whoever_looks_for_ctrl_c_is_left_to_stop_and_nobody_else() {
        let looks = |line: &str| {
            let words = std::iter::once("corpusdb").chain(line.split(' '));
            Cli::try_parse_from(words).unwrap().verb.has_safe_points()
        };
        for line in [
            "ingest c a.jsonl --source s",
            "dedup redo c",
            "dedup settle c",
            "field set c f --from a.jsonl --id n",
            "compact c",
            "field set c --from a.jsonl --on key --columns f,g=h",
            "field add c f:int",
            "field compute c f chars",
            "remove c 1",
            "purge c 1",
            "rejects drop c",
            "restore c 1",
            "tokenizer add c t tokenizer.json",
            "tokenizer train c t --model bpe --vocab-size 300",
            "tokenizer extend c t u --grow 10 --out d",
            "tokenizer analyse c t",
            "tokenizer backfill c t",
            "epoch build c 1 --out d",
            "epoch verify c d",
            "export c --to a.jsonl",
            "check c --repair",
            "check c --salvage d",
        ] {
            assert!(looks(line), "{line}");
        }
        for line in [
            "sql c -",
            "rejects c",
            "similar c -",
            "check c",
            "field list c",
            "tokenizer encode c t",
            "tokenizer decode c t",
            "tokenizer check c t",
            "tokenizer diff c t u",
            "tokenizer export c t f",
        ] {
            assert!(!looks(line), "{line}");
        }
    }
}
