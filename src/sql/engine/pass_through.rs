//! A plan node that hands its input's rows on unchanged, and acts on each batch on its way.

use arrow::record_batch::RecordBatch;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::projection::{ProjectionExec, make_with_child};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream::poll_fn;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The poll of the next batch of a partition.
pub(in crate::sql) type BatchPoll = Poll<Option<Result<RecordBatch>>>;

/// What is done to batches on their way; rows and their order stay.
pub(in crate::sql) trait BatchHook: Clone + Send + Sync + 'static {
    const NAME: &'static str;

    fn detail(&self) -> String;

    /// What the optimiser may take for true of the rows.
    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::clone(input.properties())
    }

    /// Whether the optimiser may rely on the order of its input behind it.
    fn shows_order(&self) -> bool {
        true
    }

    /// The order in which the rows must come, which no rule may take from them.
    fn needed_order(&self) -> Option<LexOrdering> {
        None
    }

    /// Whether the optimiser may compute columns beneath it instead of above.
    fn lets_beneath(&self, _: &ProjectionExec) -> bool {
        self.needed_order().is_none()
    }

    /// Wraps the stream of one partition.
    fn over(
        &self,
        input: SendableRecordBatchStream,
        context: &TaskContext,
    ) -> impl FnMut(&mut Context<'_>) -> BatchPoll + Send + 'static;
}

pub(in crate::sql) struct PassThroughExec<P> {
    input: Arc<dyn ExecutionPlan>,
    pass: P,
    properties: Arc<PlanProperties>,
}

impl<P: BatchHook> PassThroughExec<P> {
    pub(in crate::sql) fn new(input: Arc<dyn ExecutionPlan>, pass: P) -> Self {
        let properties = pass.properties(&input);
        Self { input, pass, properties }
    }
}

impl<P: BatchHook> fmt::Debug for PassThroughExec<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(P::NAME)
    }
}

impl<P: BatchHook> DisplayAs for PassThroughExec<P> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "corpusdb: {}", self.pass.detail())
    }
}

impl<P: BatchHook> ExecutionPlan for PassThroughExec<P> {
    fn name(&self) -> &str {
        P::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.pass.shows_order()]
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![match self.pass.needed_order() {
            Some(_) => Distribution::SinglePartition,
            None => Distribution::UnspecifiedDistribution,
        }]
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.pass.needed_order().map(OrderingRequirements::from)]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if !self.pass.lets_beneath(projection) {
            return Ok(None);
        }
        let input = make_with_child(projection, &self.input)?;
        Ok(Some(Arc::new(Self::new(input, self.pass.clone()))))
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next().unwrap_or_else(|| Arc::clone(&self.input));
        Ok(Arc::new(Self::new(input, self.pass.clone())))
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
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let next = self.pass.over(input, &context);
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), poll_fn(next))))
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let unknown = || Arc::new(Statistics::new_unknown(&self.schema()));
        Ok(inputs.first().cloned().unwrap_or_else(unknown))
    }
}
