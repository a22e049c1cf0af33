//! What an n-gram model counted, and how the perplexities of its documents are spread.

use serde::Serialize;
use tokenizer::NgramCounts;

/// An n-gram model whose documents have perplexities by it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PerplexityModel {
    /// The source of its documents; absent where it is over all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Kept documents that it counted and scored; those without tokens have no perplexity.
    pub documents: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Tokens that are distinct.
    pub vocabulary: u64,
    /// N-grams that are distinct, for each order from 1 on; the end of a document counts as a token.
    pub ngrams: Vec<u64>,
    /// What is taken from counts of 1, of 2, and of 3 and more, for each order.
    pub discounts: Vec<[f64; 3]>,
    /// Orders whose discounts are 0.5, 1 and 1.5, since there are too few n-grams to estimate them.
    pub fallback_orders: Vec<usize>,
    /// The least perplexity that 5 percent of the documents do not exceed.
    pub p5: f64,
    /// Likewise for 25 percent.
    pub p25: f64,
    /// Likewise for 50 percent: the median.
    pub p50: f64,
    /// Likewise for 75 percent.
    pub p75: f64,
    /// Likewise for 95 percent.
    pub p95: f64,
}

impl PerplexityModel {
    /// What a model counted, with the perplexities of its documents in any order.
    pub(super) fn new(
        source: Option<String>,
        counts: NgramCounts,
        mut perplexities: Vec<f64>,
    ) -> Self {
        perplexities.sort_unstable_by(f64::total_cmp);
        let quantile = |percent: usize| {
            let rank = (perplexities.len() * percent).div_ceil(100).saturating_sub(1);
            perplexities.get(rank).copied().unwrap_or(f64::NAN)
        };
        let [p5, p25, p50, p75, p95] = [5, 25, 50, 75, 95].map(quantile);
        let NgramCounts { documents, tokens, vocabulary, .. } = counts;
        let NgramCounts { ngrams, discounts, fallback_orders, .. } = counts;
        Self {
            source,
            documents,
            tokens,
            vocabulary,
            ngrams,
            discounts,
            fallback_orders,
            p5,
            p25,
            p50,
            p75,
            p95,
        }
    }
}
