//! Encodes groups of formats whose rows are bytes one after another, in parallel, and writes them to a file.

use crate::output::compression::CompressedFile;
use crate::output::error::WriteError;
use crate::output::files::ManifestFile;
use crate::output::format::{EncodedGroup, GroupContent, ShardFile};
use crate::output::shards::row_bytes;
use arrow::array::RecordBatch;
use rayon::prelude::*;

/// Encodes the batches of a group side by side. `encode` appends the rows of a batch, and gives for each column how many
/// values the format cannot hold.
pub(super) fn in_parallel(
    rows: &[RecordBatch],
    encode: impl Fn(&RecordBatch, &mut Vec<u8>) -> Result<Vec<u64>, WriteError> + Sync,
) -> Result<EncodedGroup, WriteError> {
    let encoded = |rows: &RecordBatch| {
        let values: u64 = row_bytes(rows).iter().sum();
        // Most rows take little more than their values.
        let mut bytes = Vec::with_capacity(usize::try_from(values + values / 16).unwrap_or(0));
        let lost = encode(rows, &mut bytes)?;
        Ok((bytes, lost))
    };
    let encoded: Vec<(Vec<u8>, Vec<u64>)> =
        rows.par_iter().map(encoded).collect::<Result<_, WriteError>>()?;
    let mut lost = vec![0; rows.first().map_or(0, RecordBatch::num_columns)];
    let add = |of: &Vec<u64>, lost: &mut Vec<u64>| {
        lost.iter_mut().zip(of).for_each(|(sum, more)| *sum += more);
    };
    encoded.iter().for_each(|(_, of)| add(of, &mut lost));
    Ok(EncodedGroup {
        rows: rows.iter().map(|rows| rows.num_rows() as u64).sum(),
        lost,
        content: GroupContent::Bytes(encoded.into_iter().map(|(bytes, _)| bytes).collect()),
    })
}

/// A file or a stream of such rows under way.
pub(super) struct LineFile<'a> {
    file: CompressedFile<'a>,
    rows: u64,
}

impl<'a> LineFile<'a> {
    pub const fn new(file: CompressedFile<'a>) -> Self {
        Self { file, rows: 0 }
    }
}

impl ShardFile for LineFile<'_> {
    fn append(&mut self, group: EncodedGroup) -> Result<(), WriteError> {
        let GroupContent::Bytes(pieces) = group.content else {
            return Err(EncodedGroup::mismatch());
        };
        // How many pieces a group comes in depends on how its rows came. A compressor gets all of a group at once.
        let pieces = if self.file.is_compressed() { vec![pieces.concat()] } else { pieces };
        for piece in pieces {
            self.file.put_owned(piece)?;
        }
        self.rows += group.rows;
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError> {
        Ok(self.file.finish(self.rows)?.into_iter().collect())
    }
}
