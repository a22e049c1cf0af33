//! Batches of rows: tensors of rows x width.

use super::{BatchField, Tensor, TensorMaker, TensorValues, boundary};
use crate::epoch::error::EpochError;
use crate::epoch::recipe::PadSide;
use crate::epoch::stream::EpochRow;
use crate::epoch::views::{
    IGNORED, LossSpan, RowShape, TensorInteger, ViewError, append_labels, append_loss,
    append_positions, append_runs, batch_block_causal_mask, batch_cu_seqlens,
    batch_cu_seqlens_padded, batch_doc_lens, max_seqlen,
};
use std::borrow::Cow;

/// A row as it stands in the batch.
struct WideRow<'a> {
    shape: Cow<'a, RowShape>,
    /// Pads before its own ids.
    before: usize,
    /// Its own ids.
    own: &'a [u32],
    trained: Option<Cow<'a, [LossSpan]>>,
}

pub(super) fn tensors<T>(maker: &TensorMaker, rows: &[EpochRow]) -> Result<Vec<Tensor>, EpochError>
where
    T: TensorInteger,
    TensorValues: From<Vec<T>>,
{
    let widest = rows.iter().map(|row| row.shape().width).max();
    let width = widest.map_or(maker.width, |width| width as usize);
    let rows: Vec<WideRow<'_>> = rows.iter().map(|row| widened(maker, row, width)).collect();
    let places = rows.len().saturating_mul(width);
    boundary(places)?;
    let mut ids: Vec<T> = Vec::with_capacity(places);
    let pad = T::id(maker.pad);
    for (row, wide) in rows.iter().enumerate() {
        ids.resize(row * width + wide.before, pad);
        ids.extend(wide.own.iter().map(|id| T::id(*id)));
        ids.resize((row + 1) * width, pad);
    }
    let square = vec![rows.len(), width];
    let mut tensors = vec![Tensor { name: "input_ids", dims: square, values: ids.into() }];
    for view in &maker.views {
        tensors.push(tensor::<T>(*view, &rows, width)?);
    }
    Ok(tensors)
}

fn widened<'a>(maker: &TensorMaker, row: &'a EpochRow, width: usize) -> WideRow<'a> {
    let (shape, own, trained) = (row.shape(), row.ids(), row.trained());
    let added = width.saturating_sub(own.len());
    if added == 0 {
        let trained = trained.map(Cow::Borrowed);
        return WideRow { shape: Cow::Borrowed(shape), before: 0, own, trained };
    }
    let before = if maker.side == PadSide::Left { added } else { 0 };
    // Widths are those of rows, so the cast keeps them.
    let by = before as u32;
    let mut shape = RowShape { width: width as u32, ..shape.clone() };
    shape.spans.iter_mut().for_each(|span| span.start += by);
    let moved = |span: &LossSpan| LossSpan { start: span.start + by, end: span.end + by, ..*span };
    let trained = trained.map(|spans| Cow::Owned(spans.iter().map(moved).collect()));
    WideRow { shape: Cow::Owned(shape), before, own, trained }
}

fn tensor<T>(view: BatchField, rows: &[WideRow<'_>], width: usize) -> Result<Tensor, EpochError>
where
    T: TensorInteger,
    TensorValues: From<Vec<T>>,
{
    let square = vec![rows.len(), width];
    let shapes = || rows.iter().map(|row| RowShape::clone(&row.shape)).collect::<Vec<_>>();
    let (dims, values) = match view {
        BatchField::Labels => (square, labels::<T>(rows, width, 0).into()),
        BatchField::ShiftedLabels => (square, labels::<T>(rows, width, 1).into()),
        BatchField::PositionIds => {
            let mut out: Vec<T> = Vec::with_capacity(rows.len() * width);
            rows.iter().for_each(|row| append_positions(&row.shape, &mut out));
            (square, out.into())
        }
        BatchField::AttentionMask => {
            (square, runs(rows, width, |_, pads| T::of(i32::from(!pads))).into())
        }
        BatchField::SegmentIds => {
            let number = |segment: Option<u32>, _| segment.map_or(0, |at| at.cast_signed() + 1);
            (square, runs(rows, width, number).into())
        }
        BatchField::SeqIdx | BatchField::DocumentId => {
            let number = |segment: Option<u32>, _| segment.map_or(-1, u32::cast_signed);
            (square, runs(rows, width, number).into())
        }
        BatchField::LossMask => (square, TensorValues::I8(loss(rows, width, 1, 0, |_| 1))),
        BatchField::LossWeights => {
            (square, TensorValues::F32(loss(rows, width, 0, 0.0, |weight| weight)))
        }
        BatchField::ShiftedLossWeights => {
            (square, TensorValues::F32(loss(rows, width, 1, 0.0, |weight| weight)))
        }
        BatchField::BlockCausalMask => {
            let mask = batch_block_causal_mask(&shapes()).map_err(unfit)?;
            (vec![rows.len(), width, width], TensorValues::Bool(mask))
        }
        BatchField::CuSeqlensPadded => {
            let starts = batch_cu_seqlens_padded(&shapes()).map_err(unfit)?;
            (vec![starts.len()], starts.into())
        }
        BatchField::CuSeqlens
        | BatchField::CuSeqLensQ
        | BatchField::CuSeqLensK
        | BatchField::Indices => {
            let ends = batch_cu_seqlens(&shapes()).map_err(unfit)?;
            (vec![ends.len()], ends.into())
        }
        BatchField::MaxSeqlen | BatchField::MaxLengthQ | BatchField::MaxLengthK => {
            let longest = rows.iter().map(|row| max_seqlen(&row.shape)).max().unwrap_or(0);
            (Vec::new(), vec![longest.cast_signed()].into())
        }
        BatchField::DocLens => {
            let (lengths, columns) = batch_doc_lens(&shapes());
            (vec![rows.len(), columns], lengths.into())
        }
        BatchField::Lengths => {
            let real =
                |row: &WideRow<'_>| row.shape.spans.iter().map(|span| span.length).sum::<u32>();
            let lengths: Vec<i32> = rows.iter().map(|row| real(row).cast_signed()).collect();
            (vec![rows.len()], lengths.into())
        }
    };
    Ok(Tensor { name: view.name(), dims, values })
}

fn unfit(error: ViewError) -> EpochError {
    EpochError::bug(error.to_string())
}

fn labels<T: TensorInteger>(rows: &[WideRow<'_>], width: usize, shift: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(rows.len() * width);
    for (number, row) in rows.iter().enumerate() {
        // Pads before the ids are moved over: targets are looked up where the ids alone begin.
        match row.before {
            0 => append_labels(&row.shape, row.own, row.trained.as_deref(), shift, &mut out),
            before => {
                let mut ids = vec![0; before];
                ids.extend_from_slice(row.own);
                append_labels(&row.shape, &ids, row.trained.as_deref(), shift, &mut out);
            }
        }
        out.resize((number + 1) * width, T::of(IGNORED));
    }
    out
}

fn loss<T: Copy>(
    rows: &[WideRow<'_>],
    width: usize,
    shift: usize,
    nothing: T,
    value: impl Fn(f32) -> T,
) -> Vec<T> {
    let mut out = Vec::with_capacity(rows.len() * width);
    for row in rows {
        append_loss(&row.shape, row.trained.as_deref(), shift, nothing, &value, &mut out);
    }
    out
}

fn runs<T: Copy>(
    rows: &[WideRow<'_>],
    width: usize,
    value: impl Fn(Option<u32>, bool) -> T,
) -> Vec<T> {
    let mut out = Vec::with_capacity(rows.len() * width);
    rows.iter().for_each(|row| append_runs(&row.shape, &value, &mut out));
    out
}
