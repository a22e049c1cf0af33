//! Collates rows to batches: padded to the longest, without pads, or end to end; also by any 0/1 mask of tokens.

use super::PadSide;
use super::loss::{LossWeighting, labels, loss_mask, loss_weights};
use super::placed::{PlacedRow, end_to_end, indices, widened};
use super::shape::{RowShape, ViewError, signed, size, wide};
use super::tokens::{attention_mask, cu_seqlens, max_seqlen, position_ids, segment_ids, seq_idx};
use model::LossSpan;
use std::fmt::Display;

/// A batch padded to its longest row: tensors of B x T, row after row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaddedBatch {
    /// Rows of the batch (B).
    pub rows: usize,
    /// Tokens of the longest (T).
    pub width: usize,
    /// The ids, and the pad where a row has none.
    pub input_ids: Vec<i32>,
    /// 1 on tokens of segments, 0 on pads.
    pub attention_mask: Vec<i8>,
    /// Unshifted, -100 on what is not a target.
    pub labels: Vec<i32>,
    /// From 0 in every segment; from 0 in every run of pads.
    pub position_ids: Vec<i32>,
    /// Tokens of each row that are not pads (B).
    pub lengths: Vec<i32>,
}

/// Pads rows to the longest of them, as the collate function of a trainer does: pads stand on one side,
/// after those that a row may have of its own on that side.
///
/// # Errors
/// A shape whose check fails, ids of another number than its width.
pub fn collate(rows: &[PackedRow<'_>], pad: i32, side: PadSide) -> Result<PaddedBatch, ViewError> {
    check(rows)?;
    let width = rows.iter().map(|row| row.shape.width).max().unwrap_or(0);
    let mut batch = PaddedBatch { rows: rows.len(), width: size(width), ..PaddedBatch::default() };
    for row in rows {
        let PlacedRow { shape, ids, trained } =
            widened((row.shape, row.ids, row.trained), width, side, pad);
        batch.labels.extend(labels(&shape, &ids, trained.as_deref()));
        batch.attention_mask.extend(attention_mask(&shape));
        batch.position_ids.extend(position_ids(&shape));
        batch.input_ids.extend(ids);
        batch.lengths.push(signed(row.shape.spans.iter().map(|span| span.length).sum()));
    }
    Ok(batch)
}

/// A batch without its pads: every tensor that is aligned with its tokens, by the same indices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnpaddedBatch {
    /// Rows of the batch (B).
    pub rows: usize,
    /// Tokens of its widest row (T).
    pub width: usize,
    /// Places of the tokens in the batch padded to B x T and flattened, ascending.
    pub indices: Vec<i64>,
    /// Cumulative lengths of all segments, leading 0.
    pub cu_seqlens: Vec<i32>,
    /// Tokens of the longest segment.
    pub max_seqlen: u32,
    /// The ids of all segments, end to end.
    pub input_ids: Vec<i32>,
    /// Unshifted, -100 on what is not a target.
    pub labels: Vec<i32>,
    /// 1 where the next token is a target.
    pub loss_mask: Vec<i8>,
    /// The weight of each target, unshifted; 0 elsewhere.
    pub loss_weights: Vec<f32>,
    /// From 0 in every segment.
    pub position_ids: Vec<i32>,
    /// Numbers of segments through the batch, from 1.
    pub segment_ids: Vec<i32>,
    /// Numbers of segments through the batch, from 0.
    pub seq_idx: Vec<i32>,
}

/// Takes the pads out of rows, whatever pads are to other views; `side` is where they would be padded to
/// one width, which decides the indices.
///
/// # Errors
/// As [`collate`]; more tokens than an i32 can name.
pub fn unpad_batch(rows: &[PackedRow<'_>], side: PadSide) -> Result<UnpaddedBatch, ViewError> {
    check(rows)?;
    let shapes = rows.iter().map(|row| row.shape);
    let width = shapes.clone().map(|shape| shape.width).max().unwrap_or(0);
    let PlacedRow { shape, ids, trained } =
        end_to_end(rows.iter().map(|row| (row.shape, row.ids, row.trained)))?;
    let trained = trained.as_deref();
    Ok(UnpaddedBatch {
        rows: rows.len(),
        width: size(width),
        indices: indices(shapes, side),
        cu_seqlens: cu_seqlens(&shape),
        max_seqlen: max_seqlen(&shape),
        labels: labels(&shape, &ids, trained),
        loss_mask: loss_mask(&shape, trained),
        loss_weights: loss_weights(&shape, trained, LossWeighting::Tokens),
        position_ids: position_ids(&shape),
        segment_ids: segment_ids(&shape),
        seq_idx: seq_idx(&shape),
        input_ids: ids,
    })
}

fn check(rows: &[PackedRow<'_>]) -> Result<(), ViewError> {
    rows.iter().try_for_each(|row| {
        row.shape.check()?;
        let (found, wanted) = (row.ids.len(), size(row.shape.width));
        if found == wanted {
            Ok(())
        } else {
            Err(ViewError::Size { what: "a row of ids", found, wanted })
        }
    })
}

/// A packed row with its ids.
#[derive(Clone, Copy, Debug)]
pub struct PackedRow<'a> {
    /// Where its segments lie.
    pub shape: &'a RowShape,
    /// Its ids, pads included.
    pub ids: &'a [i32],
    /// Its tokens that are trained; `None` is all.
    pub trained: Option<&'a [LossSpan]>,
}

/// The dictionary of `DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True)`.
///
/// The first four have shape `[1, tokens]` there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatBatch {
    /// The ids of all segments, end to end.
    pub input_ids: Vec<i64>,
    /// Unshifted, -100 on the first token of every segment and on what is not trained.
    pub labels: Vec<i64>,
    /// From 0 in every segment.
    pub position_ids: Vec<i64>,
    /// Number of the segment, from 0.
    pub seq_idx: Vec<i32>,
    /// Cumulative lengths, leading 0.
    pub cu_seq_lens_q: Vec<i32>,
    /// The boundaries of keys, equal to those of queries: both are the same tokens.
    pub cu_seq_lens_k: Vec<i32>,
    /// Tokens of the longest segment.
    pub max_length_q: u32,
    /// The longest segment of keys, equal to that of queries.
    pub max_length_k: u32,
}

/// Flattens rows: every segment is a sequence of the batch, pads go, whatever their view.
///
/// # Errors
/// A shape whose check fails, ids of another number than its width, more tokens than an i32 can name.
pub fn flatten(rows: &[PackedRow<'_>]) -> Result<FlatBatch, ViewError> {
    let batch = unpad_batch(rows, PadSide::Right)?;
    let wide = |values: Vec<i32>| values.into_iter().map(i64::from).collect();
    Ok(FlatBatch {
        input_ids: wide(batch.input_ids),
        labels: wide(batch.labels),
        position_ids: wide(batch.position_ids),
        seq_idx: batch.seq_idx,
        cu_seq_lens_q: batch.cu_seqlens.clone(),
        cu_seq_lens_k: batch.cu_seqlens,
        max_length_q: batch.max_seqlen,
        max_length_k: batch.max_seqlen,
    })
}

/// What flash-attn's `unpad_input` finds in a mask of B x T: which tokens are kept, and where the rows
/// of the batch end among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpadIndex {
    /// Rows of the batch (B).
    pub rows: usize,
    /// Tokens of a row (T).
    pub width: usize,
    /// Places of the kept tokens in the flattened batch, ascending (i64, one a kept token).
    pub indices: Vec<i64>,
    /// Kept tokens of the rows, cumulative, leading 0 (i32, B + 1). A row of pads only is empty.
    pub cu_seqlens: Vec<i32>,
    /// Kept tokens of each row (i32, B).
    pub seqused: Vec<i32>,
    /// Kept tokens of the fullest row.
    pub max_seqlen: i32,
    /// `cumsum(mask) - 1` along each row, 0 where that is negative (i64, B x T): the positions
    /// transformers and verl derive from a mask. [`UnpadIndex::gather`] unpads them like all else.
    pub position_ids: Vec<i64>,
}

/// Unpads a mask of `rows` x `width` values 0 and 1 of any type, row after row: left padding, right padding, holes.
///
/// # Errors
/// A mask of another size, with other values, or of more tokens than an i32 can name.
pub fn unpad<M: Copy + PartialEq + From<u8> + Display>(
    mask: &[M],
    rows: usize,
    width: usize,
) -> Result<UnpadIndex, ViewError> {
    same_size("the attention mask", mask.len(), rows.saturating_mul(width))?;
    let mut indices = Vec::new();
    let mut cu_seqlens = vec![0];
    let mut seqused = Vec::with_capacity(rows);
    let mut position_ids = Vec::with_capacity(mask.len());
    for row in 0..rows {
        let before = row * width;
        let mut kept = 0_i64;
        for (column, value) in mask.iter().skip(before).take(width).copied().enumerate() {
            if value == M::from(1) {
                indices.push(wide(before + column));
                kept += 1;
            } else if value != M::from(0) {
                return Err(ViewError::BadMask { row, column, value: value.to_string() });
            }
            position_ids.push((kept - 1).max(0));
        }
        seqused.push(narrow(kept)?);
        cu_seqlens.push(narrow(wide(indices.len()))?);
    }
    let max_seqlen = seqused.iter().copied().max().unwrap_or(0);
    Ok(UnpadIndex { rows, width, indices, cu_seqlens, seqused, max_seqlen, position_ids })
}

impl UnpadIndex {
    /// The kept tokens of a tensor of B x T x `inner`, row after row: kept x `inner`. Everything that is
    /// aligned with the mask is unpadded by the same indices.
    ///
    /// # Errors
    /// A tensor of another size.
    pub fn gather<T: Copy>(&self, values: &[T], inner: usize) -> Result<Vec<T>, ViewError> {
        same_size("the padded tensor", values.len(), self.places().saturating_mul(inner))?;
        let mut out = Vec::with_capacity(self.indices.len().saturating_mul(inner));
        for place in self.spans(inner) {
            out.extend_from_slice(values.get(place).unwrap_or_default());
        }
        Ok(out)
    }

    /// The inverse of [`UnpadIndex::gather`]: kept x `inner` back to B x T x `inner`, `fill` on pads.
    /// flash-attn's `pad_input` with `fill` 0.
    ///
    /// # Errors
    /// A tensor of another size.
    pub fn repad<T: Copy>(&self, values: &[T], inner: usize, fill: T) -> Result<Vec<T>, ViewError> {
        same_size("the unpadded tensor", values.len(), self.indices.len().saturating_mul(inner))?;
        let mut out = vec![fill; self.places().saturating_mul(inner)];
        for (place, value) in self.spans(inner).zip(values.chunks(inner.max(1))) {
            if let Some(part) = out.get_mut(place) {
                part.copy_from_slice(value);
            }
        }
        Ok(out)
    }

    const fn places(&self) -> usize {
        self.rows.saturating_mul(self.width)
    }

    fn spans(&self, inner: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.indices.iter().map(move |index| {
            let start = usize::try_from(*index).unwrap_or(usize::MAX).saturating_mul(inner);
            start..start.saturating_add(inner)
        })
    }
}

fn same_size(what: &'static str, found: usize, wanted: usize) -> Result<(), ViewError> {
    if found == wanted { Ok(()) } else { Err(ViewError::Size { what, found, wanted }) }
}

fn narrow(tokens: i64) -> Result<i32, ViewError> {
    i32::try_from(tokens).map_err(|_| ViewError::TooLong { tokens: tokens.unsigned_abs() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::views::unpad;
    use proptest::prelude::*;

    /// The batches of a published collate function over twelve samples of 1 to n in threes, pads 0.
    #[test]
    fn batches_of_a_collate_function() {
        let sample =
            |n: u32| (RowShape::packed([n], n), (1..=n.cast_signed()).collect::<Vec<i32>>());
        let batches: [([u32; 3], [[i32; 8]; 3]); 2] = [
            (
                [8, 3, 2],
                [[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 0, 0, 0, 0, 0], [1, 2, 0, 0, 0, 0, 0, 0]],
            ),
            (
                [6, 4, 1],
                [
                    [1, 2, 3, 4, 5, 6, -9, -9],
                    [1, 2, 3, 4, 0, 0, -9, -9],
                    [1, 0, 0, 0, 0, 0, -9, -9],
                ],
            ),
        ];
        for (lengths, wanted) in batches {
            let samples = lengths.map(sample);
            let rows: Vec<PackedRow<'_>> = samples
                .iter()
                .map(|(shape, ids)| PackedRow { shape, ids, trained: None })
                .collect();
            let batch = collate(&rows, 0, PadSide::Right).unwrap();
            let wanted: Vec<i32> = wanted.concat().into_iter().filter(|id| *id != -9).collect();
            assert_eq!(batch.input_ids, wanted);
            assert_eq!(batch.lengths, lengths.map(u32::cast_signed));
            let mask: Vec<i8> = wanted.iter().map(|id| i8::from(*id != 0)).collect();
            assert_eq!(batch.attention_mask, mask);
        }
    }

    proptest! {
        /// What is unpadded is what the indices take from the padded batch, tensor by tensor.
        #[test]
        fn unpadding_is_the_gather_of_the_padded_batch(
            lengths in proptest::collection::vec(proptest::collection::vec(1_u32..6, 1..4), 1..6),
            pads in proptest::collection::vec(0_u32..4, 6),
            masked in proptest::collection::vec(any::<bool>(), 6),
            left: bool,
        ) {
            let side = if left { PadSide::Left } else { PadSide::Right };
            let made: Vec<_> = lengths.iter().zip(pads).zip(masked).map(|((lengths, pads), masked)| {
                let width = lengths.iter().sum::<u32>() + pads;
                let span = |start, end, weight| LossSpan { start, end, weight };
                let spans = vec![span(0, width / 3, 1.0), span(width / 2, width, 0.5)];
                let ids: Vec<i32> = (100..).take(width as usize).collect();
                (RowShape::packed(lengths.iter().copied(), width), ids, masked.then_some(spans))
            }).collect();
            let rows: Vec<PackedRow<'_>> = made.iter().map(|(shape, ids, trained)| {
                PackedRow { shape, ids, trained: trained.as_deref() }
            }).collect();
            let padded = collate(&rows, -1, side).unwrap();
            let bare = unpad_batch(&rows, side).unwrap();
            let mask: Vec<u8> = padded.attention_mask.iter().map(|one| u8::from(*one == 1)).collect();
            let by_mask = unpad(&mask, padded.rows, padded.width).unwrap();
            prop_assert_eq!(&by_mask.indices, &bare.indices);
            prop_assert_eq!(by_mask.gather(&padded.input_ids, 1).unwrap(), bare.input_ids.clone());
            prop_assert_eq!(by_mask.gather(&padded.labels, 1).unwrap(), bare.labels.clone());
            prop_assert_eq!(by_mask.gather(&padded.position_ids, 1).unwrap(), bare.position_ids.clone());
            let (mut masks, mut weights) = (Vec::new(), Vec::new());
            for (shape, _, trained) in &made {
                let real = shape.spans.iter().map(|span| span.length as usize).sum();
                masks.extend(loss_mask(shape, trained.as_deref()).into_iter().take(real));
                let all = loss_weights(shape, trained.as_deref(), LossWeighting::Tokens);
                weights.extend(all.into_iter().take(real));
            }
            prop_assert_eq!(masks, bare.loss_mask.clone());
            prop_assert_eq!(weights, bare.loss_weights.clone());
            let shapes: Vec<RowShape> = made.into_iter().map(|(shape, ..)| shape).collect();
            prop_assert_eq!(crate::epoch::views::batch_cu_seqlens(&shapes).unwrap(), bare.cu_seqlens.clone());
            let longest = bare.cu_seqlens.windows(2).map(|two| two[1] - two[0]).max();
            prop_assert_eq!(longest, Some(bare.max_seqlen.cast_signed()));
            prop_assert!(bare.seq_idx.iter().zip(&bare.segment_ids).all(|(a, b)| a + 1 == *b));
        }
    }
}
