//! Ends planning at each of its steps, and a plan that runs at each batch, once a stop is requested.

use super::evaluation::{StatementStop, check_planning};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream::poll_fn;
use std::fmt;
use std::sync::Arc;
use std::task::Poll;

/// Asks before each binary operator of a statement is planned, and plans none.
#[derive(Debug)]
pub(super) struct OperatorStop;

impl ExprPlanner for OperatorStop {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        check_planning()?;
        Ok(PlannerResult::Original(expr))
    }
}

/// A rule of the engine or of ours that asks before it is applied: to a plan, or to a node where the engine walks.
#[derive(Debug)]
pub(super) struct StoppableRule<R: ?Sized>(pub(super) Arc<R>);

impl AnalyzerRule for StoppableRule<dyn AnalyzerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        check_planning()?;
        self.0.analyze(plan, config)
    }
}

impl OptimizerRule for StoppableRule<dyn OptimizerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        check_planning()?;
        self.0.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for StoppableRule<dyn PhysicalOptimizerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_planning()?;
        self.0.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_planning()?;
        self.0.optimize_with_context(plan, context)
    }
}

/// The plan, each of whose operators asks before each batch: one may make very many of a few that it takes, and give
/// none.
pub(in crate::sql) fn stopped_by(
    plan: Arc<dyn ExecutionPlan>,
    stop: &StatementStop,
) -> Result<Arc<dyn ExecutionPlan>> {
    let inputs: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let plan = match inputs.is_empty() {
        true => plan,
        false => {
            let inner = |input| stopped_by(input, stop);
            let inputs = inputs.into_iter().map(inner).collect::<Result<Vec<_>>>()?;
            let properties = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            plan.replace_children(inputs, properties)?
        }
    };
    Ok(Arc::new(StoppableExec { input: plan, stop: stop.clone() }))
}

/// Hands the rows of its input on, and fails once a stop is requested.
#[derive(Debug)]
struct StoppableExec {
    input: Arc<dyn ExecutionPlan>,
    stop: StatementStop,
}

impl DisplayAs for StoppableExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("corpusdb: stoppable")
    }
}

impl ExecutionPlan for StoppableExec {
    fn name(&self) -> &str {
        "Stoppable"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next().unwrap_or_else(|| Arc::clone(&self.input));
        Ok(Arc::new(Self { input, stop: self.stop.clone() }))
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
        let mut input = self.input.execute(partition, context)?;
        let stop = self.stop.clone();
        let next = poll_fn(move |context| match stop.check() {
            Err(stopped) => Poll::Ready(Some(Err(DataFusionError::from(stopped)))),
            Ok(()) => input.as_mut().poll_next(context),
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), next)))
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
