//! The report of an analysis, by tokenizer and group of texts: what is printed, stored and drawn.

use super::baselines::BaselineTally;
use super::cases::{AnalysisCase, DigitRun, cases, digit_runs};
use super::counts::{AnalysisTally, CostlyDocument, TextCounts};
use super::curve::VocabularyCurve;
use super::reach::{ReachRow, reach};
use super::usage::{VocabularyCensus, VocabularyUse, gini};
use crate::error::TokenizerError;
use serde::Serialize;

/// Tokenizers side by side on one sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AnalysisReport {
    /// What the groups are: `language`, `source` or `all`.
    pub grouped_by: String,
    /// The tokenizer that the others are measured against.
    pub reference: String,
    /// Documents selected, from which the sample was drawn.
    pub selected_documents: u64,
    /// UTF-8 bytes of the texts of the selected documents.
    pub selected_bytes: u64,
    /// Documents of the sample.
    pub documents: u64,
    /// Bytes of the sample.
    pub bytes: u64,
    /// One a tokenizer, as they were given.
    pub tokenizers: Vec<TokenizerAnalysis>,
    /// The same texts as words, characters and bytes.
    pub baselines: Vec<GranularityBaseline>,
}

/// The analysis of one tokenizer on the sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenizerAnalysis {
    /// The name of the tokenizer.
    pub name: String,
    /// `BPE`, `WordPiece`, `Unigram` or `WordLevel`.
    pub model: String,
    /// One more than its largest id.
    pub vocab_size: u64,
    /// Ids that have a token.
    pub ids: u64,
    /// The whole sample.
    pub total: GroupMetrics,
    /// Each group with any text, most bytes first.
    pub groups: Vec<GroupMetrics>,
    /// Gini coefficient of tokens a byte over the groups; none with fewer than two.
    pub gini_bytes: Option<f64>,
    /// Gini coefficient of tokens a character over the groups; none with fewer than two.
    pub gini_characters: Option<f64>,
    /// How the ids are used.
    pub vocabulary_use: VocabularyUse,
    /// What the vocabulary is made of.
    pub census: VocabularyCensus,
    /// Which ids text reaches.
    pub reach: Vec<ReachRow>,
    /// How runs of digits are tokenized.
    pub digits: Vec<DigitRun>,
    /// How indentation, white space and typical strings are tokenized.
    pub cases: Vec<AnalysisCase>,
    /// Documents of the sample whose bytes cost most tokens, dearest first.
    pub dearest: Vec<CostlyDocument>,
    /// Sequence length against vocabulary size.
    pub curve: Option<VocabularyCurve>,
    /// Why there is no curve.
    pub no_curve: Option<String>,
}

/// Texts at a granularity that needs no training.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GranularityBaseline {
    /// Ids that the sample needs, one for each distinct word, character or byte; none where memory did not suffice to
    /// count all words.
    pub ids: Option<u64>,
    /// The whole sample; its name is `words`, `characters` or `bytes`.
    #[serde(flatten)]
    pub total: GroupMetrics,
}

/// One group's texts by one tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GroupMetrics {
    /// The group; of the whole sample, `all`.
    pub name: String,
    /// What was counted.
    #[serde(flatten)]
    pub counts: TextCounts,
    /// UTF-8 bytes a token.
    pub bytes_per_token: f64,
    /// Characters a token.
    pub characters_per_token: f64,
    /// Tokens a text.
    pub tokens_per_document: f64,
    /// UTF-8 bytes over those of the ids in two bytes each.
    pub compression_ratio: f64,
    /// Tokens that hold some of a word, a word; none without words.
    pub fertility: Option<f64>,
    /// Share of the words that lie in one token (STRR).
    pub single_token_word_share: Option<f64>,
    /// Share of the words that are cut into several tokens.
    pub continued_word_share: Option<f64>,
    /// Tokens a byte relative to the group with the fewest: 1 for that group, 2 where a byte costs twice.
    pub parity: f64,
    /// Tokens relative to those of the reference tokenizer on the same texts (NSL).
    pub relative_length: Option<f64>,
}

/// Bytes of an id in the usual figure of compression.
const ID_BYTES: f64 = 2.0;

impl GroupMetrics {
    fn new(name: &str, counts: TextCounts) -> Self {
        let of_words = |part| (counts.words > 0).then(|| ratio(part, counts.words));
        Self {
            name: name.to_owned(),
            counts,
            bytes_per_token: ratio(counts.bytes, counts.tokens),
            characters_per_token: ratio(counts.characters, counts.tokens),
            tokens_per_document: ratio(counts.tokens, counts.documents),
            compression_ratio: ratio(counts.bytes, counts.tokens) / ID_BYTES,
            fertility: of_words(counts.word_tokens),
            single_token_word_share: of_words(counts.single_token_words),
            continued_word_share: of_words(counts.continued_words),
            parity: 1.0,
            relative_length: None,
        }
    }

    fn relate(&mut self, reference: &Self) {
        self.relative_length = Some(ratio(self.counts.tokens, reference.counts.tokens));
    }

    fn cost(&self) -> f64 {
        ratio(self.counts.tokens, self.counts.bytes)
    }
}

pub(super) fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

impl AnalysisTally<'_> {
    /// Draws the numbers; `groups` are the names of the groups. The curve is the caller's: it needs
    /// the merges, not the ids.
    ///
    /// # Errors
    /// [`TokenizerError`] when the set pieces or the tokens themselves cannot be encoded.
    pub fn finish(
        &self,
        name: &str,
        groups: &[String],
        curve: Result<VocabularyCurve, String>,
    ) -> Result<TokenizerAnalysis, TokenizerError> {
        let rows = groups.iter().zip(&self.groups).filter(|(_, counts)| counts.tokens > 0);
        let mut metrics: Vec<GroupMetrics> =
            rows.map(|(name, counts)| GroupMetrics::new(name, *counts)).collect();
        metrics
            .sort_by(|a, b| b.counts.bytes.cmp(&a.counts.bytes).then_with(|| a.name.cmp(&b.name)));
        let least = metrics.iter().map(GroupMetrics::cost).min_by(f64::total_cmp).unwrap_or(0.0);
        for group in &mut metrics {
            group.parity = if least > 0.0 { group.cost() / least } else { 1.0 };
        }
        let spread = |cost: fn(&GroupMetrics) -> f64| {
            (metrics.len() > 1).then(|| gini(&metrics.iter().map(cost).collect::<Vec<_>>()))
        };
        let (curve, no_curve) = match curve {
            Ok(curve) => (Some(curve), None),
            Err(why) => (None, Some(why)),
        };
        let subject = self.subject;
        Ok(TokenizerAnalysis {
            name: name.to_owned(),
            model: subject.model_name().to_owned(),
            vocab_size: u64::from(subject.tokenizer.vocab_size()),
            ids: subject.token_count(),
            total: GroupMetrics::new("all", self.total()),
            gini_bytes: spread(GroupMetrics::cost),
            gini_characters: spread(|group| ratio(group.counts.tokens, group.counts.characters)),
            groups: metrics,
            vocabulary_use: VocabularyUse::of(subject, &self.uses),
            census: VocabularyCensus::of(subject, &self.uses),
            reach: reach(subject, &self.uses)?,
            digits: digit_runs(subject.tokenizer)?,
            cases: cases(subject.tokenizer)?,
            dearest: self.dearest.clone(),
            curve,
            no_curve,
        })
    }
}

impl AnalysisReport {
    /// Sets analyses of the same texts side by side; lengths are relative to those of `reference`.
    /// `selected` are the documents and bytes that the sample was drawn from.
    #[must_use]
    pub fn new(
        grouped_by: &str,
        reference: &str,
        selected: (u64, u64),
        mut tokenizers: Vec<TokenizerAnalysis>,
    ) -> Self {
        let of_reference = tokenizers.iter().find(|analysis| analysis.name == reference).cloned();
        for analysis in &mut tokenizers {
            let Some(reference) = &of_reference else { break };
            analysis.total.relate(&reference.total);
            for group in &mut analysis.groups {
                let other = reference.groups.iter().find(|other| other.name == group.name);
                other.into_iter().for_each(|other| group.relate(other));
            }
        }
        let first = tokenizers.first().map(|analysis| analysis.total.counts).unwrap_or_default();
        Self {
            grouped_by: grouped_by.to_owned(),
            reference: reference.to_owned(),
            selected_documents: selected.0,
            selected_bytes: selected.1,
            documents: first.documents,
            bytes: first.bytes,
            tokenizers,
            baselines: Vec::new(),
        }
    }

    /// With the same texts as words, characters and bytes.
    #[must_use]
    pub fn beside(self, baselines: BaselineTally) -> Self {
        let reference = self.tokenizers.iter().find(|analysis| analysis.name == self.reference);
        let baselines = baselines.finish().map(|(name, ids, counts)| {
            let mut total = GroupMetrics::new(name, counts);
            reference.into_iter().for_each(|reference| total.relate(&reference.total));
            GranularityBaseline { ids, total }
        });
        Self { baselines: baselines.into(), ..self }
    }
}
