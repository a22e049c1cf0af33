//! What has rows of its own, with reading and writing side by side: one file for each.

mod blocks;
mod compaction;
mod crowded;
mod lineage;
mod loss;
mod overtaken;
mod redo;
mod snapshots;
mod templates;
mod tokenizer_files;

pub use lineage::{MANY, Roots};
pub use redo::Totals;
pub use templates::TemplateRecord;
pub use tokenizer_files::TokenizerParts;
