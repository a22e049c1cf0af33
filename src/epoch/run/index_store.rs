//! Epoch indexes as they are stored with their plan: written, loaded and believed, and checked by a walk.
//!
//! An index is made when its epoch is planned or asked for. A stored one is believed when it is of this plan and fits
//! it, and `check --deep` compares it with one walk from the beginning of the run.
//!
//! A stored index is a list of integers: what the epoch comes to, its end, then every checkpoint. A checkpoint is the
//! batches before it, the row, and for each source what it has given and where it stands: about 15 bytes a source and
//! checkpoint.
//!
//! Every rank and worker of a machine opens the epoch, so even a quick walk would be made too often. Any row is
//! replayed from the mark before it: one every 1,024 rows, at most 8,192 in all (beyond that every second one is
//! dropped). The epoch of one source without a curriculum needs none, nor do whole passes before an epoch. Marks of the
//! first form are passed over where rows are carried: the release that wrote them counted wrongly there, and they have
//! the hash of their plan, so they would be believed for ever.

use super::batches::BatchSampler;
use super::cursor::{RunCursor, RunPosition};
use super::index::{Checkpoint, Checkpoints, EpochIndex, left_out};
use super::open::OpenPlan;
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::epoch::rows::{OpenPurpose, PassPosition, RowRef, SourcePosition};
use model::{Context, Interrupt};
use store::{CheckFault, MarksRecord, StoreError};

/// Kinds of [`PassPosition`].
const START: u64 = 0;
const ROWS: u64 = 1;
const CUT: u64 = 2;

impl EpochIndex {
    /// The marks of `epoch` as they are stored with plan `number`; none where they are not, or are those of another
    /// plan.
    ///
    /// # Errors
    /// [`EpochError::Store`] when they are damaged; [`EpochError::Stale`] when they do not fit the plan.
    pub fn stored(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        number: u32,
        epoch: u64,
    ) -> Result<Option<Self>, EpochError> {
        let record = opened.corpora.first().epoch_marks(number, epoch)?;
        let own = |record: &MarksRecord| {
            let is_own = record.plan == opened.plan.hash() && record.epoch == epoch;
            // Earlier releases counted wrongly where rows are carried from an epoch to the next one.
            is_own && !(record.is_first_form && sampler.carries())
        };
        let Some(record) = record.filter(own) else { return Ok(None) };
        let marks = read(opened, sampler, &record).ok_or_else(|| {
            EpochError::Stale(format!(
                "the marks stored with plan {number} do not match its epoch {epoch}; `corpusdb epoch plan CORPUS PLAN` computes them again"
            ))
        })?;
        Ok(Some(marks))
    }

    /// The stored marks that come nearest before `epoch`.
    pub(super) fn stored_before(
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
    ) -> Result<Option<Self>, EpochError> {
        let Some(number) = opened.stored else { return Ok(None) };
        let mut before = epoch;
        while let Some(stored) = opened.corpora.first().marked_before(number, before)? {
            if let Some(index) = Self::stored(opened, sampler, number, stored)? {
                return Ok(Some(index));
            }
            before = stored;
        }
        Ok(None)
    }

    /// The record of the marks; none where they are computed.
    pub fn record(&self, opened: &OpenPlan) -> Option<MarksRecord> {
        let Checkpoints::Walked(marks) = &self.checkpoints else { return None };
        let facts = vec![self.rows, self.pads, self.left_out];
        let end = Checkpoint { position: self.end.clone(), batches: self.batches };
        let lists = [facts, written(&end)].into_iter().chain(marks.iter().map(written));
        Some(MarksRecord::of(opened.plan.hash(), self.epoch, lists))
    }
}

fn written(mark: &Checkpoint) -> Vec<u64> {
    let state = &mark.position;
    let mut list = vec![mark.batches, state.row];
    let given = state.emitted.iter().zip(&state.tokens).zip(&state.rows);
    for (((emitted, tokens), rows), source) in given.zip(&state.sources) {
        list.extend([*emitted, *tokens, *rows, source.pass.into(), source.drawn]);
        list.push(source.given.len() as u64);
        list.extend(&source.given);
        list.push(source.strata.len() as u64);
        for stratum in &source.strata {
            list.extend(match *stratum {
                PassPosition::Start => [START, 0, 0, 0],
                PassPosition::Rows(rows) => [ROWS, rows, 0, 0],
                PassPosition::Cut { blocks, parts, placed } => {
                    [CUT, blocks, parts, placed.map_or(0, |placed| u64::from(placed) + 1)]
                }
            });
        }
    }
    list
}

/// None where the lists are not marks of such an epoch.
fn read(opened: &OpenPlan, sampler: &BatchSampler, record: &MarksRecord) -> Option<EpochIndex> {
    let mut facts: Option<[u64; 3]> = None;
    let mut end: Option<Checkpoint> = None;
    let mut marks: Vec<Checkpoint> = Vec::new();
    record.for_each_list(|list| {
        if facts.is_none() {
            facts = Some(list.try_into().ok()?);
            return Some(());
        }
        let mark = read_mark(opened, list)?;
        if end.is_none() {
            end = Some(mark);
            return Some(());
        }
        let follows = marks.last().is_none_or(|before| before.is_before(&mark));
        follows.then(|| marks.push(mark))
    })?;
    let ([rows, pads, left_out_rows], end) = (facts?, end?);
    let start = marks.first().filter(|mark| mark.batches == 0)?.position.clone();
    let all = end.position.row.checked_sub(start.row)?;
    let fits = marks.last()?.is_before(&end)
        && sampler.rows_given(all) == (rows, pads)
        && left_out(&opened.plan, sampler, record.epoch, all - rows) == left_out_rows
        && sampler.batch_rows().is_none_or(|size| (rows + pads) / size.max(1) == end.batches);
    let Checkpoint { position: end, batches } = end;
    let (epoch, left_out) = (record.epoch, left_out_rows);
    let checkpoints = Checkpoints::Walked(marks);
    fits.then_some(EpochIndex { epoch, start, end, rows, pads, batches, left_out, checkpoints })
}

impl Checkpoint {
    /// Whether it can come before `after` in one epoch.
    fn is_before(&self, after: &Self) -> bool {
        let grown = |before: &[u64], after: &[u64]| {
            before.iter().zip(after).all(|(before, after)| before <= after)
        };
        let (of, then) = (&self.position, &after.position);
        self.batches <= after.batches
            && of.row <= then.row
            && grown(&of.emitted, &then.emitted)
            && grown(&of.tokens, &then.tokens)
            && grown(&of.rows, &then.rows)
            && of.sources.iter().zip(&then.sources).all(|(of, then)| of.pass <= then.pass)
    }
}

fn read_mark(opened: &OpenPlan, list: &[u64]) -> Option<Checkpoint> {
    let mut numbers = list.iter().copied();
    let (batches, row) = (numbers.next()?, numbers.next()?);
    let mut state = RunPosition { row, ..RunPosition::start(0) };
    for source in &opened.sources {
        state.emitted.push(numbers.next()?);
        state.tokens.push(numbers.next()?);
        state.rows.push(numbers.next()?);
        let (pass, drawn) = (u32::try_from(numbers.next()?).ok()?, numbers.next()?);
        let none_or_all = |count: u64| count == 0 || count == source.strata() as u64;
        let mut at = SourcePosition { pass, drawn, ..SourcePosition::default() };
        let given = numbers.next().filter(|count| none_or_all(*count))?;
        for _ in 0..given {
            at.given.push(numbers.next()?);
        }
        let strata = numbers.next().filter(|count| none_or_all(*count))?;
        for _ in 0..strata {
            let kind = numbers.next()?;
            let (first, second, third) = (numbers.next()?, numbers.next()?, numbers.next()?);
            at.strata.push(match (kind, first, second, third) {
                (START, 0, 0, 0) => PassPosition::Start,
                (ROWS, rows, 0, 0) => PassPosition::Rows(rows),
                (CUT, blocks, parts, placed) => {
                    let placed = placed.checked_sub(1).map(u32::try_from).transpose().ok()?;
                    PassPosition::Cut { blocks, parts, placed }
                }
                _ => return None,
            });
        }
        state.sources.push(at);
    }
    let given: u64 = state.rows.iter().sum();
    (numbers.next().is_none() && given == row).then_some(Checkpoint { position: state, batches })
}

/// Calls `each` with the indexes of the first `epochs` epochs of a plan, one epoch after another, as far as they need
/// a walk and are not stored, or not as they were written. Every epoch is walked once at most.
///
/// # Errors
/// [`EpochError::Infeasible`] when the plan has fewer epochs; [`EpochError::Stale`];
/// [`EpochError::Interrupted`]; [`EpochError::Store`]; those of `each`.
pub fn index_epochs<E: From<EpochError>>(
    corpora: &Corpora,
    planned: &Plan,
    epochs: u64,
    context: &Context<'_>,
    mut each: impl FnMut(MarksRecord) -> Result<(), E>,
) -> Result<(), E> {
    let Some(last) = epochs.checked_sub(1) else { return Ok(()) };
    planned.plan.check_feasible(last)?;
    context.progress.begin("marks", Some(epochs));
    let opened = OpenPlan::open(
        corpora,
        &planned.without_checkpoints(),
        OpenPurpose::Count,
        context.interrupt,
    )?;
    let sampler = BatchSampler::of(&planned.plan);
    let mut before: Option<EpochIndex> = None;
    for epoch in 0..epochs {
        let stored = match planned.stored {
            Some(number) => or_damaged(EpochIndex::stored(&opened, &sampler, number, epoch))?,
            None => None,
        };
        let marks = match (stored, &before) {
            (Some(marks), _) => marks,
            (None, before) => {
                let marks = match before {
                    Some(before) => before.next(&opened, &sampler, context.interrupt)?,
                    None => EpochIndex::of(&opened, &sampler, epoch, context.interrupt)?,
                };
                if let Some(record) = marks.record(&opened) {
                    each(record)?;
                }
                marks
            }
        };
        before = Some(marks);
        context.progress.advance(epoch + 1);
    }
    Ok(())
}

/// Takes marks that are damaged for marks that are not there.
fn or_damaged(
    marks: Result<Option<EpochIndex>, EpochError>,
) -> Result<Option<EpochIndex>, EpochError> {
    match marks {
        Err(EpochError::Store(StoreError::Corrupt { .. }) | EpochError::Stale(_)) => Ok(None),
        other => other,
    }
}

/// What of the indexes stored with a plan is not what a walk over its run comes to, from its first row on and without a
/// place to begin from. Bytes that cannot be read at all are the store's to tell. A plan that no longer fits the corpus is
/// left out, and so is one that draws from other corpora than these.
pub(in crate::epoch) fn check_marks(
    corpora: &Corpora,
    plan: &Plan,
) -> Result<Vec<CheckFault>, EpochError> {
    let Some(number) = plan.stored else { return Ok(Vec::new()) };
    let stored = corpora.first().marked_epochs(number)?;
    let Some(last) = stored.last() else { return Ok(Vec::new()) };
    let opened = OpenPlan::open(
        corpora,
        &plan.without_checkpoints(),
        OpenPurpose::Count,
        &Interrupt::default(),
    );
    let opened = match opened {
        Err(EpochError::Stale(_) | EpochError::Shards(_) | EpochError::OtherShard { .. }) => {
            return Ok(Vec::new());
        }
        opened => opened?,
    };
    let sampler = BatchSampler::of(&plan.plan);
    let mut walk = RunWalk::begin(&opened)?;
    let mut faults = Vec::new();
    for epoch in 0..=*last {
        let is_stored = stored.binary_search(&epoch).is_ok();
        let found = match EpochIndex::stored(&opened, &sampler, number, epoch) {
            _ if !is_stored => Ok(None),
            Err(EpochError::Stale(_)) => Err(()),
            Err(EpochError::Store(StoreError::Corrupt { .. })) => Ok(None),
            found => Ok(found?),
        };
        // An index of another plan, or of an epoch that the plan lacks, belongs to no epoch.
        let is_foreign = is_stored && is_of_another(&opened, number, epoch)?;
        let is_there = opened.plan.check_feasible(epoch).is_ok();
        let is_right = match &found {
            Ok(found) if is_there => walk.meets(&opened, &sampler, epoch, found.as_ref())?,
            Ok(found) => found.is_none(),
            Err(()) => {
                if is_there {
                    walk.meets(&opened, &sampler, epoch, None)?;
                }
                false
            }
        };
        if !is_right || is_foreign {
            let what = format!(
                "the marks stored with plan {number} do not match its epoch {epoch}; `corpusdb epoch plan CORPUS PLAN` computes them again"
            );
            faults.push(CheckFault { place: "epochs".to_owned(), what });
        }
        if !is_there {
            break;
        }
    }
    Ok(faults)
}

/// Whether the index stored for an epoch of a plan says that it is of something else.
fn is_of_another(opened: &OpenPlan, number: u32, epoch: u64) -> Result<bool, EpochError> {
    match opened.corpora.first().epoch_marks(number, epoch) {
        Ok(record) => {
            Ok(record
                .is_some_and(|record| record.plan != opened.plan.hash() || record.epoch != epoch))
        }
        Err(StoreError::Corrupt { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// One walk over a run from its first row: epochs are bounded by what it has counted, and no place is jumped to.
struct RunWalk {
    cursor: RunCursor,
    /// Where the next epoch begins: at the cursor, or before it where rows are carried.
    start: RunPosition,
}

impl RunWalk {
    fn begin(opened: &OpenPlan) -> Result<Self, EpochError> {
        let start = RunPosition::start(opened.sources.len());
        Ok(Self { cursor: RunCursor::at(opened, &start)?, start })
    }

    /// Walks an epoch, and says whether `index` agrees with the walk.
    fn meets(
        &mut self,
        opened: &OpenPlan,
        sampler: &BatchSampler,
        epoch: u64,
        index: Option<&EpochIndex>,
    ) -> Result<bool, EpochError> {
        let start = self.start.clone();
        let places = match index.map(|index| &index.checkpoints) {
            Some(Checkpoints::Walked(all)) => all.as_slice(),
            Some(Checkpoints::ByNumber { .. }) | None => &[],
        };
        let mut places = places.iter().peekable();
        let mut is_right = true;
        if let Some(first) = places.next() {
            is_right = first.batches == 0 && first.position.is_same_place(&start, opened)?;
        }
        let until = opened.plan.budget.saturating_mul(epoch.saturating_add(1));
        let (mut batches, mut window): (u64, Vec<RowRef>) = (0, Vec::new());
        // Only whole batches count where rows that fill none are carried.
        let mut whole = start.clone();
        while self.cursor.total() < until || self.cursor.uncounted_source()?.is_some() {
            let row = self.cursor.next_row()?;
            let given = self.cursor.row() - start.row;
            match sampler.batch_rows() {
                Some(size) => {
                    batches = given / size.max(1);
                    if sampler.carries() && given.is_multiple_of(size) {
                        whole = self.cursor.counted_position()?;
                    }
                }
                None => {
                    window.push(row);
                    if window.len() as u64 == sampler.window {
                        let first = self.cursor.row() - sampler.window;
                        let full = std::mem::take(&mut window);
                        batches += sampler.arrange(opened, full, first)?.len() as u64;
                    }
                }
            }
            let here = self.cursor.row();
            if let Some(place) = places.next_if(|place| place.position.row == here) {
                let here = self.cursor.counted_position()?;
                is_right &=
                    place.batches == batches && place.position.is_same_place(&here, opened)?;
            }
        }
        let end = self.cursor.counted_position()?;
        let all = end.row - start.row;
        let (rows, pads) = sampler.rows_given(all);
        let batches = match sampler.batch_rows() {
            Some(size) => (rows + pads) / size.max(1),
            None => {
                let first = end.row - window.len() as u64;
                batches + sampler.arrange(opened, window, first)?.len() as u64
            }
        };
        if let Some(index) = index {
            let left_out = left_out(&opened.plan, sampler, epoch, all - rows);
            let counts = (index.rows, index.pads, index.batches, index.left_out);
            is_right &= counts == (rows, pads, batches, left_out);
            is_right &= places.next().is_none();
            is_right &= index.start.is_same_place(&start, opened)?;
            is_right &= index.end.is_same_place(&end, opened)?;
        }
        self.start = if sampler.carries() { whole } else { end };
        Ok(is_right)
    }
}
