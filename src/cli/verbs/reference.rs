//! `corpusdb completions` and `reference`: what is written from the rows of all verbs.

use crate::cli::verb::{ExitStatus, NoOptions, Streamed, Verb, VerbCall};
use crate::cli::{command, output, reference};
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
    type Options = NoOptions;
    type Report = Streamed;

    fn run(self, (): (), _: &VerbCall<'_>) -> anyhow::Result<Streamed> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command(), "corpusdb", &mut script);
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

/// What is written from the verbs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum ReferencePage {
    /// The help of all verbs as Markdown: docs/reference/cli.md
    #[default]
    Cli,
    /// The JSON schema of all reports
    Schema,
    /// The keywords of Python: python/corpusdb/_options.py
    PythonOptions,
    /// The reports of Python: python/corpusdb/_reports.py
    PythonReports,
}

impl Verb for ReferenceArgs {
    const PATH: &str = "reference";
    const IS_HIDDEN: bool = true;
    const EXAMPLES: &[&str] = &["corpusdb reference", "corpusdb reference schema"];
    type On = ();
    type Options = NoOptions;
    type Report = Streamed;

    fn run(self, (): (), _: &VerbCall<'_>) -> anyhow::Result<Streamed> {
        print(&match self.page {
            ReferencePage::Cli => reference::markdown(command()),
            ReferencePage::Schema => serde_json::to_string_pretty(&reference::schema())?,
            ReferencePage::PythonOptions => reference::python_options()?,
            ReferencePage::PythonReports => reference::python_reports()?,
        })
    }
}

/// Prints a text as it is, whatever form answers have.
fn print(text: &str) -> anyhow::Result<Streamed> {
    let mut out = output::stdout();
    writeln!(out, "{}", text.trim_end())?;
    out.flush()?;
    Ok(ExitStatus::Done.into())
}
