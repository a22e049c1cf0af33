//! The store: the only code that names RocksDB.
//!
//! Reading: [`read`] or [`Writer::view`] gives a [`View`], one committed moment. Writing:
//! [`Writer::begin`] gives a [`Batch`], one commit. [`columns`] is the table of families,
//! `docs/reference/format.md` their bytes.

mod aside;
mod bands;
mod batch;
mod bitmap;
mod blocks;
mod bucket_changes;
mod bytes;
mod check;
mod clusters;
mod codec;
pub mod columns;
mod compared;
#[cfg(test)]
pub(crate) mod counted;
mod crowded;
mod db;
mod digest;
mod error;
pub mod fields;
mod grown;
mod header;
mod held;
mod ids;
mod indexed;
mod journal;
mod keys;
mod keywords;
mod left;
mod lineage;
mod logs;
mod loss;
mod matching;
mod merge;
mod migrate;
mod named;
mod numbers;
mod open;
mod overtaken;
mod place;
mod reading;
mod records;
mod redo;
mod rejects;
mod rows;
mod scratch;
mod set_field;
mod sorted_rows;
mod standings;
mod templates;
mod terms;
mod texts;
mod token_reads;
mod tokenizer_files;
mod tuning;
mod twin;
mod values;
mod view;

pub use bands::Bucket;
pub use batch::{Batch, NewDocument};
pub use blocks::Blocked;
pub use check::{Depth, Fault, check};
pub use digest::digest;
pub use error::StoreError;
pub use header::Header;
pub use indexed::{Indexed, indexed};
pub use lineage::{MANY, Roots};
pub use migrate::current as format_version;
pub use numbers::ColumnBlock;
pub use open::{Writer, create};
pub use reading::read;
pub use records::{
    CommitRecord, EpochRecord, FileRecord, OriginalFile, RedoRecord, RejectRecord, SnapshotRecord,
    SourceRecord, State, TokenizerRecord,
};
pub use redo::Totals;
pub use standings::BlockStandings;
pub use templates::TemplateRecord;
pub use texts::TextEncoder;
pub use token_reads::StoredIds;
pub use tokenizer_files::TokenizerParts;
pub use tuning::Memory;
pub use twin::Twin;
pub use values::{ColumnValues, Offsets};
pub use view::View;
