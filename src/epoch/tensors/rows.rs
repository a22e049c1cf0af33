//! Batches of rows: tensors of rows x width.

use super::{BatchField, Tensor, TensorIds, TensorMaker, TensorValues, boundary};
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

pub(super) fn tensors(maker: &TensorMaker, rows: &[EpochRow]) -> Result<Vec<Tensor>, EpochError> {
    let widest = rows.iter().map(|row| row.shape().width).max();
    let width = widest.map_or(maker.width, |width| width as usize);
    let rows: Vec<WideRow<'_>> = rows.iter().map(|row| widened(maker, row, width)).collect();
    boundary(rows.len().saturating_mul(width))?;
    let ids = match maker.ids {
        TensorIds::I64 => ids::<i64>(maker, &rows, width).into(),
        TensorIds::I32 => ids::<i32>(maker, &rows, width).into(),
        TensorIds::U16 => ids::<u16>(maker, &rows, width).into(),
    };
    let square = vec![rows.len(), width];
    let mut tensors = vec![Tensor { name: maker.ids_name, dims: square, values: ids }];
    for key in &maker.keys {
        let (dims, values) = tensor(key.field, &rows, width)?;
        let values = match values {
            TensorValues::I8(values) if key.float => {
                TensorValues::F32(values.into_iter().map(f32::from).collect())
            }
            values => values,
        };
        tensors.push(Tensor { name: key.name, dims, values });
    }
    Ok(tensors)
}

fn ids<T: TensorInteger>(maker: &TensorMaker, rows: &[WideRow<'_>], width: usize) -> Vec<T> {
    let mut ids: Vec<T> = Vec::with_capacity(rows.len().saturating_mul(width));
    let pad = T::id(maker.pad);
    for (row, wide) in rows.iter().enumerate() {
        let begin = row * width;
        ids.resize(begin + wide.before, pad);
        ids.extend(wide.own.iter().map(|id| T::id(*id)));
        ids.resize(begin + width, pad);
        if maker.pads_with_zero {
            wide.shape.for_each_run(|run| {
                let pads = begin + run.start as usize..begin + (run.start + run.length) as usize;
                if let Some(pads) = ids.get_mut(pads).filter(|_| run.pads) {
                    pads.fill(T::id(0));
                }
            });
        }
    }
    ids
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

fn tensor(
    view: BatchField,
    rows: &[WideRow<'_>],
    width: usize,
) -> Result<(Vec<usize>, TensorValues), EpochError> {
    let values = match view {
        BatchField::Labels => labels(rows, width, 0).into(),
        BatchField::ShiftedLabels => labels(rows, width, 1).into(),
        BatchField::NextIds => next_ids(rows, width).into(),
        BatchField::PositionIds => {
            let mut out: Vec<i64> = Vec::with_capacity(rows.len() * width);
            rows.iter().for_each(|row| append_positions(&row.shape, &mut out));
            out.into()
        }
        BatchField::PositionIdsRows => {
            let of = |row: &WideRow<'_>| lengths_of_row(&row.shape);
            let lengths = rows.iter().flat_map(of);
            lengths.flat_map(|length| 0..i64::from(length)).collect::<Vec<i64>>().into()
        }
        BatchField::AttentionMask => runs(rows, width, |_, pads| i64::from(!pads)).into(),
        BatchField::SegmentIds => {
            let number = |segment: Option<u32>, _| segment.map_or(0, |at| at.cast_signed() + 1);
            runs(rows, width, number).into()
        }
        BatchField::SeqIdx | BatchField::DocumentId => {
            let number = |segment: Option<u32>, _| segment.map_or(-1, u32::cast_signed);
            runs(rows, width, number).into()
        }
        BatchField::LossMask => TensorValues::I8(loss(rows, width, 1, 0, |_| 1)),
        BatchField::LabelMask => TensorValues::Bool(loss(rows, width, 0, false, |_| true)),
        BatchField::LossWeights => TensorValues::F32(loss(rows, width, 0, 0.0, |weight| weight)),
        BatchField::ShiftedLossWeights => {
            TensorValues::F32(loss(rows, width, 1, 0.0, |weight| weight))
        }
        _ => return of_rows(view, rows, width),
    };
    Ok((vec![rows.len(), width], values))
}

/// What is of whole rows: boundaries, lengths and the mask.
fn of_rows(
    view: BatchField,
    rows: &[WideRow<'_>],
    width: usize,
) -> Result<(Vec<usize>, TensorValues), EpochError> {
    let shapes = || rows.iter().map(|row| RowShape::clone(&row.shape)).collect::<Vec<_>>();
    let list = |values: Vec<i32>| (vec![values.len()], values.into());
    let number = |value: i32| (Vec::new(), vec![value].into());
    let longest = |lengths: Vec<i32>| lengths.into_iter().max().unwrap_or(0);
    Ok(match view {
        BatchField::BlockCausalMask => {
            let mask = batch_block_causal_mask(&shapes()).map_err(view_error)?;
            (vec![rows.len(), width, width], TensorValues::Bool(mask))
        }
        BatchField::CuSeqlensPadded => {
            list(batch_cu_seqlens_padded(&shapes()).map_err(view_error)?)
        }
        BatchField::CuSeqLensQ | BatchField::CuSeqLensK => list(ends_of_runs(rows, width)),
        BatchField::MaxLengthQ | BatchField::MaxLengthK => {
            number(longest(rows.iter().flat_map(|row| lengths_of_runs(&row.shape)).collect()))
        }
        BatchField::DocLensPadded => {
            let mut lengths: Vec<Vec<i32>> =
                rows.iter().map(|row| lengths_of_runs(&row.shape)).collect();
            let columns = lengths.iter().map(Vec::len).max().unwrap_or(0);
            lengths.iter_mut().for_each(|row| row.resize(columns, 0));
            (vec![rows.len(), columns], lengths.concat().into())
        }
        BatchField::MaxDocLens => {
            let all = rows.iter().map(|row| longest(lengths_of_runs(&row.shape))).collect();
            (vec![rows.len()], TensorValues::List(all))
        }
        BatchField::CuSeqlensRows => {
            let mut out = Vec::with_capacity(rows.len() * (width + 1));
            for (number, row) in rows.iter().enumerate() {
                out.extend(boundaries(&row.shape));
                out.resize((number + 1) * (width + 1), width as i32);
            }
            (vec![rows.len(), width + 1], out.into())
        }
        BatchField::MaxSeqlenRows => {
            list(rows.iter().map(|row| longest(lengths_of_row(&row.shape))).collect())
        }
        BatchField::MaxSeqlen => {
            number(longest(rows.iter().map(|row| max_seqlen(&row.shape).cast_signed()).collect()))
        }
        BatchField::DocLens => {
            let (lengths, columns) = batch_doc_lens(&shapes());
            (vec![rows.len(), columns], lengths.into())
        }
        BatchField::Lengths => {
            let real =
                |row: &WideRow<'_>| row.shape.spans.iter().map(|span| span.length).sum::<u32>();
            list(rows.iter().map(|row| real(row).cast_signed()).collect())
        }
        _ => list(batch_cu_seqlens(&shapes()).map_err(view_error)?),
    })
}

/// Tokens of the segments of a row and of its runs of pads, in order.
fn lengths_of_runs(shape: &RowShape) -> Vec<i32> {
    let mut lengths = Vec::new();
    shape.for_each_run(|run| lengths.extend((run.length > 0).then(|| run.length.cast_signed())));
    lengths
}

/// Where segments and runs of pads end in the batch seen as one row, leading 0. The places of the batch are known to
/// fit.
fn ends_of_runs(rows: &[WideRow<'_>], width: usize) -> Vec<i32> {
    let mut ends = vec![0];
    for (number, row) in rows.iter().enumerate() {
        let mut end = (number * width) as i32;
        ends.extend(lengths_of_runs(&row.shape).into_iter().map(|length| {
            end = end.saturating_add(length);
            end
        }));
    }
    ends
}

/// Where the segments of a row begin, first 0, and the row's end: pads belong to the segment before them, and those at
/// the beginning to none.
fn boundaries(shape: &RowShape) -> Vec<i32> {
    let mut starts = vec![0];
    let spans = shape.spans.iter().map(|span| span.start.cast_signed());
    starts.extend(spans.filter(|start| *start > 0));
    starts.push(shape.width.cast_signed());
    starts
}

/// Tokens between the boundaries of a row.
fn lengths_of_row(shape: &RowShape) -> Vec<i32> {
    let all = boundaries(shape);
    all.iter().zip(all.iter().skip(1)).map(|(start, end)| end - start).collect()
}

fn next_ids(rows: &[WideRow<'_>], width: usize) -> Vec<i64> {
    let mut out = vec![0; rows.len() * width];
    for (row, wide) in out.chunks_mut(width.max(1)).zip(rows) {
        for span in &wide.shape.spans {
            let own = (span.start as usize).saturating_sub(wide.before);
            let ids = wide.own.iter().skip(own).take(span.length as usize);
            for (place, id) in (span.start as usize..).zip(ids) {
                if let Some(before) = place.checked_sub(1).and_then(|at| row.get_mut(at)) {
                    *before = i64::from(*id);
                }
            }
        }
    }
    out
}

fn view_error(error: ViewError) -> EpochError {
    EpochError::bug(error.to_string())
}

fn labels(rows: &[WideRow<'_>], width: usize, shift: usize) -> Vec<i64> {
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
        out.resize((number + 1) * width, i64::from(IGNORED));
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
