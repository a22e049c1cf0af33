//! Goes through the documents of a pass in the order of a pass, one block in memory.

use super::pass_rows::PassRows;
use crate::epoch::error::EpochError;
use crate::epoch::pack::Segment;
use crate::epoch::permutation::{Permutation, Purpose};
use crate::epoch::recipe::OrderKind;
use std::sync::Arc;

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
///
/// # Errors
/// [`EpochError::Store`].
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
