//! Makes the tensors of batches: rows padded to one width, or the segments of all end to end as one row.

use super::tokens::TokenView;
use super::{TensorMaker, TensorValues, boundary};
use crate::epoch::error::EpochError;
use crate::epoch::recipe::PadSide;
use crate::epoch::stream::EpochRow;
use crate::epoch::views::{
    RowShape, TensorElement, ViewError, batch_block_causal_mask, batch_cu_seqlens_padded,
    end_to_end, indices, widened,
};
use std::borrow::Cow;

/// Rows as they stand in a batch.
pub(super) struct PlacedBatch<'a> {
    /// The rows, each as wide as the batch.
    rows: Vec<Cow<'a, EpochRow>>,
    width: usize,
    /// The rows as given, and how they would be padded to one width.
    given: &'a [EpochRow],
    side: PadSide,
    is_flat: bool,
}

/// Dimensions, and values row after row.
pub(super) type TensorParts = (Vec<usize>, TensorValues);

/// What cuts a row into lengths.
type RowLengths = fn(&RowShape) -> Vec<i32>;

impl<'a> PlacedBatch<'a> {
    pub fn padded(maker: &TensorMaker, given: &'a [EpochRow]) -> Result<Self, EpochError> {
        let widest = given.iter().map(|row| row.shape().width).max();
        let width = widest.map_or(maker.width, |width| width as usize);
        boundary(given.len().saturating_mul(width))?;
        let padded = |row: &'a EpochRow| match row.ids().len() < width {
            // Widths of rows fit, so the cast keeps them.
            true => Cow::Owned(EpochRow::placed(widened(
                row.as_parts(),
                width as u32,
                maker.side,
                maker.pad,
            ))),
            false => Cow::Borrowed(row),
        };
        let rows = given.iter().map(padded).collect();
        Ok(Self { rows, width, given, side: maker.side, is_flat: false })
    }

    pub fn flat(maker: &TensorMaker, given: &'a [EpochRow]) -> Result<Self, EpochError> {
        let spans = given.iter().flat_map(|row| &row.shape().spans);
        let width = spans.map(|span| span.length as usize).sum();
        boundary(width)?;
        let row = end_to_end(given.iter().map(EpochRow::as_parts)).map_err(view_error)?;
        let rows = vec![Cow::Owned(EpochRow::placed(row))];
        Ok(Self { rows, width, given, side: maker.side, is_flat: true })
    }

    /// Rows x width.
    pub fn square(&self) -> Vec<usize> {
        vec![self.rows.len(), self.width]
    }

    pub fn ids<T: TensorElement>(&self, maker: &TensorMaker) -> Vec<T> {
        let mut ids: Vec<T> = Vec::with_capacity(self.rows.len().saturating_mul(self.width));
        for row in &self.rows {
            let begin = ids.len();
            ids.extend(row.ids().iter().map(|id| T::id(*id)));
            if maker.pads_with_zero {
                row.shape().for_each_run(|run| {
                    let pads =
                        begin + run.start as usize..begin + (run.start + run.length) as usize;
                    if let Some(pads) = ids.get_mut(pads).filter(|_| run.pads) {
                        pads.fill(T::id(0));
                    }
                });
            }
        }
        ids
    }

    /// A value a token.
    pub fn tokens<T: TensorElement>(&self, view: TokenView) -> Vec<T> {
        let mut out = Vec::with_capacity(self.rows.len().saturating_mul(self.width));
        self.rows.iter().for_each(|row| view.append(row, row.trained(), &mut out));
        out
    }

    fn each<T>(&self, of: impl Fn(&RowShape) -> T) -> Vec<T> {
        self.rows.iter().map(|row| of(row.shape())).collect()
    }

    /// Lengths of all rows one after the other, cumulative, leading 0. The places of a batch are known to fit.
    pub fn cumulative(&self, of: RowLengths) -> Result<TensorParts, EpochError> {
        list(cumulative(self.each(of).concat()))
    }

    /// Lengths of each row, cumulative, leading 0; up to one more than it has tokens filled with its width.
    pub fn cumulative_by_row(&self, of: RowLengths) -> Result<TensorParts, EpochError> {
        let row = |shape: &RowShape| {
            let mut row = cumulative(of(shape));
            row.resize(self.width + 1, self.width as i32);
            row
        };
        Ok((vec![self.rows.len(), self.width + 1], self.each(row).concat().into()))
    }

    /// Lengths of each row, in as many columns as one of them needs; without rows in flat batches.
    pub fn lengths(&self, of: RowLengths) -> Result<TensorParts, EpochError> {
        let mut lengths = self.each(of);
        let columns = lengths.iter().map(Vec::len).max().unwrap_or(0);
        lengths.iter_mut().for_each(|row| row.resize(columns, 0));
        let dims = if self.is_flat { vec![columns] } else { vec![lengths.len(), columns] };
        Ok((dims, lengths.concat().into()))
    }

    /// The longest of all lengths: a number.
    pub fn longest(&self, of: RowLengths) -> Result<TensorParts, EpochError> {
        Ok((Vec::new(), vec![longest(self.each(of).concat())].into()))
    }

    /// The longest of each row.
    pub fn longest_by_row(&self, of: RowLengths) -> Result<TensorParts, EpochError> {
        list(self.each(|shape| longest(of(shape))))
    }

    /// The longest of each row, as a list and not as a tensor.
    pub fn longest_list(&self, of: RowLengths) -> Result<TensorParts, EpochError> {
        let all = self.each(|shape| longest(of(shape)));
        Ok((vec![all.len()], TensorValues::List(all)))
    }

    pub fn block_causal_mask(&self) -> Result<TensorParts, EpochError> {
        let mask = batch_block_causal_mask(&self.each(RowShape::clone)).map_err(view_error)?;
        Ok((vec![self.rows.len(), self.width, self.width], TensorValues::Bool(mask)))
    }

    pub fn cu_seqlens_padded(&self) -> Result<TensorParts, EpochError> {
        list(batch_cu_seqlens_padded(&self.each(RowShape::clone)).map_err(view_error)?)
    }

    /// Where tokens stand in the rows that were given, padded to one width.
    pub fn indices(&self) -> Result<TensorParts, EpochError> {
        Ok((self.square(), indices(self.given.iter().map(EpochRow::shape), self.side).into()))
    }

    /// Tokens of each row that was given.
    pub fn tokens_by_row(&self) -> Result<TensorParts, EpochError> {
        let tokens = |row: &EpochRow| row.shape().spans.iter().map(|span| span.length).sum::<u32>();
        list(self.given.iter().map(|row| tokens(row).cast_signed()).collect())
    }
}

fn list(values: Vec<i32>) -> Result<TensorParts, EpochError> {
    Ok((vec![values.len()], values.into()))
}

fn longest(lengths: Vec<i32>) -> i32 {
    lengths.into_iter().max().unwrap_or(0)
}

fn cumulative(lengths: Vec<i32>) -> Vec<i32> {
    let mut end = 0_i32;
    let ends = lengths.into_iter().map(|length| {
        end = end.saturating_add(length);
        end
    });
    std::iter::once(0).chain(ends).collect()
}

fn view_error(error: ViewError) -> EpochError {
    EpochError::bug(error.to_string())
}
