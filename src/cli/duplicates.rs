//! `corpusdb duplicates`: what was removed, and what it matched.

use super::setup::Context;
use super::{Outcome, print};
use corpusdb::{Corpus, DiffPart, DocId, DuplicatePair};
use std::io::IsTerminal;
use std::path::PathBuf;

/// List removed duplicates with the kept document each one matched
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb duplicates crawl --limit 20\n  corpusdb duplicates crawl 42 --diff\n  corpusdb duplicates crawl --json > duplicates.jsonl"
)]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// One document: what it matched; of a kept one, what it removed
    id: Option<u64>,
    /// Show how the texts differ, word by word
    #[arg(long)]
    diff: bool,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

pub(super) fn run(args: Args, context: &Context) -> anyhow::Result<Outcome> {
    let corpus = context.read(&args.corpus)?;
    let pairs = corpus.duplicates(args.id.map(DocId), args.limit)?;
    for pair in &pairs {
        let diff =
            if args.diff { Some(corpus.diff(DocId(pair.witness), DocId(pair.id))?) } else { None };
        if context.json {
            #[derive(serde::Serialize)]
            struct Line<'a> {
                #[serde(flatten)]
                pair: &'a DuplicatePair,
                #[serde(skip_serializing_if = "Option::is_none")]
                diff: Option<Vec<DiffPart>>,
            }
            print::typed("duplicate", &Line { pair, diff })?;
        } else {
            show(pair)?;
            if let Some(parts) = diff {
                print_diff(&parts)?;
            }
        }
    }
    if pairs.is_empty() && !context.json {
        none(&corpus, args.id)?;
    }
    Ok(Outcome::Good)
}

fn none(corpus: &Corpus, id: Option<u64>) -> anyhow::Result<()> {
    match id {
        None => print::talk("no duplicates"),
        Some(id) => {
            let standing = corpus.show(DocId(id))?.standing;
            print::talk(&format!(
                "document {id} is {standing}; it matched nothing and removed nothing"
            ));
        }
    }
    Ok(())
}

fn show(pair: &DuplicatePair) -> anyhow::Result<()> {
    print::line(&format!(
        "{:5} {:.3}  {} {} ({})  <-  {} {} ({})",
        pair.kind,
        pair.jaccard,
        pair.witness,
        pair.witness_key,
        pair.witness_source,
        pair.id,
        pair.key,
        pair.source
    ))
}

/// Words only in the witness as [-word-], words only in the duplicate as {+word+}; colours on a terminal.
fn print_diff(parts: &[DiffPart]) -> anyhow::Result<()> {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let (minus, plus) = if colour {
        (("\x1b[31m[-", "-]\x1b[0m"), ("\x1b[32m{+", "+}\x1b[0m"))
    } else {
        (("[-", "-]"), ("{+", "+}"))
    };
    let text: String = parts
        .iter()
        .map(|part| match part {
            DiffPart::Same(text) => shorten(text),
            DiffPart::Removed(text) => format!("{}{text}{}", minus.0, minus.1),
            DiffPart::Added(text) => format!("{}{text}{}", plus.0, plus.1),
        })
        .collect();
    for line in text.lines() {
        print::line(&format!("    {line}"))?;
    }
    Ok(())
}

/// A long stretch that both texts have, as its beginning and end.
fn shorten(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    match lines.as_slice() {
        [first, .., last] if lines.len() > 6 => {
            format!("{first}… {} equal lines …\n{last}", lines.len() - 2)
        }
        _ => text.to_owned(),
    }
}
