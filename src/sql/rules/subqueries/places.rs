//! Moves subqueries from nodes that the engine cannot ask them in, or would ask them in wrongly, to others.
//!
//! It joins a subquery of one value with the rows of a projection or a condition alone.

use super::{asks_within, next};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Distinct, DistinctOn, Expr, Filter, Join, JoinType, LogicalPlan, LogicalPlanBuilder,
};
use std::cell::Cell;
use std::sync::Arc;

/// Computes what groups, windows and orders ask in a projection beneath them.
pub(super) fn beneath(node: LogicalPlan, made: &Cell<usize>) -> Result<LogicalPlan> {
    let drops = match &node {
        LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(Distinct::On(_)) => true,
        LogicalPlan::Sort(_) | LogicalPlan::Window(_) => false,
        _ => return Ok(node),
    };
    let columns = node.schema().columns();
    let mut values: Vec<Expr> = Vec::new();
    let names = NamePreserver::new(&node);
    let node = node.map_expressions(|expression| {
        let name = names.save(&expression);
        let above = expression.transform_down(|part| {
            let Expr::ScalarSubquery(asked) = &part else { return Ok(Transformed::no(part)) };
            if asked.outer_ref_columns.is_empty() {
                return Ok(Transformed::no(part));
            }
            let value = format!("__value_{}", next(made));
            values.push(part.alias(&value));
            Ok(Transformed::yes(Expr::Column(value.into())))
        })?;
        Ok(above.update_data(|above| name.restore(above)))
    })?;
    let (node, Some(input)) = (node.data.clone(), node.data.inputs().first().copied().cloned())
    else {
        return Ok(node.data);
    };
    if values.is_empty() {
        return Ok(node);
    }
    let below = input.schema().columns().into_iter().map(Expr::Column).chain(values);
    let below = LogicalPlanBuilder::from(input).project(below.collect::<Vec<_>>())?.build()?;
    let node = over(node, below)?;
    match drops {
        true => Ok(node),
        false => LogicalPlanBuilder::from(node)
            .project(columns.into_iter().map(Expr::Column).collect::<Vec<_>>())?
            .build(),
    }
}

/// The node over another input.
pub(super) fn over(node: LogicalPlan, input: LogicalPlan) -> Result<LogicalPlan> {
    match node {
        LogicalPlan::Distinct(Distinct::On(first)) => {
            let first = DistinctOn { input: Arc::new(input), ..first };
            Ok(LogicalPlan::Distinct(Distinct::On(first)))
        }
        node => node.with_new_exprs(node.expressions(), vec![input]),
    }
}

/// Asks above an inner join what its ON asks.
pub(super) fn above_join(node: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Join(Join { join_type: JoinType::Inner, filter: Some(_), .. }) = &node else {
        return Ok(node);
    };
    let LogicalPlan::Join(mut join) = node else { return Ok(node) };
    let on = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
    let (asking, plain): (Vec<Expr>, Vec<Expr>) = on.into_iter().partition(asks_within);
    join.filter = conjunction(plain);
    match conjunction(asking) {
        None => Ok(LogicalPlan::Join(join)),
        Some(asking) => {
            Ok(LogicalPlan::Filter(Filter::try_new(asking, Arc::new(LogicalPlan::Join(join)))?))
        }
    }
}
