//! A cursor over the rows of a source, pass after pass, with its strata interleaved.
//!
//! Its position is a few numbers. Under a curriculum a schedule says how much of each stratum is due at any moment of a
//! pass.

use super::pass::{PassCursor, PassPosition};
use super::{RowRef, SourceRows};
use crate::epoch::error::EpochError;
use crate::epoch::mix::{Fluid, Scheduler, apportion};
use crate::epoch::plan::RowRules;
use std::sync::Arc;

/// Where a source stands: enough to continue from, whatever it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::epoch) struct SourcePosition {
    /// The pass under way.
    pub pass: u32,
    /// Rows of the pass given, where they are drawn with replacement.
    pub drawn: u64,
    /// By stratum; empty at the start of a pass.
    pub strata: Vec<PassPosition>,
    /// Tokens of the pass given by stratum; empty at its start.
    pub given: Vec<u64>,
}

impl SourcePosition {
    /// Whether no row of the pass has been given.
    pub fn is_at_start(&self) -> bool {
        self.drawn == 0 && self.strata.iter().all(|stratum| *stratum == PassPosition::Start)
    }
}

impl SourcePosition {
    /// This position, moved to the beginning of the next pass when the one before is over.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn at_next_pass(&self, source: &Arc<SourceRows>) -> Result<Self, EpochError> {
        let mut cursor = SourceCursor::at(Arc::clone(source), self)?;
        cursor.peek()?;
        Ok(cursor.state())
    }
}

/// The rows of a source, in order.
pub(in crate::epoch) struct SourceCursor {
    source: Arc<SourceRows>,
    pass: u32,
    way: SourceOrder,
    /// The stratum whose row is next, where that is known.
    due: Option<usize>,
}

enum SourceOrder {
    Strata { strata: Vec<PassCursor>, schedule: Option<Scheduler> },
    Drawn { next: u64, rows: Vec<u64>, head: Option<RowRef> },
}

impl SourceCursor {
    /// Stands where `state` says.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn at(source: Arc<SourceRows>, state: &SourcePosition) -> Result<Self, EpochError> {
        let way = SourceOrder::at(&source, state)?;
        Ok(Self { source, pass: state.pass, way, due: None })
    }

    /// What decides the rows of its source.
    pub fn rules(&self) -> &RowRules {
        self.source.rules()
    }

    /// Where it stands: before the row that [`SourceCursor::peek`] shows.
    pub fn state(&self) -> SourcePosition {
        match &self.way {
            SourceOrder::Strata { strata, schedule } => SourcePosition {
                pass: self.pass,
                drawn: 0,
                strata: strata.iter().map(PassCursor::state).collect(),
                given: schedule.as_ref().map_or(Vec::new(), |given| given.emitted().to_vec()),
            },
            SourceOrder::Drawn { next, .. } => {
                SourcePosition { pass: self.pass, drawn: *next, ..SourcePosition::default() }
            }
        }
    }

    /// The next row; none after the last pass.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn peek(&mut self) -> Result<Option<&RowRef>, EpochError> {
        while self.due.is_none() {
            // Drawn with replacement, documents have no passes to run out of.
            if self.pass >= self.source.rules.max_repeats && !self.source.rules.replace {
                return Ok(None);
            }
            self.due = self.way.due(&self.source, self.pass)?;
            if self.due.is_none() {
                self.pass += 1;
                let state = SourcePosition { pass: self.pass, ..SourcePosition::default() };
                self.way = SourceOrder::at(&self.source, &state)?;
            }
        }
        match (&mut self.way, self.due) {
            (SourceOrder::Strata { strata, .. }, Some(due)) => {
                strata.get_mut(due).map_or(Ok(None), PassCursor::peek)
            }
            (SourceOrder::Drawn { head, .. }, _) => Ok(head.as_ref()),
            (SourceOrder::Strata { .. }, None) => Ok(None),
        }
    }

    /// The pass of the next row; the number of passes when they are over.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn next_pass(&mut self) -> Result<u32, EpochError> {
        self.peek()?;
        Ok(self.pass)
    }

    /// Whether a row of the pass of the next row has been given.
    pub fn is_within_pass(&self) -> bool {
        match &self.way {
            SourceOrder::Strata { strata, .. } => {
                strata.iter().any(|stratum| stratum.state() != PassPosition::Start)
            }
            SourceOrder::Drawn { next, .. } => *next > 0,
        }
    }

    /// What the row that [`SourceCursor::peek`] showed counts; none where there was none.
    pub fn head(&self) -> Option<u64> {
        match &self.way {
            SourceOrder::Strata { strata, .. } => {
                strata.get(self.due?)?.head().map(|row| row.amount)
            }
            SourceOrder::Drawn { head, .. } => head.as_ref().map(|row| row.amount),
        }
    }

    /// The next row, and on.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn take(&mut self) -> Result<Option<RowRef>, EpochError> {
        self.peek()?;
        let Some(due) = self.due.take() else { return Ok(None) };
        match &mut self.way {
            SourceOrder::Strata { strata, schedule } => {
                let row = strata.get_mut(due).map_or(Ok(None), PassCursor::take)?;
                if let (Some(schedule), Some(row)) = (schedule, &row) {
                    schedule.record(due, self.source.scheduled_tokens(row));
                }
                Ok(row)
            }
            SourceOrder::Drawn { next, head, .. } => {
                *next += 1;
                Ok(head.take())
            }
        }
    }
}

impl SourceOrder {
    fn at(source: &Arc<SourceRows>, state: &SourcePosition) -> Result<Self, EpochError> {
        let run = source.run_of(state.pass);
        if source.rules.replace {
            let rows = source.of_run(run).filter_map(|stratum| stratum.rows()).collect();
            return Ok(Self::Drawn { next: state.drawn, rows, head: None });
        }
        let mut strata = Vec::new();
        for (number, opened) in (0_u16..).zip(source.of_run(run)) {
            let at = state.strata.get(strata.len()).copied().unwrap_or_default();
            strata.push(PassCursor::at(Arc::clone(opened), number, state.pass, &at)?);
        }
        let schedule = source.schedules.get(run).map(|fluid| {
            let mut schedule = Scheduler::new(Arc::clone(fluid));
            if !state.given.is_empty() {
                schedule.restore(state.given.clone());
            }
            schedule
        });
        Ok(Self::Strata { strata, schedule })
    }

    /// The stratum whose row is next; none when the pass is over.
    fn due(&mut self, source: &SourceRows, pass: u32) -> Result<Option<usize>, EpochError> {
        match self {
            Self::Strata { strata, schedule } => {
                if let [only] = strata.as_mut_slice() {
                    return Ok(only.peek()?.map(|_| 0));
                }
                let mut heads = Vec::with_capacity(strata.len());
                for stratum in strata {
                    heads.push(stratum.peek()?.map(|row| source.scheduled_tokens(row)));
                }
                if heads.iter().all(Option::is_none) {
                    return Ok(None);
                }
                let Some(schedule) = schedule else {
                    return Err(EpochError::bug("strata without a schedule"));
                };
                let due = schedule.pick(|stratum| heads.get(stratum).copied().flatten());
                let due = due.filter(|due| heads.get(*due).is_some_and(Option::is_some));
                due.map(Some).ok_or_else(|| EpochError::bug("a stratum ran out before its time"))
            }
            Self::Drawn { next, rows, head } => {
                let Some((stratum, index)) = source.draw(pass, *next, rows) else {
                    return Ok(None);
                };
                let number = u16::try_from(stratum).map_err(|_| EpochError::bug("2^16 strata"))?;
                *head = Some(source.stratum(number, pass)?.row(number, pass, index)?);
                Ok(Some(stratum))
            }
        }
    }
}

impl SourceRows {
    /// The stratum and row drawn as row `next` of a pass: any row of the strata open by then, each as likely. `rows`
    /// are the rows of each stratum; time is counted in rows; a pass has as many as all strata have.
    fn draw(&self, pass: u32, next: u64, rows: &[u64]) -> Option<(usize, u64)> {
        let whole: u64 = rows.iter().sum();
        if next >= whole {
            return None;
        }
        let run = self.run_of(pass);
        let tokens = self.pass_tokens(pass);
        let opens = self.rules.opens.get(run);
        let now = u128::from(next) * u128::from(tokens) / u128::from(whole);
        let open = |stratum: usize| {
            if pass > 0 {
                return true;
            }
            let opens = opens.and_then(|opens| opens.get(stratum)).copied().unwrap_or(0);
            stratum == 0 || u128::from(opens) <= now
        };
        let strata = (0..rows.len()).take_while(|stratum| open(*stratum)).count();
        let available: u64 = rows.iter().take(strata).sum();
        let available = if available == 0 { whole } else { available };
        let mut hasher = blake3::Hasher::new_derive_key("corpusdb 2026 epoch draw v1");
        hasher.update(&self.rules.seed.to_le_bytes());
        hasher.update(&pass.to_le_bytes());
        hasher.update(&next.to_le_bytes());
        hasher.update(self.rules.name.as_bytes());
        let mut bytes = [0; 8];
        hasher.finalize_xof().fill(&mut bytes);
        // The high half of a product with 64 random bits: even to one part in 2^64 / available.
        let wide = u128::from(u64::from_le_bytes(bytes)) * u128::from(available);
        let mut row = u64::try_from(wide >> 64).ok()?;
        for (stratum, rows) in rows.iter().enumerate() {
            match row.checked_sub(*rows) {
                Some(rest) => row = rest,
                None => return Some((stratum, row)),
            }
        }
        None
    }
}

/// The schedule by which a pass shares its tokens among strata that hold `amounts` and open at the token times
/// `opens`: between two openings the open strata drain in proportion to their rest, as if documents were drawn evenly
/// from all that are open and not yet used.
///
/// # Errors
/// [`EpochError::Bug`] when a stratum opens after everything before it is used up.
pub(in crate::epoch) fn strata_table(amounts: &[u64], opens: &[u64]) -> Result<Fluid, EpochError> {
    let whole: u64 = amounts.iter().sum();
    let mut times = vec![0];
    let mut table = vec![vec![0; amounts.len()]];
    let mut given = vec![0_u64; amounts.len()];
    for stratum in 0..amounts.len() {
        let from = opens.get(stratum).copied().unwrap_or(0).min(whole);
        let to = opens.get(stratum + 1).copied().unwrap_or(whole).min(whole);
        if to <= from {
            continue;
        }
        let left: Vec<u64> = amounts
            .iter()
            .zip(&given)
            .enumerate()
            .map(|(at, (amount, given))| if at <= stratum { amount - given } else { 0 })
            .collect();
        let due = share_out(to - from, &left)
            .ok_or_else(|| EpochError::bug("a stratum opens after those before it are used up"))?;
        for (given, due) in given.iter_mut().zip(due) {
            *given += due;
        }
        times.push(to);
        table.push(given.clone());
    }
    Fluid::from_table(times, table).map_err(|why| EpochError::bug(why.to_string()))
}

/// Shares `amount` in proportion to `left`, to each at most what it has left; none when `left` is less in all.
fn share_out(amount: u64, left: &[u64]) -> Option<Vec<u64>> {
    let whole: u128 = left.iter().map(|left| u128::from(*left)).sum();
    // Rounded up, a share is at most what is left: before it was less than the whole part.
    (u128::from(amount) <= whole).then(|| apportion(amount, left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_whole_and_within_what_is_left(
            left in proptest::collection::vec(0_u64..1000, 1..12),
            part in 0.0..1.0,
        ) {
            let whole: u64 = left.iter().sum();
            let amount = (whole as f64 * part) as u64;
            let shares = share_out(amount, &left).unwrap();
            prop_assert_eq!(shares.iter().sum::<u64>(), amount);
            prop_assert!(shares.iter().zip(&left).all(|(share, left)| share <= left));
            prop_assert!(share_out(whole + 1, &left).is_none());
        }
    }

    #[test]
    fn strata_open_one_after_another_and_end_together() {
        let amounts = [100, 200, 300];
        let fluid = strata_table(&amounts, &[0, 50, 300]).unwrap();
        assert_eq!([0, 1, 2].map(|stratum| fluid.share(stratum, 50)), [50, 0, 0]);
        // 50 of the first and 200 of the second are left: a fifth and four fifths.
        assert_eq!([0, 1, 2].map(|stratum| fluid.share(stratum, 100)), [60, 40, 0]);
        assert_eq!([0, 1, 2].map(|stratum| fluid.share(stratum, 300)), [100, 200, 0]);
        assert_eq!([0, 1, 2].map(|stratum| fluid.share(stratum, 600)), amounts);
        assert!(strata_table(&amounts, &[0, 150, 300]).is_err());
    }
}
