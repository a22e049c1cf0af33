//! Runs one statement and hands its batches to the caller as they come.

use super::metered::metered;
use super::session::Asked;
use super::{catalogue, runtime, session};
use crate::query::error::QueryError;
use crate::store::View;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::execution::TaskContext;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream, execute_stream_partitioned};
use futures::StreamExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Batches that wait between the engine and the caller.
const QUEUE: usize = 2;

/// Runs one SELECT (or WITH, or EXPLAIN) over the tables of `view`; `each` gets the batches as they
/// come, and one empty batch with the schema when there are no rows. Without ORDER BY, rows of a
/// plain scan of `documents` come in the order of their ids. `SHOW TABLES` lists the tables, `DESCRIBE t`
/// the columns of one (docs/reference/sql.md has them all).
///
/// A quarter of the memory that the view was opened with bounds what sorts, joins and aggregates hold;
/// they spill to temporary files, or fail. It blocks; do not call it on a thread that drives an async
/// runtime.
///
/// # Errors
/// [`QueryError`]: a statement that is no query or cannot be planned, what fails while it runs, or
/// what `each` returns, which ends the query.
pub fn sql(
    view: &View,
    sql: &str,
    each: &mut dyn FnMut(&RecordBatch) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let (sender, receiver) = sync_channel(QUEUE);
    let statement = match runtime::block_on(async { session::parse(sql) })? {
        Asked::Rows(statement) => statement,
        Asked::Tables => return each(&catalogue::tables()?),
        Asked::Columns(table) => return each(&catalogue::columns(view, &table)?),
    };
    let work = async move {
        let state = session::session(view)?;
        let plan = session::plan(&state, sql, statement).await?;
        run(state, &plan, &sender).await
    };
    let caller = &mut *each;
    // The receiver goes when the caller is done, which ends the query.
    let (schema, any) = runtime::drive(work, move || take(&receiver, caller))?;
    if any? { Ok(()) } else { each(&RecordBatch::new_empty(schema)) }
}

/// Hands batches on until there are no more; tells whether there were any.
fn take(
    batches: &Receiver<RecordBatch>,
    each: &mut dyn FnMut(&RecordBatch) -> Result<(), QueryError>,
) -> Result<bool, QueryError> {
    let mut any = false;
    for batch in batches {
        each(&batch)?;
        any = true;
    }
    Ok(any)
}

/// Runs an optimised plan; gives its schema. Stops early when the receiver is gone.
pub(in crate::query) async fn run(
    mut state: SessionState,
    plan: &LogicalPlan,
    to: &SyncSender<RecordBatch>,
) -> Result<SchemaRef, QueryError> {
    session::size_batches(&mut state, plan);
    let physical =
        state.query_planner().create_physical_plan(plan, &state).await.map_err(QueryError::run)?;
    let physical = metered(physical).map_err(QueryError::run)?;
    let schema = physical.schema();
    let context = Arc::new(TaskContext::from(&state));
    // Partitions of a scan are runs of ids: one after the other keeps their order. Where rows are
    // dealt out by hash there is no order to keep, and all partitions must be drained together.
    let streams = if deals_out(&physical) {
        vec![execute_stream(physical, context).map_err(QueryError::run)?]
    } else {
        execute_stream_partitioned(physical, context).map_err(QueryError::run)?
    };
    for mut stream in streams {
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(QueryError::run)?;
            if batch.num_rows() > 0 && to.send(batch).is_err() {
                return Ok(schema);
            }
        }
    }
    Ok(schema)
}

fn deals_out(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.name() == "RepartitionExec" || plan.children().into_iter().any(deals_out)
}
