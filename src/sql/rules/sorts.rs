//! Keeps sorts that the engine would drop, since it knows more of the rows of joins and groups than is true.
//!
//! It takes a column that is constant on the side of an outer join that may be null for constant behind the join, and
//! appends the order of one side of a join to that of the other, though rows of one side come again for each row of the
//! other (apache/datafusion#25052). Which columns tell groups apart it counts wrongly once a projection stands above
//! them. Behind such joins and groups this rule puts a node that knows less of the same rows.
//!
//! Where a condition has a cast of a column for one value, it takes the column for one: moments of one day for one moment.
//!
//! A sort with LIMIT it moves beneath windows where their values are known to be one for all rows, and the windows then
//! see as many rows as the LIMIT leaves: they hide their order from such a sort.
//!
//! It also drops a sort below OFFSET without LIMIT where the columns that are sorted by are not shown. There the rule puts
//! a node that needs the order.

use crate::sql::engine::pass_through::{BatchHook, BatchPoll, PassThroughExec};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Constraints, JoinType};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::{CastExpr, Column as PhysicalColumn, TryCastExpr};
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::StreamExt;
use std::collections::HashSet;
use std::sync::Arc;
use std::task::Context;

/// It stands before the rule that puts sorts where they are needed.
#[derive(Debug)]
pub(in crate::sql) struct SortsStay;

impl PhysicalOptimizerRule for SortsStay {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            if node.downcast_ref::<GlobalLimitExec>().is_some_and(|limit| limit.fetch().is_none())
                && let Some(kept) = with_sort_kept(&node)?
            {
                return Ok(Transformed::yes(kept));
            }
            if let Some(sort) = node.downcast_ref::<SortExec>()
                && sort.fetch().is_some()
                && let Some(input) = above_windows(sort.input())?
            {
                let properties = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                return node.replace_children(vec![input], properties).map(Transformed::yes);
            }
            Ok(match unproven(&node) {
                Some(part) => Transformed::yes(Arc::new(PassThroughExec::new(node, part))),
                None => Transformed::no(node),
            })
        })
        .map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "sorts_stay"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with a need for the order of its sort, where the sort's rows reach it in their order.
fn with_sort_kept(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        let order = NeededOrder(sort.expr().clone());
        return Ok(Some(Arc::new(PassThroughExec::new(Arc::clone(node), order))));
    }
    match (node.children().as_slice(), node.maintains_input_order().as_slice()) {
        ([input], [true]) => match with_sort_kept(input)? {
            Some(input) => {
                let properties = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                Arc::clone(node).replace_children(vec![input], properties).map(Some)
            }
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The plan with its windows in no known order.
fn above_windows(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if node.is::<WindowAggExec>() || node.is::<BoundedWindowAggExec>() {
        let unproven = PassThroughExec::new(Arc::clone(node), Unproven::All);
        return Ok(Some(Arc::new(unproven)));
    }
    match (node.children().as_slice(), node.maintains_input_order().as_slice()) {
        ([input], [true]) => match above_windows(input)? {
            Some(input) => {
                let properties = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                Arc::clone(node).replace_children(vec![input], properties).map(Some)
            }
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The order of rows that what stands above counts on.
#[derive(Clone)]
struct NeededOrder(LexOrdering);

impl BatchHook for NeededOrder {
    const NAME: &'static str = "NeededOrder";

    fn detail(&self) -> String {
        format!("rows in the order [{}]", self.0)
    }

    fn needed_order(&self) -> Option<LexOrdering> {
        Some(self.0.clone())
    }

    fn over(
        &self,
        mut input: SendableRecordBatchStream,
        _: &TaskContext,
    ) -> impl FnMut(&mut Context<'_>) -> BatchPoll + Send + 'static {
        move |context| input.poll_next_unpin(context)
    }
}

/// What the engine knows of rows, and is not true of some.
#[derive(Clone, Copy)]
enum Unproven {
    /// Their order, equal columns and constants.
    All,
    /// Which columns tell them apart.
    Keys,
}

fn unproven(node: &Arc<dyn ExecutionPlan>) -> Option<Unproven> {
    if let Some(groups) = node.downcast_ref::<AggregateExec>() {
        let last = !matches!(groups.mode(), AggregateMode::Partial);
        return (last && !groups.group_expr().is_empty()).then_some(Unproven::Keys);
    }
    if let Some(filter) = node.downcast_ref::<FilterExec>() {
        let casts =
            |part: &Arc<dyn PhysicalExpr>| part.is::<CastExpr>() || part.is::<TryCastExpr>();
        return filter.predicate().exists(|part| Ok(casts(part))).ok()?.then_some(Unproven::All);
    }
    let (left, right, kind, appends) = if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        let appends = matches!(join.join_type(), JoinType::Inner | JoinType::Right);
        (join.left(), join.right(), join.join_type(), appends)
    } else {
        let join = node.downcast_ref::<NestedLoopJoinExec>()?;
        (join.left(), join.right(), join.join_type(), false)
    };
    let knows = |side: &Arc<dyn ExecutionPlan>| {
        side.equivalence_properties().eq_group().iter().next().is_some()
    };
    let orders = |side: &Arc<dyn ExecutionPlan>| {
        side.equivalence_properties().oeq_class().iter().next().is_some()
    };
    let constants = match kind {
        JoinType::Left => knows(right),
        JoinType::Right => knows(left),
        JoinType::Full => knows(left) || knows(right),
        _ => false,
    };
    (constants || (appends && orders(left))).then_some(Unproven::All)
}

impl BatchHook for Unproven {
    const NAME: &'static str = "Unproven";

    fn detail(&self) -> String {
        match self {
            Self::All => "rows in no known order".to_owned(),
            Self::Keys => "rows without known keys".to_owned(),
        }
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        let known = input.properties().as_ref().clone();
        let proven = match self {
            Self::All => EquivalenceProperties::new(input.schema()),
            Self::Keys => {
                input.equivalence_properties().clone().with_constraints(Constraints::default())
            }
        };
        Arc::new(known.with_eq_properties(proven))
    }

    fn shows_order(&self) -> bool {
        matches!(self, Self::Keys)
    }

    /// What is computed above is known there, such as a constant or that two columns are one; beneath it would no longer
    /// be.
    fn lets_beneath(&self, projection: &ProjectionExec) -> bool {
        let place = |column: &ProjectionExpr| column.expr.downcast_ref().map(PhysicalColumn::index);
        let places: Option<HashSet<usize>> = projection.expr().iter().map(place).collect();
        matches!(self, Self::Keys)
            || places.is_some_and(|places| places.len() == projection.expr().len())
    }

    fn over(
        &self,
        mut input: SendableRecordBatchStream,
        _: &TaskContext,
    ) -> impl FnMut(&mut Context<'_>) -> BatchPoll + Send + 'static {
        move |context| input.poll_next_unpin(context)
    }
}
