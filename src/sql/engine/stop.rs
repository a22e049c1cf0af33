//! Ends planning at each of its steps, and a plan that runs at each batch, once a stop is requested.

use super::evaluation::{StatementStop, check_planning};
use super::pass_through::{BatchHook, BatchPoll, PassThroughExec};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use std::sync::Arc;
use std::task::{Context, Poll};

/// Asks before each binary operator of a statement is planned, and plans none.
#[derive(Debug)]
pub(in crate::sql) struct OperatorStop;

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
pub(in crate::sql) struct StoppableRule<R: ?Sized>(pub(in crate::sql) Arc<R>);

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
    Ok(Arc::new(PassThroughExec::new(plan, StopCheck { stop: stop.clone() })))
}

/// Fails an operator's stream once a stop is requested.
#[derive(Clone)]
struct StopCheck {
    stop: StatementStop,
}

impl BatchHook for StopCheck {
    const NAME: &'static str = "Stoppable";

    fn detail(&self) -> String {
        "stoppable".to_owned()
    }

    fn over(
        &self,
        mut input: SendableRecordBatchStream,
        _: &TaskContext,
    ) -> impl FnMut(&mut Context<'_>) -> BatchPoll + Send + 'static {
        let stop = self.stop.clone();
        move |context| match stop.check() {
            Err(stopped) => Poll::Ready(Some(Err(DataFusionError::from(stopped)))),
            Ok(()) => input.as_mut().poll_next(context),
        }
    }
}
