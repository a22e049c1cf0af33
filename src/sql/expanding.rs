//! Cuts the input batches of `unnest` into pieces, so that each output is bounded.
//!
//! `unnest` makes a row of every list element, and copies the other columns for each of them, for all rows of a batch
//! at once.

use super::growing::held;
use crate::sql::engine::pass_through::{BatchHook, BatchPoll};
use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::unnest::UnnestExec;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The list columns of an `unnest`; none for another plan.
pub(super) fn lists_of(plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<usize>> {
    let unnest = plan.downcast_ref::<UnnestExec>()?;
    Some(unnest.list_column_indices().iter().map(|list| list.index_in_input_schema).collect())
}

/// Cuts batches into pieces whose output is bounded.
#[derive(Clone)]
pub(super) struct Pieces {
    lists: Vec<usize>,
    /// Bytes that the copies of one piece may take.
    limit: usize,
}

impl Pieces {
    pub(super) const fn new(lists: Vec<usize>, limit: usize) -> Self {
        Self { lists, limit }
    }
}

impl BatchHook for Pieces {
    const NAME: &'static str = "Pieces";

    fn detail(&self) -> String {
        "pieces".to_owned()
    }

    fn over(
        &self,
        input: SendableRecordBatchStream,
        context: &TaskContext,
    ) -> impl FnMut(&mut Context<'_>) -> BatchPoll + Send + 'static {
        let rows = context.session_config().batch_size().max(1);
        let (lists, limit) = (self.lists.clone(), self.limit);
        let mut cut = Cut { input, lists, limit, rows, rest: None };
        move |context| cut.next(context)
    }
}

struct Cut {
    input: SendableRecordBatchStream,
    lists: Vec<usize>,
    limit: usize,
    /// Rows of output that a piece should have, at most.
    rows: usize,
    rest: Option<RecordBatch>,
}

impl Cut {
    fn next(&mut self, context: &mut Context<'_>) -> BatchPoll {
        if let Some(rest) = self.rest.take() {
            return Poll::Ready(Some(self.next_piece(rest)));
        }
        match self.input.as_mut().poll_next(context) {
            Poll::Ready(Some(Ok(batch))) => Poll::Ready(Some(self.next_piece(batch))),
            other => other,
        }
    }

    /// How many rows of a batch make the next piece: at least one.
    fn taken(&self, batch: &RecordBatch) -> Result<usize> {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        let most = u64::try_from(self.rows).unwrap_or(u64::MAX);
        let (mut made, mut copied) = (0_u64, 0_u64);
        for row in 0..batch.num_rows() {
            let lists = self.lists.iter().filter_map(|at| batch.columns().get(*at));
            let rows = lists.map(|list| elements(list.as_ref(), row)).max().unwrap_or(0).max(1);
            let copies = rows.saturating_mul(self.beside(batch, row));
            if copies > limit {
                return Err(DataFusionError::ResourcesExhausted(format!(
                    "`unnest` would make {rows} rows from one and copy {copies} bytes of other columns, and `memory=` allows {limit}: select fewer or shorter columns beside it"
                )));
            }
            made = made.saturating_add(rows);
            copied = copied.saturating_add(copies);
            if row > 0 && (made > most || copied > limit) {
                return Ok(row);
            }
        }
        Ok(batch.num_rows())
    }

    /// Bytes of a row that are copied for each element. Views share their bytes, so they count as none.
    fn beside(&self, batch: &RecordBatch, row: usize) -> u64 {
        let columns = batch.columns().iter().enumerate();
        let copied = columns.filter(|(at, column)| {
            let is_view = matches!(column.data_type(), DataType::Utf8View | DataType::BinaryView);
            !self.lists.contains(at) && !is_view && !column.data_type().is_primitive()
        });
        copied.map(|(_, column)| held(column.slice(row, 1).as_ref())).sum()
    }

    fn next_piece(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let taken = self.taken(&batch)?;
        if taken < batch.num_rows() {
            self.rest = Some(batch.slice(taken, batch.num_rows() - taken));
            return Ok(batch.slice(0, taken));
        }
        Ok(batch)
    }
}

fn elements(list: &dyn Array, row: usize) -> u64 {
    let length = match list.data_type() {
        _ if list.is_null(row) => None,
        DataType::List(_) => list.as_list_opt::<i32>().map(|it| i64::from(it.value_length(row))),
        DataType::LargeList(_) => list.as_list_opt::<i64>().map(|it| it.value_length(row)),
        DataType::FixedSizeList(_, size) => Some(i64::from(*size)),
        _ => None,
    };
    length.and_then(|length| u64::try_from(length).ok()).unwrap_or(0)
}
