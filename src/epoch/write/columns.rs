//! Turns rows of an epoch into the columns that a format has, in the thread that asks.
//!
//! Whoever makes many batches has a pool of its own for them, and a process that was forked has no threads that a
//! shared pool counts on.

use super::spec::RowContext;
use crate::epoch::error::EpochError;
use crate::epoch::stream::EpochRow;
use crate::epoch::tensors::TokenView;
use crate::epoch::views;
use crate::epoch::views::{TensorElement, append_run_ends, append_runs};
use arrow::array::{ArrayRef, ArrowPrimitiveType, Int32Array, StringArray, UInt64Array};
use arrow::datatypes::{
    DataType, Float32Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt32Type,
};
use files::output::{BatchColumn, RowColumn, TokenBatch, list_column, row_batch};
use model::LossSpan;
use std::sync::Arc;

/// Rows in these columns; the first one is row `first` of the epoch.
///
/// # Errors
/// [`EpochError`] for an id that the type does not hold.
pub(super) fn token_batch(
    rows: &[&EpochRow],
    columns: &[BatchColumn],
    first: u64,
    context: &RowContext,
) -> Result<TokenBatch, EpochError> {
    rows.iter().try_for_each(|row| context.check_ids(row))?;
    let arrays: Vec<ArrayRef> = columns
        .iter()
        .map(|column| array(*column, rows, first, context))
        .collect::<Result<_, _>>()?;
    row_batch(columns, arrays).map_err(EpochError::bug)
}

fn array(
    column: BatchColumn,
    rows: &[&EpochRow],
    first: u64,
    context: &RowContext,
) -> Result<ArrayRef, EpochError> {
    let trained = |row: &EpochRow| row.trained.as_deref().unwrap_or_default().to_vec();
    Ok(match column {
        BatchColumn::Number => Arc::new(UInt64Array::from_iter_values((first..).take(rows.len()))),
        BatchColumn::Source => {
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| context.source(row))))
        }
        BatchColumn::Ids => aligned::<UInt32Type>(rows, |row, out| out.extend_from_slice(&row.ids)),
        BatchColumn::SeqLengths => lists::<Int32Type>(rows, |row, out| {
            out.extend(row.segments.iter().map(|segment| segment.length.cast_signed()));
        }),
        BatchColumn::DocIds => {
            let documents = || rows.iter().flat_map(|row| &row.segments);
            if documents().any(|segment| i64::try_from(segment.document.0).is_err()) {
                return Err(EpochError::bug("a document id over 2^63"));
            }
            lists::<Int64Type>(rows, |row, out| {
                out.extend(row.segments.iter().map(|segment| segment.document.0.cast_signed()));
            })
        }
        BatchColumn::DocOffsets => lists::<Int64Type>(rows, |row, out| {
            out.extend(row.segments.iter().map(|segment| i64::from(segment.offset)));
        }),
        BatchColumn::View(column) => view(column, rows, context),
        BatchColumn::TrainedStarts => lists::<Int32Type>(rows, |row, out| {
            out.extend(trained(row).iter().map(|span| span.start.cast_signed()));
        }),
        BatchColumn::TrainedEnds => lists::<Int32Type>(rows, |row, out| {
            out.extend(trained(row).iter().map(|span| span.end.cast_signed()));
        }),
        BatchColumn::TrainedWeights => lists::<Float32Type>(rows, |row, out| {
            out.extend(trained(row).iter().map(|span| span.weight));
        }),
        BatchColumn::RunEnds => {
            lists::<Int32Type>(rows, |row, out| append_run_ends(&row.shape, out))
        }
        BatchColumn::TrainedTokens => aligned::<UInt8Type>(rows, |row, out| {
            append_trained_tokens(row, context.trained(row), out);
        }),
        BatchColumn::LabelMask => tokens::<UInt8Type>(TokenView::Loss(0), rows, context),
    })
}

/// A column that recipes name.
fn view(column: RowColumn, rows: &[&EpochRow], context: &RowContext) -> ArrayRef {
    if let Some(view) = TokenView::of_column(column) {
        return match column.value_type() {
            DataType::Int8 => tokens::<Int8Type>(view, rows, context),
            DataType::Float32 => tokens::<Float32Type>(view, rows, context),
            _ => tokens::<Int32Type>(view, rows, context),
        };
    }
    match column {
        RowColumn::CuSeqlens => {
            lists::<Int32Type>(rows, |row, out| out.extend(views::cu_seqlens(&row.shape)))
        }
        RowColumn::MaxSeqlen => Arc::new(Int32Array::from_iter_values(
            rows.iter().map(|row| views::max_seqlen(&row.shape).cast_signed()),
        )),
        // Documents alone count, as in the columns beside it, also where every pad is a segment to other views.
        _ => lists::<Int32Type>(rows, |row, out| {
            out.extend(row.shape.spans.iter().map(|span| span.start.cast_signed()));
        }),
    }
}

/// 1 on trained tokens, the first of a segment too.
fn append_trained_tokens(row: &EpochRow, trained: Option<&[LossSpan]>, out: &mut Vec<u8>) {
    let begin = out.len();
    let Some(trained) = trained else {
        return append_runs(&row.shape, |_, is_pad| u8::from(!is_pad), out);
    };
    out.resize(begin + row.ids.len(), 0);
    for span in trained.iter().filter(|span| span.weight > 0.0) {
        let place = begin + span.start as usize..begin + span.end as usize;
        out.get_mut(place).unwrap_or_default().fill(1);
    }
}

/// A list column of a view with a value a token.
fn tokens<T: ArrowPrimitiveType<Native: TensorElement>>(
    view: TokenView,
    rows: &[&EpochRow],
    context: &RowContext,
) -> ArrayRef {
    aligned::<T>(rows, |row, out| view.append(row, context.trained(row), out))
}

/// A list column with a value for each position: what `append` appends of each row.
fn aligned<T: ArrowPrimitiveType>(
    rows: &[&EpochRow],
    append: impl Fn(&EpochRow, &mut Vec<T::Native>),
) -> ArrayRef {
    fill::<T>(Vec::with_capacity(rows.iter().map(|row| row.ids.len()).sum()), rows, append)
}

/// A list column of anything else.
fn lists<T: ArrowPrimitiveType>(
    rows: &[&EpochRow],
    append: impl Fn(&EpochRow, &mut Vec<T::Native>),
) -> ArrayRef {
    fill::<T>(Vec::new(), rows, append)
}

fn fill<T: ArrowPrimitiveType>(
    mut values: Vec<T::Native>,
    rows: &[&EpochRow],
    append: impl Fn(&EpochRow, &mut Vec<T::Native>),
) -> ArrayRef {
    let mut lengths = Vec::with_capacity(rows.len());
    for row in rows {
        let before = values.len();
        append(row, &mut values);
        lengths.push(values.len() - before);
    }
    list_column::<T>(values, lengths)
}
