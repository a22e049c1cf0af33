//! Rows flattened into one sequence without pads: the batch of transformers' `DataCollatorWithFlattening`.

use super::loss::labels;
use super::shape::{RowShape, ViewError, size};
use crate::model::LossSpan;

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
    /// The same: queries and keys are the same tokens.
    pub cu_seq_lens_k: Vec<i32>,
    /// Tokens of the longest segment.
    pub max_length_q: u32,
    /// The same.
    pub max_length_k: u32,
}

/// Flattens rows: every segment is a sequence of the batch, pads go, whatever their view.
///
/// # Errors
/// A shape whose check fails, ids of another number than its width, more tokens than an i32 can name.
pub fn flatten(rows: &[PackedRow<'_>]) -> Result<FlatBatch, ViewError> {
    let mut batch = FlatBatch { cu_seq_lens_q: vec![0], ..FlatBatch::default() };
    let mut sequence = 0;
    for row in rows {
        row.shape.check()?;
        let wanted = size(row.shape.width);
        if row.ids.len() != wanted {
            return Err(ViewError::Size { what: "a row of ids", found: row.ids.len(), wanted });
        }
        let labels = labels(row.shape, row.ids, row.trained);
        for span in &row.shape.spans {
            let place = size(span.start)..size(span.end());
            let part = |values: &[i32]| values.get(place.clone()).unwrap_or_default().to_vec();
            batch.input_ids.extend(part(row.ids).into_iter().map(i64::from));
            batch.labels.extend(part(&labels).into_iter().map(i64::from));
            batch.position_ids.extend(0..i64::from(span.length));
            batch.seq_idx.extend(std::iter::repeat_n(sequence, size(span.length)));
            let tokens = batch.input_ids.len();
            let end =
                i32::try_from(tokens).map_err(|_| ViewError::TooLong { tokens: tokens as u64 })?;
            batch.cu_seq_lens_q.push(end);
            batch.max_length_q = batch.max_length_q.max(span.length);
            sequence += 1;
        }
    }
    batch.cu_seq_lens_k.clone_from(&batch.cu_seq_lens_q);
    batch.max_length_k = batch.max_length_q;
    Ok(batch)
}
