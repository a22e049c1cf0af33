//! `corpusdb completions`, and the reference of all verbs as Markdown.

use super::{Outcome, print};
use clap::Command;
use std::fmt::Write;

/// Print a completion script
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  corpusdb completions bash > ~/.local/share/bash-completion/completions/corpusdb"
)]
pub(super) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(super) fn run(args: Args, mut command: Command) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "corpusdb", &mut script);
    print::line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Outcome::Good)
}

pub(super) fn reference(command: Command) -> anyhow::Result<Outcome> {
    let mut command = command.term_width(100).disable_help_subcommand(true);
    command.build();
    let mut out = String::from(
        "# Command line\n\nFor people who look up a verb or a flag. Written by `corpusdb reference`; a test compares the two.\n",
    );
    describe(&mut command, 2, &mut out)?;
    print::line(out.trim_end())?;
    Ok(Outcome::Good)
}

fn describe(command: &mut Command, level: usize, out: &mut String) -> anyhow::Result<()> {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    write!(
        out,
        "\n{} `{name}`\n\n```text\n{}\n```\n",
        "#".repeat(level),
        command.render_long_help().to_string().trim_end()
    )?;
    for verb in command.get_subcommands_mut() {
        if !verb.is_hide_set() && verb.get_name() != "help" {
            describe(verb, level + 1, out)?;
        }
    }
    Ok(())
}
