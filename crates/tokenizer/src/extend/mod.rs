//! Extends a tokenizer without moving an id: by terms, or by going on with byte-pair training.
//!
//! 1. `base` reads the file to extend and judges by the reference implementation;
//! 2. `terms` makes each form of a term one token ([`extend_by_terms`]): `bpe` by the fewest merges, `other_models` by
//!    entries of a WordPiece or Unigram vocabulary or by added tokens; `growth` continues BPE training on counts
//!    ([`extend_by_growth`]);
//! 3. `apply` appends to the file and encodes with both;
//! 4. the [`TokenizerExtension`] carries the [`EmbeddingMap`];
//! 5. [`ReencodeFilter`] tells from stored ids which documents must be encoded again; [`vocabulary_diff`] compares any
//!    two tokenizers.

mod apply;
mod base;
mod bpe;
mod embedding_map;
mod growth;
mod other_models;
mod reencode;
mod report;
mod terms;

#[cfg(test)]
mod tests;

pub use super::models::GrowthOptions;
pub use embedding_map::{EmbeddingMap, EmbeddingRow, TokenOrigin};
pub use growth::extend_by_growth;
pub use reencode::{ReencodeFilter, ReencodeScratch};
pub use report::{
    FormReport, TermCounts, TermOutcome, TermReport, VocabularyDiff, vocabulary_diff,
};
pub use terms::{TermForms, TermOptions, TokenizerExtension, extend_by_terms};
