//! Lengths of documents, as planning and packing see them: scanned from the store block by block, never held for a
//! whole corpus.
//!
//! `scan` reads the length column, `counter` counts its blocks where they lie, `by_length` finds the documents of a
//! length by their rank, `trained` says which tokens are trained on.

mod by_length;
mod class_counts;
mod counter;
mod scan;
mod trained;

pub(super) use by_length::ClassIndex;
pub(super) use counter::effective;
pub(super) use scan::{Lengths, blocks_and_slots, blocks_of, slots, with_tokens};
pub(super) use trained::Trained;
