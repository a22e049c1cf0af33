//! What a tokenizer makes of texts, in numbers: compression, fairness, use of the vocabulary, the price of its size.
//!
//! A [`AnalysedTokenizer`] is a tokenizer made ready: what each id stands for. A [`AnalysisTally`] counts texts with
//! their ids, one a thread, merged in any order (`words` aligns tokens with words). At the end
//! [`AnalysisTally::finish`] draws the numbers (`statistics`), looks at the vocabulary itself (`census`,
//! `reach`), and at set pieces (`cases`). [`VocabularyCurve`] is the length of the sample at other
//! sizes of the vocabulary (`curve`): from one replay of the merges (`replay`), from the order of the pieces
//! (`greedy`), or from one more training (`retrained`). [`AnalysisReport`] sets
//! tokenizers side by side.

mod cases;
mod census;
mod curve;
mod greedy;
mod reach;
mod replay;
mod report;
mod retrained;
mod statistics;
mod subject;
mod tally;
mod text_words;

pub use super::train::{PretokenCounter, PretokenTable};
pub use cases::{AnalysisCase, AnalysisCaseKind, DigitRun};
pub use census::{CensusRow, ListedToken, VocabularyCensus};
pub use curve::{CurvePoint, Knee, MergeCounts, SizePrice, VocabularyCurve};
pub use reach::{ReachClass, ReachRow};
pub use report::{AnalysisReport, GroupMetrics, TokenizerAnalysis};
pub use statistics::{CoveredShare, LengthBin, RankedCount, VocabularyUse};
pub use subject::AnalysedTokenizer;
pub use tally::{AnalysisTally, CostlyDocument, TextCounts};
pub use text_words::TextWords;

#[cfg(test)]
mod curve_tests;
#[cfg(test)]
mod tests;
