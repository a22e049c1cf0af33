//! What published rules would remove of a corpus.
//!
//! The report has the spread of each score by source, what each rule takes, and documents near its threshold. One walk
//! over the kept documents: `scored` gives their scores, from columns or from texts; `sketch` counts how scores are
//! spread, `border` keeps the documents nearest to each threshold, `walk` feeds both document by document, and `told`
//! has the types of the report. Memory is one sketch for each score and source, and the scores of a few thousand
//! documents.

mod border;
pub(in crate::inspect) mod report;
pub(in crate::inspect) mod scores;
mod sketch;
mod walk;

pub use report::{
    QualityExample, QualityReport, QualityRule, QualityScore, QualitySource, QualityThreshold,
};

use super::SnapshotState;
use crate::inspect::InspectError;
use crate::inspect::stats::scope::{ScopeMember, StatsScope};
use crate::sql::DocumentFilter;
use model::{BLOCK_SIZE, Context, DocId, SourceId};
use scores::ScoreReader;
use std::cmp::Reverse;
use store::View;
use text::signals::SignalSet;
use walk::QualityWalk;

/// Sources that are listed, at most: those with most kept documents.
const SOURCES: usize = 16;
/// Documents whose scores are held at once.
const TOGETHER: usize = 4096;
/// Examples on each side of a threshold, at most.
const EXAMPLES: usize = 100;

/// Which rules are examined, and over which documents. By default all, over all kept documents, with 2 examples.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct QualityOptions {
    /// The set of rules, and their signals.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t = SignalSet::All))]
    pub set: SignalSet,
    /// Only documents of this source.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub source: Option<String>,
    /// Only documents for which this SQL condition over the table documents is true.
    #[cfg_attr(
        feature = "cli",
        arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)
    )]
    pub condition: Option<String>,
    /// Documents to show on each side of a threshold, at most 100.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "N", default_value_t = 2, value_parser = parse_examples)
    )]
    pub examples: usize,
}

/// Parses the number of examples.
#[cfg(feature = "cli")]
fn parse_examples(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count <= EXAMPLES);
    count.ok_or_else(|| format!("write a number from 0 to {EXAMPLES}"))
}

impl Default for QualityOptions {
    fn default() -> Self {
        Self { set: SignalSet::All, source: None, condition: None, examples: 2 }
    }
}

/// What the rules of a set would remove of the kept documents. Counts are exact, and all of it is a function of the
/// commit and the options; no document is removed.
///
/// # Errors
/// [`InspectError`] for a condition or source that cannot be used, when rows cannot be read, or after the stop.
pub fn quality(
    view: &View,
    options: &QualityOptions,
    context: &Context<'_>,
) -> Result<QualityReport, InspectError> {
    let moment = SnapshotState::named(view, None)?;
    let looked_at = DocumentFilter {
        condition: options.condition.clone(),
        source: options.source.clone(),
        interrupt: context.interrupt.clone(),
        ..DocumentFilter::default()
    };
    let scope = StatsScope::new(view, &looked_at, &moment)?;
    let scored = ScoreReader::of(view, options.set);
    let sources = told_apart(view, options.source.as_deref());
    let mut walk =
        QualityWalk::new(view, &scored, (options.set, options.examples.min(EXAMPLES)), &sources);
    context.progress.begin("scoring", Some(view.documents()));
    for block in scope.blocks() {
        let members = (0..=u16::MAX).zip(scope.members(block)?);
        let kept = members.filter(|(_, member)| *member == ScopeMember::Kept);
        let kept: Vec<DocId> = kept.map(|(slot, _)| DocId::at(block, slot)).collect();
        if kept.is_empty() {
            continue;
        }
        walk.enter(block)?;
        for documents in kept.chunks(TOGETHER) {
            context.check_interrupt()?;
            walk.take(documents, &scored.values(view, documents)?)?;
            context.progress.advance(documents.last().map_or(0, |document| document.0 + 1));
        }
        context.progress.advance(((block + 1) * BLOCK_SIZE).min(view.documents()));
    }
    context.progress.end();
    walk.report(options)
}

/// The sources with most kept documents, most first; or only the one that was asked for.
fn told_apart(view: &View, only: Option<&str>) -> Vec<SourceId> {
    let asked = view.sources().filter(|(_, it)| only.is_none_or(|only| it.name == only));
    let mut all: Vec<_> = asked.filter(|(_, source)| source.kept > 0).collect();
    all.sort_by(|(_, a), (_, b)| (Reverse(a.kept), &a.name).cmp(&(Reverse(b.kept), &b.name)));
    all.into_iter().take(SOURCES).map(|(id, _)| id).collect()
}
