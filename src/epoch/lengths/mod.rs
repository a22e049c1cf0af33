//! Lengths of documents, as planning and packing see them: scanned from the store block by block, never held for a
//! whole corpus.
//!
//! `scan` reads the length column, `counter` counts its blocks where they lie, `by_length` finds the documents of a
//! length by their rank, `trained` says which tokens are trained on.

mod class_counts;
mod column;
mod counter;
mod index;
mod loss;

pub(super) use column::{
    LengthReader, blocks_and_slots, blocks_of, count_tokens, slots, with_tokens,
};
pub(super) use counter::effective;
pub(super) use index::LengthIndex;
pub(super) use loss::LossReader;
