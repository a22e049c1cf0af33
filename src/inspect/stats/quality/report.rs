//! The types of the report on rules and signals.

use crate::inspect::counts::DocumentCounts;
use crate::inspect::stats::{ColumnStats, SourceSpread, StatsValue};
use serde::Serialize;

/// What the rules of a published filter would remove from the kept documents.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QualityReport {
    /// The set of rules.
    pub set: &'static str,
    /// The condition, as it was given.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// The source asked for.
    pub source: Option<String>,
    /// The examined documents: kept ones of the selection.
    pub documents: DocumentCounts,
    /// Those of them that break at least one rule.
    pub removes: DocumentCounts,
    /// The same by source, those with most kept documents first, at most 16.
    pub sources: Vec<QualitySource>,
    /// Sources that are not listed. They are in all other counts.
    pub sources_left_out: u64,
    /// Each rule of the set, in the order in which it was published.
    pub rules: Vec<QualityRule>,
    /// The distribution of each numeric signal of the set.
    pub scores: Vec<QualityScore>,
}

/// What the rules would remove from a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QualitySource {
    /// Its name.
    pub source: String,
    /// Its examined documents.
    pub documents: DocumentCounts,
    /// Those of them that break at least one rule.
    pub removes: DocumentCounts,
}

/// What one rule would remove.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QualityRule {
    /// Its score.
    pub signal: &'static str,
    /// The rule as a condition.
    pub rule: String,
    /// What it would remove by itself.
    pub removes: DocumentCounts,
    /// What no other rule of the set removes.
    pub only: DocumentCounts,
    /// Documents that it would remove of each source, in the order of [`QualityReport::sources`].
    pub by_source: Vec<u64>,
    /// Its thresholds.
    pub thresholds: Vec<QualityThreshold>,
}

/// A threshold of a rule, with the documents at it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QualityThreshold {
    /// `least`, when a value may not be less; `most`, when it may not be more.
    pub bound: &'static str,
    /// The value.
    pub at: f64,
    /// The nearest documents that it removes, nearest first.
    pub outside: Vec<QualityExample>,
    /// The nearest documents that it leaves, nearest first.
    pub inside: Vec<QualityExample>,
}

/// A document at a threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QualityExample {
    /// Its number.
    pub id: u64,
    /// Its key, as it is shown.
    pub key: String,
    /// The name of its source.
    pub source: String,
    /// Its score.
    pub value: StatsValue,
    /// The beginning of its text, on one line.
    pub text: String,
}

/// The distribution of a signal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QualityScore {
    /// Its name.
    pub signal: &'static str,
    /// Its function, in SQL over `documents`.
    pub expression: &'static str,
    /// `stored` if it was read from a field; `text` if it was computed from the texts.
    pub origin: &'static str,
    /// Its distribution among all examined documents. Quantiles are observed values: exact for counts below 512,
    /// otherwise at most one part in 256 too low.
    pub spread: ColumnStats,
    /// The same by source, for listed sources.
    pub sources: Vec<SourceSpread>,
}
