//! Streams an epoch without an export: any row, any batch, or all batches from one on, read ahead in a thread.
//!
//! A position in a run is (epoch, next global batch): a stream opened there gives what is left of the same sequence of
//! batches, for any number of ranks, whatever number of them there was before.

mod files;
mod gather;
mod ids;
mod prefetch;
mod row;
mod steps;
mod text;

pub(super) use files::{EpochFiles, IdFile, IdFileReader, PIECE_BYTES, consecutive_runs};
pub(super) use gather::Gatherer;
pub use ids::{IdBatch, IdSteps};
pub use prefetch::BatchStream;
pub(super) use row::NO_SOURCE;
pub use row::{EpochBatch, EpochRow};
pub use steps::EpochSteps;
pub use text::{RowPart, RowReport, RowSegment};

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchCursor, BatchSampler, BatchedRow, EpochIndex, OpenPlan, RankSharing};
use model::{Context, Error, ErrorKind};
use std::sync::Arc;
use steps::Reading;

/// Rows that are skipped rather than looked up again.
const NEAR_ROWS: u64 = 512;

/// Which batches of an epoch a stream gives: the first one, and the reader. By default all of them, from the first one
/// on, two of them read ahead.
///
/// ```
/// use corpusdb::epoch::StreamOptions;
///
/// let second_of_four = StreamOptions { from_batch: 100, ..StreamOptions::of_rank(1, 4) };
/// assert_eq!((second_of_four.prefetch, second_of_four.uneven), (2, false));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// The global batch to begin with, from 0: what [`EpochStream::state`](BatchStream::state) said of a run
    /// that continues.
    pub from_batch: u64,
    /// Which of the readers, from 0.
    pub rank: u64,
    /// How many readers the batches are divided among.
    pub world: u64,
    /// Steps that are read before they are asked for.
    pub prefetch: usize,
    /// Whether batches may be divided among readers that they do not divide among evenly: some readers then have a row
    /// less than others, or none, in turns. Else that is refused.
    pub uneven: bool,
    /// Rows that a reader has of a step where the recipe has no batches; at least 1.
    pub rows: u64,
    /// Whether a last step that has too few rows to give every reader one is left out for all of them. Rows of pads count:
    /// where they fill the last batch (`batch.tail = "pad"`), a reader may have nothing else of it.
    pub full_steps: bool,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            from_batch: 0,
            rank: 0,
            world: 1,
            prefetch: 2,
            uneven: false,
            rows: 1,
            full_steps: false,
        }
    }
}

impl StreamOptions {
    /// The part of reader `rank` of `world`, from the first batch on.
    #[must_use]
    pub fn of_rank(rank: u64, world: u64) -> Self {
        Self { rank, world, ..Self::default() }
    }

    /// Refuses a rank that is out of range.
    fn check_rank(&self) -> Result<(), EpochError> {
        if self.rank >= self.world {
            let (asked, there_are) = (self.rank, self.world);
            return Err(EpochError::OutOfRange { what: "rank", asked, there_are });
        }
        Ok(())
    }
}

/// An epoch of a plan, opened.
#[derive(Clone)]
pub struct Epoch {
    opened: Arc<OpenPlan>,
    sampler: BatchSampler,
    marks: Arc<EpochIndex>,
    /// Where ids come from; none: from the store.
    files: Option<Arc<EpochFiles>>,
}

impl Epoch {
    /// Opens epoch `epoch` of a plan.
    ///
    /// # Errors
    /// [`EpochError::Infeasible`] when `max_repeats` does not reach that far; [`EpochError::NoRows`] when no
    /// batch is full; [`EpochError::Stale`] when the store is not the plan's; [`EpochError::Interrupted`];
    /// [`EpochError::Store`].
    pub fn open(
        corpora: &Corpora,
        planned: &Plan,
        epoch: u64,
        context: &Context<'_>,
    ) -> Result<Self, EpochError> {
        planned.plan.check_feasible(epoch)?;
        let opened = OpenPlan::open(corpora, planned, OpenPurpose::Give, context.interrupt)?;
        let sampler = BatchSampler::of(&planned.plan);
        let marks = Arc::new(EpochIndex::of(&opened, &sampler, epoch, context.interrupt)?);
        marks.refuse_empty(&opened.plan)?;
        Ok(Self { opened, sampler, marks, files: None })
    }

    /// Rows, those of pads included.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.marks.rows + self.marks.pads
    }

    /// Global batches; rows where the recipe has no batches.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.marks.batches
    }

    pub(in crate::epoch) fn opened(&self) -> &OpenPlan {
        &self.opened
    }

    /// Its number.
    pub(in crate::epoch) fn number(&self) -> u64 {
        self.marks.epoch
    }

    /// This epoch with its ids from these files.
    pub(in crate::epoch) fn with_files(self, files: EpochFiles) -> Self {
        Self { files: Some(Arc::new(files)), ..self }
    }

    /// The row of the run that is the epoch's first: what `epoch extend` counts from.
    #[must_use]
    pub fn first_run_row(&self) -> u64 {
        self.marks.start.row
    }

    /// The row of the run that comes after `rows` rows were given from this epoch's beginning on, as trainers count
    /// them: batches times their rows, rows of pads included, over as many epochs as it takes; what fills no batch does
    /// not count.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when the run ends before; [`EpochError::Interrupted`];
    /// [`EpochError::Store`].
    pub fn run_row_after(&self, rows: u64, context: &Context<'_>) -> Result<u64, EpochError> {
        let mut marks = EpochIndex::clone(&self.marks);
        let mut left = rows;
        while left > marks.rows + marks.pads {
            let of_epoch = marks.rows + marks.pads;
            let before = (left - 1).checked_div(of_epoch).unwrap_or(u64::MAX);
            let alike = marks.alike(&self.opened).min(before);
            left -= alike * of_epoch;
            let next = marks.after(alike, &self.opened, &self.sampler, context.interrupt);
            marks = next.map_err(|error| match error {
                EpochError::Infeasible { .. } => EpochError::Recipe(format!(
                    "{rows} consumed rows are {left} more than the run of the plan has"
                )),
                other => other,
            })?;
        }
        // Rows of pads end an epoch and are none of the run.
        Ok(marks.start.row + left.min(marks.rows))
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
        let mut cursor = BatchCursor::at_row(&self.opened, &self.sampler, &self.marks, row)?;
        let given = cursor.next_row()?.ok_or_else(|| EpochError::bug("a row that is not there"))?;
        let mut rows = self.rows_with_ids(vec![(row, given)])?;
        rows.pop().ok_or_else(|| EpochError::bug("a row was not read"))
    }

    /// Rows by their numbers, in the order asked for; rows close to each other are looked up together.
    ///
    /// # Errors
    /// As [`Epoch::row`].
    pub fn rows_at(&self, numbers: &[u64]) -> Result<Vec<EpochRow>, EpochError> {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if let Some(asked) = sorted.last().copied().filter(|last| *last >= self.rows()) {
            return Err(EpochError::OutOfRange { what: "row", asked, there_are: self.rows() });
        }
        let mut given = Vec::with_capacity(sorted.len());
        let mut open: Option<(BatchCursor, u64)> = None;
        for row in sorted.iter().copied() {
            let mut cursor = match open.take().filter(|(_, at)| row - at < NEAR_ROWS) {
                Some((mut cursor, at)) => {
                    cursor.skip_rows(row - at)?;
                    cursor
                }
                None => BatchCursor::at_row(&self.opened, &self.sampler, &self.marks, row)?,
            };
            let found = cursor.next_row()?;
            given.push((row, found.ok_or_else(|| EpochError::bug("a row that is not there"))?));
            open = Some((cursor, row + 1));
        }
        let rows = self.rows_with_ids(given)?;
        let found = numbers.iter().map(|number| {
            let at = sorted.binary_search(number).ok();
            let row = at.and_then(|at| rows.get(at)).cloned();
            row.ok_or_else(|| EpochError::bug("a row was not read"))
        });
        found.collect()
    }

    /// What a reader has of the step that begins with its first batch ([`StreamOptions::from_batch`]): its part of that
    /// batch, or, where batches are of a token budget or there are none, one of the `world` batches from there on, without
    /// rows when the epoch ends before it.
    ///
    /// # Errors
    /// [`EpochError::OutOfRange`]; [`EpochError::Store`]; [`EpochError`] for ranks that batches do not divide among.
    pub fn batch(&self, options: &StreamOptions) -> Result<EpochBatch, EpochError> {
        let (batch, batches) = (options.from_batch, self.batches());
        if batch >= batches {
            return Err(EpochError::OutOfRange { what: "batch", asked: batch, there_are: batches });
        }
        let mut reading = self.reading(options)?;
        let next = reading.next()?.into_iter().next();
        let past = EpochError::OutOfRange { what: "batch", asked: batch, there_are: batches };
        next.map(|(batch, _)| batch).ok_or(past)
    }

    /// The steps of the epoch for one reader, some of them read ahead. Every reader of a world gets as many.
    ///
    /// # Errors
    /// [`EpochError::OutOfRange`] for a rank or a batch out of range; [`EpochError::Store`]; [`EpochError`] for ranks that
    /// batches do not divide among.
    pub fn stream(&self, options: &StreamOptions) -> Result<BatchStream, EpochError> {
        let reading = self.reading(options)?;
        BatchStream::start(reading, (self.marks.epoch, options.from_batch), options.prefetch)
    }

    fn reading(&self, options: &StreamOptions) -> Result<Reading, EpochError> {
        self.check_share(options)?;
        let from = options.from_batch;
        let cursor = BatchCursor::at(&self.opened, &self.sampler, &self.marks, from)?;
        Ok(Reading::new(self.clone(), cursor, options))
    }

    fn check_share(&self, options: &StreamOptions) -> Result<(), EpochError> {
        options.check_rank()?;
        let (from, world) = (options.from_batch, options.world);
        // A run that stood at the very end continues there, with nothing.
        let batches = self.batches();
        if from > batches {
            return Err(EpochError::OutOfRange { what: "batch", asked: from, there_are: batches });
        }
        if let RankSharing::Divided(rows) = self.sampler.sharing()
            && !(options.uneven || rows.is_multiple_of(world))
        {
            let message = format!(
                "batches of {rows} rows do not divide evenly among {world} ranks, and ranks with unequal work wait for each other or hang; \
                 use a number of ranks that divides {rows}, make batch.rows a multiple of {world}, or allow it (`uneven=`)"
            );
            return Err(Error::of(ErrorKind::BadRecipe, message).into());
        }
        Ok(())
    }

    fn rows_with_ids(&self, rows: Vec<(u64, BatchedRow)>) -> Result<Vec<EpochRow>, EpochError> {
        let (numbers, given): (Vec<u64>, Vec<BatchedRow>) = rows.into_iter().unzip();
        let gatherer = Gatherer::new(&self.opened);
        let rows = match &self.files {
            Some(files) => {
                let mut rows = gatherer.rows_without_ids(&given)?;
                IdFileReader::new(Arc::clone(files)).fill(&numbers, &mut rows)?;
                rows
            }
            None => gatherer.rows(&given)?,
        };
        Ok(self.to_epoch_rows(numbers, rows))
    }

    /// Rows without their ids.
    fn rows_without_ids(&self, rows: Vec<(u64, BatchedRow)>) -> Result<Vec<EpochRow>, EpochError> {
        let (numbers, given): (Vec<u64>, Vec<BatchedRow>) = rows.into_iter().unzip();
        let rows = Gatherer::new(&self.opened).rows_without_ids(&given)?;
        Ok(self.to_epoch_rows(numbers, rows))
    }

    fn to_epoch_rows(&self, numbers: Vec<u64>, rows: Vec<EpochRow>) -> Vec<EpochRow> {
        let masked = self.opened.masked();
        let named = numbers.into_iter().zip(rows).map(|(number, mut row)| {
            row.number = number;
            row.trained = row.trained.filter(|_| masked);
            let source = self.opened.sources.get(row.source);
            row.source_name = source.map(|of| Arc::clone(&of.rules().name));
            row
        });
        named.collect()
    }
}
