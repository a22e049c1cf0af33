//! What published rules would remove, as a page.
//!
//! It shows the loss by source and by rule, the spread of each score, and the documents nearest to each threshold.

use super::figures::{BarChart, SpreadFigure, cut, value_text};
use super::{Contents, PageModel};
use crate::inspect::{DocumentCounts, QualityExample, QualityReport, QualityRule, SourceSpread};
use model::show;
use serde::Serialize;

const CONTENTS: [(&str, &str); 4] = [
    ("sources", "What would be removed, by source"),
    ("rules", "What each rule would remove"),
    ("scores", "How scores are spread"),
    ("border", "Documents at the thresholds"),
];

/// A page about what published rules would remove of a corpus.
#[derive(Debug, Serialize)]
pub struct SignalsPage<'a> {
    name: String,
    contents: Contents,
    report: &'a QualityReport,
    /// Signals that were computed from texts, since they are not stored.
    of_texts: Vec<&'static str>,
    /// The source that would lose the largest share, and the share.
    worst_source: Option<(&'a str, f64)>,
    by_source: BarChart,
    token_heads: Vec<String>,
    strictest: Option<&'a QualityRule>,
    /// Rules that would remove nothing.
    idle: u64,
    by_rule: BarChart,
    source_heads: Vec<String>,
    scores: Vec<SpreadFigure>,
    borders: Vec<Border>,
}

/// A threshold, and the documents nearest to it.
#[derive(Debug, Serialize)]
struct Border {
    title: String,
    examples: Vec<BorderDocument>,
}

#[derive(Debug, Serialize)]
struct BorderDocument {
    key: String,
    side: &'static str,
    value: String,
    source: String,
    text: String,
}

impl<'a> SignalsPage<'a> {
    /// The page for a corpus called `name`.
    pub fn new(report: &'a QualityReport, name: &str) -> Self {
        let share = |part: &DocumentCounts, all: &DocumentCounts| {
            show::share(part.documents, all.documents)
        };
        let worst =
            report.sources.iter().map(|it| (it.source.as_str(), share(&it.removes, &it.documents)));
        let spread = |it: &crate::inspect::QualityScore| {
            SpreadFigure::new(&it.spread, &it.sources.iter().collect::<Vec<&SourceSpread>>())
        };
        Self {
            name: cut(name),
            contents: Contents(CONTENTS.to_vec()),
            report,
            of_texts: report
                .scores
                .iter()
                .filter(|it| it.origin == "text")
                .map(|it| it.signal)
                .collect(),
            worst_source: worst.max_by(|a, b| a.1.total_cmp(&b.1)),
            by_source: by_source(report),
            token_heads: report
                .documents
                .tokens
                .keys()
                .map(|it| format!("Removed, {}", cut(it)))
                .collect(),
            strictest: report.rules.iter().max_by_key(|it| it.removes.documents),
            idle: report.rules.iter().filter(|it| it.removes.documents == 0).count() as u64,
            by_rule: by_rule(report),
            source_heads: report.sources.iter().map(|it| cut(&it.source)).collect(),
            scores: report.scores.iter().map(spread).collect(),
            borders: report.rules.iter().flat_map(borders).collect(),
        }
    }
}

impl PageModel for SignalsPage<'_> {
    const TEMPLATE: &'static str = "signals.html";

    fn title(&self) -> String {
        format!("Signals of {}", self.name)
    }
}

fn by_source(report: &QualityReport) -> BarChart {
    let (all, removed) = (report.documents.documents, report.removes.documents);
    let series =
        [("stays", show::number(all.saturating_sub(removed))), ("would go", show::number(removed))];
    let rows = report.sources.iter().map(|it| {
        let part = show::share(it.removes.documents, it.documents.documents);
        (it.source.clone(), vec![1.0 - part, part], show::percent(part))
    });
    BarChart::parted(series, rows.collect())
}

fn by_rule(report: &QualityReport) -> BarChart {
    let all = report.documents.documents;
    let rows = report.rules.iter().map(|it| {
        let others = it.removes.documents.saturating_sub(it.only.documents);
        let parts = vec![show::share(it.only.documents, all), show::share(others, all)];
        (it.rule.clone(), parts, show::percent_of(it.removes.documents, all))
    });
    let series = [("by this rule only", String::new()), ("by others too", String::new())];
    BarChart::parted(series, rows.collect())
}

fn borders(rule: &QualityRule) -> impl Iterator<Item = Border> {
    rule.thresholds.iter().filter_map(|threshold| {
        let removed = threshold.outside.iter().map(|it| example("removed", it));
        let stays = threshold.inside.iter().map(|it| example("stays", it));
        let examples: Vec<BorderDocument> = removed.chain(stays).collect();
        let title =
            format!("{}: at {} {}", rule.signal, threshold.bound, show::decimals(threshold.at));
        (!examples.is_empty()).then_some(Border { title, examples })
    })
}

fn example(side: &'static str, of: &QualityExample) -> BorderDocument {
    BorderDocument {
        key: of.key.clone(),
        side,
        value: value_text(Some(of.value)),
        source: of.source.clone(),
        text: of.text.clone(),
    }
}
