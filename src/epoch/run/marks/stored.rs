//! EpochIndex as they are stored with their plan: written when they were walked, and believed when they are of this plan
//! and fit it.
//!
//! They are lists of integers: what the epoch comes to, its end, then every mark. A mark is the batches before
//! it, the row, and for each source what it has given and where it stands. Some 15 bytes a source and mark.

use super::{Checkpoint, Checkpoints, EpochIndex, left_out};
use crate::epoch::error::EpochError;
use crate::epoch::rows::{PassPosition, SourcePosition};
use crate::epoch::run::{BatchSampler, OpenPlan, RunPosition};
use crate::store::MarksRecord;

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
        let own = |record: &MarksRecord| record.plan == opened.plan.hash() && record.epoch == epoch;
        let Some(record) = record.filter(own) else { return Ok(None) };
        let marks = read(opened, sampler, &record).ok_or_else(|| {
            EpochError::Stale(format!(
                "the marks stored with plan {number} do not match its epoch {epoch}; `corpusdb epoch mark` computes them again"
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
        // A look-up is nothing beside the walk of an epoch, which each one saves.
        for before in (0..epoch).rev() {
            if let Some(marks) = Self::stored(opened, sampler, number, before)? {
                return Ok(Some(marks));
            }
        }
        Ok(None)
    }

    /// What is stored of them; nothing where they are computed.
    pub fn record(&self, opened: &OpenPlan) -> Option<MarksRecord> {
        let Checkpoints::Walked(marks) = &self.marks else { return None };
        let facts = vec![self.rows, self.pads, self.left_out];
        let end = Checkpoint { state: self.end.clone(), batches: self.batches };
        let lists = [facts, written(&end)].into_iter().chain(marks.iter().map(written));
        Some(MarksRecord::of(opened.plan.hash(), self.epoch, lists))
    }
}

fn written(mark: &Checkpoint) -> Vec<u64> {
    let state = &mark.state;
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
    let start = marks.first().filter(|mark| mark.batches == 0)?.state.clone();
    let all = end.state.row.checked_sub(start.row)?;
    let fits = marks.last()?.is_before(&end)
        && sampler.given(all) == (rows, pads)
        && left_out(&opened.plan, sampler, record.epoch, all - rows) == left_out_rows
        && sampler.batch_rows().is_none_or(|size| (rows + pads) / size.max(1) == end.batches);
    let Checkpoint { state: end, batches } = end;
    let (epoch, left_out) = (record.epoch, left_out_rows);
    let marks = Checkpoints::Walked(marks);
    fits.then_some(EpochIndex { epoch, start, end, rows, pads, batches, left_out, marks })
}

impl Checkpoint {
    /// Whether it can come before `after` in one epoch.
    fn is_before(&self, after: &Self) -> bool {
        let grown = |before: &[u64], after: &[u64]| {
            before.iter().zip(after).all(|(before, after)| before <= after)
        };
        let (of, then) = (&self.state, &after.state);
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
    (numbers.next().is_none() && given == row).then_some(Checkpoint { state, batches })
}
