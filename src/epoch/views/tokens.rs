//! Views of segments (cumulative lengths, lengths, starts) and of tokens (positions, segment numbers, masks).

use super::append::append_runs;
use super::shape::{RowShape, ViewError, signed, size};

/// Positions that restart at 0 in every segment: `position_ids`, Grain's and T5X's `*_positions` (i32, T).
///
/// Pads count from 0 in every run of them, so that a reader which takes boundaries from position ids, as
/// transformers does, sees such a run as a segment of its own; if every pad is a segment, all are 0.
#[must_use]
pub fn position_ids(shape: &RowShape) -> Vec<i32> {
    let mut positions = Vec::with_capacity(size(shape.width));
    for run in shape.runs() {
        positions.extend(0..signed(run.length));
    }
    positions
}

/// 1 on the tokens of segments, 0 on pads, whatever pads are to other views: `attention_mask` of a
/// padded batch (i8, T).
#[must_use]
pub fn attention_mask(shape: &RowShape) -> Vec<i8> {
    per_token(shape, |_, pads| i8::from(!pads))
}

/// Segment numbers from 1, 0 on pads: `*_segment_ids` of T5X, seqio and Grain (i32, T).
///
/// If every pad is a segment, pads are numbered with the others, in order of the row.
#[must_use]
pub fn segment_ids(shape: &RowShape) -> Vec<i32> {
    per_token(shape, segment_number)
}

/// Segment numbers from 0, -1 on pads: `seq_idx` of the Mamba kernels and of transformers (i32, T).
#[must_use]
pub fn seq_idx(shape: &RowShape) -> Vec<i32> {
    per_token(shape, segment_index)
}

/// The document of each token, as a FlexAttention mask function reads it: [`seq_idx`] by its name there (i32, T).
///
/// `causal & (id[q] == id[k])` over these is [`block_causal_mask`], except that pads outside segments see the pads
/// before them: a softmax over nothing is spared. `& (id[q] >= 0)` makes the two the same.
#[must_use]
pub fn document_id(shape: &RowShape) -> Vec<i32> {
    seq_idx(shape)
}

/// The dense attention mask, T x T, row after row: true where query i may see key j, which is where both are of one
/// segment and j <= i. Pads outside segments see nothing and are not seen.
///
/// T^2 bytes; kernels with `cu_seqlens` need none of it.
#[must_use]
pub fn block_causal_mask(shape: &RowShape) -> Vec<bool> {
    let width = size(shape.width);
    let mut mask = vec![false; width.saturating_mul(width)];
    paint(shape, &mut mask);
    mask
}

/// [`block_causal_mask`] of rows of one width: B x T x T.
///
/// # Errors
/// Rows that differ in width.
pub fn batch_block_causal_mask(rows: &[RowShape]) -> Result<Vec<bool>, ViewError> {
    let Some(first) = rows.first().map(|row| row.width) else { return Ok(Vec::new()) };
    if let Some((row, shape)) = rows.iter().enumerate().find(|(_, row)| row.width != first) {
        let (width, first) = (u64::from(shape.width), u64::from(first));
        return Err(ViewError::Ragged { row, width, first });
    }
    let square = size(first).saturating_mul(size(first));
    let mut mask = vec![false; square.saturating_mul(rows.len())];
    for (row, part) in rows.iter().zip(mask.chunks_mut(square.max(1))) {
        paint(row, part);
    }
    Ok(mask)
}

fn paint(shape: &RowShape, mask: &mut [bool]) {
    let width = size(shape.width).max(1);
    let mut queries = mask.chunks_mut(width);
    for run in shape.runs() {
        let start = size(run.start);
        for (at, query) in queries.by_ref().take(size(run.length)).enumerate() {
            if let Some(seen) = query.get_mut(start..=start + at).filter(|_| run.segment.is_some())
            {
                seen.fill(true);
            }
        }
    }
}

/// What [`segment_ids`] has on a token of a segment, or on a pad.
pub(in crate::epoch) fn segment_number(segment: Option<u32>, _is_pad: bool) -> i32 {
    segment.map_or(0, |segment| signed(segment).saturating_add(1))
}

/// What [`seq_idx`] has there.
pub(in crate::epoch) fn segment_index(segment: Option<u32>, _is_pad: bool) -> i32 {
    segment.map_or(-1, signed)
}

fn per_token<T: Copy>(shape: &RowShape, value: fn(Option<u32>, bool) -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(size(shape.width));
    append_runs(shape, value, &mut values);
    values
}

/// Cumulative segment lengths, leading 0, one more than there are segments: `cu_seqlens` of flash-attn's
/// varlen kernels and Megatron's THD layout (i32, in tokens).
///
/// Of the tokens in segments, as they stand once pads are taken out; the last is their number. With
/// [`PadView::Each`](super::PadView::Each) pads are segments and the last is the width; boundaries that
/// cover the row with one segment a run of pads are those of [`RowShape::covering`].
#[must_use]
pub fn cu_seqlens(shape: &RowShape) -> Vec<i32> {
    let mut end = 0_i32;
    let ends = shape.segments().map(|run| {
        end = end.saturating_add(signed(run.length));
        end
    });
    std::iter::once(0).chain(ends).collect()
}

/// Where segments begin in the row as it is stored, and the width: `cu_seqlens_padded` of Megatron and
/// TransformerEngine (i32, in tokens). Segment k has the tokens from entry k on, as many as
/// [`doc_lens`] says; up to entry k + 1 there follow pads, if any.
///
/// The first entry is 0 unless pads stand before the first segment.
#[must_use]
pub fn cu_seqlens_padded(shape: &RowShape) -> Vec<i32> {
    let starts = shape.segments().map(|run| signed(run.start));
    starts.chain([signed(shape.width)]).collect()
}

/// Tokens of the longest segment, 0 if there is none: `max_seqlen` of flash-attn.
#[must_use]
pub fn max_seqlen(shape: &RowShape) -> u32 {
    shape.segments().map(|run| run.length).max().unwrap_or(0)
}

/// Tokens of each segment: OLMo-core's `doc_lens`, TRL's `seq_lengths` (i32).
///
/// OLMo-core expects lengths that cover the row, which those of [`RowShape::covering`] do.
#[must_use]
pub fn doc_lens(shape: &RowShape) -> Vec<i32> {
    shape.segments().map(|run| signed(run.length)).collect()
}

/// First position of each segment in the row: `seq_start_id` of Megatron-Bridge's packed Parquet (i32).
#[must_use]
pub fn seq_start_id(shape: &RowShape) -> Vec<i32> {
    shape.segments().map(|run| signed(run.start)).collect()
}

/// [`cu_seqlens`] of rows one after the other, pads taken out (i32).
///
/// # Errors
/// More tokens than an i32 can name.
pub fn batch_cu_seqlens(rows: &[RowShape]) -> Result<Vec<i32>, ViewError> {
    let lengths = rows.iter().flat_map(RowShape::segments).map(|run| run.length);
    let mut end = 0_u64;
    let ends = lengths.map(|length| {
        end += u64::from(length);
        boundary(end)
    });
    std::iter::once(Ok(0)).chain(ends).collect()
}

/// [`cu_seqlens_padded`] of rows one after the other as they are stored: a tensor of B x T seen as one
/// row of B T tokens (i32). Rows may differ in width.
///
/// # Errors
/// More tokens than an i32 can name.
pub fn batch_cu_seqlens_padded(rows: &[RowShape]) -> Result<Vec<i32>, ViewError> {
    let mut starts = Vec::new();
    let mut before = 0_u64;
    for row in rows {
        for run in row.segments() {
            starts.push(boundary(before + u64::from(run.start))?);
        }
        before += u64::from(row.width);
    }
    starts.push(boundary(before)?);
    Ok(starts)
}

/// [`doc_lens`] of a batch: B x D, row after row, D the most segments of a row, 0 where a row has fewer
/// (i32); and D. OLMo-core's layout.
#[must_use]
pub fn batch_doc_lens(rows: &[RowShape]) -> (Vec<i32>, usize) {
    let lengths: Vec<_> = rows.iter().map(doc_lens).collect();
    let columns = lengths.iter().map(Vec::len).max().unwrap_or(0);
    let row = |mut row: Vec<i32>| {
        row.resize(columns, 0);
        row
    };
    (lengths.into_iter().flat_map(row).collect(), columns)
}

fn boundary(tokens: u64) -> Result<i32, ViewError> {
    i32::try_from(tokens).map_err(|_| ViewError::TooLong { tokens })
}
