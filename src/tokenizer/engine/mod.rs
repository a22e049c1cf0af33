//! The encoders: the reference, whose ids are right by definition, and the fast engine, which is used where a proof
//! finds no difference.

pub(in crate::tokenizer) mod cuts;
pub(in crate::tokenizer) mod hostile_texts;
pub(in crate::tokenizer) mod pipeline;
pub(in crate::tokenizer) mod proof;
pub(in crate::tokenizer) mod reference;
pub(in crate::tokenizer) mod spaces;
pub(in crate::tokenizer) mod splitter;
pub(in crate::tokenizer) mod unicode;

use super::sentencepiece::SentencePiece;
use reference::LibraryReference;
use std::sync::OnceLock;

/// What says which ids are right.
pub(in crate::tokenizer) enum ReferenceEncoder {
    /// The `tokenizers` library, for a `tokenizer.json`; loaded when it is first asked.
    Library(OnceLock<Box<LibraryReference>>),
    /// SentencePiece's algorithm, for a `.model`.
    SentencePiece(Box<SentencePiece>),
}

impl ReferenceEncoder {
    /// The library, loaded.
    pub(in crate::tokenizer) fn library(library: LibraryReference) -> Self {
        Self::Library(OnceLock::from(Box::new(library)))
    }

    /// The library, not loaded yet.
    pub(in crate::tokenizer) const fn unloaded() -> Self {
        Self::Library(OnceLock::new())
    }
}
