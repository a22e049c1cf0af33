//! Which subqueries that name columns from outside the engine can join with the rows outside.
//!
//! It takes the conditions that name such columns out of the subquery and joins by them. That is right only where every
//! node that the condition is lifted over gives the same rows with the condition above it as below.

use super::refused;
use datafusion::common::{Column, Result, Spans};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, Join, JoinType, LogicalPlan, Operator, Projection, Subquery,
};
use std::sync::Arc;

/// Whether the plan names columns from outside.
pub(in crate::sql::rules) fn is_correlated(plan: &LogicalPlan) -> bool {
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

/// Refuses a subquery that the engine would join wrongly, or not; its uppermost aggregate may be of all rows where
/// `aggregates`.
pub(super) fn check(plan: &LogicalPlan, aggregates: bool) -> Result<()> {
    check_names(plan)?;
    check_below(plan, aggregates, false)
}

/// Refuses a value by the name of another column that is compared beneath: the engine adds that one to it, and tells the
/// two apart by their names alone.
fn check_names(plan: &LogicalPlan) -> Result<()> {
    let compared = compared(plan);
    let hides =
        |column: &Column| compared.iter().any(|known| known.name == column.name && known != column);
    let computes = |(column, expression): (Column, &Expr)| {
        let same = matches!(expression, Expr::Column(of) if *of == column);
        !same && compared.iter().any(|known| known.name == column.name)
    };
    let columns = plan.schema().columns();
    let hidden = match plan {
        LogicalPlan::Projection(projection) => {
            columns.iter().any(hides) || columns.into_iter().zip(&projection.expr).any(computes)
        }
        _ => columns.iter().any(hides),
    };
    if hidden {
        return Err(refused(
            "a subquery selects a value by the name of a column that it compares with one from outside: give the value another name",
        ));
    }
    Ok(())
}

/// `grouped` says whether an aggregate stands above: the engine lifts only equalities of a column over one.
fn check_below(plan: &LogicalPlan, aggregates: bool, grouped: bool) -> Result<()> {
    if !is_correlated(plan) {
        return Ok(());
    }
    let groups =
        matches!(plan, LogicalPlan::Aggregate(aggregate) if !aggregate.aggr_expr.is_empty());
    let grouped = grouped || groups;
    let inputs = |aggregates: bool| {
        plan.inputs().into_iter().try_for_each(|input| check_below(input, aggregates, grouped))
    };
    match plan {
        LogicalPlan::Projection(Projection { expr, .. }) => {
            check_names(plan)?;
            if expr.iter().any(Expr::contains_outer) {
                return Err(refused(
                    "a subquery selects a column from outside: compare with that column beside the subquery instead",
                ));
            }
            inputs(aggregates)
        }
        LogicalPlan::Filter(filter) => {
            let outer = split_conjunction(&filter.predicate).into_iter();
            if grouped && !outer.filter(|part| part.contains_outer()).all(is_equality) {
                return Err(refused(
                    "a subquery aggregates rows that a column from outside chooses by other than =: aggregate in a join with GROUP BY instead",
                ));
            }
            inputs(aggregates)
        }
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
            if check_names(plan).is_ok()
                && !aggregate
                    .group_expr
                    .iter()
                    .any(|group| matches!(group, Expr::GroupingSet(_))) =>
        {
            inputs(false)
        }
        LogicalPlan::Join(join) => check_join(join, grouped),
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
fn check_join(join: &Join, grouped: bool) -> Result<()> {
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
    check_below(&join.left, false, grouped)?;
    check_below(&join.right, false, grouped)
}

/// Whether it compares a column with values from outside alone, for equality.
fn is_equality(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else {
        return false;
    };
    let column = |side: &Expr| match side {
        Expr::Cast(cast) => matches!(*cast.expr, Expr::Column(_)),
        side => matches!(side, Expr::Column(_)),
    };
    (column(left) && !right.any_column_refs()) || (column(right) && !left.any_column_refs())
}

/// The columns that conditions beneath compare with columns from outside.
fn compared(plan: &LogicalPlan) -> Vec<Column> {
    let mut names = Vec::new();
    if let LogicalPlan::Filter(filter) = plan {
        let outer = split_conjunction(&filter.predicate).into_iter();
        for part in outer.filter(|part| part.contains_outer()) {
            names.extend(part.column_refs().into_iter().cloned());
        }
    }
    names.extend(plan.inputs().into_iter().flat_map(compared));
    names
}

fn has_limit(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Limit(_)) || plan.inputs().into_iter().any(has_limit)
}
