//! The store: the only code that names RocksDB.
//!
//! Use it to read rows one by one where a query would be a detour: [`Corpus::view`](crate::Corpus::view) gives a
//! [`View`], one committed moment. The records of sources, commits, snapshots, tokenizers and plans are here, the faults
//! that a check finds, and the reasons for which a corpus cannot be opened ([`StoreError`]).
//!
//! Inside: `reading` opens a [`View`], `open` a writer, `batch` is one commit. [`columns`] is the table of families,
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
pub(crate) mod fields;
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

pub use crate::model::{CommitSeq, FieldDeclaration, LossSpan, SourceId, TextForm, TokenizerId};
pub(crate) use bands::Bucket;
pub(crate) use batch::{Batch, NewDocument};
pub(crate) use blocks::Blocked;
pub(crate) use check::check;
pub use check::{Depth, Fault};
pub(crate) use digest::digest;
pub use error::StoreError;
pub use header::Header;
pub(crate) use indexed::{Indexed, indexed};
pub(crate) use lineage::{MANY, Roots};
pub use migrate::current as format_version;
pub(crate) use numbers::ColumnBlock;
pub(crate) use open::{Writer, create};
pub(crate) use reading::read;
pub use records::{
    CommitRecord, EpochRecord, OriginalFile, RejectRecord, SnapshotRecord, SourceRecord, State,
    TokenizerRecord,
};
pub(crate) use records::{FileRecord, RedoRecord};
pub(crate) use redo::Totals;
pub(crate) use standings::BlockStandings;
pub use templates::TemplateRecord;
pub(crate) use texts::TextEncoder;
pub use token_reads::StoredIds;
pub(crate) use tokenizer_files::TokenizerParts;
pub(crate) use tuning::Memory;
pub use twin::Twin;
pub(crate) use values::{ColumnValues, Offsets};
pub use view::View;
