//! From where on a document counts as contaminated.

use super::evidence::Evidence;
use super::{SEED, SHORT, SuitePart, VERDICT};

/// What is needed. A passage alone is never enough: it is mostly a text that anybody may have. Nor is a part of fewer
/// than [`SHORT`] tokens, but for a question as a whole with its answer near it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Rule {
    /// Lowest score: the weighted share of a question or an answer that the document has.
    #[cfg_attr(feature = "cli", arg(long, value_name = "0..1", default_value_t = Self::default().score, value_parser = crate::model::parse_share))]
    pub score: f64,
    /// Fewest tokens of it that the document must have, in runs of 8, or of 5 to 7 with the same offset.
    ///
    /// Of a short question the document must have all tokens, and the answer near them.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = Self::default().tokens))]
    pub tokens: u32,
    /// Ignore n-grams found in at least N kept documents that come from at least `common_sources` sources.
    ///
    /// Equal texts count once.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = Self::default().common_documents, value_parser = clap::value_parser!(u32).range(1..)))]
    pub common_documents: u32,
    /// Sources that must have an n-gram of `common_documents` before it is ignored.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = Self::default().common_sources, value_parser = clap::value_parser!(u32).range(1..=8)))]
    pub common_sources: u32,
}

impl Default for Rule {
    fn default() -> Self {
        Self { score: 0.3, tokens: VERDICT as u32, common_documents: 50, common_sources: 3 }
    }
}

impl Rule {
    /// Whether the evidence is enough.
    #[must_use]
    pub fn holds(&self, evidence: &Evidence) -> bool {
        let part = evidence.grams.saturating_add(SEED as u32 - 1);
        let has_enough = part >= SHORT as u32 && evidence.tokens >= self.tokens;
        let is_long = evidence.is_whole || has_enough;
        evidence.part != SuitePart::Passage && is_long && evidence.score >= self.score
    }
}
