//! Extends a tokenizer without moving an id: by terms, or by going on with byte-pair training.
//!
//! 1. `base` reads the file to extend and judges by the reference implementation;
//! 2. `terms` makes each form of a term (`forms`) one token ([`extend_by_terms`]): `bpe` by merges (`tree` chooses
//!    them), `listed` by entries of a WordPiece or Unigram vocabulary, `matched` by added tokens (`added`); `grow`
//!    continues BPE training on counts ([`extend_by_growth`]);
//! 3. `write` appends to the file and `prove` encodes with both;
//! 4. the [`TokenizerExtension`] carries the [`EmbeddingMap`] (`map`);
//! 5. [`ReencodeFilter`] tells from stored ids which documents must be encoded again; [`vocabulary_diff`] compares any
//!    two tokenizers.

mod added;
mod affected;
mod base;
mod bpe;
mod diff;
mod forms;
mod grow;
mod listed;
mod map;
mod matched;
mod prove;
mod report;
mod terms;
mod tree;
mod write;

pub use affected::{ReencodeFilter, ReencodeScratch};
pub use diff::{VocabularyDiff, vocabulary_diff};
pub use forms::TermForms;
pub use grow::{GrowthOptions, extend_by_growth};
pub use map::{EmbeddingMap, EmbeddingRow, TokenOrigin};
pub use report::{FormReport, TermCounts, TermOutcome, TermReport};
pub use terms::{TermOptions, TokenizerExtension, extend_by_terms};

#[cfg(test)]
mod tests;
