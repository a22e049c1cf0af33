//! Appends views of a row to a tensor of many rows: one pass, in the type of the tensor, without memory of its own.

use super::shape::{RowShape, ShapeRun, size};
use model::LossSpan;
use std::ops::Range;

/// The label that losses ignore.
pub const IGNORED: i32 = -100;

/// A type that ids and views are given as.
pub(in crate::epoch) trait TensorElement: Copy + Send + Sync + 'static {
    /// A label, or anything else that views know as i32.
    fn of(value: i32) -> Self;
    /// A token id.
    fn id(id: u32) -> Self {
        Self::of(id.cast_signed())
    }
    /// The weight of a target; that it is one, in types without fractions.
    fn weight(_weight: f32) -> Self {
        Self::of(1)
    }
}

macro_rules! elements {
    ($($element:ty)*) => {
        $(impl TensorElement for $element {
            fn of(value: i32) -> Self {
                value as Self
            }
        })*
    };
}

elements! { i8 u8 u16 i32 }

impl TensorElement for i64 {
    fn of(value: i32) -> Self {
        Self::from(value)
    }
    fn id(id: u32) -> Self {
        Self::from(id)
    }
}

impl TensorElement for f32 {
    fn of(value: i32) -> Self {
        value as Self
    }
    fn weight(weight: f32) -> Self {
        weight
    }
}

impl TensorElement for bool {
    fn of(value: i32) -> Self {
        value != 0
    }
}

/// Targets that follow each other in one segment.
pub(in crate::epoch) struct TargetRun {
    /// Positions, at least one; none is 0.
    pub place: Range<usize>,
    pub weight: f32,
    /// First position of the segment.
    pub segment: u32,
}

/// The targets of a row one after another, without memory for them where all is trained. No position 0 is one, so all
/// can be shifted by one.
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

/// Appends [`labels`](super::labels), or with `shift` 1 [`shifted_labels`](super::shifted_labels), of ids that become
/// labels by `label`.
pub(in crate::epoch) fn append_labels<I: Copy, T: TensorElement>(
    shape: &RowShape,
    (ids, label): (&[I], impl Fn(I) -> T),
    trained: Option<&[LossSpan]>,
    shift: usize,
    out: &mut Vec<T>,
) {
    let (begin, ignored) = (out.len(), T::of(IGNORED));
    for_each_target(shape, trained, |target| {
        let start = begin + target.place.start - shift;
        if let Some(ids) = ids.get(target.place) {
            put(start, ignored, ids.iter().map(|id| label(*id)), out);
        }
    });
    out.resize(begin + size(shape.width), ignored);
}

/// Appends what each target weighs, through `value`, and `nothing` elsewhere; `shift` as in [`append_labels`].
pub(in crate::epoch) fn append_loss<T: Copy>(
    shape: &RowShape,
    trained: Option<&[LossSpan]>,
    shift: usize,
    nothing: T,
    value: impl Fn(&TargetRun) -> T,
    out: &mut Vec<T>,
) {
    let begin = out.len();
    for_each_target(shape, trained, |target| {
        let values = std::iter::repeat_n(value(&target), target.place.len());
        put(begin + target.place.start - shift, nothing, values, out);
    });
    out.resize(begin + size(shape.width), nothing);
}

/// Puts values at a position, and `nothing` before them where there is none yet.
fn put<T: Copy>(
    start: usize,
    nothing: T,
    values: impl ExactSizeIterator<Item = T>,
    out: &mut Vec<T>,
) {
    if start >= out.len() {
        out.resize(start, nothing);
        return out.extend(values);
    }
    // Trained positions that do not ascend.
    out.resize(out.len().max(start + values.len()), nothing);
    out.iter_mut().skip(start).zip(values).for_each(|(place, value)| *place = value);
}

/// Appends where each run ends, of a segment or of pads; together they cover the row.
pub(in crate::epoch) fn append_run_ends(shape: &RowShape, out: &mut Vec<i32>) {
    shape.for_each_run(|run| {
        if run.length > 0 {
            out.push((run.start + run.length).cast_signed());
        }
    });
}

/// Appends a value for each token, by the number of its segment, if it is in any, and whether it is a pad.
pub(in crate::epoch) fn append_runs<T: Copy>(
    shape: &RowShape,
    value: impl Fn(Option<u32>, bool) -> T,
    out: &mut Vec<T>,
) {
    shape.for_each_run(|run| {
        out.resize(out.len() + size(run.length), value(run.segment, run.pads));
    });
}
