//! Goes through the rows of one pass over a stratum, and says where it stands in three numbers.

use super::documents::DocumentCursor;
use super::pass_rows::PassRows;
use super::{PassCount, RowPlace};
use crate::epoch::error::EpochError;
use crate::epoch::pack::RowCutter;
use crate::epoch::permutation::{Permutation, Purpose};
use std::sync::Arc;

/// Rows looked up at a time, where that takes no more than their number.
const AHEAD: usize = 32;

/// Where a cursor stands in its pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::epoch) enum PassPosition {
    /// No row was given.
    #[default]
    Start,
    /// So many rows were given, where a row is found by its number.
    Rows(u64),
    /// Rows are cut from documents in order.
    Cut {
        /// Blocks entered.
        blocks: u64,
        /// Parts given of the block entered last.
        parts: u64,
        /// Tokens placed of the part given last; none when it is placed whole.
        placed: Option<u32>,
    },
}

impl PassPosition {
    /// Where `rows` rows were given, where a row is found by its number.
    pub const fn after(rows: u64) -> Self {
        match rows {
            0 => Self::Start,
            rows => Self::Rows(rows),
        }
    }

    /// Rows given, where a row is found by its number.
    const fn rows(&self) -> u64 {
        match self {
            Self::Rows(rows) => *rows,
            Self::Start | Self::Cut { .. } => 0,
        }
    }
}

/// The rows of a pass over a stratum, in order.
pub(super) struct PassCursor {
    packed: Arc<PassRows>,
    stratum: u16,
    pass: u32,
    way: PassOrder,
    /// Where it stood before the row in `head` was looked up.
    state: PassPosition,
    head: Option<RowPlace>,
}

enum PassOrder {
    /// Rows by permuted number, and the next ones that have been looked up already, last first.
    Packed {
        order: Permutation,
        rows: u64,
        ahead: Vec<RowPlace>,
    },
    Listed {
        order: Vec<u64>,
    },
    Cut {
        cutter: RowCutter,
        documents: Box<DocumentCursor>,
    },
}

impl PassCursor {
    pub fn at(
        packed: Arc<PassRows>,
        stratum: u16,
        pass: u32,
        state: &PassPosition,
    ) -> Result<Self, EpochError> {
        let way = if let Some(order) = packed.listed_order(pass)? {
            PassOrder::Listed { order }
        } else if let Some(rows) = packed.rows() {
            let order = packed.permutation(rows, pass, Purpose::Rows, 0);
            PassOrder::Packed { order, rows, ahead: Vec::new() }
        } else {
            let (blocks, parts, placed) = match *state {
                PassPosition::Cut { blocks, parts, placed } => (blocks, parts, placed),
                PassPosition::Start | PassPosition::Rows(_) => (0, 0, None),
            };
            let documents = DocumentCursor::at(Arc::clone(&packed), pass, blocks, parts)?;
            let policy = packed.rules().policy;
            let cutter = match (placed, documents.last()) {
                (Some(placed), Some(last)) => RowCutter::resumed(policy, last, placed),
                // The next row repeats the end of what was placed whole.
                (None, Some(last)) if policy.overlap => {
                    RowCutter::resumed(policy, last, last.length)
                }
                _ => RowCutter::new(policy),
            };
            PassOrder::Cut { cutter, documents: Box::new(documents) }
        };
        Ok(Self { packed, stratum, pass, way, state: *state, head: None })
    }

    /// Where it stands: before the row that [`PassCursor::peek`] shows.
    pub const fn state(&self) -> PassPosition {
        self.state
    }

    /// The next row; none when the pass is over.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn peek(&mut self) -> Result<Option<&RowPlace>, EpochError> {
        if self.head.is_none() {
            self.head = self.look_up()?;
        }
        Ok(self.head.as_ref())
    }

    /// The row that [`PassCursor::peek`] showed.
    pub const fn head(&self) -> Option<&RowPlace> {
        self.head.as_ref()
    }

    /// The next row, and on.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn take(&mut self) -> Result<Option<RowPlace>, EpochError> {
        self.peek()?;
        let row = self.head.take();
        if row.is_some() {
            self.state = match &self.way {
                PassOrder::Packed { .. } | PassOrder::Listed { .. } => {
                    PassPosition::after(self.state.rows() + 1)
                }
                PassOrder::Cut { cutter, documents } => {
                    let (blocks, parts) = documents.place();
                    PassPosition::Cut { blocks, parts, placed: cutter.placed() }
                }
            };
        }
        Ok(row)
    }

    fn look_up(&mut self) -> Result<Option<RowPlace>, EpochError> {
        let at = self.state.rows();
        let is_first = self.state == PassPosition::Start;
        match &mut self.way {
            PassOrder::Packed { rows, .. } if at >= *rows => Ok(None),
            PassOrder::Packed { order, .. } if !self.packed.counts_fast() => {
                self.packed.row(self.stratum, self.pass, order.at(at)).map(Some)
            }
            PassOrder::Packed { order, rows, ahead } => {
                if ahead.is_empty() {
                    let mut numbers = [0; AHEAD];
                    let count = AHEAD.min(usize::try_from(*rows - at).unwrap_or(AHEAD));
                    let numbers = numbers.get_mut(..count).unwrap_or_default();
                    order.fill(at, numbers);
                    for number in numbers.iter().rev() {
                        ahead.push(self.packed.row(self.stratum, self.pass, *number)?);
                    }
                }
                Ok(ahead.pop())
            }
            PassOrder::Listed { order } => {
                match usize::try_from(at).ok().and_then(|at| order.get(at)) {
                    Some(index) => self.packed.row(self.stratum, self.pass, *index).map(Some),
                    None => Ok(None),
                }
            }
            PassOrder::Cut { cutter, documents } => match cutter.next_row(|| documents.next())? {
                Some(segments) => {
                    let repeated = u32::from(self.packed.rules().policy.overlap && !is_first);
                    self.packed.cut(self.stratum, self.pass, segments, repeated).map(Some)
                }
                None => Ok(None),
            },
        }
    }
}

/// What pass `pass` over a stratum comes to.
///
/// # Errors
/// [`EpochError::Store`].
pub(super) fn count(
    packed: &Arc<PassRows>,
    stratum: u16,
    pass: u32,
) -> Result<PassCount, EpochError> {
    if let Some(known) = packed.known_count() {
        return Ok(known);
    }
    let capacity = packed.rules().policy.capacity;
    let mut cursor = PassCursor::at(Arc::clone(packed), stratum, pass, &PassPosition::Start)?;
    let mut count = PassCount::default();
    while let Some(row) = cursor.take()? {
        count.rows += 1;
        count.full_rows += u64::from(row.tokens + row.repeated == capacity);
        count.tokens += u64::from(row.tokens);
        count.amount += row.amount;
    }
    Ok(count)
}
