//! The encoders: the reference, whose ids are right by definition, and the fast engine, which is used where a proof
//! finds no difference.

pub(crate) mod cuts;
pub(crate) mod hostile_texts;
pub(crate) mod pipeline;
pub(crate) mod proof;
pub(crate) mod reference;
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
