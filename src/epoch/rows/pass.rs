//! A cursor over the rows of one pass over a stratum, whose position is three numbers.
//!
//! Documents are read in the order of the pass, with one block in memory.

use super::pass_rows::PassRows;
use super::{PassCount, RowRef};
use crate::epoch::error::EpochError;
use crate::epoch::pack::{RowCutter, Segment};
use crate::epoch::permutation::{Permutation, Purpose};
use crate::epoch::recipe::OrderKind;
use std::sync::Arc;

/// Rows looked up at a time, where that takes no more than their number.
const AHEAD: usize = 32;

/// Where a cursor stands in its pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::epoch) enum PassPosition {
    /// No row was given.
    #[default]
    Start,
    /// The number of rows given, where a row is found by its number.
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
    head: Option<RowRef>,
}

enum PassOrder {
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
        let way = if let Some(order) = packed.listed_order(pass, &mut |_| {})? {
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
                // The next row repeats the end of the fragment that was placed whole.
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
    pub fn peek(&mut self) -> Result<Option<&RowRef>, EpochError> {
        if self.head.is_none() {
            self.head = self.look_up()?;
        }
        Ok(self.head.as_ref())
    }

    /// The row that [`PassCursor::peek`] showed.
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

    fn look_up(&mut self) -> Result<Option<RowRef>, EpochError> {
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
    let segment_full_rows = packed.patterned_segment_full();
    let mut count = PassCount { segment_full_rows, ..PassCount::default() };
    while let Some(row) = cursor.take()? {
        count.rows += 1;
        count.full_rows += u64::from(row.tokens + row.repeated == capacity);
        count.segment_full_rows += u64::from(packed.is_full_by_segments(&row));
        count.tokens += u64::from(row.tokens);
        count.amount += row.amount;
    }
    Ok(count)
}

/// Documents in order; shuffled, blocks by a keyed permutation and then those inside each.
pub(super) struct DocumentCursor {
    packed: Arc<PassRows>,
    pass: u32,
    order: Permutation,
    /// Blocks entered.
    entered: u64,
    parts: Vec<Segment>,
    /// Order inside the block; none when sequential.
    inside: Option<Permutation>,
    /// Parts of the block given.
    next: u64,
}

impl DocumentCursor {
    /// Stands where `entered` blocks have been entered and `next` parts of the last were given.
    pub fn at(
        packed: Arc<PassRows>,
        pass: u32,
        entered: u64,
        next: u64,
    ) -> Result<Self, EpochError> {
        let order = packed.permutation(packed.blocks().len() as u64, pass, Purpose::Blocks, 0);
        let parts = Vec::new();
        let mut walk = Self { packed, pass, order, entered, parts, inside: None, next: 0 };
        if let Some(before) = entered.checked_sub(1) {
            walk.entered = before;
            walk.enter()?;
        }
        walk.next = next;
        Ok(walk)
    }

    /// (blocks entered, parts of the last one given).
    pub const fn place(&self) -> (u64, u64) {
        (self.entered, self.next)
    }

    /// The part given last.
    pub fn last(&self) -> Option<Segment> {
        self.part(self.next.checked_sub(1)?)
    }

    fn part(&self, at: u64) -> Option<Segment> {
        if at >= self.parts.len() as u64 {
            return None;
        }
        let at = self.inside.as_ref().map_or(at, |inside| inside.at(at));
        self.parts.get(usize::try_from(at).ok()?).copied()
    }

    pub fn next(&mut self) -> Result<Option<Segment>, EpochError> {
        while self.next >= self.parts.len() as u64 {
            if self.entered >= self.packed.blocks().len() as u64 {
                return Ok(None);
            }
            self.enter()?;
        }
        let part = self.part(self.next);
        self.next += 1;
        part.map(Some).ok_or_else(|| EpochError::bug("a permutation left its range"))
    }

    fn enter(&mut self) -> Result<(), EpochError> {
        if self.entered >= self.packed.blocks().len() as u64 {
            return Err(EpochError::bug("a place behind the last block"));
        }
        let shuffled = self.packed.rules().order != OrderKind::Sequential;
        let at = if shuffled { self.order.at(self.entered) } else { self.entered };
        let block = usize::try_from(at).ok().and_then(|at| self.packed.blocks().get(at)).copied();
        let block = block.ok_or_else(|| EpochError::bug("a permutation left its range"))?;
        self.entered += 1;
        self.parts = self.packed.parts(block)?;
        let parts = self.parts.len() as u64;
        self.inside =
            shuffled.then(|| self.packed.permutation(parts, self.pass, Purpose::Documents, block));
        self.next = 0;
        Ok(())
    }
}

/// The last `tokens` tokens of a pass over a stratum, last first.
pub(super) fn unfilled_segments(
    packed: &Arc<PassRows>,
    pass: u32,
    mut tokens: u64,
) -> Result<Vec<Segment>, EpochError> {
    let mut found = Vec::new();
    let mut walk = DocumentCursor::at(Arc::clone(packed), pass, 0, 0)?;
    for before in (0..packed.blocks().len() as u64).rev() {
        if tokens == 0 {
            break;
        }
        walk.entered = before;
        walk.enter()?;
        for at in (0..walk.parts.len() as u64).rev() {
            let Some(part) = walk.part(at).filter(|_| tokens > 0) else { break };
            let length = u32::try_from(tokens).unwrap_or(u32::MAX).min(part.length);
            tokens -= u64::from(length);
            let offset = part.offset + part.length - length;
            found.push(Segment { offset, length, ..part });
        }
    }
    Ok(found)
}
