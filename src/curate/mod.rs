//! Changes of mind about stored documents, and the checks that need the crafts.
//!
//! * `encode` token ids of a tokenizer that came after the documents
//! * `train` a tokenizer on the stored texts
//! * `remove` and restore documents
//! * `redo` all decisions under another policy
//! * `tokens` of one document, to be shown
//! * `check` sketches, bands, similarities and ids, recomputed from the texts

mod check;
mod encode;
mod error;
mod redo;
mod remove;
mod tokens;
mod train;

pub use check::check;
pub use encode::{encode_stored, sample_texts};
pub use error::CurateError;
pub use redo::{RedoReport, RedoSource, redo, switch};
pub use remove::{RemovalReport, remove, restore};
pub use tokens::{ShownToken, ShownTokens, shown_tokens};
pub use train::train_bpe;
