//! `corpusdb report`: writes a data card, a Croissant description, and the summary that the EU asks for.

use crate::cli::output::{self, Output};
use crate::cli::session::on_disk;
use crate::cli::verb::{Manners, PythonMethod, Report, Verb, VerbCall};
use anyhow::Context as _;
use corpusdb::Corpus;
use corpusdb::inspect::{CorpusReport, ReportOptions};
use corpusdb::pages::{self, CardPage};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Write the data card of a corpus: one page, or JSON.
///
/// With a plan it begins with what a run gets. It shows sizes by source before and after dedup, duplicates with
/// examples, languages and code, documents that are not kept and why, items of evaluation suites, dates, licences,
/// domains of keys that are addresses, lengths, declared numbers by source, ten documents, commits and snapshots. All
/// counts are exact; the same commit gives the same page.
#[derive(clap::Args)]
pub(super) struct ReportArgs {
    /// The page to write. By default none, and the figures are printed as JSON.
    #[arg(id = "html", short = 'o', long = "output", value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
    /// Write a description in Croissant 1.1, with the vocabulary for responsible AI (RAI).
    ///
    /// Fields filled in by hand stay when the file is written again.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    croissant: Option<PathBuf>,
    /// Write the EU's public summary of training content, as Markdown.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    eu_summary: Option<PathBuf>,
    /// Other corpora that the plan draws from, in its order; they are used for the plan only.
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "plan")]
    shards: Vec<PathBuf>,
    #[command(flatten)]
    options: ReportOptions,
}

/// The figures of a data card.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "CorpusReport")]
pub(super) struct ReportAnswer {
    #[serde(flatten)]
    report: Box<CorpusReport>,
    /// Whether a file has them.
    #[serde(skip)]
    is_written: bool,
}

impl Verb for ReportArgs {
    const PATH: &str = "report";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.report", &["shards"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb report crawl -o card.html",
        "corpusdb report crawl --plan 1 -o card.html",
        "corpusdb report crawl --json | jq .sizes.kept",
        "corpusdb report crawl --croissant croissant.json --eu-summary summary.md",
    ];
    const NOTES: &str = "\
The page has no script and loads nothing: it can be mailed, printed, and put on any server.
Unless --no-texts is given it shows excerpts of some documents: ten that are drawn by --seed, and
examples of duplicates. Without -o, JSON is printed.

Dates and licences are those that documents state: declared times, and in the metadata date,
created, published and timestamp, and license, licence and licenses. With a plan they, and the
whole EU summary, are of the documents that its first epoch trains on.

The Croissant description and the EU summary contain what the corpus knows. What only a person
knows is listed on stderr, or left blank. Fields filled in by hand stay when the file is written
again.";
    const MANNERS: Manners = Manners::STOPS;
    type On = Corpus;
    type Report = ReportAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let options = ReportOptions { domains_by_text: self.eu_summary.is_some(), ..self.options };
        // Checks that may fail come before the work.
        let describing = |file: &Path| format!("describing the corpus in {}", file.display());
        if let Some(file) = &self.croissant {
            pages::check_croissant(file).with_context(|| describing(file))?;
        }
        let report = match self.shards.as_slice() {
            [] => corpus.report(&options, &call.context)?,
            shards => {
                let together = call.options.open_with(corpus.path(), shards)?;
                together.report(&options, &call.context)?
            }
        };
        if let Some(file) = &self.croissant {
            let blanks = pages::write_croissant(file, &report).with_context(|| describing(file))?;
            note_blanks(file, &blanks, call);
            call.wrote(file, "a description in Croissant 1.1, JSON".to_owned(), "");
        }
        if let Some(file) = &self.eu_summary {
            pages::write_eu_summary(file, &report)?;
            let what = "the EU's summary of training content, Markdown with blanks to fill in";
            call.wrote(file, what.to_owned(), "");
        }
        if let Some(file) = &self.html {
            call.write_page(file, &CardPage::new(&report))?;
        }
        let files = [&self.html, &self.croissant, &self.eu_summary];
        let is_written = files.iter().any(|file| file.is_some());
        Ok(ReportAnswer { report: Box::new(report), is_written })
    }
}

/// Lists the blanks that only a person can fill in.
fn note_blanks(file: &Path, blanks: &[(&str, &str)], call: &VerbCall<'_>) {
    if blanks.is_empty() {
        return;
    }
    let lines: Vec<String> =
        blanks.iter().map(|(name, what)| format!("  {name}: {what}")).collect();
    call.note(&format!(
        "fill these in by hand in {} (they stay when it is written again):\n{}",
        file.display(),
        lines.join("\n")
    ));
}

impl Report for ReportAnswer {
    const TYPE: &'static str = "report";

    fn print(&self, out: &mut Output) {
        if self.is_written {
            return;
        }
        // The figures are for programs: people have the page.
        match output::json_line(Self::TYPE, self, None) {
            Ok(json) => out.text(json.trim_end()),
            Err(error) => out.line(error.to_string()),
        }
    }
}
