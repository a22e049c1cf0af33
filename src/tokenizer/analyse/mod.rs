//! What a tokenizer makes of texts, in numbers: compression, fairness, use of the vocabulary, the price of its size.
//!
//! A [`Subject`] is a tokenizer made ready: what each id stands for. A [`Tally`] counts texts with
//! their ids, one a thread, merged in any order (`words` aligns tokens with words). At the end
//! [`Tally::finish`] draws the numbers (`statistics`), looks at the vocabulary itself (`census`,
//! `reach`), and at set pieces (`cases`). [`VocabularyCurve`] is the length of the sample at every
//! size of the vocabulary, from one replay of the merges (`curve`). [`AnalysisReport`] sets
//! tokenizers side by side.

mod cases;
mod census;
mod curve;
mod reach;
mod replay;
mod report;
mod statistics;
mod subject;
mod tally;
mod words;

pub use super::train::{PretokenCounter, PretokenTable};
pub use cases::{Case, CaseKind, DigitRun};
pub use census::{CensusRow, LongToken, VocabularyCensus};
pub use curve::{CurvePoint, Knee, MergeCounts, SizePrice, VocabularyCurve};
pub use reach::{ReachClass, ReachRow};
pub use report::{AnalysisReport, GroupMetrics, TokenizerAnalysis};
pub use statistics::{CoveredShare, LengthBin, RankedCount, VocabularyUse};
pub use subject::Subject;
pub use tally::{Counts, DearDocument, Tally};
pub use words::TextWords;

#[cfg(test)]
mod tests;
