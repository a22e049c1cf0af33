//! Byte-pair merges on sequences of symbols; knows nothing of text.
//!
//! [`CountedWords`] holds sequences of symbols with their counts, [`MergeTable`] the merges by rank and the
//! one rule of applying them: the lowest rank first, then the leftmost. On these stand
//!
//! * [`replay`]: how many pairs each merge joined, so the length of the text for every size of the
//!   vocabulary from one pass;
//! * [`grow`]: further merges of the most frequent pair, as training would continue.

mod counted_words;
mod grow;
mod replay;
mod table;

pub use counted_words::CountedWords;
pub use grow::{GrowOptions, PairOutcome, grow};
pub use replay::replay;
pub use table::{MergeScratch, MergeTable};

#[cfg(test)]
mod tests;
