//! `corpusdb signals report`: prints what published rules would remove, and the documents at their thresholds.

use super::stats::value;
use crate::cli::output::{Output, cut};
use crate::cli::session::on_disk;
use crate::cli::verb::{Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::pages::{self, SignalsPage, corpus_title};
use corpusdb::query::{
    DocumentCounts, QualityExample, QualityOptions, QualityReport, QualityScore, StatsValue,
};
use corpusdb::show::{number, percent_of, size};
use std::path::PathBuf;

/// Report what published rules would remove, and show the documents at their thresholds.
///
/// For the kept documents: the distribution of each signal in each source, what each rule removes, what only this rule
/// removes, and documents just outside and just inside each threshold. Stored signals (`signals add`) are read from
/// their columns; the others are computed in a pass over the texts. Nothing is removed.
#[derive(clap::Args)]
pub(super) struct SignalsReportArgs {
    /// Write a self-contained page, too.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
    #[command(flatten)]
    options: QualityOptions,
}

impl Verb for SignalsReportArgs {
    const PATH: &str = "signals report";
    const PYTHON: PythonMethod = PythonMethod::Mixed("Corpus.signals.report", &["set", "where"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb signals report crawl --set gopher",
        "corpusdb signals report crawl --set fineweb --source web --examples 5",
        "corpusdb signals report crawl --where \"language = 'en'\" --html signals.html",
        "corpusdb signals report crawl --json | jq '.rules[] | {signal, n: .only.documents}'",
    ];
    const NOTES: &str = "Counts are exact. Quantiles are observed values: exact for counts below 512, otherwise at most one part in 256 too low.";
    const MANNERS: Manners = Manners::STOPS;
    type On = Corpus;
    type Report = QualityReport;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let report = corpus.signals_report(&self.options, &call.context)?;
        if let Some(file) = &self.html {
            let page = SignalsPage::new(&report, &corpus_title(corpus.path()));
            pages::write_page(file, &pages::page(&page)?)?;
        }
        Ok(report)
    }
}

impl Report for QualityReport {
    const TYPE: &'static str = "signals_report";

    fn print(&self, out: &mut Output) {
        let Self { documents, removes, .. } = self;
        out.line(format!(
            "{}: of {} kept documents with {} of text, its rules would remove {} ({}) with {}",
            self.set,
            number(documents.documents),
            size(documents.bytes),
            number(removes.documents),
            share(removes, documents),
            size(removes.bytes)
        ));
        let of_texts: Vec<&str> =
            self.scores.iter().filter(|it| it.origin == "text").map(|it| it.signal).collect();
        if of_texts.len() == self.scores.len() {
            out.line("no signal of it is stored: all were computed from the texts");
        } else if !of_texts.is_empty() {
            out.line(format!("not stored, computed from the texts: {}", of_texts.join(", ")));
        }
        print_sources(self, out);
        print_rules(self, out);
        print_spreads(&self.scores, out);
        print_borders(self, out);
    }
}

fn share(part: &DocumentCounts, whole: &DocumentCounts) -> String {
    percent_of(part.documents, whole.documents)
}

/// Names of the tokenizers; every count of documents has them all.
fn tokenizers(report: &QualityReport) -> Vec<&String> {
    report.documents.tokens.keys().collect()
}

fn tokens(counts: &DocumentCounts, names: &[&String]) -> Vec<String> {
    names.iter().map(|name| number(counts.tokens.get(*name).copied().unwrap_or(0))).collect()
}

fn print_sources(report: &QualityReport, out: &mut Output) {
    if report.sources.len() < 2 && report.sources_left_out == 0 {
        return;
    }
    let names = tokenizers(report);
    out.line("by source:");
    let mut head =
        ["source", "documents", "removed", "share", "removed text"].map(str::to_owned).to_vec();
    head.extend(names.iter().map(|name| format!("removed {}", cut(name))));
    let rows = report.sources.iter().map(|it| {
        let mut row = vec![
            cut(&it.source),
            number(it.documents.documents),
            number(it.removes.documents),
            share(&it.removes, &it.documents),
            size(it.removes.bytes),
        ];
        row.extend(tokens(&it.removes, &names));
        row
    });
    out.wide_table(&head, &rows.collect::<Vec<_>>(), 1, 0);
    if report.sources_left_out > 0 {
        let more = number(report.sources_left_out);
        out.line(format!("  {more} smaller sources are counted together"));
    }
}

fn print_rules(report: &QualityReport, out: &mut Output) {
    let names = tokenizers(report);
    out.line("each rule: what it removes, and what only it removes:");
    let mut head = ["rule", "removes", "share", "text", "only it", "text of these"]
        .map(str::to_owned)
        .to_vec();
    head.extend(names.iter().map(|name| cut(name)));
    let rows = report.rules.iter().map(|it| {
        let mut row = vec![
            it.rule.clone(),
            number(it.removes.documents),
            share(&it.removes, &report.documents),
            size(it.removes.bytes),
            number(it.only.documents),
            size(it.only.bytes),
        ];
        row.extend(tokens(&it.removes, &names));
        row
    });
    out.wide_table(&head, &rows.collect::<Vec<_>>(), 1, 0);
}

fn print_spreads(scores: &[QualityScore], out: &mut Output) {
    out.line("scores:");
    let head = ["score", "source", "min", "p5", "p25", "p50", "p75", "p95", "max", "mean"];
    let mut rows = Vec::new();
    for score in scores {
        let all = (score.sources.len() != 1).then_some(("in all", &score.spread));
        let of_sources = score.sources.iter().map(|it| (it.source.as_str(), &it.column));
        for (source, it) in all.into_iter().chain(of_sources) {
            let values = [it.min, it.p5, it.p25, it.p50, it.p75, it.p95, it.max, it.mean];
            let mut row = vec![score.signal.to_owned(), cut(source)];
            row.extend(values.map(|it| it.map_or(String::new(), value)));
            rows.push(row);
        }
    }
    out.wide_table(&head.map(str::to_owned), &rows, 2, 0);
}

fn print_borders(report: &QualityReport, out: &mut Output) {
    for rule in &report.rules {
        for threshold in &rule.thresholds {
            let sides = [("removed", &threshold.outside), ("stays", &threshold.inside)];
            if sides.iter().all(|(_, found)| found.is_empty()) {
                continue;
            }
            let (bound, at) = (threshold.bound, value(StatsValue::Float(threshold.at)));
            out.line(format!("{}, at {bound} {at}:", rule.signal));
            for (side, found) in sides {
                found.iter().for_each(|it| print_example(side, it, out));
            }
        }
    }
}

fn print_example(side: &str, of: &QualityExample, out: &mut Output) {
    let QualityExample { key, source, text, .. } = of;
    out.line(format!("  {side:7} {}  {}  {}", value(of.value), cut(source), cut(key)));
    out.line(format!("          {text}"));
}
