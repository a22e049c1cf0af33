//! The encoders: the reference, whose ids are right by definition, and the fast engine, used where a proof allows it.
//!
//! `reference` and `pipeline` are the two for a `tokenizer.json`. `proof` compares them, on `hostile_texts` and on a
//! sample; its verdict is stored with a tokenizer, so later openings do not repeat it (`tokenizer check` does). Texts
//! with characters that the two editions of Unicode class differently (`unicode`) go to the reference. `cuts` finds
//! where a long text may be encoded in parts with the same ids, so that one very long text takes little memory;
//! `splitter` gives the pre-tokens of any tokenizer, `spaces` removes extra spaces as SentencePiece's files ask, and
//! `segment_model` has what other segmentations than the best need of a model.

pub(crate) mod cuts;
pub(crate) mod hostile_texts;
pub(crate) mod pipeline;
pub(crate) mod proof;
pub(crate) mod reference;
pub(crate) mod segment_model;
pub(crate) mod spaces;
pub(crate) mod splitter;
pub(crate) mod unicode;

use super::sentencepiece::SentencePiece;
use reference::LibraryReference;
use std::sync::OnceLock;

/// What says which ids are right.
pub(crate) enum ReferenceEncoder {
    /// The `tokenizers` library, for a `tokenizer.json`; loaded when it is first asked.
    Library(OnceLock<Box<LibraryReference>>),
    /// SentencePiece's algorithm, for a `.model`.
    SentencePiece(Box<SentencePiece>),
}

impl ReferenceEncoder {
    /// The library, loaded.
    pub(crate) fn library(library: LibraryReference) -> Self {
        Self::Library(OnceLock::from(Box::new(library)))
    }

    /// The library, not loaded yet.
    pub(crate) const fn unloaded() -> Self {
        Self::Library(OnceLock::new())
    }
}
