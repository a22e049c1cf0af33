//! Which subqueries that name columns from outside the engine can join with the rows outside.
//!
//! It takes the conditions that name such columns out of the subquery and joins by them. That is right only where every
//! node that the condition is lifted over gives the same rows with the condition above it as below.

use super::refused;
use datafusion::common::Result;
use datafusion::common::Spans;
use datafusion::logical_expr::{Distinct, Expr, Join, JoinType, LogicalPlan, Projection, Subquery};
use std::sync::Arc;

/// Whether the plan names columns from outside.
pub(super) fn is_correlated(plan: &LogicalPlan) -> bool {
    plan.contains_outer_reference() || plan.inputs().into_iter().any(is_correlated)
}

pub(super) fn subquery(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }
}

/// The value of a plan of one row and one column.
pub(super) fn scalar(plan: LogicalPlan) -> Expr {
    Expr::ScalarSubquery(subquery(plan))
}

/// Refuses a subquery that the engine would join wrongly; its uppermost aggregate may be of all rows where `aggregates`.
pub(super) fn check(plan: &LogicalPlan, aggregates: bool) -> Result<()> {
    if !is_correlated(plan) {
        return Ok(());
    }
    let inputs =
        |aggregates: bool| plan.inputs().into_iter().try_for_each(|input| check(input, aggregates));
    match plan {
        LogicalPlan::Projection(Projection { expr, .. }) => {
            if expr.iter().any(Expr::contains_outer) {
                return Err(refused(
                    "a subquery selects a column from outside: compare with that column beside the subquery instead",
                ));
            }
            inputs(aggregates)
        }
        LogicalPlan::Filter(_) => inputs(aggregates),
        LogicalPlan::SubqueryAlias(_) => Err(refused(
            "a table in FROM of a subquery names columns from outside: compare with them in the WHERE of the subquery itself",
        )),
        LogicalPlan::Distinct(Distinct::All(_)) => inputs(false),
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => match aggregates {
            true => inputs(false),
            false => Err(refused(
                "a subquery aggregates within a subquery over columns from outside: aggregate in a join with GROUP BY instead",
            )),
        },
        LogicalPlan::Aggregate(aggregate)
            if !aggregate.group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_))) =>
        {
            inputs(false)
        }
        LogicalPlan::Join(join) => check_join(join),
        LogicalPlan::TableScan(_) | LogicalPlan::Values(_) | LogicalPlan::EmptyRelation(_) => {
            Ok(())
        }
        LogicalPlan::Window(_) => Err(refused(
            "a window function (OVER) in a subquery counts rows that a column from outside chooses: compute it in a table in FROM, with PARTITION BY, and join that",
        )),
        LogicalPlan::Limit(_) => Err(refused(
            "LIMIT and OFFSET in a subquery that names columns from outside: number the rows in a table in FROM with row_number() OVER (PARTITION BY ..), and compare with the number",
        )),
        LogicalPlan::Union(_) => Err(refused(
            "UNION in a subquery that names columns from outside: use one subquery for each part, with OR between them",
        )),
        _ => Err(refused(
            "a subquery names columns from outside beneath what cannot be joined with them: write it as a join",
        )),
    }
}

/// A condition may be lifted over a join only from the side whose rows the join keeps.
fn check_join(join: &Join) -> Result<()> {
    let (left, right) = (is_correlated(&join.left), is_correlated(&join.right));
    let outer = match join.join_type {
        JoinType::Inner => false,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => right,
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => left,
        JoinType::Full => true,
    };
    let on_outer = join.filter.as_ref().is_some_and(Expr::contains_outer)
        || join.on.iter().any(|(left, right)| left.contains_outer() || right.contains_outer());
    if outer || on_outer {
        return Err(refused(
            "a subquery names a column from outside in an outer join, or in ON: compare with it in WHERE, over the side that is kept",
        ));
    }
    // Once the engine has lifted a condition, it drops LIMITs that it meets.
    if left && has_limit(&join.right) {
        return Err(refused(
            "LIMIT in a subquery that names columns from outside: put the limited rows into a WITH and join them outside",
        ));
    }
    check(&join.left, false)?;
    check(&join.right, false)
}

fn has_limit(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Limit(_)) || plan.inputs().into_iter().any(has_limit)
}
