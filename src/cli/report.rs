//! `corpusdb report`: the corpus as a data card, a page or JSON; described in Croissant; summed up as the EU asks.

use super::setup::{CommandSession, on_disk};
use super::{Outcome, print};
use anyhow::Context as _;
use corpusdb::export::OutputFile;
use corpusdb::pages::{self, CardPage};
use corpusdb::report::ReportOptions;
use std::path::{Path, PathBuf};

/// Make the data card of a corpus: one page that needs nothing else, or the same figures as JSON
///
/// Sizes by source and language before and after dedup, lengths, duplicates with examples, what is not kept and why,
/// declared numbers by source, test items that are in it, domains of keys that are addresses, commits and snapshots;
/// with a plan, what a run gets. Everything is counted from the store, exactly; the same commit gives the same page.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  corpusdb report crawl -o card.html
  corpusdb report crawl --plan 1 -o card.html
  corpusdb report crawl --json | jq .sizes.kept
  corpusdb report crawl --croissant croissant.json --eu-summary summary.md

The page has no script and reads nothing: it can be mailed, printed, and put on any server. Without --no-texts it shows
parts of some documents, as examples of duplicates. Without a file, JSON is printed.

A Croissant description and the EU's summary say what the corpus knows; what only a person knows is named on stderr, or a
blank. What is filled in stays when they are written again.")]
pub(super) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// The page that is written [default: none; the figures are printed as JSON]
    #[arg(short, long, value_name = "FILE", value_parser = on_disk())]
    output: Option<PathBuf>,
    /// Write a description in Croissant 1.0 with what is known for responsible use (RAI); what is filled in there
    /// already stays
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    croissant: Option<PathBuf>,
    /// Write what the EU's template for the summary of training content asks, as Markdown; what is filled in there
    /// already stays
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    eu_summary: Option<PathBuf>,
    /// Tell what a run of this stored plan gets, by its number
    #[arg(long, value_name = "N")]
    plan: Option<u32>,
    /// The corpora that the plan draws from beside this one, in its order; nothing else is told of them
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "plan")]
    shards: Vec<PathBuf>,
    /// Show no parts of texts
    #[arg(long)]
    no_texts: bool,
    /// Name so many domains
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    domains: u16,
}

pub(super) fn run(args: &Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let options = ReportOptions {
        plan: args.plan,
        texts: !args.no_texts,
        domains: usize::from(args.domains),
        domains_by_text: args.eu_summary.is_some(),
        ..ReportOptions::default()
    };
    // What may be refused comes before the work.
    let describing = |file: &Path| format!("describing the corpus in {}", file.display());
    if let Some(file) = &args.croissant {
        pages::check_croissant(file).with_context(|| describing(file))?;
    }
    let corpus = session.read_with(&args.corpus, &args.shards)?;
    let report = corpus.report(&options, &session.context())?;
    if let Some(file) = &args.croissant {
        let blanks = pages::write_croissant(file, &report).with_context(|| describing(file))?;
        let blanks: Vec<String> =
            blanks.iter().map(|(name, what)| format!("  {name}: {what}")).collect();
        if !blanks.is_empty() {
            let file = file.display();
            let blanks = blanks.join("\n");
            print::talk(&format!(
                "not known, to be filled in by hand in {file} (it stays there):\n{blanks}"
            ));
        }
    }
    if let Some(file) = &args.eu_summary {
        pages::write_eu_summary(file, &report)?;
    }
    if let Some(file) = &args.output {
        pages::write_page(file, &pages::page(&CardPage::new(&report))?)?;
    }
    let files = [&args.output, &args.croissant, &args.eu_summary];
    if session.json || files.iter().all(|file| file.is_none()) {
        print::typed("report", &report)?;
    }
    Ok(Outcome::Good)
}

/// Writes a file that may take the place of any other.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    Ok(OutputFile::judge(file)?.write(bytes)?)
}
