//! Boundaries of segments: cumulative lengths, lengths and starts.

use super::shape::{RowShape, ViewError, signed};

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
