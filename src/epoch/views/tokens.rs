//! Views with a value a token: positions, segment numbers, masks.

use super::shape::{RowShape, ShapeRun, ViewError, signed, size};

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
    per_run(shape, |run| i8::from(!run.pads))
}

/// Segment numbers from 1, 0 on pads: `*_segment_ids` of T5X, seqio and Grain (i32, T).
///
/// If every pad is a segment, pads are numbered with the others, in order of the row.
#[must_use]
pub fn segment_ids(shape: &RowShape) -> Vec<i32> {
    per_token(shape, |run| run.segment.map_or(0, |segment| signed(segment).saturating_add(1)))
}

/// Segment numbers from 0, -1 on pads: `seq_idx` of the Mamba kernels and of transformers (i32, T).
#[must_use]
pub fn seq_idx(shape: &RowShape) -> Vec<i32> {
    per_token(shape, |run| run.segment.map_or(-1, signed))
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

fn per_token(shape: &RowShape, value: impl Fn(ShapeRun) -> i32) -> Vec<i32> {
    per_run(shape, value)
}

fn per_run<T: Copy>(shape: &RowShape, value: impl Fn(ShapeRun) -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(size(shape.width));
    for run in shape.runs() {
        values.resize(values.len().saturating_add(size(run.length)), value(run));
    }
    values
}
