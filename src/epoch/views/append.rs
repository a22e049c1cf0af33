//! Views of a row at the end of a tensor of many rows: one pass, in the type of the tensor, and no memory of their own.

use super::loss::for_each_target;
use super::shape::{RowShape, size};
use super::{IGNORED, LossSpan};

/// A type that ids, labels and positions are given as.
pub(in crate::epoch) trait TensorInteger: Copy + Send + Sync + 'static {
    /// A label, or anything else that views know as i32.
    fn of(value: i32) -> Self;
    /// A token id.
    fn id(id: u32) -> Self {
        Self::of(id.cast_signed())
    }
}

impl TensorInteger for i32 {
    fn of(value: i32) -> Self {
        value
    }
}

/// Token ids alone are given as such.
impl TensorInteger for u16 {
    fn of(value: i32) -> Self {
        value as Self
    }
}

impl TensorInteger for i64 {
    fn of(value: i32) -> Self {
        Self::from(value)
    }
    fn id(id: u32) -> Self {
        Self::from(id)
    }
}

/// Appends [`labels`](super::labels), or with `shift` 1 [`shifted_labels`](super::shifted_labels). Where trained
/// positions do not ascend, those out of order are left out.
pub(in crate::epoch) fn append_labels<T: TensorInteger>(
    shape: &RowShape,
    ids: &[u32],
    trained: Option<&[LossSpan]>,
    shift: usize,
    out: &mut Vec<T>,
) {
    let (begin, ignored) = (out.len(), T::of(IGNORED));
    for_each_target(shape, trained, |target| {
        let start = begin + target.place.start - shift;
        if let Some(ids) = ids.get(target.place).filter(|_| start >= out.len()) {
            out.resize(start, ignored);
            out.extend(ids.iter().map(|id| T::id(*id)));
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
    value: impl Fn(f32) -> T,
    out: &mut Vec<T>,
) {
    let begin = out.len();
    for_each_target(shape, trained, |target| {
        let (start, end) = (target.place.start - shift, target.place.end - shift);
        if begin + start >= out.len() {
            out.resize(begin + start, nothing);
            out.resize(begin + end, value(target.weight));
        }
    });
    out.resize(begin + size(shape.width), nothing);
}

/// Appends [`position_ids`](super::position_ids).
pub(in crate::epoch) fn append_positions<T: TensorInteger>(shape: &RowShape, out: &mut Vec<T>) {
    shape.for_each_run(|run| out.extend((0..run.length).map(T::id)));
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

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is appended is what the view makes, whatever stands before it.
        #[test]
        fn appended_views_are_the_views(
            lengths in proptest::collection::vec(1_u32..6, 0..5),
            pads in 0_u32..4,
            each: bool,
            cuts in proptest::collection::vec(0_u32..30, 0..6),
        ) {
            let width = lengths.iter().sum::<u32>() + pads;
            let view = if each { PadView::Each } else { PadView::Suffix };
            let shape = RowShape::packed(lengths, width).with_pads(view);
            let mut cuts: Vec<u32> = cuts.into_iter().map(|cut| cut.min(width)).collect();
            cuts.sort_unstable();
            let spans: Vec<LossSpan> = cuts.chunks_exact(2).map(|two| LossSpan {
                start: two[0], end: two[1], weight: 0.5 * (two[0] % 3) as f32,
            }).collect();
            let ids: Vec<i32> = (100..).take(width as usize).collect();
            let unsigned: Vec<u32> = ids.iter().map(|id| id.cast_unsigned()).collect();
            for trained in [None, Some(spans.as_slice())] {
                for shift in [0, 1] {
                    let mut out = vec![7_i64];
                    append_labels(&shape, &unsigned, trained, shift, &mut out);
                    let wanted = if shift == 0 { labels(&shape, &ids, trained) } else { shifted_labels(&shape, &ids, trained) };
                    prop_assert_eq!(&out[1..], wanted.into_iter().map(i64::from).collect::<Vec<_>>());
                    let mut out = vec![7.0];
                    append_loss(&shape, trained, shift, 0.0, |weight| weight, &mut out);
                    let wanted = if shift == 0 {
                        loss_weights(&shape, trained, LossWeighting::Tokens)
                    } else {
                        shifted_loss_weights(&shape, trained, LossWeighting::Tokens)
                    };
                    prop_assert_eq!(&out[1..], wanted);
                }
                let mut out = vec![7_i8];
                append_loss(&shape, trained, 1, 0, |_| 1, &mut out);
                prop_assert_eq!(&out[1..], loss_mask(&shape, trained));
            }
            let mut out = vec![7_i32];
            append_positions(&shape, &mut out);
            prop_assert_eq!(&out[1..], position_ids(&shape));
            let mut out = vec![7_i32];
            append_runs(&shape, |segment, _| segment.map_or(-1, u32::cast_signed), &mut out);
            prop_assert_eq!(&out[1..], seq_idx(&shape));
        }
    }
}
