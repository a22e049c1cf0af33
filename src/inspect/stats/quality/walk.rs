//! The walk over kept documents: counts what every rule takes, feeds the sketches of scores, and collects examples.

use super::QualityOptions;
use super::border::{RuleThreshold, ThresholdNeighbour, ThresholdSide};
use super::report::{
    QualityExample, QualityReport, QualityRule, QualityScore, QualitySource, QualityThreshold,
};
use super::scores::ScoreReader;
use super::sketch::QuantileSketch;
use crate::inspect::InspectError;
use crate::inspect::counts::CountsSum;
use crate::inspect::duplicates::beginning;
use crate::inspect::stats::groups::GroupBlock;
use crate::inspect::stats::{SourceSpread, StatsValue};
use model::invariant::at;
use model::{DocId, FieldKind, SourceId};
use store::{StoreError, View};
use text::signals::{SignalRule, SignalSet};

pub(super) struct QualityWalk<'a> {
    view: &'a View,
    scored: &'a ScoreReader,
    /// Examples on either side of a threshold, at most.
    examples: usize,
    sources: &'a [SourceId],
    /// The columns of the current block.
    block: Option<GroupBlock>,
    all: QualityTotal,
    /// In the order of `sources`.
    by_source: Vec<QualityTotal>,
    rules: Vec<RuleCounts>,
    /// For each score: the sketch of all documents, then one for each source.
    sketches: Vec<(QuantileSketch, Vec<QuantileSketch>)>,
}

/// Documents, and those that at least one rule would remove.
#[derive(Clone, Default)]
struct QualityTotal {
    documents: CountsSum,
    removed: CountsSum,
}

/// A rule, and how many documents it takes.
struct RuleCounts {
    rule: SignalRule,
    /// The index of the rule's score.
    score: usize,
    thresholds: Vec<RuleThreshold>,
    removed: CountsSum,
    only: CountsSum,
    by_source: Vec<u64>,
}

impl<'a> QualityWalk<'a> {
    pub(super) fn new(
        view: &'a View,
        scored: &'a ScoreReader,
        (set, examples): (SignalSet, usize),
        sources: &'a [SourceId],
    ) -> Self {
        let rule = |rule: SignalRule| {
            Some(RuleCounts {
                rule,
                score: scored.place(rule.signal)?,
                thresholds: RuleThreshold::of(&rule),
                removed: CountsSum::default(),
                only: CountsSum::default(),
                by_source: vec![0; sources.len()],
            })
        };
        Self {
            view,
            scored,
            examples,
            sources,
            block: None,
            all: QualityTotal::default(),
            by_source: vec![QualityTotal::default(); sources.len()],
            rules: set.rules().into_iter().filter_map(rule).collect(),
            sketches: vec![
                (
                    QuantileSketch::default(),
                    vec![QuantileSketch::default(); sources.len()]
                );
                scored.signals.len()
            ],
        }
    }

    /// Reads the columns of the block with the next documents.
    pub(super) fn enter(&mut self, block: u64) -> Result<(), InspectError> {
        self.block = Some(GroupBlock::read(self.view, block, None)?);
        Ok(())
    }

    /// Takes documents of the block that was entered, with their scores.
    pub(super) fn take(
        &mut self,
        documents: &[DocId],
        scores: &[Vec<f64>],
    ) -> Result<(), InspectError> {
        let Some(block) = self.block.take() else { return Ok(()) };
        for (row, document) in documents.iter().enumerate() {
            let source = block.sources.source_of(*document)?;
            let place = self.sources.iter().position(|known| *known == source);
            let size = block.sizes.of(*document)?;
            let score = |score| *at(at::<Vec<_>>(scores, score), row);
            self.document(*document, &size, place, score);
        }
        self.block = Some(block);
        Ok(())
    }

    fn document(
        &mut self,
        document: DocId,
        size: &CountsSum,
        source: Option<usize>,
        score: impl Fn(usize) -> f64,
    ) {
        let mut broken = 0_u64;
        for (rule, bit) in self.rules.iter_mut().zip(0..) {
            let value = score(rule.score);
            // A document without a score (NaN) breaks every rule on it.
            if rule.thresholds.iter().any(|threshold| !threshold.holds(value)) {
                broken |= 1 << bit;
                rule.removed.add(size);
                let count = source.and_then(|source| rule.by_source.get_mut(source));
                count.into_iter().for_each(|count| *count += 1);
            }
            for threshold in &mut rule.thresholds {
                threshold.look(ThresholdNeighbour { document, value }, self.examples);
            }
        }
        if let (1, Some(only)) =
            (broken.count_ones(), self.rules.get_mut(broken.trailing_zeros() as usize))
        {
            only.only.add(size);
        }
        let of_source = source.and_then(|source| self.by_source.get_mut(source));
        for total in [Some(&mut self.all), of_source].into_iter().flatten() {
            total.documents.add(size);
            if broken != 0 {
                total.removed.add(size);
            }
        }
        for (at, (all, by_source)) in self.sketches.iter_mut().enumerate() {
            all.take(score(at));
            let of_source = source.and_then(|source| by_source.get_mut(source));
            of_source.into_iter().for_each(|sketch| sketch.take(score(at)));
        }
    }

    /// The report. Reads the texts of the examples.
    pub(super) fn report(self, options: &QualityOptions) -> Result<QualityReport, InspectError> {
        let view = self.view;
        let is_met: Vec<bool> =
            self.by_source.iter().map(|total| total.documents.documents > 0).collect();
        let apart: u64 = self.by_source.iter().map(|total| total.documents.documents).sum();
        let named = self.sources.iter().map(|source| Ok(view.source_name(*source)?.to_owned()));
        let names: Vec<String> = named.collect::<Result<_, StoreError>>()?;
        let sources = met(&is_met, names.iter().zip(&self.by_source));
        let sources = sources.map(|(source, total)| QualitySource {
            source: source.clone(),
            documents: total.documents.counts(view),
            removes: total.removed.counts(view),
        });
        let sources = sources.collect();
        let stored = view.sources().filter(|(_, source)| source.kept > 0).count();
        let has_more = self.all.documents.documents > apart;
        let left_out = if has_more { stored.saturating_sub(self.sources.len()) } else { 0 };
        Ok(QualityReport {
            set: options.set.name(),
            condition: options.condition.clone(),
            source: options.source.clone(),
            documents: self.all.documents.counts(view),
            removes: self.all.removed.counts(view),
            sources,
            sources_left_out: left_out as u64,
            rules: self.rules(&is_met)?,
            scores: self.scores(&is_met, &names),
        })
    }

    fn rules(&self, is_met: &[bool]) -> Result<Vec<QualityRule>, InspectError> {
        let told = |counted: &RuleCounts| {
            let threshold = |threshold: &RuleThreshold| {
                Ok(QualityThreshold {
                    bound: if threshold.is_least { "least" } else { "most" },
                    at: threshold.at,
                    outside: self.examples(&threshold.outside, counted.score)?,
                    inside: self.examples(&threshold.inside, counted.score)?,
                })
            };
            let is_stored = self.column(counted.score);
            let thresholds = counted.thresholds.iter().map(threshold);
            Ok(QualityRule {
                signal: counted.rule.signal,
                rule: counted.rule.condition(!is_stored),
                removes: counted.removed.counts(self.view),
                only: counted.only.counts(self.view),
                by_source: met(is_met, counted.by_source.iter()).copied().collect(),
                thresholds: thresholds.collect::<Result<_, InspectError>>()?,
            })
        };
        self.rules.iter().map(told).collect()
    }

    /// Whether a score is read from a column.
    fn column(&self, score: usize) -> bool {
        self.scored.signals.get(score).is_some_and(|(_, column)| column.is_some())
    }

    fn is_whole(&self, score: usize) -> bool {
        self.scored.signals.get(score).is_some_and(|(signal, _)| signal.kind == FieldKind::Int)
    }

    fn examples(
        &self,
        side: &ThresholdSide,
        score: usize,
    ) -> Result<Vec<QualityExample>, InspectError> {
        let example = |near: &ThresholdNeighbour| {
            let place = self.view.place(near.document)?;
            let text = self.view.text_of_owner(place.text_owner(near.document))?;
            Ok(QualityExample {
                id: near.document.0,
                key: self.view.display_key(near.document)?,
                source: self.view.source_name(place.source)?.to_owned(),
                value: match self.is_whole(score) {
                    true => StatsValue::Int(near.value as i64),
                    false => StatsValue::Float(near.value),
                },
                text: beginning(&text),
            })
        };
        side.found().iter().map(example).collect()
    }

    fn scores(&self, is_met: &[bool], names: &[String]) -> Vec<QualityScore> {
        let told = |(at, (all, by_source)): (usize, &(QuantileSketch, Vec<QuantileSketch>))| {
            let (signal, column) = self.scored.signals.get(at)?;
            let of_source = |(source, sketch): (&String, &QuantileSketch)| SourceSpread {
                source: source.clone(),
                column: sketch.column_stats(signal.name, self.is_whole(at)),
            };
            Some(QualityScore {
                signal: signal.name,
                expression: signal.expression,
                origin: if column.is_some() { "stored" } else { "text" },
                spread: all.column_stats(signal.name, self.is_whole(at)),
                sources: met(is_met, names.iter().zip(by_source)).map(of_source).collect(),
            })
        };
        self.sketches.iter().enumerate().filter_map(told).collect()
    }
}

/// Only the entries of sources with a document in the walk.
fn met<T>(is_met: &[bool], all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    all.zip(is_met).filter_map(|(one, is_met)| is_met.then_some(one))
}
