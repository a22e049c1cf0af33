//! `corpusdb completions` and `reference`: print pages that are generated from the table of verbs.

use crate::cli::output;
use crate::cli::session::ReferencePage;
use crate::cli::verb::{ExitStatus, Streamed, Verb, VerbCall};
use std::io::Write as _;

/// Print a completion script.
#[derive(clap::Args)]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

impl Verb for CompletionsArgs {
    const PATH: &str = "completions";
    const EXAMPLES: &[&str] = &[
        "corpusdb completions bash > ~/.local/share/bash-completion/completions/corpusdb",
        "corpusdb completions zsh",
    ];
    type On = ();
    type Report = Streamed;

    fn run(self, (): (), call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let (mut script, mut command) = (Vec::new(), (call.session()?.verbs.command)());
        clap_complete::generate(self.shell, &mut command, "corpusdb", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

/// Print what is written from the verbs: their reference, the schema of their reports, files of the Python package.
#[derive(clap::Args)]
pub(super) struct ReferenceArgs {
    /// What is printed.
    #[arg(value_enum, default_value_t)]
    page: ReferencePage,
}

impl Verb for ReferenceArgs {
    const PATH: &str = "reference";
    const IS_HIDDEN: bool = true;
    const EXAMPLES: &[&str] = &["corpusdb reference", "corpusdb reference schema"];
    type On = ();
    type Report = Streamed;

    fn run(self, (): (), call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        print(&(call.session()?.verbs.page)(self.page)?)
    }
}

/// Prints a text as it is, in any form of answers.
fn print(text: &str) -> anyhow::Result<Streamed> {
    let mut out = output::stdout();
    writeln!(out, "{}", text.trim_end())?;
    out.flush()?;
    Ok(ExitStatus::Done.into())
}
