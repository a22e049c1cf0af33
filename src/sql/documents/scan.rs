//! The scan of our tables: the plan node, and the rows of documents that satisfy a predicate.

use super::columns::ColumnReader;
use super::filter::{ResolvedPredicate, StoredBlock, slots_of_bitmap};
use super::schema::DocumentColumn;
use crate::sql::error::SqlError;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::{
    RecordBatchReceiverStreamBuilder, RecordBatchStreamAdapter,
};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use futures::future::ready;
use futures::stream::once;
use roaring::RoaringBitmap;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use store::View;

#[derive(Clone)]
pub(crate) struct DocumentScan {
    pub(crate) view: View,
    pub(crate) test: ResolvedPredicate,
    pub(crate) wanted: Arc<[DocumentColumn]>,
    /// Types of the columns.
    pub(crate) schema: SchemaRef,
    /// Runs of blocks, one a partition.
    pub(crate) parts: Arc<[Range<u64>]>,
}

impl DocumentScan {
    /// Pushes the rows of a run of blocks.
    pub(crate) fn push(
        &self,
        blocks: Range<u64>,
        limit: Option<usize>,
        rows: usize,
        sink: &mut BatchSink<'_>,
    ) -> Result<(), SqlError> {
        let mut left = limit.map_or(u64::MAX, |limit| u64::try_from(limit).unwrap_or(u64::MAX));
        let mut reader =
            ColumnReader::new(&self.view, &self.wanted, Arc::clone(&self.schema), rows)?;
        for number in blocks {
            // Asks whether a receiver is left: a run of blocks may yield no batch for long.
            if left == 0 || sink(RecordBatch::new_empty(Arc::clone(&self.schema))).is_break() {
                break;
            }
            let block = StoredBlock::new(&self.view, number);
            let mut slots = self.test.select(&block)?;
            if slots.len() > left {
                slots = slots.iter().take(usize::try_from(left).unwrap_or(usize::MAX)).collect();
            }
            left -= slots.len();
            if slots.is_empty() {
                continue;
            }
            let go_on = if self.wanted.is_empty() {
                sink(self.counted(slots.len())?).is_continue()
            } else {
                self.rows(&mut reader, block, &slots, sink)?
            };
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    /// A batch of `rows` rows without columns.
    fn counted(&self, rows: u64) -> Result<RecordBatch, SqlError> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), Vec::new(), &options)
            .map_err(SqlError::arrow)
    }

    fn rows<'v>(
        &self,
        reader: &mut ColumnReader<'v>,
        block: StoredBlock<'v>,
        slots: &RoaringBitmap,
        sink: &mut BatchSink<'_>,
    ) -> Result<bool, SqlError> {
        let open = reader.open(block)?;
        let slots = slots_of_bitmap(slots);
        let mut rest = slots.as_slice();
        while !rest.is_empty() {
            let taken = reader.take(&open, rest)?;
            let (now, later) = rest.split_at(taken);
            if sink(reader.batch(&open, now)?).is_break() {
                return Ok(false);
            }
            rest = later;
        }
        Ok(true)
    }
}

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

/// Batches that wait between a producer and the engine.
const QUEUE: usize = 2;

/// A scan of one of our tables.
pub(crate) struct TableScanExec {
    table: &'static str,
    /// The filters that the scan applies itself, for EXPLAIN.
    detail: String,
    producers: Vec<PartitionProducer>,
    /// The selection and columns, when the scan is of `documents`.
    selected: Option<DocumentScan>,
    /// The number of rows, when it is known without reading any.
    rows: Option<u64>,
    /// Whether there is at most one row: such a scan gets no thread.
    is_single: bool,
    properties: Arc<PlanProperties>,
}

impl TableScanExec {
    /// A scan with a partition for each producer; `ordered_by` names a column that ascends in each.
    pub(crate) fn new(
        table: &'static str,
        schema: SchemaRef,
        detail: String,
        producers: Vec<PartitionProducer>,
        rows: Option<u64>,
        ordered_by: Option<&str>,
    ) -> Self {
        let column = ordered_by.and_then(|name| Some((name, schema.index_of(name).ok()?)));
        let ordering = column.and_then(|(name, index)| {
            LexOrdering::new([PhysicalSortExpr::new_default(Arc::new(Column::new(name, index)))])
        });
        let equivalence = EquivalenceProperties::new_with_orderings(schema, ordering);
        let partitioning = Partitioning::UnknownPartitioning(producers.len());
        let properties = PlanProperties::new(
            equivalence,
            partitioning,
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = Arc::new(properties);
        Self { table, detail, producers, selected: None, rows, is_single: false, properties }
    }

    /// Notes which documents are scanned, for optimiser rules that answer more of a statement than the scan does.
    pub(crate) fn over(self, selected: DocumentScan) -> Self {
        Self { selected: Some(selected), ..self }
    }

    /// Notes whether the scan has at most one row.
    pub(crate) fn single(self, is_single: bool) -> Self {
        Self { is_single, ..self }
    }

    pub(crate) const fn selected(&self) -> Option<&DocumentScan> {
        self.selected.as_ref()
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Debug for TableScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableScanExec({}, {})", self.table, self.detail)
    }
}

impl DisplayAs for TableScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self
            .properties
            .eq_properties
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        write!(f, "corpusdb: table={}, columns=[{}]", self.table, names.join(", "))?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ", {}", self.detail) }
    }
}

impl ExecutionPlan for TableScanExec {
    fn name(&self) -> &str {
        "CorpusScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = context.session_config().batch_size().max(1);
        let producer = self.producers.get(partition).ok_or_else(|| {
            DataFusionError::Internal(format!("partition {partition} of {}", self.producers.len()))
        })?;
        let producer = Arc::clone(producer);
        if self.is_single {
            let made = once(async move { only_batch(&producer, rows).transpose() });
            let made = made.filter_map(ready);
            return Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), made)));
        }
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema(), QUEUE);
        let queue = stream.tx();
        stream.spawn_blocking(move || {
            let done = producer(rows, &mut |batch| {
                let gone = if batch.num_rows() == 0 {
                    queue.is_closed()
                } else {
                    queue.blocking_send(Ok(batch)).is_err()
                };
                if gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            Ok(done?)
        });
        Ok(stream.build())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        if let (Some(rows), None) =
            (self.rows.and_then(|rows| usize::try_from(rows).ok()), args.partition())
        {
            statistics.num_rows = Precision::Exact(rows);
        }
        Ok(Arc::new(statistics))
    }
}

/// Runs a producer of at most one row in place.
fn only_batch(producer: &PartitionProducer, rows: usize) -> Result<Option<RecordBatch>> {
    let mut found = None;
    producer(rows, &mut |batch| {
        if batch.num_rows() > 0 {
            found = Some(batch);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}
