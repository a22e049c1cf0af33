//! Changes of mind about stored documents, and the checks that need the crafts.
//!
//! * `encode` token ids of a tokenizer that came after the documents
//! * `extend`: those of a tokenizer that extends a stored one
//! * `train` a tokenizer on the stored texts
//! * `analyse` tokenizers on a sample of them
//! * `sample` and `groups` (languages, sources): which texts, and how counts of them are kept apart
//! * `remove` and restore documents
//! * `redo` all decisions under another policy
//! * `settle` decisions that left candidates out
//! * `decided`: what a commit of these does once it is said what comes and goes
//! * `tokens` of one document, to be shown
//! * `check` sketches, bands, similarities and ids, recomputed from the texts

mod analyse;
mod check;
mod decided;
mod encode;
mod equals;
mod error;
mod extend;
mod groups;
mod redo;
mod redo_lineage;
mod remove;
mod sample;
mod settle;
mod tokens;
mod train;

pub use analyse::{AnalyseOptions, analyse};
pub use check::check;
pub use encode::{Backfilled, encode_stored, sample_texts};
pub use error::CurateError;
pub use groups::Grouping;
pub use redo::{RedoReport, RedoSource, redo, switch};
pub use remove::{RemovalReport, remove, restore};
pub use settle::{SettleReport, settle};
pub use tokens::{ShownToken, ShownTokens, other_ids, shown_tokens};
pub use train::{TrainDecisions, TrainedOn, Training, grow, train_tokenizer};
