//! Lengths of documents for planning and packing: scanned from the store block by block, never held for a whole corpus.
//!
//! `column` reads the length column, `counter` counts its blocks in their stored bytes, `index` finds the documents of
//! a length by their rank, `loss` says which tokens are trained on.

mod class_counts;
mod column;
mod counter;
mod index;
mod loss;
#[cfg(test)]
mod test_corpus;

pub(super) use column::{
    LengthReader, PassTokenizer, blocks_and_slots, blocks_of, count_tokens, slots, with_tokens,
};
pub(super) use counter::effective;
pub(super) use index::LengthIndex;
pub(super) use loss::LossReader;
#[cfg(test)]
pub(super) use test_corpus::corpus_of_lengths;
