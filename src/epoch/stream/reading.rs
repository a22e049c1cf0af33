//! The batches of an epoch that one rank has, read one after another.

use super::{Epoch, EpochBatch, EpochRow};
use crate::epoch::error::EpochError;
use crate::epoch::run::{BatchCursor, BatchedRow, GlobalBatch, Sharing};

/// Batches of one rank, in order.
pub(super) struct Reading {
    pub epoch: Epoch,
    pub batches: BatchCursor,
    /// Number of the next row of the epoch.
    pub row: u64,
    pub rank: u64,
    pub world: u64,
}

impl Reading {
    /// What the rank has of the next step, and the batch after that step.
    pub fn next(&mut self) -> Result<Option<(EpochBatch, u64)>, EpochError> {
        match self.epoch.arrangement.sharing() {
            Sharing::Divided(_) => self.divide(),
            Sharing::Dealt => self.deal(),
        }
    }

    /// Passes over the next step; the batch after it, none at the end.
    pub fn skip(&mut self) -> Result<Option<u64>, EpochError> {
        let batches = match self.epoch.arrangement.sharing() {
            Sharing::Divided(_) => 1,
            Sharing::Dealt => self.world,
        };
        let first = self.batches.next_number();
        for _ in 0..batches {
            let Some(batch) = self.batches.next_batch()? else { break };
            self.row += batch.count();
        }
        let next = self.batches.next_number();
        Ok((next > first).then_some(next))
    }

    fn divide(&mut self) -> Result<Option<(EpochBatch, u64)>, EpochError> {
        let number = self.batches.next_number();
        let Some(batch) = self.batches.next_batch()? else { return Ok(None) };
        let count = batch.count();
        let mine = self.epoch.arrangement.slice(number, count, self.rank, self.world);
        let rows = self.rows(number, &batch, &mine)?;
        self.row += count;
        Ok(Some((EpochBatch { number, rows }, number + 1)))
    }

    fn deal(&mut self) -> Result<Option<(EpochBatch, u64)>, EpochError> {
        let first = self.batches.next_number();
        let number = first + Sharing::turn(first, self.rank, self.world);
        let mut mine = EpochBatch { number, rows: Vec::new() };
        for at in first..first.saturating_add(self.world) {
            let Some(batch) = self.batches.next_batch()? else { break };
            let count = batch.count();
            if at == number {
                let all: Vec<u64> = (0..count).collect();
                mine.rows = self.rows(number, &batch, &all)?;
            }
            self.row += count;
        }
        let next = self.batches.next_number();
        Ok((next > first).then_some((mine, next)))
    }

    /// The rows of a batch at these places.
    fn rows(
        &self,
        number: u64,
        batch: &GlobalBatch,
        places: &[u64],
    ) -> Result<Vec<EpochRow>, EpochError> {
        let number = self.epoch.arrangement.has_batches().then_some(number);
        let width = batch.width(&self.epoch.opened.plan);
        let given = places.iter().map(|at| {
            let row = usize::try_from(*at).ok().and_then(|at| batch.rows.get(at)).cloned();
            (self.row + at, BatchedRow { row, batch: number, width })
        });
        self.epoch.read(given.collect())
    }
}
