//! Batches without pads: the segments of all rows end to end, tensors of 1 x tokens.

use super::{BatchField, Tensor, TensorIds, TensorMaker, TensorValues, boundary};
use crate::epoch::error::EpochError;
use crate::epoch::recipe::PadSide;
use crate::epoch::stream::EpochRow;
use crate::epoch::views::{RowShape, Span, TensorInteger, append_labels, append_loss};

/// Rows, what they are to be made to, and what is known of all of them.
struct FlatRows<'a> {
    rows: &'a [EpochRow],
    tokens: usize,
    segments: usize,
    /// Tokens of the widest row, pads included.
    width: usize,
    side: PadSide,
}

pub(super) fn tensors(maker: &TensorMaker, rows: &[EpochRow]) -> Result<Vec<Tensor>, EpochError> {
    let spans = || rows.iter().flat_map(|row| &row.shape().spans);
    let batch = FlatRows {
        rows,
        tokens: spans().map(|span| span.length as usize).sum(),
        segments: spans().count(),
        width: rows.iter().map(|row| row.shape().width as usize).max().unwrap_or(0),
        side: maker.side,
    };
    boundary(batch.tokens)?;
    let ids = match maker.ids {
        TensorIds::I64 => batch.ids::<i64>().into(),
        TensorIds::I32 => batch.ids::<i32>().into(),
        TensorIds::U16 => batch.ids::<u16>().into(),
    };
    let mut tensors =
        vec![Tensor { name: maker.ids_name, dims: vec![1, batch.tokens], values: ids }];
    for key in &maker.keys {
        let (dims, values) = batch.tensor(key.field);
        tensors.push(Tensor { name: key.name, dims, values });
    }
    Ok(tensors)
}

impl FlatRows<'_> {
    fn ids<T: TensorInteger>(&self) -> Vec<T> {
        let mut ids: Vec<T> = Vec::with_capacity(self.tokens);
        for row in self.rows {
            for span in &row.shape().spans {
                let own = row.ids().get(span.start as usize..span.end() as usize);
                ids.extend(own.unwrap_or_default().iter().map(|id| T::id(*id)));
            }
        }
        ids
    }

    fn tensor(&self, view: BatchField) -> (Vec<usize>, TensorValues) {
        let values = match view {
            BatchField::Labels | BatchField::ShiftedLabels => {
                let shift = usize::from(view == BatchField::ShiftedLabels);
                let row = |row: &EpochRow, shape: &RowShape, out: &mut Vec<i64>| {
                    append_labels(shape, row.ids(), row.trained(), shift, out);
                };
                self.aligned(row).into()
            }
            BatchField::LabelMask => TensorValues::Bool(self.aligned(|row, shape, out| {
                append_loss(shape, row.trained(), 0, false, |_| true, out);
            })),
            BatchField::LossMask => TensorValues::I8(self.aligned(|row, shape, out| {
                append_loss(shape, row.trained(), 1, 0, |_| 1, out);
            })),
            BatchField::LossWeights | BatchField::ShiftedLossWeights => {
                let shift = usize::from(view == BatchField::ShiftedLossWeights);
                TensorValues::F32(self.aligned(|row, shape, out| {
                    append_loss(shape, row.trained(), shift, 0.0, |weight| weight, out);
                }))
            }
            BatchField::PositionIds => {
                let mut out: Vec<i64> = Vec::with_capacity(self.tokens);
                self.spans().for_each(|span| out.extend(0..i64::from(span.length)));
                out.into()
            }
            BatchField::SegmentIds => self.numbers(1),
            BatchField::SeqIdx | BatchField::DocumentId => self.numbers(0),
            BatchField::Indices => TensorValues::I64(self.indices()),
            _ => return self.boundaries(view),
        };
        (vec![1, self.tokens], values)
    }

    fn boundaries(&self, view: BatchField) -> (Vec<usize>, TensorValues) {
        let length = |span: &Span| span.length.cast_signed();
        match view {
            BatchField::MaxSeqlen | BatchField::MaxLengthQ | BatchField::MaxLengthK => {
                let longest = self.spans().map(length).max().unwrap_or(0);
                (Vec::new(), vec![longest].into())
            }
            BatchField::Lengths => {
                let of = |row: &EpochRow| row.shape().spans.iter().map(length).sum::<i32>();
                (vec![self.rows.len()], self.rows.iter().map(of).collect::<Vec<i32>>().into())
            }
            BatchField::DocLens => {
                (vec![self.segments], self.spans().map(length).collect::<Vec<i32>>().into())
            }
            _ => {
                let mut ends = Vec::with_capacity(self.segments + 1);
                ends.push(0);
                let mut end = 0_i32;
                ends.extend(self.spans().map(|span| {
                    // The tokens of the batch are known to fit.
                    end = end.saturating_add(length(span));
                    end
                }));
                (vec![ends.len()], ends.into())
            }
        }
    }

    fn spans(&self) -> impl Iterator<Item = &Span> {
        self.rows.iter().flat_map(|row| &row.shape().spans)
    }

    /// What `append` makes of each row, without what stands in no segment.
    fn aligned<T: Copy>(&self, append: impl Fn(&EpochRow, &RowShape, &mut Vec<T>)) -> Vec<T> {
        let mut out = Vec::with_capacity(self.tokens);
        let mut whole = Vec::new();
        for row in self.rows {
            whole.clear();
            append(row, row.shape(), &mut whole);
            for span in &row.shape().spans {
                let part = whole.get(span.start as usize..span.end() as usize);
                out.extend_from_slice(part.unwrap_or_default());
            }
        }
        out
    }

    /// Numbers of segments through the batch.
    fn numbers(&self, first: i32) -> TensorValues {
        let mut out: Vec<i32> = Vec::with_capacity(self.tokens);
        for (number, span) in (first..).zip(self.spans()) {
            out.resize(out.len() + span.length as usize, number);
        }
        out.into()
    }

    fn indices(&self) -> Vec<i64> {
        let mut out = Vec::with_capacity(self.tokens);
        for (number, row) in self.rows.iter().enumerate() {
            let added = self.width - (row.shape().width as usize).min(self.width);
            let before = number * self.width + if self.side == PadSide::Left { added } else { 0 };
            for span in &row.shape().spans {
                let places = before + span.start as usize..before + span.end() as usize;
                out.extend(places.map(|at| at as i64));
            }
        }
        out
    }
}
