//! The first stage of a GROUP BY over codes: runs the engine's accumulators over the documents of each partition.
//!
//! Documents are grouped by codes, so no value is looked up for a row. Output is what the engine's own first stage
//! would give: group columns, then the state of each aggregate; the engine's second stage merges them.

use super::codes::ColumnCodes;
use super::groups::GroupNumbering;
use crate::sql::documents::columns::ColumnReader;
use crate::sql::documents::filter::{StoredBlock, slots_of_bitmap};
use crate::sql::documents::scan::BatchSink;
use crate::sql::documents::scan::DocumentScan;
use crate::sql::documents::schema::DocumentColumn;
use crate::sql::error::SqlError;
use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result as EngineResult};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use model::invariant::at;
use std::sync::Arc;

/// Groups after which the stage emits its states and starts again with none: the second stage merges groups that come
/// twice. Few in unit tests, so that they reach it.
const MOST_GROUPS: usize = if cfg!(test) { 5 } else { 1 << 16 };

/// One aggregate function of the statement.
pub(super) struct AggregateCall {
    pub(super) function: Arc<AggregateFunctionExpr>,
    /// Expressions over the columns of `read`.
    pub(super) arguments: Vec<Arc<dyn PhysicalExpr>>,
    /// Which rows count; none: all do.
    pub(super) filter: Option<Arc<dyn PhysicalExpr>>,
}

impl AggregateCall {
    /// The arguments and the filter.
    pub(super) fn expressions(&mut self) -> impl Iterator<Item = &mut Arc<dyn PhysicalExpr>> {
        self.arguments.iter_mut().chain(&mut self.filter)
    }
}

/// The stage for all partitions.
pub(super) struct CodedAggregation {
    /// The documents, and the columns that the aggregates read.
    pub(super) read: DocumentScan,
    /// Columns of GROUP BY.
    pub(super) by: Vec<DocumentColumn>,
    pub(super) aggregates: Vec<AggregateCall>,
    /// Group columns, then the state of each aggregate.
    pub(super) schema: SchemaRef,
}

/// Groups and states of one partition since it last emitted.
struct AggregationState {
    codes: Vec<ColumnCodes>,
    groups: GroupNumbering,
    states: Vec<Box<dyn GroupsAccumulator>>,
}

impl CodedAggregation {
    /// Pushes the groups of one partition, in batches of at most `rows`.
    pub(super) fn run(
        &self,
        part: usize,
        rows: usize,
        sink: &mut BatchSink<'_>,
    ) -> Result<(), SqlError> {
        let DocumentScan { view, wanted, schema, test, parts, .. } = &self.read;
        let mut reader =
            ColumnReader::new(view, wanted, Arc::clone(schema), rows)?.also_for(&self.by);
        let mut counted = self.begin()?;
        for number in at(parts, part).clone() {
            if sink(RecordBatch::new_empty(Arc::clone(&self.schema))).is_break() {
                return Ok(());
            }
            let block = StoredBlock::new(view, number);
            let slots = slots_of_bitmap(&test.select(&block)?);
            if slots.is_empty() {
                continue;
            }
            let open = reader.open(block)?;
            let mut codes = Vec::with_capacity(counted.codes.len());
            for column in &mut counted.codes {
                codes.push(column.read(&open, &slots)?);
            }
            let numbers = counted.groups.number(&codes);
            let (mut slots, mut numbers) = (slots.as_slice(), numbers.as_slice());
            while !slots.is_empty() {
                let taken = reader.take(&open, slots)?.min(slots.len());
                let (now, later) = slots.split_at(taken);
                let (groups, next) = numbers.split_at(taken.min(numbers.len()));
                let batch = reader.batch(&open, now)?;
                self.count(&mut counted, &batch, groups).map_err(SqlError::run)?;
                (slots, numbers) = (later, next);
            }
            if counted.groups.len() > MOST_GROUPS
                && !self.hand_on(&mut counted, &mut reader, rows, sink)?
            {
                return Ok(());
            }
        }
        self.hand_on(&mut counted, &mut reader, rows, sink)?;
        Ok(())
    }

    fn begin(&self) -> Result<AggregationState, SqlError> {
        let states = self.aggregates.iter().map(|it| it.function.create_groups_accumulator());
        Ok(AggregationState {
            codes: self.by.iter().map(|column| ColumnCodes::of(column.source)).collect(),
            groups: GroupNumbering::of(self.by.len()),
            states: states.collect::<EngineResult<_>>().map_err(SqlError::run)?,
        })
    }

    fn count(
        &self,
        counted: &mut AggregationState,
        batch: &RecordBatch,
        groups: &[usize],
    ) -> EngineResult<()> {
        for (aggregate, state) in self.aggregates.iter().zip(&mut counted.states) {
            let value =
                |of: &Arc<dyn PhysicalExpr>| of.evaluate(batch)?.into_array(batch.num_rows());
            let values: Vec<ArrayRef> =
                aggregate.arguments.iter().map(value).collect::<EngineResult<_>>()?;
            let filter = aggregate.filter.as_ref().map(value).transpose()?;
            let filter = filter.as_ref().map(|filter| {
                let truths = filter.as_any().downcast_ref::<BooleanArray>();
                truths.ok_or_else(|| {
                    DataFusionError::Internal("a filter that is no truth".to_owned())
                })
            });
            state.update_batch(&values, groups, filter.transpose()?, counted.groups.len())?;
        }
        Ok(())
    }

    /// Emits all groups and starts again with none; says whether the sink takes more.
    fn hand_on(
        &self,
        counted: &mut AggregationState,
        reader: &mut ColumnReader<'_>,
        rows: usize,
        sink: &mut BatchSink<'_>,
    ) -> Result<bool, SqlError> {
        let AggregationState { codes, groups, mut states } =
            std::mem::replace(counted, self.begin()?);
        if groups.len() == 0 {
            return Ok(true);
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (column, codes) in codes.iter().zip(groups.codes()) {
            columns.push(column.array(&self.read.view, reader, &codes)?);
        }
        for state in &mut states {
            columns.extend(state.state(EmitTo::All).map_err(SqlError::run)?);
        }
        let batch =
            RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(SqlError::arrow)?;
        for start in (0..batch.num_rows()).step_by(rows.max(1)) {
            let len = rows.max(1).min(batch.num_rows() - start);
            if sink(batch.slice(start, len)).is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
