//! Gives INTERSECT ALL and EXCEPT ALL as many copies of a row as SQL says.
//!
//! The engine joins both sides by all columns and keeps or drops all copies of a row at once (apache/datafusion#12955).
//! Here copies of a row are numbered on each side first, and the number is one more column that they are joined by: the
//! n-th copy on the left has a partner where the right has n copies.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{NullEquality, Result};
use datafusion::config::ConfigOptions;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{
    Distinct, Expr, ExprFunctionExt, Join, JoinType, LogicalPlan, LogicalPlanBuilder,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

#[derive(Debug)]
pub(in crate::sql) struct SetsCountCopies;

impl AnalyzerRule for SetsCountCopies {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Join(join) if is_of_copies(&join) => counted(join).map(Transformed::yes),
            other => Ok(Transformed::no(other)),
        })
        .map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "sets_count_copies"
    }
}

/// Whether it is the join of INTERSECT ALL or EXCEPT ALL: no other join of a statement takes nulls for equal, and
/// without ALL its left side is distinct.
fn is_of_copies(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && !matches!(*join.left, LogicalPlan::Distinct(Distinct::All(_)))
}

fn counted(join: Join) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = join.left.schema().columns().into_iter().map(Expr::Column).collect();
    let (left, right): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let (left, left_copy) = with_copies(&join.left, left, "__copy_left")?;
    let (right, right_copy) = with_copies(&join.right, right, "__copy_right")?;
    let mut on = join.on;
    on.push((left_copy, right_copy));
    let joined = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        None,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        false,
    )?;
    LogicalPlanBuilder::from(LogicalPlan::Join(joined)).project(columns)?.build()
}

/// The rows of `plan` with one more column: which copy of those with equal keys a row is.
fn with_copies(
    plan: &Arc<LogicalPlan>,
    keys: Vec<Expr>,
    name: &str,
) -> Result<(LogicalPlan, Expr)> {
    let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let number = row_number().partition_by(keys).build()?;
    let numbered = LogicalPlanBuilder::from(Arc::clone(plan)).window([number])?.build()?;
    let last = numbered.schema().columns().pop();
    columns.extend(last.map(|last| Expr::Column(last).alias(name)));
    let numbered = LogicalPlanBuilder::from(numbered).project(columns)?.build()?;
    Ok((numbered, Expr::Column(name.into())))
}
