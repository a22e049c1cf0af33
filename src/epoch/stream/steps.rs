//! Reads the steps of one rank in the caller's thread, so the reader decides where the work is done.
//!
//! Ids of several steps are read together, since documents are found fastest in the order of the store.
//!
//! Real rows go over all ranks before pads. A loader leaves a last step without a row for every rank out for all, which
//! is fewer rows than ranks an epoch, and counts them; pads count as rows, since who asks for them wants to lose none.
//! A mean over no label is no number, and an all-reduce gives it to every rank: so batches for transformers without a
//! label say by what to divide the sum.

use super::{Epoch, EpochBatch, EpochRow, StreamOptions};
use crate::epoch::error::EpochError;
use crate::epoch::rows::RowRef;
use crate::epoch::run::{BatchCursor, BatchedRow, GlobalBatch, RankSharing};
use std::collections::VecDeque;
use std::ops::Range;
use std::vec::IntoIter;

/// What a rank has of the steps of an epoch, in order. Ends with the epoch or with an error.
///
/// Ids of several steps are read together, of the first one alone and then of ever more, within the memory of the
/// corpus; each step comes with the global batch after it.
pub struct EpochSteps {
    reading: Reading,
    /// Steps that are read.
    ready: IntoIter<(EpochBatch, u64)>,
    next: (u64, u64),
    over: bool,
}

impl Epoch {
    /// Streams like [`Epoch::stream`], without a thread that reads ahead.
    ///
    /// # Errors
    /// As [`Epoch::stream`].
    pub fn steps(&self, options: &StreamOptions) -> Result<EpochSteps, EpochError> {
        self.steps_every(options, 0, 1)
    }

    /// The steps of one reader among several that take turns: of [`Epoch::steps`], the first after `skip`, then every
    /// `stride`-th.
    ///
    /// # Errors
    /// As [`Epoch::stream`].
    pub fn steps_every(
        &self,
        options: &StreamOptions,
        skip: u64,
        stride: u64,
    ) -> Result<EpochSteps, EpochError> {
        let reading = self.reading(options)?;
        let next = (self.marks.epoch, options.from_batch);
        let mut steps = EpochSteps { reading, ready: Vec::new().into_iter(), next, over: false };
        steps.skip_steps(skip)?;
        steps.reading = steps.reading.with_stride(stride);
        Ok(steps)
    }

    /// The batch that a step begins with, the steps of all readers of this world counted from batch 0 on: what
    /// [`StreamOptions::from_batch`] is for [`Epoch::batch`].
    ///
    /// # Errors
    /// [`EpochError::OutOfRange`] for a step that the epoch does not have.
    pub fn first_batch_of(&self, step: u64, options: &StreamOptions) -> Result<u64, EpochError> {
        let there_are = self.steps_left(&StreamOptions { from_batch: 0, ..*options });
        if step >= there_are {
            return Err(EpochError::OutOfRange { what: "step", asked: step, there_are });
        }
        Ok(step * self.batches_of_step(options))
    }

    /// Steps that a reader with these options has, from its first batch on: as many as every other reader.
    #[must_use]
    pub fn steps_left(&self, options: &StreamOptions) -> u64 {
        let (world, left) = (options.world.max(1), self.left_from(options));
        let (steps, rows_of_last) = match self.sampler.sharing() {
            // Pads fill the last batch: a rank that has none of its rows has pads.
            RankSharing::Divided(rows) => (left, rows),
            RankSharing::Dealt => {
                let of_step = self.batches_of_step(options);
                let last = left % of_step;
                (left.div_ceil(of_step), if last == 0 { of_step } else { last })
            }
        };
        let is_short = options.full_steps && rows_of_last < world;
        steps.saturating_sub(u64::from(is_short))
    }

    /// Rows of the epoch that no reader with these options has, from its first batch on, since the last step has too few
    /// of them to give one to every reader.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn rows_left_out(&self, options: &StreamOptions) -> Result<u64, EpochError> {
        let steps = self.steps_left(options);
        if steps == self.steps_left(&StreamOptions { full_steps: false, ..*options }) {
            return Ok(0);
        }
        let batches = match self.sampler.sharing() {
            RankSharing::Divided(rows) => return Ok(rows),
            RankSharing::Dealt => self.left_from(options) % self.batches_of_step(options),
        };
        // How many rows batches of a token budget have is known only where they are.
        let first = self.marks.batches - batches;
        let cursor = BatchCursor::at(&self.opened, &self.sampler, &self.marks, first)?;
        Ok(self.rows().saturating_sub(cursor.next_row_number(&self.marks)))
    }

    /// Real tokens that each rank has of the next `steps` steps, or of as many as are left, from the first batch of the
    /// options on. Lengths alone are read, neither ids nor documents.
    ///
    /// # Errors
    /// As [`Epoch::stream`].
    pub fn rank_tokens(&self, options: &StreamOptions, steps: u64) -> Result<Vec<u64>, EpochError> {
        let mut reading = self.reading(options)?;
        let world = usize::try_from(options.world).unwrap_or(usize::MAX);
        let mut tokens = vec![0; world];
        for _ in 0..steps {
            if !reading.add_tokens(&mut tokens)? {
                break;
            }
        }
        Ok(tokens)
    }

    fn left_from(&self, options: &StreamOptions) -> u64 {
        self.marks.batches.saturating_sub(options.from_batch)
    }

    /// Batches of a step: one where ranks divide it, else as many as all ranks take.
    pub(super) fn batches_of_step(&self, options: &StreamOptions) -> u64 {
        let rows = if self.sampler.has_batches() { 1 } else { options.rows.max(1) };
        match self.sampler.sharing() {
            RankSharing::Divided(_) => 1,
            RankSharing::Dealt => options.world.max(1).saturating_mul(rows),
        }
    }
}

impl EpochSteps {
    /// (epoch, next global batch), as [`BatchStream::state`](super::BatchStream::state).
    #[must_use]
    pub const fn state(&self) -> (u64, u64) {
        self.next
    }

    /// Whether ids come from files: then nothing is left to several threads.
    #[must_use]
    pub fn reads_files(&self) -> bool {
        self.reading.reads_files()
    }

    /// Skips `steps` steps, or as many as are left, without reading ids.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn skip_steps(&mut self, steps: u64) -> Result<(), EpochError> {
        for _ in 0..steps {
            if let Some((_, next)) = self.ready.next() {
                self.next.1 = next;
                continue;
            }
            if self.over {
                break;
            }
            match self.reading.skip() {
                Ok(Some(next)) => self.next.1 = next,
                Ok(None) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The steps that are read together next, each with the global batch after it; none at the end. What a thread hands
    /// to another that makes something of it, so that both have work.
    ///
    /// # Errors
    /// As the iterator's.
    pub fn read_together(&mut self) -> Result<Vec<(EpochBatch, u64)>, EpochError> {
        let mut steps: Vec<_> = std::mem::take(&mut self.ready).collect();
        if steps.is_empty() && !self.over {
            steps = self.read()?;
        }
        if let Some((_, next)) = steps.last() {
            self.next.1 = *next;
        }
        Ok(steps)
    }

    /// The next step without the ids of its rows, unless they are read already: the documents that it has made. None at
    /// the end.
    ///
    /// # Errors
    /// As the iterator's.
    pub fn next_without_ids(&mut self) -> Result<Option<EpochBatch>, EpochError> {
        let next = match self.ready.next() {
            Some(read) => Some(read),
            None if self.over => None,
            None => self.reading.next_without_ids().inspect_err(|_| self.over = true)?,
        };
        let Some((batch, next)) = next else {
            self.over = true;
            return Ok(None);
        };
        self.next.1 = next;
        Ok(Some(batch))
    }

    fn read(&mut self) -> Result<Vec<(EpochBatch, u64)>, EpochError> {
        let read = self.reading.next();
        self.over = read.as_ref().map_or(true, Vec::is_empty);
        read
    }
}

impl Iterator for EpochSteps {
    type Item = Result<EpochBatch, EpochError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.len() == 0 && !self.over {
            match self.read() {
                Ok(steps) => self.ready = steps.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
        let (batch, next) = self.ready.next()?;
        self.next.1 = next;
        Some(Ok(batch))
    }
}

/// Tokens of files that are read together, unless a step has more: as many as stay in the caches of a core until
/// batches are made. More would save nothing, since files have rows in the order of the steps.
const FILE_TOKENS: u64 = 1 << 18;

/// The most tokens of the store that are read together, unless a step has more, with `memory` bytes for queries.
const fn most_tokens(memory: usize) -> u64 {
    // Ids take four bytes; those before them are made into batches meanwhile.
    memory as u64 / 4
}

/// Batches of one rank, in order.
pub(super) struct Reading {
    epoch: Epoch,
    batches: BatchCursor,
    /// Number of the next row of the epoch.
    row: u64,
    rank: u64,
    world: u64,
    /// Batches of a step where every rank has whole batches.
    batches_of_step: u64,
    /// Steps that are still to come, including those of other readers.
    left: u64,
    /// Every `stride`-th of the steps to come is read; the others belong to other readers.
    stride: u64,
    /// Tokens to be read together: of one step first, for which the caller waits, then ever more.
    tokens: u64,
    /// Steps whose ids are not read, in order.
    planned: VecDeque<RankRows>,
    /// What is behind them, where that is not a step.
    failed: Option<EpochError>,
    begun: bool,
}

/// What the rank has of a step, without ids.
struct RankRows {
    number: u64,
    /// Rows, with their numbers in the epoch.
    rows: Vec<(u64, BatchedRow)>,
    /// The batch after the step.
    next: u64,
}

impl RankRows {
    fn tokens(&self) -> u64 {
        let tokens = |row: &BatchedRow| row.row.as_ref().map_or(0, |row| row.tokens.into());
        self.rows.iter().map(|(_, row)| tokens(row)).sum()
    }
}

impl Reading {
    pub fn new(epoch: Epoch, batches: BatchCursor, options: &StreamOptions) -> Self {
        let row = batches.next_row_number(&epoch.marks);
        let left = epoch.steps_left(options);
        let batches_of_step = epoch.batches_of_step(options);
        let StreamOptions { rank, world, .. } = *options;
        Self {
            epoch,
            batches,
            row,
            rank,
            world,
            batches_of_step,
            left,
            stride: 1,
            tokens: 1,
            planned: VecDeque::new(),
            failed: None,
            begun: false,
        }
    }

    /// Whether ids come from files.
    pub const fn reads_files(&self) -> bool {
        self.epoch.files.is_some()
    }

    /// Keeps every `stride`-th step from here on, the next one first; nothing has been read yet.
    pub fn with_stride(self, stride: u64) -> Self {
        Self { stride: stride.max(1), begun: false, ..self }
    }

    /// What the rank has of the next steps, at least one unless the epoch ends, and of each the batch after it.
    pub fn next(&mut self) -> Result<Vec<(EpochBatch, u64)>, EpochError> {
        let mut tokens = self.planned.iter().map(RankRows::tokens).sum::<u64>();
        while self.failed.is_none() && (self.planned.is_empty() || tokens < self.tokens) {
            match self.plan() {
                Ok(Some(step)) => {
                    tokens += step.tokens();
                    self.planned.push_back(step);
                }
                Ok(None) => break,
                Err(error) => self.failed = Some(error),
            }
        }
        let memory = most_tokens(self.epoch.opened.corpora.query_memory());
        let most = if self.reads_files() { memory.min(FILE_TOKENS) } else { memory };
        self.tokens = tokens.saturating_mul(2).min(most);
        if self.planned.is_empty() {
            return self.failed.take().map_or_else(|| Ok(Vec::new()), Err);
        }
        let read = self.epoch.read_steps(self.planned.make_contiguous());
        if read.is_err() && self.planned.len() > 1 {
            // Steps before the one that cannot be read are given all the same.
            let first = self.planned.pop_front();
            return self.epoch.read_steps(first.as_slice());
        }
        self.planned.clear();
        read
    }

    /// What the rank has of the next step, without ids, and the batch after it; none at the end.
    pub fn next_without_ids(&mut self) -> Result<Option<(EpochBatch, u64)>, EpochError> {
        let step = match self.planned.pop_front() {
            Some(step) => Some(step),
            None => self.plan()?,
        };
        let Some(RankRows { number, rows, next }) = step else { return Ok(None) };
        Ok(Some((EpochBatch { number, rows: self.epoch.rows_without_ids(rows)? }, next)))
    }

    /// Skips the next step; the batch after it, none at the end.
    pub fn skip(&mut self) -> Result<Option<u64>, EpochError> {
        if let Some(step) = self.planned.pop_front() {
            return Ok(Some(step.next));
        }
        Ok(if self.skip_other_workers()? { self.pass_over()? } else { None })
    }

    /// Skips what other readers have before the next step of this one; whether the epoch continues.
    fn skip_other_workers(&mut self) -> Result<bool, EpochError> {
        let others = if self.begun { self.stride - 1 } else { 0 };
        self.begun = true;
        for _ in 0..others {
            if self.pass_over()?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pass_over(&mut self) -> Result<Option<u64>, EpochError> {
        if !self.enter_step() {
            return Ok(None);
        }
        for _ in 0..self.batches_of_step {
            let Some(batch) = self.batches.next_batch()? else { break };
            self.row += batch.count();
        }
        Ok(Some(self.batches.next_number()))
    }

    /// Whether there is a step more.
    const fn enter_step(&mut self) -> bool {
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }

    fn plan(&mut self) -> Result<Option<RankRows>, EpochError> {
        if !self.skip_other_workers()? || !self.enter_step() {
            return Ok(None);
        }
        match self.epoch.sampler.sharing() {
            RankSharing::Divided(_) => self.divide(),
            RankSharing::Dealt => self.deal(),
        }
    }

    fn divide(&mut self) -> Result<Option<RankRows>, EpochError> {
        let number = self.batches.next_number();
        let Some(batch) = self.batches.next_batch()? else { return Ok(None) };
        let count = (batch.rows.len() as u64, batch.pads);
        let mine = self.epoch.sampler.places(number, count, self.rank, self.world);
        let rows = self.rows(number, &batch, &mine);
        self.row += batch.count();
        Ok(Some(RankRows { number, rows, next: number + 1 }))
    }

    /// Batches of the step that begins with batch `first`, where they are dealt whole.
    fn dealt(&self, first: u64) -> u64 {
        self.batches_of_step.min(self.epoch.batches() - first)
    }

    /// The batches of that step that a rank has: as many as every rank or, where the epoch ends within the step, the rest
    /// go to the ranks one after the other.
    fn dealt_to(&self, first: u64, rank: u64) -> Range<u64> {
        let turn = RankSharing::batch_of_rank(first, rank, self.world);
        let left = self.dealt(first);
        let (each, more) = (left / self.world, left % self.world);
        let number = first + turn * each + turn.min(more);
        number..number + each + u64::from(turn < more)
    }

    fn deal(&mut self) -> Result<Option<RankRows>, EpochError> {
        let first = self.batches.next_number();
        let dealt = self.dealt_to(first, self.rank);
        let mut mine = RankRows { number: dealt.start, rows: Vec::new(), next: first };
        for at in first..first + self.dealt(first) {
            let Some(batch) = self.batches.next_batch()? else { break };
            let count = batch.count();
            if dealt.contains(&at) {
                let all: Vec<u64> = (0..count).collect();
                mine.rows.extend(self.rows(at, &batch, &all));
            }
            self.row += count;
        }
        mine.next = self.batches.next_number();
        Ok(Some(mine))
    }

    /// Adds the real tokens that each rank has of the next step; whether there was one.
    fn add_tokens(&mut self, of_ranks: &mut [u64]) -> Result<bool, EpochError> {
        if !self.enter_step() {
            return Ok(false);
        }
        let (first, world) = (self.batches.next_number(), self.world);
        let tokens = |row: &RowRef| u64::from(row.tokens) + u64::from(row.repeated);
        if let RankSharing::Divided(_) = self.epoch.sampler.sharing() {
            let Some(batch) = self.batches.next_batch()? else { return Ok(false) };
            let count = (batch.rows.len() as u64, batch.pads);
            for (rank, sum) in (0..).zip(of_ranks) {
                let places = self.epoch.sampler.places(first, count, rank, world);
                let rows =
                    places.iter().filter_map(|at| batch.rows.get(usize::try_from(*at).ok()?));
                *sum += rows.map(tokens).sum::<u64>();
            }
            return Ok(true);
        }
        let mut dealt = Vec::new();
        for _ in 0..self.dealt(first) {
            let Some(batch) = self.batches.next_batch()? else { break };
            dealt.push(batch.rows.iter().map(tokens).sum::<u64>());
        }
        for (rank, sum) in (0..).zip(of_ranks) {
            let mine = self.dealt_to(first, rank).filter_map(|at| usize::try_from(at - first).ok());
            *sum += mine.filter_map(|at| dealt.get(at)).sum::<u64>();
        }
        Ok(true)
    }

    /// The rows of a batch at these places.
    fn rows(&self, number: u64, batch: &GlobalBatch, places: &[u64]) -> Vec<(u64, BatchedRow)> {
        let number = self.epoch.sampler.has_batches().then_some(number);
        let width = batch.width(&self.epoch.opened.plan);
        let given = places.iter().map(|at| {
            let row = usize::try_from(*at).ok().and_then(|at| batch.rows.get(at)).cloned();
            (self.row + at, BatchedRow { row, batch: number, width })
        });
        given.collect()
    }
}

impl Epoch {
    /// The rows of steps, read together.
    fn read_steps(&self, steps: &[RankRows]) -> Result<Vec<(EpochBatch, u64)>, EpochError> {
        let rows = steps.iter().flat_map(|step| step.rows.iter().cloned()).collect();
        let mut rows: std::vec::IntoIter<EpochRow> = self.rows_with_ids(rows)?.into_iter();
        let batches = steps.iter().map(|step| {
            let rows = rows.by_ref().take(step.rows.len()).collect();
            (EpochBatch { number: step.number, rows }, step.next)
        });
        Ok(batches.collect())
    }
}
