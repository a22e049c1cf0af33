//! Which tokens of a document are trained on.

use super::id::TokenizerId;

/// A half-open range that counts in the loss, with its weight. What no span covers is read, not trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossSpan {
    /// First token, or first byte of the text.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Above 0; 1 is the plain weight.
    pub weight: f32,
}

/// How the text of a document is to be encoded, and which bytes of it are trained on. A document
/// without one is plain text, all of it trained on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextForm {
    /// Special tokens spelled in the text are special tokens: a chat template wrote them.
    pub specials: bool,
    /// The tokenizer whose ids came with the record; no encoder gave them.
    pub given: Option<TokenizerId>,
    /// Trained bytes of the text, ascending; none: all of them.
    pub spans: Option<Vec<LossSpan>>,
}
