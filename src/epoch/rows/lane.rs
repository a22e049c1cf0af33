//! Goes through the rows of one pass over a stratum, and says where it stands in three numbers.

use super::pool::PoolRows;
use super::walk::Walk;
use super::{PassCount, RowRef};
use crate::epoch::error::EpochError;
use crate::epoch::pack::Cutter;
use crate::epoch::permutation::{Permutation, Purpose};
use std::sync::Arc;

/// Rows looked up at a time, where that takes no more than their number.
const AHEAD: usize = 32;

/// Where a lane stands in its pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::epoch) struct LaneState {
    /// Rows given; blocks entered where rows are cut in order.
    pub first: u64,
    /// Parts given of the block.
    pub second: u64,
    /// One more than the tokens placed of the part given last; 0 when it is placed whole.
    pub third: u64,
}

/// The rows of a pass over a stratum, in order.
pub(super) struct Lane {
    pool: Arc<PoolRows>,
    lane: u16,
    pass: u32,
    way: Way,
    /// Where it stood before the row in `head` was looked up.
    state: LaneState,
    head: Option<RowRef>,
}

enum Way {
    /// Rows by permuted number, and the next ones that have been looked up already, last first.
    Packed {
        order: Permutation,
        rows: u64,
        ahead: Vec<RowRef>,
    },
    Listed {
        order: Vec<u64>,
    },
    Cut {
        cutter: Cutter,
        walk: Box<Walk>,
    },
}

impl Lane {
    pub fn at(
        pool: Arc<PoolRows>,
        lane: u16,
        pass: u32,
        state: &LaneState,
    ) -> Result<Self, EpochError> {
        let way = if let Some(order) = pool.listed_order(pass)? {
            Way::Listed { order }
        } else if let Some(rows) = pool.rows() {
            let order = pool.permutation(rows, pass, Purpose::Rows, 0);
            Way::Packed { order, rows, ahead: Vec::new() }
        } else {
            let walk = Walk::at(Arc::clone(&pool), pass, state.first, state.second)?;
            let policy = pool.rules().policy;
            let placed = state.third.checked_sub(1).and_then(|placed| u32::try_from(placed).ok());
            let cutter = match (placed, walk.last()) {
                (Some(placed), Some(last)) => Cutter::resumed(policy, last, placed),
                // The next row repeats the end of what was placed whole.
                (None, Some(last)) if policy.overlap => Cutter::resumed(policy, last, last.length),
                _ => Cutter::new(policy),
            };
            Way::Cut { cutter, walk: Box::new(walk) }
        };
        Ok(Self { pool, lane, pass, way, state: *state, head: None })
    }

    /// Where it stands: before the row that [`Lane::peek`] shows.
    pub const fn state(&self) -> LaneState {
        self.state
    }

    /// The next row; none when the pass is over.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn peek(&mut self) -> Result<Option<&RowRef>, EpochError> {
        if self.head.is_none() {
            self.head = self.look_up()?;
        }
        Ok(self.head.as_ref())
    }

    /// The row that [`Lane::peek`] showed.
    pub const fn head(&self) -> Option<&RowRef> {
        self.head.as_ref()
    }

    /// The next row, and on.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn take(&mut self) -> Result<Option<RowRef>, EpochError> {
        self.peek()?;
        let row = self.head.take();
        if row.is_some() {
            self.state = match &self.way {
                Way::Packed { .. } | Way::Listed { .. } => {
                    LaneState { first: self.state.first + 1, ..self.state }
                }
                Way::Cut { cutter, walk } => {
                    let (first, second) = walk.place();
                    let third = cutter.placed().map_or(0, |placed| u64::from(placed) + 1);
                    LaneState { first, second, third }
                }
            };
        }
        Ok(row)
    }

    fn look_up(&mut self) -> Result<Option<RowRef>, EpochError> {
        let at = self.state.first;
        let is_first = self.state == LaneState::default();
        match &mut self.way {
            Way::Packed { rows, .. } if at >= *rows => Ok(None),
            Way::Packed { order, .. } if !self.pool.counts_fast() => {
                self.pool.row(self.lane, self.pass, order.at(at)).map(Some)
            }
            Way::Packed { order, rows, ahead } => {
                if ahead.is_empty() {
                    let mut numbers = [0; AHEAD];
                    let count = AHEAD.min(usize::try_from(*rows - at).unwrap_or(AHEAD));
                    let numbers = numbers.get_mut(..count).unwrap_or_default();
                    order.fill(at, numbers);
                    for number in numbers.iter().rev() {
                        ahead.push(self.pool.row(self.lane, self.pass, *number)?);
                    }
                }
                Ok(ahead.pop())
            }
            Way::Listed { order } => match usize::try_from(at).ok().and_then(|at| order.get(at)) {
                Some(index) => self.pool.row(self.lane, self.pass, *index).map(Some),
                None => Ok(None),
            },
            Way::Cut { cutter, walk } => match cutter.next_row(|| walk.next())? {
                Some(segments) => {
                    let repeated = u32::from(self.pool.rules().policy.overlap && !is_first);
                    self.pool.cut(self.lane, self.pass, segments, repeated).map(Some)
                }
                None => Ok(None),
            },
        }
    }
}

/// What pass `pass` over a pool comes to.
///
/// # Errors
/// [`EpochError::Store`].
pub(super) fn count(pool: &Arc<PoolRows>, lane: u16, pass: u32) -> Result<PassCount, EpochError> {
    if let Some(known) = pool.known_count() {
        return Ok(known);
    }
    let capacity = pool.rules().policy.capacity;
    let mut walk = Lane::at(Arc::clone(pool), lane, pass, &LaneState::default())?;
    let mut count = PassCount::default();
    while let Some(row) = walk.take()? {
        count.rows += 1;
        count.full_rows += u64::from(row.tokens + row.repeated == capacity);
        count.tokens += u64::from(row.tokens);
        count.amount += row.amount;
    }
    Ok(count)
}
