//! The types of functions that feed a scan: each pushes the batches of one partition.

use crate::sql::error::SqlError;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Takes a producer's batches; breaks when no more are wanted.
pub(crate) type BatchSink<'a> = dyn FnMut(RecordBatch) -> ControlFlow<()> + 'a;

/// Pushes the batches of one partition, in order, each of at most as many rows as the engine's batches have. A producer
/// pushes an empty batch to ask whether to continue.
pub(crate) type PartitionProducer =
    Arc<dyn Fn(usize, &mut BatchSink<'_>) -> std::result::Result<(), SqlError> + Send + Sync>;

/// What a scan of a small table is asked for.
pub(crate) struct SystemTableRequest<'a> {
    /// All columns of the table: batches have them all.
    pub schema: &'a SchemaRef,
    /// Those of them that are examined. What is long may be left empty in others.
    pub columns: &'a [usize],
    /// Rows of a batch, at most.
    pub rows: usize,
}
