//! Measures what a tokenizer makes of texts: compression, fairness, use of the vocabulary, the price of its size.
//!
//! A [`AnalysedTokenizer`] is a tokenizer made ready: what each id stands for. A [`AnalysisTally`] counts texts with
//! their ids, one a thread, merged in any order. At the end [`AnalysisTally::finish`] draws the numbers and looks at
//! the vocabulary itself (`usage`, `reach`) and at set pieces (`cases`). [`VocabularyCurve`] is the length of the
//! sample at other sizes of the vocabulary (`curve`, `sizes`). [`AnalysisReport`] sets tokenizers side by side, and
//! beside texts as words, characters and bytes ([`BaselineTally`]). [`WordCostTally`] finds the words that cost most.
//! [`pattern_hints`] tries other split patterns than that of a training.

mod baselines;
mod cases;
mod counts;
mod curve;
mod patterns;
mod reach;
mod report;
mod sizes;
mod subject;
mod usage;
mod word_costs;

#[cfg(test)]
mod curve_tests;
#[cfg(test)]
mod tests;

pub use super::train::{PretokenCounter, PretokenTable};
pub use baselines::BaselineTally;
pub use cases::{AnalysisCase, AnalysisCaseKind, DigitRun};
pub use counts::{AnalysisTally, CostlyDocument, TextCounts, TextWords};
pub use curve::{CurvePoint, Knee, MergeCounts, SizePrice, VocabularyCurve};
pub use patterns::{PatternHint, pattern_hints};
pub use reach::{ReachClass, ReachRow};
pub use report::{AnalysisReport, GranularityBaseline, GroupMetrics, TokenizerAnalysis};
pub use subject::AnalysedTokenizer;
pub use usage::{
    CensusRow, CoveredShare, ListedToken, RankedCount, TokenLengthBin, VocabularyCensus,
    VocabularyUse,
};
pub use word_costs::{CostlyWord, GroupWordCosts, WordCostTally, WordCosts};
