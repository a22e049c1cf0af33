//! Keeps the row of an aggregate of all rows from conditions above it.
//!
//! The engine moves a condition that names no column of an aggregate beneath it, since it holds for all rows of a group or
//! for none. An aggregate of all rows has its row without them: `SELECT FALSE FROM (SELECT count(*) FROM t)` has one that
//! `WHERE` drops, and beneath the aggregate the condition drops rows of `t` alone. A condition may lose its columns on the
//! way down, where a projection has a constant, so that all such aggregates below a condition get a LIMIT, which no
//! condition passes; the same holds for ROLLUP and CUBE.

use super::subqueries::is_correlated;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Subquery};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

#[derive(Debug)]
pub(in crate::sql) struct AggregatesKeepTheirRow;

impl AnalyzerRule for AggregatesKeepTheirRow {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let node = node.map_expressions(|it| it.transform_up(kept_within))?;
            node.transform_data(|node| match &node {
                // What names columns of the aggregate itself stays above it.
                LogicalPlan::Filter(filter)
                    if matches!(&*filter.input, LogicalPlan::Aggregate(_))
                        && split_conjunction(&filter.predicate)
                            .iter()
                            .all(|part| part.any_column_refs()) =>
                {
                    Ok(Transformed::no(node))
                }
                LogicalPlan::Filter(_) | LogicalPlan::Join(_) => node.map_children(kept),
                _ => Ok(Transformed::no(node)),
            })
        })
        .map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "aggregates_keep_their_row"
    }
}

/// The same in a subquery that becomes a side of a join.
fn kept_within(part: Expr) -> Result<Transformed<Expr>> {
    let within = |subquery: Subquery| {
        let plan = kept(subquery.subquery.as_ref().clone())?;
        Ok(plan.update_data(|plan| subquery.with_plan(Arc::new(plan))))
    };
    match part {
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let made = |subquery| Expr::InSubquery(InSubquery { expr, subquery, negated });
            within(subquery).map(|subquery| subquery.update_data(made))
        }
        Expr::Exists(Exists { subquery, negated }) => {
            let made = |subquery| Expr::Exists(Exists { subquery, negated });
            within(subquery).map(|subquery| subquery.update_data(made))
        }
        part => Ok(Transformed::no(part)),
    }
}

/// The plan with a LIMIT above each aggregate of all rows that a condition above it may reach.
fn kept(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match &plan {
        // Beneath columns from outside it becomes one of groups.
        LogicalPlan::Aggregate(aggregate) if takes_all(aggregate) && !is_correlated(&plan) => {
            let most = if aggregate.group_expr.is_empty() { 1 } else { MOST };
            LogicalPlanBuilder::from(plan).limit(0, Some(most))?.build().map(Transformed::yes)
        }
        LogicalPlan::Aggregate(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Projection(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Union(_)
        | LogicalPlan::Window(_) => plan.map_children(kept),
        _ => Ok(Transformed::no(plan)),
    }
}

/// More rows than there are.
const MOST: usize = i64::MAX as usize;

/// Whether it has a row also where its input has none: of all rows, or by sets of which one is empty.
fn takes_all(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.is_empty()
        || aggregate.group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_)))
}
