//! Views with a value a token, in the type of a tensor or of a column of files.

use crate::epoch::stream::EpochRow;
use crate::epoch::views::{
    LossSpan, RowShape, TensorElement, append_labels, append_loss, append_runs,
};

/// What a view says of each token.
#[derive(Clone, Copy)]
pub(in crate::epoch) enum TokenView {
    /// The id of a target, this many positions before its own; -100 elsewhere.
    Labels(usize),
    /// The weight of a target, this many positions before its own; 0 elsewhere.
    Loss(usize),
    /// The id after it; 0 at the end and before a pad.
    NextIds,
    /// Its position in its segment, or in its run of pads.
    Positions,
    /// Its position in the part of the row that it is in, by the lengths of these.
    PositionsIn(fn(&RowShape) -> Vec<i32>),
    /// A number, by that of its segment, if it is in any, and whether it is a pad.
    Runs(fn(Option<u32>, bool) -> i32),
}

impl TokenView {
    /// Appends the values of a row.
    pub(in crate::epoch) fn append<T: TensorElement>(
        self,
        row: &EpochRow,
        trained: Option<&[LossSpan]>,
        out: &mut Vec<T>,
    ) {
        let (shape, ids, nothing) = (&row.shape, &*row.ids, T::of(0));
        match self {
            Self::Labels(shift) => append_labels(shape, (ids, T::id), trained, shift, out),
            Self::Loss(shift) => {
                append_loss(shape, trained, shift, nothing, |of| T::weight(of.weight), out);
            }
            Self::NextIds => append_next_ids(shape, ids, out),
            Self::Positions => {
                shape.for_each_run(|run| out.extend((0..run.length.cast_signed()).map(T::of)));
            }
            Self::PositionsIn(lengths) => {
                lengths(shape).into_iter().for_each(|length| out.extend((0..length).map(T::of)));
            }
            Self::Runs(number) => {
                append_runs(shape, |segment, is_pad| T::of(number(segment, is_pad)), out);
            }
        }
    }
}

fn append_next_ids<T: TensorElement>(shape: &RowShape, ids: &[u32], out: &mut Vec<T>) {
    let begin = out.len();
    out.resize(begin + shape.width as usize, T::of(0));
    for span in &shape.spans {
        // The first position of a row follows none.
        let place = span.start.max(1) as usize..span.end() as usize;
        let before = out.iter_mut().skip(begin + place.start - 1);
        before.zip(ids.get(place).unwrap_or_default()).for_each(|(out, id)| *out = T::id(*id));
    }
}
