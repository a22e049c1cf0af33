//! `corpusdb signals report`: prints what published rules would remove, and the documents at their thresholds.

use super::stats::value;
use crate::cli::columns::{beginning, cut, ending};
use crate::cli::output::Output;
use crate::cli::session::on_disk;
use crate::cli::verb::{Manners, PythonMethod, Report, Verb, VerbCall};
use corpusdb::Corpus;
use corpusdb::inspect::{
    DocumentCounts, QualityExample, QualityOptions, QualityReport, QualityRule, QualityScore,
    StatsValue,
};
use corpusdb::pages::{SignalsPage, corpus_title};
use corpusdb::show::{number, one_line, percent_of, size};
use serde::Serialize;
use std::cmp::Reverse;
use std::path::PathBuf;
use unicode_width::UnicodeWidthStr;

/// Columns of a line about a document at a threshold, and of its key there.
const LINE: usize = 78;
const KEY: usize = 24;
/// Rules whose documents at the threshold are shown, unless all are asked for.
const SHOWN: usize = 2;

/// Report what published rules would remove, and show the documents at their thresholds.
///
/// For the kept documents: what each rule removes, what only this rule removes, and documents just outside and just
/// inside the thresholds of the two rules that remove most; with `long` those of all rules, and the distribution of each
/// signal in each source. Stored signals (`signals add`) are read from their columns; the others are computed in a pass
/// over the texts. Nothing is removed.
#[derive(clap::Args)]
pub(super) struct SignalsReportArgs {
    /// Write a self-contained page, too.
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
    /// Also show texts and tokens, the distribution of each signal, and the documents at every threshold.
    #[arg(long)]
    long: bool,
    #[command(flatten)]
    options: QualityOptions,
}

/// What the rules of a set would remove, and whether all of it is printed for people.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct SignalsReportAnswer {
    report: QualityReport,
    #[serde(skip)]
    is_long: bool,
}

impl Verb for SignalsReportArgs {
    const PATH: &str = "signals report";
    const PYTHON: PythonMethod =
        PythonMethod::Mixed("Corpus.signals.report", &["set", "where", "long"]);
    const EXAMPLES: &[&str] = &[
        "corpusdb signals report crawl --set gopher",
        "corpusdb signals report crawl --set gopher --long",
        "corpusdb signals report crawl --set fineweb --source web --examples 5",
        "corpusdb signals report crawl --where \"language = 'en'\" --html signals.html",
        "corpusdb signals report crawl --json | jq '.rules[] | {signal, n: .only.documents}'",
    ];
    const NOTES: &str = "Counts are exact. Quantiles are observed values: exact for counts below 512, otherwise at most one part in 256 too low.";
    const MANNERS: Manners = Manners::STOPS;
    type On = Corpus;
    type Report = SignalsReportAnswer;

    fn run(self, corpus: &Corpus, call: &VerbCall<'_>) -> anyhow::Result<Self::Report> {
        let report = corpus.signals_report(&self.options, &call.context)?;
        if let Some(file) = &self.html {
            let page = SignalsPage::new(&report, &corpus_title(corpus.path()));
            call.write_page(file, &page)?;
        }
        Ok(SignalsReportAnswer { report, is_long: self.long })
    }
}

impl Report for SignalsReportAnswer {
    const TYPE: &'static str = "signals_report";

    fn print(&self, out: &mut Output) {
        let Self { report, is_long } = self;
        let QualityReport { set, documents, removes, scores, .. } = report;
        out.line(format!(
            "{set}   removes {} of {} kept documents ({}), {} of {}",
            number(removes.documents),
            number(documents.documents),
            share(removes, documents),
            size(removes.bytes),
            size(documents.bytes)
        ));
        let of_texts: Vec<&str> =
            scores.iter().filter(|it| it.origin == "text").map(|it| it.signal).collect();
        if of_texts.len() == scores.len() {
            out.line("no signal of this set is stored: all were computed from the texts");
        } else if !of_texts.is_empty() {
            out.line(format!("not stored, computed from the texts: {}", of_texts.join(", ")));
        }
        let mut rules: Vec<&QualityRule> = report.rules.iter().collect();
        rules.sort_by_key(|rule| Reverse(rule.removes.documents));
        let (some, none): (Vec<_>, Vec<_>) =
            rules.into_iter().partition(|rule| rule.removes.documents > 0);
        print_rules(report, &some, *is_long, out);
        if !none.is_empty() {
            let remove = if none.len() == 1 { "rule removes" } else { "rules remove" };
            let names: Vec<&str> = none.iter().map(|rule| rule.signal).collect();
            out.line(format!("\n{} {remove} nothing: {}", none.len(), names.join(", ")));
        }
        print_sources(report, *is_long, out);
        if *is_long {
            print_spreads(scores, out);
        }
        let shown = if *is_long { usize::MAX } else { SHOWN };
        some.into_iter()
            .chain(none)
            .take(shown)
            .for_each(|rule| print_borders(rule, *is_long, out));
    }
}

fn share(part: &DocumentCounts, whole: &DocumentCounts) -> String {
    percent_of(part.documents, whole.documents)
}

/// Names of the tokenizers where they are shown; every count of documents has them all.
fn tokenizers(report: &QualityReport, is_long: bool) -> Vec<&String> {
    report.documents.tokens.keys().filter(|_| is_long).collect()
}

fn tokens(counts: &DocumentCounts, names: &[&String]) -> Vec<String> {
    names.iter().map(|name| number(counts.tokens.get(*name).copied().unwrap_or(0))).collect()
}

fn print_sources(report: &QualityReport, is_long: bool, out: &mut Output) {
    if report.sources.len() < 2 && report.sources_left_out == 0 {
        return;
    }
    let names = tokenizers(report, is_long);
    out.line("");
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

fn print_rules(report: &QualityReport, rules: &[&QualityRule], is_long: bool, out: &mut Output) {
    if rules.is_empty() {
        return;
    }
    let names = tokenizers(report, is_long);
    out.line("");
    let texts = if is_long { &["text", "text of these"][..] } else { &[] };
    let mut head: Vec<String> = ["rule", "removes", "share", "only it"]
        .iter()
        .chain(texts)
        .map(ToString::to_string)
        .collect();
    head.extend(names.iter().map(|name| cut(name)));
    let rows = rules.iter().map(|it| {
        let mut row = vec![
            it.rule.clone(),
            number(it.removes.documents),
            share(&it.removes, &report.documents),
            number(it.only.documents),
        ];
        row.extend([&it.removes, &it.only].iter().filter(|_| is_long).map(|it| size(it.bytes)));
        row.extend(tokens(&it.removes, &names));
        row
    });
    out.wide_table(&head, &rows.collect::<Vec<_>>(), 1, 0);
}

fn print_spreads(scores: &[QualityScore], out: &mut Output) {
    out.line("");
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

fn print_borders(rule: &QualityRule, is_long: bool, out: &mut Output) {
    for threshold in &rule.thresholds {
        let sides = [("removed", &threshold.outside), ("stays", &threshold.inside)];
        let is_shown = |(_, found): &(&str, &Vec<QualityExample>)| !found.is_empty();
        if !sides.iter().take(if is_long { 2 } else { 1 }).any(is_shown) {
            continue;
        }
        let (bound, at) = (threshold.bound, value(StatsValue::Float(threshold.at)));
        out.line(format!("\n{}, at {bound} {at}:", rule.signal));
        for (side, found) in sides {
            found.iter().for_each(|it| print_example(side, it, is_long, out));
        }
    }
}

fn print_example(side: &str, of: &QualityExample, is_long: bool, out: &mut Output) {
    let QualityExample { key, source, text, .. } = of;
    let score = value(of.value);
    if is_long {
        out.line(format!("  {side:7} {score}  {}  {}", cut(source), cut(key)));
        out.line(format!("          {text}"));
    } else {
        let start = format!("  {side:7} {score:>7}  {}  ", ending(&one_line(key), KEY));
        let room = LINE.saturating_sub(start.width());
        out.line(format!("{start}{}", beginning(text, room)));
    }
}
