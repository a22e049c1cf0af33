//! Cuts rows into groups and shards, the same way for every format, and encodes groups on any thread.
//!
//! Where groups and shards end depends on the rows since the shard began and on nothing else: not on how many rows come
//! at a time, nor on what earlier shards held. So a build continues after any finished shard and writes the bytes it
//! would have written.

use super::columns::token_batch;
use super::spec::RowContext;
use super::{ExportCounts, RowCounts};
use crate::epoch::error::EpochError;
use crate::epoch::pack::without_repeated;
use crate::epoch::recipe::MixUnit;
use crate::epoch::stream::EpochRow;
use files::output::{
    BatchColumn, EncodedRows, FileRename, ManifestFile, RowFormat, RowShard, RowSize, ShardRecord,
};
use model::LossSpan;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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
    groups: GroupEncoder,
    dir: PathBuf,
    finished: Vec<FinishedShard>,
    open: Option<Box<dyn RowShard>>,
    /// Whether rows tell the bytes of a shard; else only encoding does.
    is_weighed: bool,
    /// Rows of the open shard that are written.
    open_rows: u64,
    /// Rows and known bytes of the shard that rows are added to, those that are not written yet included.
    shard_rows: u64,
    shard_bytes: u64,
    waiting: Vec<EpochRow>,
    waiting_tokens: usize,
    steps: Vec<ShardStep>,
    steps_tokens: usize,
    /// Tokens of groups that may be encoded at a time.
    most_tokens: usize,
    threads: usize,
    /// Rows of the epoch, those that are not written yet included.
    rows: u64,
    counts: ExportCounts,
    /// What shares are counted in.
    unit: MixUnit,
}

/// Makes rows into what their format appends, on any thread.
struct GroupEncoder {
    format: &'static dyn RowFormat,
    context: RowContext,
    columns: Vec<BatchColumn>,
}

impl GroupEncoder {
    /// `end` is the row of the epoch behind the group; `done` is given its rows, to empty.
    fn encode(
        &self,
        mut group: Vec<EpochRow>,
        end: u64,
        done: &impl Fn(&mut Vec<EpochRow>),
    ) -> Result<EncodedRows, EpochError> {
        let rows: Vec<&EpochRow> = group.iter().collect();
        let first = end - rows.len() as u64;
        let batch = token_batch(&rows, &self.columns, first, &self.context)?;
        done(&mut group);
        Ok(self.format.encode(&self.context.spec, batch)?)
    }

    /// Bytes that a row adds to a shard, where rows tell them.
    fn row_bytes(&self, row: &EpochRow) -> Option<u64> {
        self.format.row_bytes(&self.context.spec, self.context.size(row))
    }

    fn shard_overhead(&self) -> u64 {
        self.format.shard_overhead(&self.context.spec)
    }
}

/// What is to be done next, and where the epoch is then.
struct ShardStep {
    kind: StepKind,
    behind: EpochPosition,
}

enum StepKind {
    /// Rows to be appended; in a format whose encoding alone tells bytes, the shard may be full then.
    Group(Vec<EpochRow>),
    /// The shard is complete.
    Close,
}

impl Shards {
    /// Goes on after the shards in `finished`, whose files are in `dir`; `counts` are of none. `memory` is for rows on
    /// their way through the format.
    pub fn new(
        format: &'static dyn RowFormat,
        context: RowContext,
        dir: PathBuf,
        unit: MixUnit,
        finished: Vec<FinishedShard>,
        memory: u64,
    ) -> Self {
        let counts = ExportCounts::new(context.sources.len());
        let last = finished.last().map(|shard| shard.position.clone());
        let EpochPosition { rows, counts } = last.unwrap_or(EpochPosition { rows: 0, counts });
        let columns = format.columns(&context.spec);
        let nothing = RowSize { tokens: 0, segments: 0, source: 0 };
        let is_weighed = format.row_bytes(&context.spec, nothing).is_some();
        // A column of four bytes, and what a format makes of it.
        let token_bytes = 12 * columns.len() as u64;
        let groups = GroupEncoder { format, context, columns };
        Self {
            shard_bytes: groups.shard_overhead(),
            groups,
            dir,
            finished,
            open: None,
            is_weighed,
            open_rows: 0,
            shard_rows: 0,
            waiting: Vec::new(),
            waiting_tokens: 0,
            steps: Vec::new(),
            steps_tokens: 0,
            most_tokens: usize::try_from(memory / token_bytes.max(1)).unwrap_or(usize::MAX),
            threads: rayon::current_num_threads(),
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
        rows: Vec<EpochRow>,
        done: impl Fn(&mut Vec<EpochRow>) + Sync,
        finished: impl Fn(&[FinishedShard]) -> Result<(), EpochError>,
    ) -> Result<(), EpochError> {
        let limit = self.groups.context.spec.shard_bytes;
        for row in rows {
            if let Some(bytes) = self.groups.row_bytes(&row) {
                let is_full =
                    self.shard_bytes.saturating_add(bytes) > limit || self.shard_rows >= SHARD_ROWS;
                if is_full && self.shard_rows > 0 {
                    self.close();
                }
                self.shard_bytes = self.shard_bytes.saturating_add(bytes);
            }
            self.shard_rows += 1;
            self.rows += 1;
            self.counts.add(row.source, self.count(&row));
            self.waiting_tokens += row.ids.len();
            self.waiting.push(row);
            if self.waiting.len() >= GROUP_ROWS || self.waiting_tokens >= GROUP_TOKENS {
                self.end_group();
            }
            if self.steps.len() >= self.threads || self.steps_tokens >= self.most_tokens {
                self.run(&done, &finished)?;
            }
        }
        self.run(&done, &finished)
    }

    fn count(&self, row: &EpochRow) -> RowCounts {
        // What the row before has too counts there.
        let repeated = u32::try_from(row.repeated).unwrap_or_default();
        let documents =
            without_repeated(&row.segments, repeated).filter(|segment| segment.offset == 0).count();
        let first = row.shape.spans.first().map_or(0, |span| span.start) + repeated;
        let amount = match self.unit {
            MixUnit::Tokens => row.own() as u64,
            MixUnit::Rows => 1,
            MixUnit::Documents => documents as u64,
            MixUnit::LossTokens => row.trained.as_ref().map_or(row.own() as u64, |spans| {
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
        self.close();
        self.run(&|_: &mut Vec<EpochRow>| (), &finished)?;
        let shards: Vec<_> = self.finished.into_iter().map(|shard| shard.files).collect();
        let GroupEncoder { format, context, .. } = self.groups;
        let renames = format.renames(&shards);
        let files = format.conclude(&context.spec, &self.dir, shards)?;
        Ok(FinishedDirectory { files, renames, counts: self.counts })
    }

    fn end_group(&mut self) {
        if !self.waiting.is_empty() {
            self.steps_tokens += std::mem::take(&mut self.waiting_tokens);
            let group = std::mem::take(&mut self.waiting);
            self.step(StepKind::Group(group));
        }
    }

    fn close(&mut self) {
        self.end_group();
        self.step(StepKind::Close);
        self.shard_rows = 0;
        self.shard_bytes = self.groups.shard_overhead();
    }

    fn step(&mut self, kind: StepKind) {
        let behind = EpochPosition { rows: self.rows, counts: self.counts.clone() };
        self.steps.push(ShardStep { kind, behind });
    }

    /// Encodes the groups of all steps side by side, then appends them in order.
    fn run(
        &mut self,
        done: &(impl Fn(&mut Vec<EpochRow>) + Sync),
        finished: &impl Fn(&[FinishedShard]) -> Result<(), EpochError>,
    ) -> Result<(), EpochError> {
        self.steps_tokens = 0;
        let steps = std::mem::take(&mut self.steps);
        let groups = &self.groups;
        let encode = |ShardStep { kind, behind }| {
            let group = match kind {
                StepKind::Group(group) => Some(groups.encode(group, behind.rows, done)),
                StepKind::Close => None,
            };
            (group, behind)
        };
        let encoded: Vec<_> = steps.into_par_iter().map(encode).collect();
        for (group, position) in encoded {
            let is_full = match group {
                Some(group) => self.append(group?)?,
                None => true,
            };
            if is_full && let Some(shard) = self.open.take() {
                self.open_rows = 0;
                let files = shard.finish()?;
                self.finished.push(ShardRecord { files, position });
                finished(&self.finished)?;
            }
        }
        Ok(())
    }

    /// Appends a group; whether the shard is full.
    fn append(&mut self, group: EncodedRows) -> Result<bool, EpochError> {
        let GroupEncoder { format, context, .. } = &self.groups;
        let mut shard = match self.open.take() {
            Some(shard) => shard,
            None => {
                let number = u32::try_from(self.finished.len())
                    .map_err(|_| EpochError::bug("2^32 shards"))?;
                format.create(&context.spec, &self.dir, number)?
            }
        };
        self.open_rows += group.rows.len() as u64;
        shard.append(group)?;
        let is_full = shard.is_full(context.spec.shard_bytes)
            || (!self.is_weighed && self.open_rows + GROUP_ROWS as u64 > SHARD_ROWS);
        self.open = Some(shard);
        Ok(is_full)
    }
}
