//! Counts memory that an operator holds without asking the pool.
//!
//! Windows without bounds keep their whole input, `array_agg` the arrays that its values lie in.

use super::expanding::{Pieces, lists_of};
use crate::sql::engine::pass_through::{BatchHook, BatchPoll, PassThroughExec};
use arrow::array::Array;
use arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The plan with such operators' input counted, and with the input of `unnest` in pieces that may copy `limit` bytes
/// each.
pub(crate) fn metered(
    plan: Arc<dyn ExecutionPlan>,
    limit: usize,
) -> Result<Arc<dyn ExecutionPlan>> {
    let (kept, lists) = (kept(&plan), lists_of(&plan));
    let inputs: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    if inputs.is_empty() {
        return Ok(plan);
    }
    let inner = |input: Arc<dyn ExecutionPlan>| -> Result<Arc<dyn ExecutionPlan>> {
        let input = metered(input, limit)?;
        Ok(match (&kept, &lists) {
            (Some(kept), _) => {
                Arc::new(PassThroughExec::new(input, Metered { kept: kept.clone() }))
            }
            (None, Some(lists)) => {
                Arc::new(PassThroughExec::new(input, Pieces::new(lists.clone(), limit)))
            }
            (None, None) => input,
        })
    };
    let inputs = inputs.into_iter().map(inner).collect::<Result<Vec<_>>>()?;
    let properties = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.replace_children(inputs, properties)
}

/// The part of its input that an operator keeps without asking the memory pool.
#[derive(Clone, Debug)]
enum Kept {
    All,
    Columns(Vec<usize>),
}

fn kept(plan: &Arc<dyn ExecutionPlan>) -> Option<Kept> {
    if plan.name() == "WindowAggExec" {
        return Some(Kept::All);
    }
    // The first stage gathers the lists; the last one takes them over.
    let groups = plan.downcast_ref::<AggregateExec>()?;
    if matches!(groups.mode(), AggregateMode::Final | AggregateMode::FinalPartitioned) {
        return None;
    }
    let mut columns: Vec<usize> = groups
        .aggr_expr()
        .iter()
        .filter(|aggregate| aggregate.fun().name() == "array_agg")
        .flat_map(|aggregate| aggregate.expressions())
        .flat_map(|argument| collect_columns(&argument))
        .map(|column| column.index())
        .collect();
    columns.sort_unstable();
    columns.dedup();
    (!columns.is_empty()).then_some(Kept::Columns(columns))
}

impl Kept {
    /// Bytes of a batch, twice: at the end the operator joins all batches into one.
    fn bytes(&self, batch: &RecordBatch) -> usize {
        let bytes = match self {
            Self::All => batch.get_array_memory_size(),
            Self::Columns(columns) => columns
                .iter()
                .filter_map(|at| batch.columns().get(*at))
                .map(|column| column.get_array_memory_size())
                .sum(),
        };
        bytes.saturating_mul(2)
    }
}

/// Reserves memory for the kept part of batches until the end.
#[derive(Clone)]
struct Metered {
    kept: Kept,
}

impl BatchHook for Metered {
    const NAME: &'static str = "Metered";

    fn detail(&self) -> String {
        "metered".to_owned()
    }

    fn over(
        &self,
        mut input: SendableRecordBatchStream,
        context: &TaskContext,
    ) -> impl FnMut(&mut Context<'_>) -> BatchPoll + Send + 'static {
        let held = MemoryConsumer::new("window or array_agg").register(context.memory_pool());
        let kept = self.kept.clone();
        move |context| {
            let next = input.as_mut().poll_next(context);
            if let Poll::Ready(Some(Ok(batch))) = &next
                && let Err(error) = held.try_grow(kept.bytes(batch))
            {
                return Poll::Ready(Some(Err(error)));
            }
            next
        }
    }
}
