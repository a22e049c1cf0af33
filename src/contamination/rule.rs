//! From where on a document counts as contaminated.

use super::evidence::Evidence;
use super::{SEED, SHORT, SuitePart, VERDICT};

/// What is needed. A passage alone is never enough: it is mostly a text that anybody may have. Nor is a part of fewer
/// than [`SHORT`] tokens, but for a question as a whole with its answer near it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The least [`Evidence::score`].
    pub score: f64,
    /// The least [`Evidence::tokens`]; of a short question the whole is needed, with its answer near it.
    pub tokens: u32,
    /// N-grams found in at least this many kept documents, equal texts counted once, are ignored
    pub common_documents: u32,
    /// if they come from at least this many sources.
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
