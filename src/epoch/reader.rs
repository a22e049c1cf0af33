//! An epoch without an export: any row, any batch, or all batches from one on, read ahead in a thread.
//!
//! Where a run stands is (epoch, next global batch): a stream opened there gives what is left of the same
//! sequence of batches, for any number of ranks, whatever number of them there was before.

use super::arrange::{Arranged, Arrangement, Sharing};
use super::error::EpochError;
use super::gather::Gatherer;
use super::ids::Row;
use super::index::Index;
use super::open::Opened;
use super::ordered::{GivenRow, Ordered};
use super::pack::Segment;
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
    /// Whether batches may be divided unevenly.
    uneven: bool,
}

/// A row with its ids.
#[derive(Clone, Debug)]
pub struct EpochRow {
    number: u64,
    source: Option<Arc<str>>,
    row: Row,
}

/// The rows that a rank has of a step.
#[derive(Clone, Debug)]
pub struct EpochBatch {
    /// Number of the batch in the epoch; past the last for a rank that the last step has no batch for.
    pub number: u64,
    /// The rows of the rank; none where the last step has no batch for it.
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

    /// How many tokens at its beginning the row before has too (`pack.options.overlap`): 0 or 1.
    #[must_use]
    pub const fn repeated(&self) -> usize {
        self.row.repeated
    }

    /// Trained positions; none: all of the segments, also where the recipe ignores what documents say.
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
    /// [`EpochError::Infeasible`] when `max_repeats` does not reach that far; [`EpochError::NoRows`] when no
    /// batch is full; [`EpochError::Stale`] when the store is not the plan's; [`EpochError::Interrupted`];
    /// [`EpochError::Store`].
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
        index.refuse_empty(&opened.plan)?;
        Ok(Self { opened, arrangement, index, uneven: false })
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

    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The row of the run that is the epoch's first: what `epoch extend` counts from.
    #[must_use]
    pub fn first_run_row(&self) -> u64 {
        self.index.start.row
    }

    /// The row of the run that comes after `rows` rows were given from this epoch's beginning on: rows of
    /// pads count, and what fills no batch does not.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when the run ends before; [`EpochError::Interrupted`];
    /// [`EpochError::Store`].
    pub fn run_row_after(&self, rows: u64, interrupt: &Interrupt) -> Result<u64, EpochError> {
        let mut index = Index::clone(&self.index);
        let mut left = rows;
        while left > index.rows + index.pads {
            left -= index.rows + index.pads;
            index = index.next(&self.opened, &self.arrangement, interrupt).map_err(|error| {
                match error {
                    EpochError::Infeasible { .. } => EpochError::Recipe(format!(
                        "the run of the plan ends {left} rows before the {rows} that are said to be consumed"
                    )),
                    other => other,
                }
            })?;
        }
        // Rows of pads end an epoch and are none of the run.
        Ok(index.start.row + left.min(index.rows))
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

    /// Lets batches be divided among ranks that they do not divide among evenly: some ranks then have a row
    /// less than others, or none, in turns.
    #[must_use]
    pub fn allow_uneven(self) -> Self {
        Self { uneven: true, ..self }
    }

    /// What rank `rank` of `world` has of the step that begins with batch `batch`: its part of that batch, or,
    /// where batches are of a token budget or there are none, one of the `world` batches from there on,
    /// without rows when the epoch ends before it.
    ///
    /// # Errors
    /// [`EpochError::OutOfRange`]; [`EpochError::Uneven`]; [`EpochError::Store`].
    pub fn batch(&self, batch: u64, rank: u64, world: u64) -> Result<EpochBatch, EpochError> {
        let batches = self.batches();
        if batch >= batches {
            return Err(EpochError::OutOfRange { what: "batch", asked: batch, there_are: batches });
        }
        let mut reading = self.reading(batch, rank, world)?;
        let next = reading.next()?;
        let (batch, _) = next.ok_or_else(|| EpochError::bug("a batch that is not there"))?;
        Ok(batch)
    }

    /// What rank `rank` of `world` has of the steps from batch `from` on, `ahead` of them read before they are
    /// asked for. Every rank has as many.
    ///
    /// # Errors
    /// [`EpochError::OutOfRange`] for a rank that is none, or a batch beyond the end; [`EpochError::Uneven`];
    /// [`EpochError::Store`].
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
                loop {
                    let message = match reading.next() {
                        Ok(Some((batch, next))) => Message::Batch(batch, next),
                        Ok(None) => Message::End,
                        Err(error) => Message::Failed(error),
                    };
                    let last = !matches!(message, Message::Batch(..));
                    // The stream was dropped when nobody receives.
                    if sender.send(message).is_err() || last {
                        break;
                    }
                }
            })
            .map_err(|error| EpochError::Threads { threads: 1, why: error.to_string() })?;
        Ok(EpochStream { receiver, next: (self.index.epoch, from), over: false })
    }

    fn reading(&self, from: u64, rank: u64, world: u64) -> Result<Reading, EpochError> {
        if rank >= world {
            return Err(EpochError::OutOfRange { what: "rank", asked: rank, there_are: world });
        }
        // A run that stood at the very end goes on there, with nothing.
        let batches = self.batches();
        if from > batches {
            return Err(EpochError::OutOfRange { what: "batch", asked: from, there_are: batches });
        }
        if let Sharing::Divided(rows) = self.arrangement.sharing()
            && !(self.uneven || rows.is_multiple_of(world))
        {
            return Err(EpochError::Uneven { rows, world });
        }
        let ordered = Ordered::at(&self.opened, &self.arrangement, &self.index, from)?;
        let row = ordered.next_row_number(&self.index);
        Ok(Reading { epoch: self.clone(), ordered, row, rank, world })
    }

    fn read(&self, rows: Vec<(u64, GivenRow)>) -> Result<Vec<EpochRow>, EpochError> {
        let (numbers, given): (Vec<u64>, Vec<GivenRow>) = rows.into_iter().unzip();
        let rows = Gatherer::new(&self.opened).rows(&given)?;
        let masked = self.opened.masked();
        let named = numbers.into_iter().zip(rows).map(|(number, mut row)| {
            row.trained = row.trained.filter(|_| masked);
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
    /// What the rank has of the next step, and the batch after that step.
    fn next(&mut self) -> Result<Option<(EpochBatch, u64)>, EpochError> {
        match self.epoch.arrangement.sharing() {
            Sharing::Divided(_) => self.divide(),
            Sharing::Dealt => self.deal(),
        }
    }

    fn divide(&mut self) -> Result<Option<(EpochBatch, u64)>, EpochError> {
        let number = self.ordered.next_number();
        let Some(batch) = self.ordered.next_batch()? else { return Ok(None) };
        let count = batch.count();
        let mine = self.epoch.arrangement.slice(number, count, self.rank, self.world);
        let rows = self.rows(number, &batch, &mine)?;
        self.row += count;
        Ok(Some((EpochBatch { number, rows }, number + 1)))
    }

    fn deal(&mut self) -> Result<Option<(EpochBatch, u64)>, EpochError> {
        let first = self.ordered.next_number();
        let number = first + Sharing::turn(first, self.rank, self.world);
        let mut mine = EpochBatch { number, rows: Vec::new() };
        for at in first..first.saturating_add(self.world) {
            let Some(batch) = self.ordered.next_batch()? else { break };
            let count = batch.count();
            if at == number {
                let all: Vec<u64> = (0..count).collect();
                mine.rows = self.rows(number, &batch, &all)?;
            }
            self.row += count;
        }
        let next = self.ordered.next_number();
        Ok((next > first).then_some((mine, next)))
    }

    /// The rows of a batch at these places.
    fn rows(
        &self,
        number: u64,
        batch: &Arranged,
        places: &[u64],
    ) -> Result<Vec<EpochRow>, EpochError> {
        let number = self.epoch.arrangement.has_batches().then_some(number);
        let width = batch.width(&self.epoch.opened.plan);
        let given = places.iter().map(|at| {
            let row = usize::try_from(*at).ok().and_then(|at| batch.rows.get(at)).cloned();
            (self.row + at, GivenRow { row, batch: number, width })
        });
        self.epoch.read(given.collect())
    }
}

/// What the reading thread sends. An end is sent like all else: a thread that ends without one has
/// panicked, which must not look like the end of an epoch.
enum Message {
    /// A batch, and the number of the batch after its step.
    Batch(EpochBatch, u64),
    Failed(EpochError),
    End,
}

/// The batches of an epoch that one rank has, in order, read ahead. Ends with the epoch or with an error.
pub struct EpochStream {
    receiver: Receiver<Message>,
    next: (u64, u64),
    over: bool,
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
        if self.over {
            return None;
        }
        match self.receiver.recv() {
            Ok(Message::Batch(batch, next)) => {
                self.next.1 = next;
                Some(Ok(batch))
            }
            Ok(Message::End) => {
                self.over = true;
                None
            }
            Ok(Message::Failed(error)) => {
                self.over = true;
                Some(Err(error))
            }
            Err(_) => {
                self.over = true;
                Some(Err(EpochError::bug(format!(
                    "the thread that reads ahead stopped before batch {} without a word",
                    self.next.1
                ))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading thread that panicked looked like the end of the epoch: training stopped early, exit 0.
    #[test]
    fn a_reader_that_dies_is_not_the_end_of_an_epoch() {
        let (sender, receiver) = sync_channel(1);
        let reader = std::thread::spawn(move || {
            let batch = EpochBatch { number: 4, rows: Vec::new() };
            sender.send(Message::Batch(batch, 5)).unwrap();
            std::panic::resume_unwind(Box::new("a fault"));
        });
        let mut stream = EpochStream { receiver, next: (0, 4), over: false };
        assert_eq!(stream.next().unwrap().unwrap().number, 4);
        let error = stream.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("before batch 5"), "{error}");
        assert!(stream.next().is_none() && stream.state() == (0, 5));
        assert!(reader.join().is_err());
    }
}
