//! An epoch without an export: any row, any batch, or all batches from one on, read ahead in a thread.
//!
//! Where a run stands is (epoch, next global batch): a stream opened there gives what is left of the same
//! sequence of batches, for any number of ranks, whatever number of them there was before.

use super::arrange::Arrangement;
use super::error::EpochError;
use super::gather::Gatherer;
use super::ids::Row;
use super::index::Index;
use super::open::Opened;
use super::ordered::{GivenRow, Ordered};
use super::pack::Segment;
use super::plan::Plan;
use super::planned::Planned;
use super::rows::Purpose;
use super::views::Shape;
use crate::model::{Interrupt, LossSpan};
use crate::store::View;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// An epoch of a plan, opened.
#[derive(Clone)]
pub struct Epoch {
    opened: Arc<Opened>,
    arrangement: Arrangement,
    index: Arc<Index>,
}

/// A row with its ids.
#[derive(Clone, Debug)]
pub struct EpochRow {
    number: u64,
    source: Option<Arc<str>>,
    row: Row,
}

/// The rows that a rank has of a global batch.
#[derive(Clone, Debug)]
pub struct EpochBatch {
    /// Number of the batch in the epoch.
    pub number: u64,
    /// The rows of the rank.
    pub rows: Vec<EpochRow>,
}

impl EpochRow {
    /// Number of the row in the epoch.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The global batch it is in; none where the recipe has no batches.
    #[must_use]
    pub const fn batch(&self) -> Option<u64> {
        self.row.batch
    }

    /// Its source; none for a row of pads.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Its ids, pads included.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.row.ids
    }

    /// Where its segments lie: all views follow from it.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.row.shape
    }

    /// What its segments are, in order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.row.segments
    }

    /// Trained positions; none: all of the segments.
    #[must_use]
    pub fn trained(&self) -> Option<&[LossSpan]> {
        self.row.trained.as_deref()
    }

    pub(super) const fn inner(&self) -> &Row {
        &self.row
    }
}

impl Epoch {
    /// Opens epoch `epoch` of a plan.
    ///
    /// # Errors
    /// [`EpochError::Infeasible`] when `max_repeats` does not reach that far; [`EpochError::Stale`] when
    /// the store is not the plan's; [`EpochError::Interrupted`]; [`EpochError::Store`].
    pub fn open(
        view: &View,
        planned: &Planned,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        planned.plan.check_feasible(epoch)?;
        let opened = Opened::open(view, &planned.plan, &planned.pinned, Purpose::Give)?;
        let arrangement = Arrangement::of(&planned.plan);
        let index = Arc::new(Index::of(&opened, &arrangement, epoch, interrupt)?);
        Ok(Self { opened, arrangement, index })
    }

    /// Rows, those of pads included.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.index.rows + self.index.pads
    }

    /// Global batches; rows where the recipe has no batches.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.index.batches
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.opened.plan
    }

    /// The row of the run that is the epoch's first: what `epoch extend` counts from.
    #[must_use]
    pub fn first_run_row(&self) -> u64 {
        self.index.start.row
    }

    /// Row `row`: random access, by replaying the lengths of at most a thousand rows or a
    /// four-thousandth of the epoch.
    ///
    /// # Errors
    /// [`EpochError::OutOfRange`]; [`EpochError::Store`].
    pub fn row(&self, row: u64) -> Result<EpochRow, EpochError> {
        if row >= self.rows() {
            return Err(EpochError::OutOfRange { what: "row", asked: row, there_are: self.rows() });
        }
        let mut ordered = Ordered::at_row(&self.opened, &self.arrangement, &self.index, row)?;
        let given =
            ordered.next_row()?.ok_or_else(|| EpochError::bug("a row that is not there"))?;
        let mut rows = self.read(vec![(row, given)])?;
        rows.pop().ok_or_else(|| EpochError::bug("a row was not read"))
    }

    /// What rank `rank` of `world` has of batch `batch`.
    ///
    /// # Errors
    /// [`EpochError::OutOfRange`]; [`EpochError::Store`].
    pub fn batch(&self, batch: u64, rank: u64, world: u64) -> Result<EpochBatch, EpochError> {
        let batches = self.batches();
        if batch >= batches {
            return Err(EpochError::OutOfRange { what: "batch", asked: batch, there_are: batches });
        }
        let mut reading = self.reading(batch, rank, world)?;
        let next = reading.next()?;
        next.ok_or_else(|| EpochError::bug("a batch that is not there"))
    }

    /// What rank `rank` of `world` has of the batches from `from` on, `ahead` batches read before they are
    /// asked for.
    ///
    /// # Errors
    /// [`EpochError::OutOfRange`] for a rank that is none; [`EpochError::Store`].
    pub fn stream(
        &self,
        from: u64,
        rank: u64,
        world: u64,
        ahead: usize,
    ) -> Result<EpochStream, EpochError> {
        let mut reading = self.reading(from, rank, world)?;
        let (sender, receiver) = sync_channel(ahead);
        std::thread::Builder::new()
            .name("epoch stream".to_owned())
            .spawn(move || {
                while let Some(batch) = reading.next().transpose() {
                    let failed = batch.is_err();
                    // The stream was dropped when nobody receives.
                    if sender.send(batch).is_err() || failed {
                        break;
                    }
                }
            })
            .map_err(|error| EpochError::Threads { threads: 1, why: error.to_string() })?;
        Ok(EpochStream { receiver, next: (self.index.epoch, from) })
    }

    fn reading(&self, from: u64, rank: u64, world: u64) -> Result<Reading, EpochError> {
        if rank >= world {
            return Err(EpochError::OutOfRange { what: "rank", asked: rank, there_are: world });
        }
        let ordered = Ordered::at(&self.opened, &self.arrangement, &self.index, from)?;
        let row = ordered.next_row_number(&self.index);
        Ok(Reading { epoch: self.clone(), ordered, row, rank, world })
    }

    fn read(&self, rows: Vec<(u64, GivenRow)>) -> Result<Vec<EpochRow>, EpochError> {
        let (numbers, given): (Vec<u64>, Vec<GivenRow>) = rows.into_iter().unzip();
        let rows = Gatherer::new(&self.opened).rows(&given)?;
        let named = numbers.into_iter().zip(rows).map(|(number, row)| {
            let source = self.opened.sources.get(row.source);
            EpochRow { number, source: source.map(|of| Arc::clone(&of.rules().name)), row }
        });
        Ok(named.collect())
    }
}

/// Batches of one rank, in order.
struct Reading {
    epoch: Epoch,
    ordered: Ordered,
    /// Number of the next row of the epoch.
    row: u64,
    rank: u64,
    world: u64,
}

impl Reading {
    fn next(&mut self) -> Result<Option<EpochBatch>, EpochError> {
        let number = self.ordered.next_number();
        let Some(batch) = self.ordered.next_batch()? else { return Ok(None) };
        let count = batch.rows.len() as u64 + batch.pads;
        let mine = self.epoch.arrangement.slice(count, self.rank, self.world);
        let has_batches = self.epoch.arrangement.has_batches();
        let given = mine.into_iter().map(|at| {
            let row = usize::try_from(at).ok().and_then(|at| batch.rows.get(at)).cloned();
            (self.row + at, GivenRow { row, batch: has_batches.then_some(number) })
        });
        let rows = self.epoch.read(given.collect())?;
        self.row += count;
        Ok(Some(EpochBatch { number, rows }))
    }
}

/// The batches of an epoch that one rank has, in order, read ahead. Ends with the epoch or with an error.
pub struct EpochStream {
    receiver: Receiver<Result<EpochBatch, EpochError>>,
    next: (u64, u64),
}

impl EpochStream {
    /// (epoch, next global batch): a stream opened there, of any rank and world, goes on from here.
    #[must_use]
    pub const fn state(&self) -> (u64, u64) {
        self.next
    }
}

impl Iterator for EpochStream {
    type Item = Result<EpochBatch, EpochError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.receiver.recv().ok()?;
        if let Ok(batch) = &batch {
            self.next.1 = batch.number + 1;
        }
        Some(batch)
    }
}
