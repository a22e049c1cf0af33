//! Writers: rows to files. One module a format, all of the same shape: created for a directory,
//! given chunks of rows in order, finished for the list of files.
//!
//! `files` hashes what is written; `table` writes Parquet row groups, `segments` the
//! columns that say what is in a row; `bin` writes token files with their segment tables, of which `megatron` and `raw` are the two kinds. No file holds a clock, a
//! path or a random id: the same rows give the same bytes.

mod bin;
mod files;
mod megatron;
mod parquet;
mod raw;
mod segments;
mod table;

use super::error::EpochError;
use super::ids::Row;
use super::manifest::ManifestFile;
use super::plan::Plan;
use super::recipe::Format;
use super::width::Width;
use std::path::Path;

/// Writes the rows of an epoch into shards.
pub(super) trait Writer: Send {
    /// Appends rows.
    fn write(&mut self, rows: &[Row]) -> Result<(), EpochError>;
    /// Completes the files and lists them.
    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError>;
}

/// What a writer needs to know.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// Names of the sources, by index.
    pub sources: Vec<String>,
    /// Largest size of a shard, in bytes.
    pub shard_bytes: u64,
    /// The type token ids are written as.
    pub width: Width,
    pub format: Format,
    /// Vocabulary size of the tokenizer.
    pub vocab: u32,
}

impl Options {
    /// The error of an id in `row` that the type does not hold.
    fn too_large(&self, id: u32, row: &Row) -> EpochError {
        EpochError::IdTooLarge {
            id,
            document: row.segments.first().map_or(0, |segment| segment.document.0),
            width: self.width.name(),
            format: self.format.name(),
            vocab: self.vocab,
        }
    }
}

/// The writer of a plan's format into `dir`, which exists.
pub(super) fn writer(plan: &Plan, dir: &Path) -> Box<dyn Writer> {
    let format = plan.recipe.output.format;
    let vocab = plan.tokenizer.vocab_size;
    let options = Options {
        sources: plan.sources.iter().map(|source| source.name.clone()).collect(),
        shard_bytes: plan.recipe.output.shard_bytes,
        width: Width::of(format, vocab),
        format,
        vocab,
    };
    match format {
        Format::Megatron => Box::new(megatron::create(dir, options)),
        Format::Parquet => Box::new(parquet::create(dir, options)),
        Format::Raw => Box::new(raw::create(dir, options)),
    }
}

fn shard_name(shard: u32, extension: &str) -> String {
    format!("shard-{shard:05}.{extension}")
}
