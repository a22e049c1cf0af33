//! The algorithms of BPE and Unigram on symbols and words; nothing here knows of files.
//!
//! [`CountedWords`] holds sequences of symbols with their counts, [`MergeTable`] the merges by rank. On these stand
//! [`replay`], which gives the length of a text for every size of the vocabulary from one pass, and [`grow`]: further
//! merges of the most frequent pair, as training would continue. [`merge_by_likelihood`] merges by another score; both
//! keep the pairs of words counted (`word_pairs`). `trie` finds pieces in a word, `viterbi` its best
//! segmentation, `lattice` all of them as the stock trainer has them, `piece_lattice` all of them for encoders:
//! their sum, their entropy and draws; `best_paths` has the best of them in order.

pub(crate) mod best_paths;
pub(crate) mod growth;
pub(crate) mod lattice;
pub(crate) mod likelihood;
pub(crate) mod merges;
pub(crate) mod piece_lattice;
pub(crate) mod trie;
pub(crate) mod viterbi;
mod word_pairs;

#[cfg(test)]
mod tests;

pub use growth::GrowthOptions;
pub(crate) use growth::{PairOutcome, grow};
pub(crate) use likelihood::merge_by_likelihood;
pub(crate) use merges::{CountedWords, MergeScratch, MergeTable, replay};

/// Ids, and for each the bytes of a word that it stands for.
pub(crate) type PlacedIds = Vec<(u32, std::ops::Range<usize>)>;
