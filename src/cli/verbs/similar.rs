//! `corpusdb similar`: finds stored documents similar to a text, without ingesting it.

use crate::cli::find;
use crate::cli::output::{self, Output};
use crate::cli::session::parse_document;
use crate::cli::verb::{ExitStatus, PythonMethod, Report, Verb, VerbCall};
use anyhow::{Context as _, ensure};
use corpusdb::Corpus;
use corpusdb::inspect::{SimilarDocument, SimilarOptions, SimilarReport, SimilarTo};
use corpusdb::show::{count, number, percent, probability};
use corpusdb::text_file::decode_text;
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr;

/// Find stored documents similar to a text or to a stored one.
///
/// Nothing is ingested. The text is normalised and sketched by the corpus's policy; documents that share a band with it are ranked by their
/// exact similarity, a line each: the similarity, the id, its standing or whether the policy would call it a duplicate,
/// its source and key. A document below the threshold may share no band: `long` shows the probability that it is found
/// as `found with` (`dedup explain` has the whole curve).
#[derive(clap::Args)]
pub(super) struct SimilarArgs {
    /// A stored document, by id or key; `-` reads a text from standard input.
    #[arg(value_name = "ID|KEY|-", conflicts_with_all = ["key", "text", "file"], value_parser = parse_document)]
    document: Option<String>,
    /// A stored document by its key, also one made of digits.
    #[arg(long, conflicts_with_all = ["text", "file"], allow_hyphen_values = true)]
    key: Option<String>,
    /// The text.
    #[arg(long, conflicts_with = "file", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file whose whole content is the text; `-` reads standard input.
    #[arg(long)]
    file: Option<PathBuf>,
    /// Show at most N documents.
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Show removed documents, too.
    #[arg(long)]
    all: bool,
    /// Only documents of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Show of each how much it shares with the text, how likely it was to be found, and its beginning.
    #[arg(long)]
    long: bool,
}

/// Documents similar to a text; nothing where the named document is not there.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "SimilarReport")]
pub(super) struct SimilarAnswer {
    #[serde(flatten)]
    report: Option<SimilarReport>,
    /// Tokens of a shingle.
    #[serde(skip)]
    shingle: u32,
    #[serde(skip)]
    long: bool,
    #[serde(skip)]
    all: bool,
}

impl Verb for SimilarArgs {
    const PATH: &str = "similar";
    const PYTHON: PythonMethod =
        PythonMethod::Mixed("Corpus.similar", &["document", "key", "text", "file", "k", "long"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb similar crawl 42",
        "corpusdb similar crawl --file page.txt -k 3 --long",
        "corpusdb similar crawl --text \"to be or not to be that is the question\" --all",
        "curl -s https://example.org/page.txt | corpusdb similar crawl -",
    ];
    const NOTES: &str = "\
A text with fewer tokens than a shingle has no sketch: only documents with exactly these tokens are found.
Exit code 1 when nothing is found.";
    type On = Corpus;
    type Report = SimilarAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        ensure!(
            self.document.is_some()
                || self.key.is_some()
                || self.text.is_some()
                || self.file.is_some(),
            "give what to search for: a stored document (its id or key), `text=`, `file=`, or `-` to read standard input"
        );
        let options = SimilarOptions {
            k: usize::try_from(self.k).unwrap_or(usize::MAX),
            all: self.all,
            source: self.source.clone(),
        };
        let shingle = corpus.view().policy().shingle;
        let report = match self.text()? {
            Some(text) => Some(corpus.similar(SimilarTo::Text(&text), &options)?),
            None => {
                let (document, key) = (self.document.as_deref(), self.key.as_deref());
                let found = find::documents(corpus, document, key, call.note)?;
                // Of several documents that had the key, the newest has it now.
                let newest = found.last().map(|id| SimilarTo::Document(*id));
                newest.map(|document| corpus.similar(document, &options)).transpose()?
            }
        };
        Ok(SimilarAnswer { report, shingle, long: self.long, all: self.all })
    }
}

impl SimilarArgs {
    /// The text to compare, unless a stored document is given.
    fn text(&self) -> anyhow::Result<Option<String>> {
        let stdin = Path::new("-");
        let is_stdin = self.document.as_deref() == Some("-") || self.file.as_deref() == Some(stdin);
        let (name, bytes) = match (&self.file, is_stdin) {
            (_, true) => {
                let mut bytes = Vec::new();
                let read = std::io::stdin().lock().read_to_end(&mut bytes);
                read.context("cannot read standard input")?;
                ("standard input".to_owned(), bytes)
            }
            (Some(path), false) => {
                let name = path.display().to_string();
                let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
                (name, bytes)
            }
            (None, false) => return Ok(self.text.clone()),
        };
        let text = decode_text(&name, bytes).map_err(|error| {
            anyhow::anyhow!("{error}; unpack a compressed file first, and give records of JSON or Parquet one text at a time")
        })?;
        Ok(Some(text))
    }
}

impl Report for SimilarAnswer {
    const TYPE: &'static str = "similar";

    fn print(&self, out: &mut Output) {
        let Some(report) = &self.report else { return };
        match report.by {
            "equal-bytes" => out.note(
                "mode exact has no near duplicates: only documents with exactly these bytes are found",
            ),
            "equal-text" => out.note(format!(
                "the text has {} tokens, fewer than a shingle of {}: only documents with exactly these tokens are found",
                report.tokens, self.shingle
            )),
            _ => {
                if self.long {
                    out.note(format!(
                        "the text has {} tokens and {} shingles, in {} buckets",
                        number(report.tokens.into()),
                        number(report.shingles),
                        number(report.buckets)
                    ));
                }
                out.note(format!(
                    "{} of {} compared; {} of documents {} similar are candidates",
                    number(report.verified),
                    count(report.candidates, "candidate", "candidates"),
                    percent(report.found_at_threshold),
                    report.threshold
                ));
            }
        }
        if report.capped > 0 {
            out.note(format!(
                "{} crowded buckets with more than {} documents each: the sketches of all these were compared",
                number(report.capped),
                number(report.cap)
            ));
        }
        if report.passed_over > 0 {
            out.note(format!(
                "{} members of large clusters, or less likely than 65,536 others, were skipped",
                number(report.passed_over)
            ));
        }
        if report.found.is_empty() {
            let removed = if self.all {
                ""
            } else {
                " among kept documents; --all looks at removed ones, too"
            };
            out.note(format!("nothing similar found{removed}"));
        }
        print_similar(&report.found, self.long, out);
    }

    fn json(&self, _: Option<bool>) -> serde_json::Result<String> {
        match &self.report {
            Some(report) => output::json_line(Self::TYPE, report, None),
            None => Ok(String::new()),
        }
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::of(self.report.as_ref().is_some_and(|report| !report.found.is_empty()))
    }
}

/// A line a document, the parts below one another; with `long` also what it shares, and its beginning.
fn print_similar(found: &[SimilarDocument], long: bool, out: &mut Output) {
    let state = |found: &SimilarDocument| match (found.standing, found.duplicate) {
        ("kept", true) => "duplicate",
        (standing, _) => standing,
    };
    let width =
        |part: &dyn Fn(&SimilarDocument) -> usize| found.iter().map(part).max().unwrap_or(0);
    let ids = width(&|found| found.id.to_string().len());
    let states = width(&|found| state(found).len());
    let sources = width(&|found| found.source.width());
    for found in found {
        let gap = " ".repeat(sources - found.source.width());
        let line = format!(
            "{:.3}  {:>ids$}  {:states$}  {}{gap}  ",
            found.jaccard,
            found.id,
            state(found),
            found.source
        );
        out.line_to_key(&line, &found.key);
        if long {
            let estimate = found.estimate.map(|estimate| format!(", estimated {estimate:.3}"));
            out.line(format!(
                "       it contains {:.1} % of the text, the text {:.1} % of it{}; {} bands shared, found with {}",
                found.containment_text * 100.0,
                found.containment_document * 100.0,
                estimate.unwrap_or_default(),
                found.shared_bands,
                probability(found.detection)
            ));
            out.line(format!("       {}", found.beginning));
        }
    }
}
