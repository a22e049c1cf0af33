//! What feeds a scan: functions that push the batches of one partition.

use crate::query::error::QueryError;
use arrow::record_batch::RecordBatch;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Receives a producer's batches; says when no more are wanted.
pub(in crate::query) type Sink<'a> = dyn FnMut(RecordBatch) -> ControlFlow<()> + 'a;

/// Pushes the batches of one partition, in order, each of at most as many rows as the engine's batches have. An empty
/// batch is a question whether to continue.
pub(in crate::query) type Producer =
    Arc<dyn Fn(usize, &mut Sink<'_>) -> std::result::Result<(), QueryError> + Send + Sync>;
