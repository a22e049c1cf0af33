//! Runs one statement on a thread of its own, which sends the caller batches as the engine makes them.

use super::explain::scans_explained;
use super::query::SqlQuery;
use super::session::StatementKind;
use super::{catalogue, session};
use crate::sql::engine::runtime::RunningStatement;
use crate::sql::engine::stop::stopped_by;
use crate::sql::engine::{evaluation, runtime};
use crate::sql::error::SqlError;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream, execute_stream_partitioned};
use futures::StreamExt;
use model::Interrupt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use store::View;

/// Batches that wait between the engine and the caller.
const QUEUE: usize = 2;

/// The answer to a statement: its columns, known at once, and its rows, batch by batch as the engine makes them. It
/// ends with the last batch or with an error. Dropping it earlier ends the query, within moments or with the call of a
/// function that it is in: until then its thread reads the view.
pub struct SqlRows {
    schema: SchemaRef,
    batches: Receiver<RecordBatch>,
    /// None once the statement has ended or was left.
    driver: Option<RunningStatement<()>>,
    /// Whether the caller keeps what it makes of the rows: that is not the statement's.
    is_kept: bool,
}

impl SqlRows {
    /// The columns, also of an answer without rows.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The rows as Arrow's writers and [`Records::batches`](crate::ingest::Records::batches) take them.
    #[must_use]
    pub fn into_reader(self) -> impl RecordBatchReader + Send + 'static {
        let schema = self.schema();
        let external = |error| ArrowError::ExternalError(Box::new(error));
        RecordBatchIterator::new(self.map(move |batch| batch.map_err(external)), schema)
    }
}

impl Iterator for SqlRows {
    type Item = Result<RecordBatch, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let driver = self.driver.take()?;
        match driver.next(&self.batches) {
            Ok(Some(batch)) => {
                if self.is_kept {
                    driver.hand_over(batch.get_array_memory_size());
                }
                self.driver = Some(driver);
                Some(Ok(batch))
            }
            Ok(None) => driver.join().err().map(Err),
            Err(stopped) => {
                self.batches = channel().1;
                Some(Err(stopped))
            }
        }
    }
}

impl Drop for SqlRows {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            // A thread that waits for room sees that its receiver is gone.
            self.batches = channel().1;
            driver.leave();
        }
    }
}

impl std::fmt::Debug for SqlRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Runs one SELECT (or WITH, or EXPLAIN) over the tables of `view`. Without ORDER BY, rows of a
/// plain scan of `documents` come in the order of their ids. `SHOW TABLES` lists the tables, `DESCRIBE t`
/// the columns of one, `SHOW FUNCTIONS` the functions (docs/reference/sql.md has them all).
///
/// A quarter of the memory that the view was opened with bounds what sorts, joins and aggregates hold;
/// they spill to temporary files, or fail. One call of a function takes what it takes: a text of up to 2 GiB. Planning
/// ends after 20 seconds. It blocks until the statement is planned, and its rows block until there are
/// some; do not call it on a thread that drives an async runtime.
///
/// Once the stop of `query` is asked for, what is waited for ends within 20 milliseconds, and the engine with the batch
/// that any part of it is at: in a thread of its own, which reads the view until then.
///
/// # Errors
/// [`SqlError`]: a statement that is not a query or cannot be planned; [`SqlError::Interrupted`];
/// [`SqlError::Store`] for a snapshot that there is not, with those that there are. What fails while it runs comes as
/// a row would.
pub fn sql(view: &View, query: impl Into<SqlQuery>) -> Result<SqlRows, SqlError> {
    let (view, query) = (view.clone(), query.into());
    let interrupt = query.interrupt.clone();
    let (columns, schema) = sync_channel(1);
    let (sender, batches) = sync_channel(QUEUE);
    let driver = runtime::start(&interrupt, async move {
        let statement = match session::parse(&query.text)? {
            StatementKind::Rows(statement) => statement,
            StatementKind::Tables => return one(catalogue::tables()?, &columns, &sender),
            StatementKind::Functions => {
                return one(catalogue::functions(&view)?, &columns, &sender);
            }
            StatementKind::Columns(table) => {
                return one(catalogue::columns(&view, &table)?, &columns, &sender);
            }
        };
        let state = session::session_with(&view, &query)?;
        let plan = session::plan(&state, statement, &query).await?;
        let explained = scans_explained(&plan)?;
        let (schema, streams) = start(state, &plan).await?;
        if columns.send(schema).is_ok() && explained.is_none_or(|it| sender.send(it).is_ok()) {
            give(streams, &sender).await?;
        }
        Ok(())
    })?;
    match driver.next(&schema)? {
        Some(schema) => Ok(SqlRows { schema, batches, driver: Some(driver), is_kept: false }),
        // The thread ended before it sent columns: its error says why.
        None => Err(driver.join().err().unwrap_or(SqlError::Panicked)),
    }
}

/// An answer of one batch.
fn one(
    batch: RecordBatch,
    columns: &SyncSender<SchemaRef>,
    to: &SyncSender<RecordBatch>,
) -> Result<(), SqlError> {
    if columns.send(batch.schema()).is_ok() {
        let _ = to.send(batch);
    }
    Ok(())
}

/// The rows of an optimised plan, for callers who keep what they make of them.
pub(crate) fn rows(
    state: SessionState,
    plan: LogicalPlan,
    interrupt: &Interrupt,
) -> Result<SqlRows, SqlError> {
    let (sender, batches) = sync_channel(QUEUE);
    let schema = Arc::clone(plan.schema().inner());
    let driver = runtime::start(interrupt, async move {
        let (_, streams) = start(state, &plan).await?;
        give(streams, &sender).await
    })?;
    Ok(SqlRows { schema, batches, driver: Some(driver), is_kept: true })
}

/// The columns of an optimised plan, and the streams that give its rows one after the other.
async fn start(
    mut state: SessionState,
    plan: &LogicalPlan,
) -> Result<(SchemaRef, Vec<SendableRecordBatchStream>), SqlError> {
    session::size_batches(&mut state, plan);
    let physical =
        state.query_planner().create_physical_plan(plan, &state).await.map_err(SqlError::run)?;
    let context = Arc::new(session::context(&state));
    let stop = evaluation::executing(&context.runtime_env().disk_manager);
    let physical = stopped_by(physical, &stop).map_err(SqlError::run)?;
    let schema = physical.schema();
    // Partitions of a scan are runs of ids: reading one after the other keeps the order. Where rows are dealt out by
    // hash there is no order to keep, and all partitions must be read together.
    let streams = if has_hash_partitioning(&physical) {
        vec![execute_stream(physical, context).map_err(SqlError::run)?]
    } else {
        execute_stream_partitioned(physical, context).map_err(SqlError::run)?
    };
    Ok((schema, streams))
}

async fn give(
    streams: Vec<SendableRecordBatchStream>,
    to: &SyncSender<RecordBatch>,
) -> Result<(), SqlError> {
    for mut stream in streams {
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(SqlError::run)?;
            if batch.num_rows() > 0 && to.send(batch).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn has_hash_partitioning(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.name() == "RepartitionExec" || plan.children().into_iter().any(has_hash_partitioning)
}
