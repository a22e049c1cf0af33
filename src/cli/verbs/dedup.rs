//! `corpusdb dedup`: explains a dedup policy, and decides again under another one.

use super::info::print_forecast;
use crate::cli::output::Output;
use crate::cli::session::on_disk;
use crate::cli::verb::{DryRun, Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::curate::{RedoReport, SettleReport};
use corpusdb::dedup::{DecisionOptions, PolicySettings};
use corpusdb::inspect::{DedupExplanation, DedupSweep, SweepLine, SweepOptions, explain_policy};
use corpusdb::pages::{SweepPage, corpus_title};
use corpusdb::show::{number, percent, probability, share, size};
use corpusdb::{Corpus, CorpusWriter, DedupMode};
use std::path::PathBuf;

/// Decide all documents again under another policy, from stored sketches and texts; no input file is read.
///
/// With `compare` or `normaliser` all sketches are computed again from the stored texts, and it says how many. The old
/// decisions stay in force until all new ones are made; then one commit makes these current, and the changes are
/// printed. After an interrupt run the same command again: it continues where it stopped. Without an option the
/// corpus's own policy is applied again.
#[derive(clap::Args)]
pub(super) struct DedupRedoArgs {
    #[command(flatten)]
    decision: DecisionOptions,
}

impl Verb for DedupRedoArgs {
    const PATH: &str = "dedup redo";
    const PYTHON: PythonMethod = PythonMethod::Generated("Writer.dedup.redo");
    const EXAMPLES: &[&str] = &[
        "corpusdb dedup redo crawl --threshold 0.7 --dry-run",
        "corpusdb dedup redo crawl --threshold 0.7",
        "corpusdb dedup redo crawl --mode components --keep longest",
        "corpusdb dedup redo crawl --keep field:quality --scope per-source",
        "corpusdb dedup redo crawl --normaliser web",
        "corpusdb dedup redo crawl --compare prompt --mode exact",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = RedoReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let policy = self.decision.changed(writer.view().policy())?;
        for remark in self.decision.remarks(&policy) {
            call.note(&remark);
        }
        let report = writer.redo(&policy, &call.context)?;
        if !call.dry_run {
            writer.switch(&policy, &call.context)?;
        }
        Ok(report)
    }
}

impl Report for RedoReport {
    const TYPE: &'static str = "redo";

    fn print(&self, out: &mut Output) {
        out.line(format!("from: {}", self.before));
        out.line(format!("to:   {}", self.policy));
        let verb = if out.is_dry_run() { "would be kept" } else { "kept" };
        out.line(format!(
            "{} of {} documents {verb}, {} before",
            number(self.kept_after),
            number(self.documents),
            number(self.kept_before)
        ));
        let rows = self.sources.iter().map(|source| {
            vec![
                source.name.clone(),
                number(source.kept_before),
                number(source.kept_after),
                number(source.newly_removed),
                number(source.newly_kept),
                size(source.bytes_before),
                size(source.bytes_after),
            ]
        });
        out.table(&["source", "kept", "then", "removed now", "kept now", "text", "then"], rows);
        out.capped(self.capped);
    }
}

/// Decide documents again whose candidates did not fit into memory.
///
/// When the members of crowded buckets need more than an eighth of the memory, an ingest compares a document with the
/// closest ones only, marks it (column crowded in SQL) and reports it. This verb gives them a quarter of the memory,
/// and passes the rest in parts through another quarter. After an interrupt run the same command again.
#[derive(clap::Args)]
pub(super) struct DedupSettleArgs {}

impl Verb for DedupSettleArgs {
    const PATH: &str = "dedup settle";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Writer.dedup.settle", &["dry_run"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb dedup settle crawl --memory 16GB",
        "corpusdb dedup settle crawl --dry-run",
        "corpusdb sql crawl \"SELECT id, key FROM documents WHERE crowded\"",
    ];
    const DRY_RUN: DryRun = DryRun::Copy;
    type On = CorpusWriter;
    type Report = SettleReport;

    fn run(self, writer: &mut CorpusWriter, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        Ok(writer.settle(&call.context)?)
    }
}

impl Report for SettleReport {
    const TYPE: &'static str = "settle";

    fn print(&self, out: &mut Output) {
        if self.crowded == 0 {
            return out.line("no document has candidates that were not compared");
        }
        let verb = if out.is_dry_run() { "would be " } else { "" };
        out.line(format!(
            "{} of {} documents {verb}settled: {} no longer kept, {} kept again",
            number(self.settled),
            number(self.crowded),
            number(self.no_longer_kept),
            number(self.kept_again)
        ));
    }
}

/// Explain what a dedup policy finds, stores and costs.
///
/// Without a corpus: a profile with the given overrides. With one: its policy, measured, or what another threshold,
/// banding, mode, keep order or scope would change. With `sweep` and a corpus: what each of several thresholds and
/// shingle sizes would remove, how similar these documents are to what is kept, and how many of them unverified bands
/// alone would remove. Nothing is written.
#[derive(clap::Args)]
pub(super) struct DedupExplainArgs {
    #[command(flatten)]
    policy: PolicySettings,
    /// Compare thresholds and shingle sizes: what each would remove from this corpus.
    #[arg(long, help_heading = "Sweep")]
    sweep: bool,
    /// Write the sweep as a self-contained page, too.
    #[arg(long, value_name = "FILE", requires = "sweep", value_parser = on_disk(), help_heading = "Sweep")]
    html: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Sweep")]
    swept: SweepOptions,
    /// Without a corpus: what so many documents would need, all kept; with a corpus `info` forecasts it.
    #[arg(long, value_name = "N", requires = "bytes_each", help_heading = "Forecast")]
    documents: Option<u64>,
    /// Bytes of text of each of these documents.
    #[arg(long, value_name = "BYTES", value_parser = corpusdb::parse_bytes, requires = "documents", help_heading = "Forecast")]
    bytes_each: Option<u64>,
}

impl Verb for DedupExplainArgs {
    const PATH: &str = "dedup explain";
    const PYTHON: PythonMethod = PythonMethod::Generated("explain_dedup");
    const EXAMPLES: &[&str] = &[
        "corpusdb dedup explain --profile fineweb",
        "corpusdb dedup explain --threshold 0.7",
        "corpusdb dedup explain --bands 64 --rows 4",
        "corpusdb dedup explain --documents 250000000 --bytes-each 4kB",
        "corpusdb dedup explain crawl",
        "corpusdb dedup explain crawl --threshold 0.7",
        "corpusdb dedup explain crawl --sweep --html sweep.html",
        "corpusdb dedup explain crawl --sweep --thresholds 0.7,0.8 --shingles 5 --where \"language = 'en'\"",
    ];
    const MANNERS: Manners = Manners::STOPS;
    type On = Option<Corpus>;
    type Report = DedupExplanation;

    fn run(self, corpus: Option<&Corpus>, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        anyhow::ensure!(
            self.sweep || self.swept == SweepOptions::default(),
            "`where=`, `source=` and `snapshot=` say which documents `sweep=` compares: give it, too"
        );
        let forecast = self.documents.zip(self.bytes_each);
        let explanation = match corpus {
            None if self.sweep => anyhow::bail!(
                "`sweep=` compares the documents of a corpus: name one, as in `corpusdb dedup explain CORPUS --sweep`"
            ),
            None => {
                let explanation = explain_policy(&self.policy.policy()?);
                match forecast {
                    Some((documents, bytes_each)) => {
                        let memory = call.options.memory_bytes();
                        explanation.with_forecast(documents, bytes_each, memory)
                    }
                    None => explanation,
                }
            }
            Some(_) if forecast.is_some() => anyhow::bail!(
                "`documents=` and `bytes_each=` are for a corpus that there is not yet: `corpusdb info CORPUS --forecast SIZE` multiplies the sizes of this one"
            ),
            Some(corpus) => {
                let other = self.policy.other_than(corpus.view().policy())?;
                let mut explanation = corpus.explain_dedup(other.as_ref())?;
                if self.sweep {
                    let sweep = corpus.sweep_dedup(other.as_ref(), &self.swept, &call.context)?;
                    if let Some(file) = &self.html {
                        let title = corpus_title(corpus.path());
                        let page = SweepPage::new(&sweep, &explanation.policy, &title);
                        call.write_page(file, &page)?;
                    }
                    explanation.sweep = Some(sweep);
                }
                explanation
            }
        };
        for remark in self.policy.decision.remarks(&explanation.policy_settings) {
            call.note(&remark);
        }
        Ok(explanation)
    }
}

impl Report for DedupExplanation {
    const TYPE: &'static str = "dedup_explanation";

    fn print(&self, out: &mut Output) {
        if let Some(sweep) = &self.sweep {
            return print_sweep(self, sweep, out);
        }
        out.settings(&self.settings);
        if self.policy_settings.mode.is_near() {
            print_detection(self, out);
        }
        print_bytes(self, out);
        print_sample(self, out);
        print_change(self, out);
        if let Some(forecast) = &self.forecast {
            print_forecast(forecast, out);
        }
    }
}

fn print_detection(found: &DedupExplanation, out: &mut Output) {
    if found.unused_slots > 0 {
        out.line(format!("sketch slots in no band: {}", found.unused_slots));
    }
    // Mode lsh verifies nothing, so its report has no estimate.
    let verifies = found.policy_settings.mode != DedupMode::Lsh;
    out.line(format!("a pair of similarity {:.3} is found half of the time", found.half));
    if verifies {
        out.line(format!(
            "texts are compared if the sketches estimate at least {:.3}; `compared` is the share of pairs that reach it",
            found.estimate_floor
        ));
    }
    let rows = found.detection.iter().map(|line| {
        let mark = if line.jaccard == found.policy_settings.threshold { " = T" } else { "" };
        let mut row = vec![
            format!("{}{mark}", (line.jaccard * 1e4).round() / 1e4),
            probability(line.found),
            number(line.candidates_per_million.round() as u64),
        ];
        row.extend(verifies.then(|| probability(line.verified)));
        row
    });
    let head = ["similarity", "found with", "candidates in a million pairs", "compared"];
    out.table(head.split_at(if verifies { 4 } else { 3 }).0, rows);
}

fn print_bytes(found: &DedupExplanation, out: &mut Output) {
    let bytes = &found.bytes;
    let how = if bytes.measured {
        format!(
            "measured over {} documents; rows still in the log are not counted",
            number(bytes.documents)
        )
    } else {
        "rows of a kept document, before compression".to_owned()
    };
    let families: Vec<String> = bytes
        .families
        .iter()
        .map(|family| format!("{} {:.0}", family.family, family.bytes))
        .collect();
    out.line(format!("bytes a document: {:.0} ({how}): {}", bytes.total, families.join(", ")))
}

fn print_sample(found: &DedupExplanation, out: &mut Output) {
    let Some(sample) = &found.sample else { return };
    let crowded = match sample.capped {
        0 => "no crowded buckets".to_owned(),
        capped => format!(
            "{} crowded buckets: only the first 1,024 documents of each were counted",
            number(capped)
        ),
    };
    out.line(format!(
        "candidates of {} kept documents: {:.2} each, {} at most; {:.2} each compared by text; {}",
        number(sample.documents),
        sample.candidates,
        number(sample.most),
        sample.verified,
        crowded
    ));
    if let Some(after) = sample.candidates_after {
        out.line(format!(
            "{after:.2} of these per document also share one of the new bands; pairs that share no band today are not counted"
        ));
    }
}

fn print_change(found: &DedupExplanation, out: &mut Output) {
    let Some(change) = &found.change else { return };
    out.line(format!("the corpus has: {}", change.from));
    out.line("cost of a change to this policy:");
    for step in &change.steps {
        out.line(format!("  {step}"));
    }
    if change.band_rows > 0 {
        out.line(format!("  {} rows of buckets are written", number(change.band_rows)));
    }
}

fn print_sweep(found: &DedupExplanation, sweep: &DedupSweep, out: &mut Output) {
    out.line(format!("the policy: {}", found.policy));
    out.line(format!(
        "compared: {} documents, {} distinct texts of {}",
        number(sweep.documents),
        number(sweep.texts),
        size(sweep.bytes)
    ));
    let head = ["T", "removed", "clusters", "largest", "min", "25%", "50%", "75%", "lsh", "false"];
    for of_size in sweep.lines.chunk_by(|one, other| one.shingle == other.shingle) {
        let shingle = of_size.first().map_or(0, |line| line.shingle);
        out.line(format!("shingles of {shingle} tokens:"));
        out.table(&head, of_size.iter().map(row));
    }
    out.line("removed: share of documents that mode witness removes; *: the policy as it is");
    out.line("min to 75%: their exact similarity to the kept one, without equal texts");
    out.line("lsh: share that shared bands remove unverified; false: of these, those below T");
}

fn row(line: &SweepLine) -> Vec<String> {
    let (verified, unverified) = (&line.verified, &line.unverified);
    let mark = if line.own { " *" } else { "" };
    let spread = verified.similarity.map(|all| [all.least, all.lower, all.median, all.upper]);
    let spread =
        spread.map_or([const { String::new() }; 4], |all| all.map(|it| format!("{it:.2}")));
    let mut row = vec![
        format!("{}{mark}", line.threshold),
        percent(verified.share),
        number(verified.clusters),
        number(verified.largest),
    ];
    row.extend(spread);
    row.push(percent(unverified.share));
    row.push(percent(share(line.unverified_below, unverified.removed)));
    row
}
