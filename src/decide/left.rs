//! What a commit leaves in memory for the next one of the same writer.

use super::crowd::Crowd;
use super::twins::Twins;
use crate::model::DocId;
use crate::store::Batch;

/// None of it is stored: a commit that finds nothing reads it again.
struct Left {
    crowd: Option<Crowd>,
    twins: Twins,
}

/// Takes what the last commit left.
pub(super) fn take(batch: &Batch<'_>) -> (Crowd, Twins) {
    let (crowd, twins) = match batch.take_aside::<Left>() {
        Some(Left { crowd, twins }) => (crowd, Some(twins)),
        None => (None, None),
    };
    (Crowd::of(crowd, batch), Twins::of(twins, batch.view().generation(), batch.memory_aside()))
}

/// Leaves it to the next. `gone` are documents that are not kept any more.
pub(super) fn leave(batch: &mut Batch<'_>, mut crowd: Crowd, twins: Twins, gone: &[DocId]) {
    crowd.forget_gone(gone);
    let is_changed = crowd.is_changed() || twins.is_changed();
    let left = Left { crowd: crowd.leave(), twins };
    if is_changed {
        batch.leave_aside(left);
    } else {
        batch.return_aside(left);
    }
}
