//! Cuts rows into groups and shards, the same way for every format.
//!
//! Where groups and shards end depends on the rows since the shard began and on nothing else: not on how many rows come
//! at a time, nor on what earlier shards held. So a build continues after any finished shard and writes the bytes it
//! would have written.

use super::{Shard, ShardFormat};
use crate::epoch::build::{ExportCounts, ManifestFile, RowCounts};
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::epoch::pack::own;
use crate::epoch::recipe::Unit;
use crate::model::LossSpan;
use crate::output::{FileRename, ShardRecord};
use serde::{Deserialize, Serialize};

/// Rows of a group, at most: of a row group of Parquet, a record batch of Arrow.
const GROUP_ROWS: usize = 1000;
/// Tokens at which a group ends, a row more at most.
const GROUP_TOKENS: usize = 1 << 20;
/// Rows of a shard, at most: counts and numbers of rows are i32 in several formats.
const SHARD_ROWS: u64 = i32::MAX as u64;

/// Where an epoch goes on behind a finished shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::epoch) struct EpochPosition {
    /// Rows of the epoch up to its end.
    pub rows: u64,
    /// What was counted in them.
    pub counts: ExportCounts,
}

pub(in crate::epoch) type FinishedShard = ShardRecord<EpochPosition>;

/// A directory whose shards are finished.
pub(in crate::epoch) struct FinishedDirectory {
    /// All its files, by their last names.
    pub files: Vec<ManifestFile>,
    /// Files that have other names as yet.
    pub renames: Vec<FileRename>,
    pub counts: ExportCounts,
}

/// The shards of an epoch under way.
pub(in crate::epoch) struct Shards {
    format: Box<dyn ShardFormat>,
    shard_bytes: u64,
    finished: Vec<FinishedShard>,
    open: Option<Box<dyn Shard>>,
    /// Rows and known bytes of the open shard, those waiting included.
    shard_rows: u64,
    shard_weight: u64,
    waiting: Vec<FilledRow>,
    waiting_tokens: usize,
    /// Rows of the epoch, those waiting included.
    rows: u64,
    counts: ExportCounts,
    /// What shares are counted in.
    unit: Unit,
}

impl Shards {
    /// Goes on after the shards in `finished`; `counts` are of none.
    pub(super) fn new(
        format: Box<dyn ShardFormat>,
        shard_bytes: u64,
        unit: Unit,
        counts: ExportCounts,
        finished: Vec<FinishedShard>,
    ) -> Self {
        let last = finished.last().map(|shard| shard.position.clone());
        let EpochPosition { rows, counts } = last.unwrap_or(EpochPosition { rows: 0, counts });
        Self {
            shard_weight: format.overhead(),
            format,
            shard_bytes,
            finished,
            open: None,
            shard_rows: 0,
            waiting: Vec::new(),
            waiting_tokens: 0,
            rows,
            counts,
            unit,
        }
    }

    /// Appends rows; gives `done` the rows that are written, to empty, and calls `finished` with all complete
    /// shards whenever one more is.
    ///
    /// # Errors
    /// Those of the format, of the file system, and of `finished`.
    pub fn write(
        &mut self,
        rows: Vec<FilledRow>,
        done: impl Fn(&mut Vec<FilledRow>),
        finished: impl Fn(&[FinishedShard]) -> Result<(), EpochError>,
    ) -> Result<(), EpochError> {
        for row in rows {
            let weight = self.format.weigh(&row);
            let is_full = self.shard_weight.saturating_add(weight) > self.shard_bytes
                || self.shard_rows >= SHARD_ROWS;
            if is_full && self.shard_rows > 0 {
                self.close(&done)?;
                finished(&self.finished)?;
            }
            self.shard_rows += 1;
            self.shard_weight = self.shard_weight.saturating_add(weight);
            self.rows += 1;
            self.counts.add(row.source, self.count(&row));
            self.waiting_tokens += row.ids.len();
            self.waiting.push(row);
            if self.waiting.len() >= GROUP_ROWS || self.waiting_tokens >= GROUP_TOKENS {
                self.append(&done)?;
                if self.open.as_ref().is_some_and(|shard| shard.is_full(self.shard_bytes)) {
                    self.close(&done)?;
                    finished(&self.finished)?;
                }
            }
        }
        Ok(())
    }

    fn count(&self, row: &FilledRow) -> RowCounts {
        // What the row before has too counts there.
        let repeated = u32::try_from(row.repeated).unwrap_or_default();
        let documents = own(&row.segments, repeated).filter(|segment| segment.offset == 0).count();
        let first = row.shape.spans.first().map_or(0, |span| span.start) + repeated;
        let amount = match self.unit {
            Unit::Tokens => row.own() as u64,
            Unit::Rows => 1,
            Unit::Documents => documents as u64,
            Unit::LossTokens => row.trained.as_ref().map_or(row.own() as u64, |spans| {
                let tokens =
                    |span: &LossSpan| u64::from(span.end - span.start.max(first).min(span.end));
                spans.iter().map(tokens).sum()
            }),
        };
        RowCounts { tokens: row.own(), pads: row.ids.len() - row.real, documents, amount }
    }

    /// Completes the last shard, with which it calls `finished`, and the files of the whole directory.
    ///
    /// # Errors
    /// As [`Shards::write`].
    pub fn finish(
        mut self,
        finished: impl Fn(&[FinishedShard]) -> Result<(), EpochError>,
    ) -> Result<FinishedDirectory, EpochError> {
        if self.shard_rows > 0 {
            self.close(&|_: &mut Vec<FilledRow>| ())?;
            finished(&self.finished)?;
        }
        let shards: Vec<_> = self.finished.into_iter().map(|shard| shard.files).collect();
        let renames = self.format.renames(&shards);
        let files = self.format.conclude(shards)?;
        Ok(FinishedDirectory { files, renames, counts: self.counts })
    }

    fn append(&mut self, done: &impl Fn(&mut Vec<FilledRow>)) -> Result<(), EpochError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut shard = match self.open.take() {
            Some(shard) => shard,
            None => {
                let number = u32::try_from(self.finished.len())
                    .map_err(|_| EpochError::bug("2^32 shards"))?;
                self.format.open(number, self.rows - self.waiting.len() as u64)?
            }
        };
        shard.append(&self.waiting)?;
        done(&mut self.waiting);
        self.waiting.clear();
        self.waiting_tokens = 0;
        self.open = Some(shard);
        Ok(())
    }

    fn close(&mut self, done: &impl Fn(&mut Vec<FilledRow>)) -> Result<(), EpochError> {
        self.append(done)?;
        if let Some(shard) = self.open.take() {
            let files = shard.finish()?;
            let position = EpochPosition { rows: self.rows, counts: self.counts.clone() };
            self.finished.push(ShardRecord { files, position });
        }
        self.shard_rows = 0;
        self.shard_weight = self.format.overhead();
        Ok(())
    }
}
