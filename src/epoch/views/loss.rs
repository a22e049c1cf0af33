//! Views of what is trained on: labels, loss mask, loss weights.
//!
//! A token is a target if it is in a segment, not the segment's first (nothing in the segment predicts that), no pad,
//! and trained. Unshifted views have the target at its own position and leave the shift to the model, as transformers
//! does; shifted ones have it at the position that predicts it.

use super::append::{TargetRun, append_labels, append_loss, for_each_target};
use super::shape::{RowShape, size};
use model::LossSpan;
use std::collections::BTreeMap;

/// What loss weights add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossWeighting {
    /// The weights as they are: a long sequence counts more than a short one.
    #[default]
    Tokens,
    /// Divided by N, the targets of the segment in this row: every sequence counts the same, as it does
    /// in a batch of one sequence a row whose losses are means.
    Sequences,
}

/// Labels, unshifted: the ids, but [`IGNORED`] on what is not a target (i32, T).
///
/// `trained` says which tokens are; `None` is all of them.
#[must_use]
pub fn labels(shape: &RowShape, ids: &[i32], trained: Option<&[LossSpan]>) -> Vec<i32> {
    label_at(shape, ids, trained, 0)
}

/// Labels, shifted: at each position the id of the next token, if that is a target (i32, T).
///
/// For trainers that do not shift by themselves (torchtitan, Megatron).
#[must_use]
pub fn shifted_labels(shape: &RowShape, ids: &[i32], trained: Option<&[LossSpan]>) -> Vec<i32> {
    label_at(shape, ids, trained, 1)
}

/// The loss mask, shifted: 1 where the next token is a target (i8, T). `loss_mask` of Megatron and of
/// Megatron-Bridge's packed Parquet.
#[must_use]
pub fn loss_mask(shape: &RowShape, trained: Option<&[LossSpan]>) -> Vec<i8> {
    let mut mask = Vec::with_capacity(size(shape.width));
    append_loss(shape, trained, 1, 0, |_| 1, &mut mask);
    mask
}

/// Loss weights, unshifted: of each target its weight, on request divided by the targets of its
/// segment, and 0 elsewhere (f32, T).
#[must_use]
pub fn loss_weights(
    shape: &RowShape,
    trained: Option<&[LossSpan]>,
    normalise: LossWeighting,
) -> Vec<f32> {
    weight_at(shape, trained, normalise, 0)
}

/// [`loss_weights`] at the positions that predict (f32, T).
#[must_use]
pub fn shifted_loss_weights(
    shape: &RowShape,
    trained: Option<&[LossSpan]>,
    normalise: LossWeighting,
) -> Vec<f32> {
    weight_at(shape, trained, normalise, 1)
}

fn label_at(shape: &RowShape, ids: &[i32], trained: Option<&[LossSpan]>, shift: usize) -> Vec<i32> {
    let mut labels = Vec::with_capacity(size(shape.width));
    append_labels(shape, (ids, |id| id), trained, shift, &mut labels);
    labels
}

fn weight_at(
    shape: &RowShape,
    trained: Option<&[LossSpan]>,
    normalise: LossWeighting,
    shift: usize,
) -> Vec<f32> {
    let mut counts = BTreeMap::<u32, usize>::new();
    if normalise == LossWeighting::Sequences {
        for_each_target(shape, trained, |target| {
            *counts.entry(target.segment).or_default() += target.place.len();
        });
    }
    let weight = |target: &TargetRun| match counts.get(&target.segment) {
        Some(count) => divided(target.weight, *count),
        None => target.weight,
    };
    let mut weights = Vec::with_capacity(size(shape.width));
    append_loss(shape, trained, shift, 0.0, weight, &mut weights);
    weights
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "f32 is the type of losses"
)]
fn divided(weight: f32, count: usize) -> f32 {
    (f64::from(weight) / count as f64) as f32
}
