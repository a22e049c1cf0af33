//! `corpusdb signals report`: what published rules would remove, rule by rule, and the documents at their thresholds.

use super::set;
use crate::cli::Outcome;
use crate::cli::print::{self, number, size};
use crate::cli::setup::{CommandSession, on_disk};
use crate::cli::tables::{cut, fitting, value};
use corpusdb::pages::{self, SignalsPage, corpus_title};
use corpusdb::query::{
    DocumentCounts, QualityExample, QualityOptions, QualityReport, QualityScore, StatsValue,
};
use corpusdb::signals::SignalSet;
use std::path::PathBuf;

/// Tell what published rules would remove, and show the documents at their thresholds
///
/// Of the kept documents: how each score is spread in each source, what each rule would remove alone and what no other
/// rule removes, and those just outside and just inside of each threshold. Scores that are stored (`signals add`) are
/// read of their columns, the others are found in the texts, which takes a pass over these. Nothing is removed.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  corpusdb signals report crawl --set gopher\n  corpusdb signals report crawl --set fineweb --source web --examples 5\n  corpusdb signals report crawl --where \"language = 'en'\" --html signals.html\n  corpusdb signals report crawl --json | jq '.rules[] | {signal, n: .only.documents}'\n\nCounts are exact. Quantiles are values that there are: exact for counts below 512, otherwise at most one part in 256 too low."
)]
pub(in crate::cli) struct Args {
    /// The corpus
    corpus: PathBuf,
    /// gopher, c4, fineweb or all
    #[arg(long, value_parser = set, default_value = "all")]
    set: SignalSet,
    /// Only documents of this source
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only documents for which this is true: a SQL boolean expression over `documents`
    #[arg(long = "where", value_name = "SQL")]
    condition: Option<String>,
    /// Documents shown on either side of each threshold
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=100))]
    examples: u8,
    /// Write a page that needs nothing else, too
    #[arg(long, value_name = "FILE", value_parser = on_disk())]
    html: Option<PathBuf>,
}

pub(super) fn run(args: &Args, session: &CommandSession) -> anyhow::Result<Outcome> {
    let options = QualityOptions {
        set: args.set,
        source: args.source.clone(),
        condition: args.condition.clone(),
        examples: usize::from(args.examples),
    };
    let corpus = session.read(&args.corpus)?;
    let report = corpus.signals_report(&options, &session.context())?;
    if let Some(file) = &args.html {
        let page = SignalsPage::new(&report, &corpus_title(&args.corpus));
        pages::write_page(file, &pages::page(&page)?)?;
    }
    if session.json {
        print::typed("signals_report", &report)?;
    } else {
        told(&report)?;
    }
    Ok(Outcome::Good)
}

fn told(report: &QualityReport) -> anyhow::Result<()> {
    let QualityReport { documents, removes, .. } = report;
    print::line(&format!(
        "{}: of {} kept documents with {} of text, its rules would remove {} ({}) with {}",
        report.set,
        number(documents.documents),
        size(documents.bytes),
        number(removes.documents),
        share(removes, documents),
        size(removes.bytes)
    ))?;
    let of_texts: Vec<&str> =
        report.scores.iter().filter(|it| it.origin == "text").map(|it| it.signal).collect();
    if of_texts.len() == report.scores.len() {
        print::line("no score of it is stored: all were found in the texts")?;
    } else if !of_texts.is_empty() {
        print::line(&format!("not stored, found in the texts: {}", of_texts.join(", ")))?;
    }
    sources(report)?;
    rules(report)?;
    spreads(&report.scores)?;
    borders(report)
}

fn share(part: &DocumentCounts, whole: &DocumentCounts) -> String {
    format!("{:.2}%", 100.0 * part.documents as f64 / whole.documents.max(1) as f64)
}

/// Names of the tokenizers, which every count of documents has.
fn tokenizers(report: &QualityReport) -> Vec<&String> {
    report.documents.tokens.keys().collect()
}

fn tokens(counts: &DocumentCounts, names: &[&String]) -> Vec<String> {
    names.iter().map(|name| number(counts.tokens.get(*name).copied().unwrap_or(0))).collect()
}

fn sources(report: &QualityReport) -> anyhow::Result<()> {
    if report.sources.len() < 2 && report.sources_left_out == 0 {
        return Ok(());
    }
    let names = tokenizers(report);
    print::line("by source:")?;
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
    fitting(&head, &rows.collect::<Vec<_>>(), 1)?;
    if report.sources_left_out > 0 {
        let more = number(report.sources_left_out);
        print::line(&format!("  {more} smaller sources are not told apart"))?;
    }
    Ok(())
}

fn rules(report: &QualityReport) -> anyhow::Result<()> {
    let names = tokenizers(report);
    print::line("each rule, what it removes if it stands alone, and what no other one removes:")?;
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
    fitting(&head, &rows.collect::<Vec<_>>(), 1)
}

fn spreads(scores: &[QualityScore]) -> anyhow::Result<()> {
    print::line("scores:")?;
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
    fitting(&head.map(str::to_owned), &rows, 2)
}

fn borders(report: &QualityReport) -> anyhow::Result<()> {
    for rule in &report.rules {
        for threshold in &rule.thresholds {
            let sides = [("removed", &threshold.outside), ("stays", &threshold.inside)];
            if sides.iter().all(|(_, found)| found.is_empty()) {
                continue;
            }
            let (bound, at) = (threshold.bound, value(StatsValue::Float(threshold.at)));
            print::line(&format!("{}, at {bound} {at}:", rule.signal))?;
            for (side, found) in sides {
                found.iter().try_for_each(|it| example(side, it))?;
            }
        }
    }
    Ok(())
}

fn example(side: &str, of: &QualityExample) -> anyhow::Result<()> {
    let QualityExample { key, source, text, .. } = of;
    let told = format!("  {side:7} {}  {}  {}", value(of.value), cut(source), cut(key));
    print::line(&told)?;
    print::line(&format!("          {text}"))
}
