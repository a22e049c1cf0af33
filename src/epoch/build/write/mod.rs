//! Writers: rows to files. One module a format, all of the same shape: a [`ShardFormat`] opens shards, a
//! [`Shard`] takes groups of rows in order and is finished for the list of its files.
//!
//! `shards` cuts rows into groups and shards; `table` makes Parquet files of row groups, `segments` the columns that
//! say what is in a row; `bin` writes token files with their segment tables, with `megatron` and the layouts of `raw`
//! as kinds; `blocks` lays out the shards of `mds` and `litdata`. `limits` refuses what a format cannot hold before
//! anything is written. No file holds a clock, a path or a random id: the same rows give the same bytes.

mod arrow;
mod bin;
mod blocks;
mod columns;
mod datatrove;
mod json;
mod jsonl;
mod limits;
mod litdata;
mod llmc;
mod mds;
mod megatron;
mod olmo;
mod parquet;
mod printed;
mod raw;
mod segments;
mod shards;
mod table;
mod unpadded;

pub(in crate::epoch) use limits::check;
pub use printed::{BatchPrinter, BatchTable, StreamFormat, StreamViews};
pub(in crate::epoch) use shards::{EpochPosition, FinishedDirectory, FinishedShard, Shards};

use super::manifest::ExportCounts;
use super::width::Width;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::recipe;
use crate::epoch::recipe::{Column, Compression, Layout};
use crate::epoch::run::Opened;
use crate::model::LossSpan;
use crate::output::{FileRename, ManifestFile, OutputCompression};
use std::path::{Path, PathBuf};

/// How rows become the files of shards.
trait ShardFormat: Send {
    /// Bytes of a shard without rows, where a limit counts them.
    fn overhead(&self) -> u64 {
        0
    }
    /// Bytes that the row adds to the largest file of a shard; 0 where only encoding tells.
    fn weigh(&self, row: &FilledRow) -> u64;
    /// Begins shard `number`, whose first row is row `row` of the epoch.
    fn open(&self, number: u32, row: u64) -> Result<Box<dyn Shard>, EpochError>;
    /// The files that get other names once the number of shards is known, given those of each shard.
    fn renames(&self, shards: &[Vec<ManifestFile>]) -> Vec<FileRename> {
        let _ = shards;
        Vec::new()
    }
    /// Writes the files of the whole directory, given those of each shard; lists all, by their last names.
    fn conclude(&self, shards: Vec<Vec<ManifestFile>>) -> Result<Vec<ManifestFile>, EpochError> {
        Ok(shards.concat())
    }
}

/// A shard under way.
trait Shard: Send {
    /// Appends a group of rows.
    fn append(&mut self, rows: &[FilledRow]) -> Result<(), EpochError>;
    /// Whether another group would make it larger than `limit`, where only encoding tells.
    fn is_full(&self, limit: u64) -> bool {
        let _ = limit;
        false
    }
    /// Completes its files and lists them, the largest first.
    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError>;
}

/// How an output names and begins its files of bare ids: what stands before and behind the number of the shard, and the
/// bytes before the first id of one of so many rows.
pub(super) struct IdFiles {
    pub before: &'static str,
    pub behind: &'static str,
    pub header: fn(u64) -> u64,
}

/// The files in which an output has rows as bare ids end to end; none where it has no such files.
pub(super) fn id_files(output: &recipe::OutputRecipe) -> Option<IdFiles> {
    let none: fn(u64) -> u64 = |_| 0;
    let (before, behind, header) = match (output.format, output.layout()) {
        (recipe::Format::Litdata, _) => ("chunk-0-", ".bin", blocks::table_bytes as fn(u64) -> u64),
        (recipe::Format::Megatron, _) => ("shard-", ".bin", none),
        (recipe::Format::Raw, Layout::LlmC) => ("shard-", ".bin", llmc::header as fn(u64) -> u64),
        (recipe::Format::Raw, Layout::Plain | Layout::Nanogpt) => ("shard-", ".bin", none),
        (recipe::Format::Raw, Layout::Datatrove) => ("", "_unshuffled.ds", none),
        (recipe::Format::Raw, Layout::Olmo) => ("part-0-", ".npy", none),
        _ => return None,
    };
    Some(IdFiles { before, behind, header })
}

/// What the files of a compression are wrapped in.
fn frame(compression: Compression) -> OutputCompression {
    match compression {
        Compression::None => OutputCompression::None,
        _ => OutputCompression::Zstd,
    }
}

/// What a writer needs to know.
#[derive(Clone, Debug)]
struct Options {
    dir: PathBuf,
    /// Names of the sources, by index.
    sources: Vec<String>,
    /// The type token ids are written as.
    width: Width,
    format: recipe::Format,
    compression: Compression,
    /// Vocabulary size of the tokenizer.
    vocab: u32,
    /// Name of the tokenizer.
    tokenizer: String,
    /// Whether a row is one document, or one fragment of a document.
    unpacked: bool,
    /// blake3 of the plan, in hexadecimal.
    plan: String,
    /// The columns of a row besides its ids and segments.
    columns: Vec<Column>,
    /// Whether segment tables say what is trained on: documents do.
    said: bool,
    /// Whether all is trained on whatever documents say.
    ignore_loss: bool,
}

impl Options {
    /// The error of an id in `row` that the type does not hold.
    fn too_large(&self, id: u32, row: &FilledRow) -> EpochError {
        EpochError::IdTooLarge {
            id,
            document: row.segments.first().map_or(0, |segment| segment.document.0),
            width: self.width.name(),
            format: self.format.name(),
            vocab: self.vocab,
        }
    }

    /// Appends the ids of a row in the type they are written as.
    fn encode(&self, row: &FilledRow, out: &mut Vec<u8>) -> Result<(), EpochError> {
        let max = self.width.max();
        // No early way out, so that the loop is of vector instructions.
        if row.ids.iter().fold(0, |largest, id| largest.max(*id)) > max {
            let id = row.ids.iter().copied().find(|id| *id > max).unwrap_or(max);
            return Err(self.too_large(id, row));
        }
        match self.width {
            // Checked above: the cast keeps every bit.
            Width::U16 => out.extend(row.ids.iter().flat_map(|id| (*id as u16).to_le_bytes())),
            Width::I32 | Width::U32 => out.extend(row.ids.iter().flat_map(|id| id.to_le_bytes())),
        }
        Ok(())
    }

    /// The loss mask of a row for the trainer; `None`: train on all of it.
    fn trained<'a>(&self, row: &'a FilledRow) -> Option<&'a [LossSpan]> {
        row.trained.as_deref().filter(|_| !self.ignore_loss)
    }

    fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// Bytes of the ids of a row.
    const fn id_bytes(&self, row: &FilledRow) -> u64 {
        (row.ids.len() * self.width.bytes()) as u64
    }

    fn source(&self, row: &FilledRow) -> &str {
        self.sources.get(row.source).map_or("", String::as_str)
    }

    /// The ids of a row as signed numbers.
    fn signed(&self, row: &FilledRow) -> Result<Vec<i32>, EpochError> {
        let mut ids = Vec::with_capacity(row.ids.len());
        self.put_signed(row, &mut ids)?;
        Ok(ids)
    }

    /// Appends the ids of a row as signed numbers.
    fn put_signed(&self, row: &FilledRow, out: &mut Vec<i32>) -> Result<(), EpochError> {
        let max = Width::I32.max();
        // Checked apart from the copy, so that both loops are of vector instructions.
        if row.ids.iter().fold(0, |largest, id| largest.max(*id)) > max {
            let id = row.ids.iter().copied().find(|id| *id > max).unwrap_or(max);
            return Err(self.too_large(id, row));
        }
        out.extend(row.ids.iter().map(|id| id.cast_signed()));
        Ok(())
    }
}

fn options(opened: &Opened, dir: &Path) -> Options {
    let plan = &opened.plan;
    let output = &plan.recipe.output;
    let vocab = plan.tokenizer.vocab_size;
    Options {
        dir: dir.to_path_buf(),
        sources: plan.sources.iter().map(|source| source.name.clone()).collect(),
        width: Width::of(output, vocab),
        format: output.format,
        compression: output.compression(),
        vocab,
        tokenizer: plan.tokenizer.name.clone(),
        unpacked: !plan.fixed_length(),
        plan: plan.hash_hex(),
        columns: output.columns(opened.masked(), opened.plan.pads_batches()),
        said: opened.trained.any(),
        ignore_loss: output.ignore_loss,
    }
}

/// The writer of a plan's format into `dir`, which exists and holds the files of `finished`.
pub(in crate::epoch) fn shards(
    opened: &Opened,
    dir: &Path,
    finished: Vec<FinishedShard>,
) -> Shards {
    let plan = &opened.plan;
    let output = &plan.recipe.output;
    let options = options(opened, dir);
    let format: Box<dyn ShardFormat> = match output.format {
        recipe::Format::Megatron => Box::new(megatron::format(options)),
        recipe::Format::Parquet => Box::new(parquet::format(options)),
        recipe::Format::Arrow => Box::new(arrow::format(options)),
        recipe::Format::Mds => Box::new(mds::format(options, output.shard_bytes)),
        recipe::Format::Litdata => Box::new(litdata::format(options, output.shard_bytes)),
        recipe::Format::Jsonl => Box::new(jsonl::format(options)),
        recipe::Format::Raw => match output.layout() {
            Layout::Plain | Layout::Nanogpt => Box::new(raw::format(options)),
            Layout::LlmC => Box::new(llmc::format(options)),
            Layout::Datatrove => Box::new(datatrove::format(options)),
            Layout::Olmo => Box::new(olmo::format(options)),
        },
    };
    let counts = ExportCounts::new(plan.sources.len());
    Shards::new(format, output.shard_bytes, plan.recipe.mix.unit, counts, finished)
}

fn shard_name(shard: u32, extension: &str) -> String {
    format!("shard-{shard:05}.{extension}")
}

#[cfg(test)]
mod tests;
