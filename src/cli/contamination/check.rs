//! `corpusdb contamination check`: texts that are not stored, against the suites.

use super::{RuleArgs, told};
use crate::cli::session::{CommandSession, stores};
use crate::cli::{Outcome, print};
use corpusdb::ingest::ReadOptions;
use corpusdb::query::CheckedText;
use std::path::PathBuf;

/// Ask of texts that are not stored what they have of the suites
///
/// Files are read as an ingest reads them. Each text with evidence is told of, with what stands in it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb contamination check crawl new-pages.jsonl.zst\n  curl -s https://example.org/page.txt | corpusdb contamination check crawl - --json\n\nExit code 1 when a text is contaminated."
)]
pub(in crate::cli) struct Args {
    /// The corpus, whose suites are looked for
    corpus: PathBuf,
    /// Files and directories; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The field that holds the text [default: the first of the usual names]
    #[arg(long, value_name = "NAME")]
    text_field: Option<String>,
    /// The field that names a record in the answer
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    #[command(flatten)]
    rule: RuleArgs,
}

pub(super) fn run(args: &Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let corpus = session.read(&args.corpus)?;
    anyhow::ensure!(
        !corpus.suites()?.is_empty(),
        "there is no suite to check against; `corpusdb contamination add` adds one"
    );
    let read = ReadOptions {
        text_field: args.text_field.clone(),
        id_field: args.id_field.clone(),
        stores: stores(),
        ..ReadOptions::default()
    };
    let mut printed = Ok(());
    let mut each = |checked: &CheckedText| {
        if printed.is_ok() {
            printed = show(checked, &corpus, session.json);
        }
    };
    let counts = corpus.check_contamination(
        &args.files,
        &read,
        &args.rule.rule()?,
        &mut each,
        &session.context(),
    )?;
    printed?;
    if session.json {
        print::typed("contamination_check", &counts)?;
    } else {
        print::line(&format!(
            "{} of {} texts are contaminated",
            print::number(counts.contaminated),
            print::number(counts.texts)
        ))?;
    }
    Ok(if counts.contaminated > 0 { Outcome::Bad } else { Outcome::Good })
}

fn show(checked: &CheckedText, corpus: &corpusdb::Corpus, json: bool) -> anyhow::Result<()> {
    if checked.evidence.is_empty() {
        return Ok(());
    }
    if json {
        return print::typed("checked", checked);
    }
    print::line(&checked.text)?;
    checked.evidence.iter().try_for_each(|evidence| told::evidence(corpus, evidence))
}
