//! What has rows of its own, with reading and writing side by side: one file for each.

mod blocks;
mod compaction;
mod crowded;
mod dictionaries;
mod lineage;
mod loss;
mod overtaken;
mod redo;
mod removals;
mod snapshots;
mod stored;
mod suites;
mod templates;
mod tokenizer_files;
mod unused_terms;
mod verdicts;

pub use blocks::block_hashes;
pub use lineage::{MANY, Roots};
pub use redo::Totals;
pub use removals::UnendedPurge;
pub use stored::Stored;
pub use templates::TemplateRecord;
pub use tokenizer_files::TokenizerParts;
pub use verdicts::TextAndItem;
