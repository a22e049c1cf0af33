//! What is trained: labels, loss mask, loss weights.
//!
//! A token is a target if it is in a segment, not its first token (nothing in the segment predicts
//! that), no pad, and trained. Unshifted views have the target at its own position and leave the shift
//! to the model, as transformers does; shifted ones have it at the position that predicts it.

use super::shape::{RowShape, ShapeRun, size};
use model::LossSpan;
use std::collections::BTreeMap;
use std::ops::Range;

/// The label that losses ignore.
pub const IGNORED: i32 = -100;

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
    let mut mask = vec![0; size(shape.width)];
    for target in targets(shape, trained) {
        fill(&mut mask, &target, 1, 1);
    }
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

/// Targets that follow each other in one segment.
pub(super) struct TargetRun {
    /// Positions, at least one; none is 0.
    pub place: Range<usize>,
    pub weight: f32,
    /// First position of the segment.
    segment: u32,
}

/// The targets of a row. No position 0 is one, so all can be shifted by one.
fn targets(shape: &RowShape, trained: Option<&[LossSpan]>) -> Vec<TargetRun> {
    let mut targets = Vec::with_capacity(shape.spans.len());
    for_each_target(shape, trained, |target| targets.push(target));
    targets
}

/// The same, one after another; without memory for them where all is trained.
pub(super) fn for_each_target(
    shape: &RowShape,
    trained: Option<&[LossSpan]>,
    mut given: impl FnMut(TargetRun),
) {
    let Some(trained) = trained else {
        return shape.for_each_run(|run| {
            if !run.pads && run.length > 1 {
                let place = size(run.start + 1)..size(run.start + run.length);
                given(TargetRun { place, weight: 1.0, segment: run.start });
            }
        });
    };
    let segments: Vec<ShapeRun> = shape.runs().into_iter().filter(|run| !run.pads).collect();
    for span in trained.iter().filter(|span| span.weight > 0.0) {
        let first = segments.partition_point(|run| run.start + run.length <= span.start);
        for run in segments.iter().skip(first).take_while(|run| run.start < span.end) {
            let start = span.start.max(run.start.saturating_add(1));
            let end = span.end.min(run.start + run.length);
            if start < end {
                let place = size(start)..size(end);
                given(TargetRun { place, weight: span.weight, segment: run.start });
            }
        }
    }
}

fn label_at(shape: &RowShape, ids: &[i32], trained: Option<&[LossSpan]>, shift: usize) -> Vec<i32> {
    let mut labels = vec![IGNORED; size(shape.width)];
    for TargetRun { place, .. } in targets(shape, trained) {
        let shifted = labels.get_mut(place.start - shift..place.end - shift);
        if let (Some(part), Some(ids)) = (shifted, ids.get(place)) {
            part.copy_from_slice(ids);
        }
    }
    labels
}

fn weight_at(
    shape: &RowShape,
    trained: Option<&[LossSpan]>,
    normalise: LossWeighting,
    shift: usize,
) -> Vec<f32> {
    let targets = targets(shape, trained);
    let mut counts = BTreeMap::<u32, usize>::new();
    for target in &targets {
        *counts.entry(target.segment).or_default() += target.place.len();
    }
    let mut weights = vec![0.0; size(shape.width)];
    for target in &targets {
        let weight = match normalise {
            LossWeighting::Tokens => target.weight,
            LossWeighting::Sequences => {
                divided(target.weight, counts.get(&target.segment).copied().unwrap_or(1))
            }
        };
        fill(&mut weights, target, shift, weight);
    }
    weights
}

fn fill<T: Copy>(values: &mut [T], target: &TargetRun, shift: usize, value: T) {
    let place = target.place.start - shift..target.place.end - shift;
    if let Some(part) = values.get_mut(place) {
        part.fill(value);
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "f32 is the type of losses"
)]
fn divided(weight: f32, count: usize) -> f32 {
    (f64::from(weight) / count as f64) as f32
}
