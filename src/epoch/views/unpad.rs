//! Padded batches without their pads, and back: any 0/1 mask, with pads anywhere.

use super::shape::{ViewError, wide};

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

/// Unpads a mask of `rows` x `width` values 0 and 1, row after row: left padding, right padding, holes.
///
/// # Errors
/// A mask of another size, with other values, or of more tokens than an i32 can name.
pub fn unpad(mask: &[u8], rows: usize, width: usize) -> Result<UnpadIndex, ViewError> {
    same_size("the attention mask", mask.len(), rows.saturating_mul(width))?;
    let mut indices = Vec::new();
    let mut cu_seqlens = vec![0];
    let mut seqused = Vec::with_capacity(rows);
    let mut position_ids = Vec::with_capacity(mask.len());
    for row in 0..rows {
        let before = row * width;
        let mut kept = 0_i64;
        for (column, value) in mask.iter().skip(before).take(width).copied().enumerate() {
            match value {
                0 => {}
                1 => {
                    indices.push(wide(before + column));
                    kept += 1;
                }
                _ => return Err(ViewError::BadMask { row, column, value }),
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
