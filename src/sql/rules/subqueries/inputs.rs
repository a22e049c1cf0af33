//! Computes beneath a node what its subqueries take from it and cannot name themselves.
//!
//! That is a left side of IN, ANY or ALL that asks a subquery itself, and a column of a query further out: with it as a
//! column of the node's input, the subquery names the next query alone.

use super::places::over;
use super::{asks_within, correlated, next, rewritten, subquery_of};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Subquery};
use std::cell::Cell;
use std::sync::Arc;

/// Computed columns, by the expressions that they are.
struct Values<'a> {
    made: &'a Cell<usize>,
    columns: Vec<(Expr, String)>,
}

impl Values<'_> {
    fn column(&mut self, of: &Expr) -> Column {
        if let Some((_, name)) = self.columns.iter().find(|(known, _)| known == of) {
            return Column::from_name(name);
        }
        let name = format!("__value_{}", next(self.made));
        self.columns.push((of.clone(), name.clone()));
        Column::from_name(name)
    }
}

/// The node with such columns in its input, and whether there are any.
pub(super) fn completed(node: LogicalPlan, made: &Cell<usize>) -> Result<(LogicalPlan, bool)> {
    let input = match node.inputs().as_slice() {
        [input] => (*input).clone(),
        _ => return Ok((node, false)),
    };
    let mut values = Values { made, columns: Vec::new() };
    let names = NamePreserver::new(&node);
    let node = node.map_expressions(|expression| {
        let name = names.save(&expression);
        let completed = expression.transform_up(|part| {
            let part = lifted(part, &input, &mut values)?;
            Ok(part.update_data(|part| compared(part, &mut values)))
        })?;
        Ok(completed.update_data(|completed| name.restore(completed)))
    })?;
    let node = node.data;
    if values.columns.is_empty() {
        return Ok((node, false));
    }
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let values = values.columns.into_iter().map(|(value, name)| value.alias(name));
    let below = Projection::try_new(columns.chain(values).collect(), Arc::new(input))?;
    let below = rewritten(LogicalPlan::Projection(below), made)?.data;
    Ok((over(node, below)?, true))
}

/// A left side that asks a subquery, or is of a query further out, becomes a column.
fn compared(part: Expr, values: &mut Values<'_>) -> Expr {
    let mut lift = |left: Box<Expr>| match asks_within(&left) || left.contains_outer() {
        true => Box::new(Expr::Column(values.column(&left))),
        false => left,
    };
    match part {
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            Expr::InSubquery(InSubquery { expr: lift(expr), subquery, negated })
        }
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
            Expr::SetComparison(SetComparison { expr: lift(expr), subquery, op, quantifier })
        }
        other => other,
    }
}

/// A subquery's columns of queries further out become columns of `input`.
fn lifted(part: Expr, input: &LogicalPlan, values: &mut Values<'_>) -> Result<Transformed<Expr>> {
    let Some(asked) = subquery_of(&part) else { return Ok(Transformed::no(part)) };
    let mut further: Vec<Expr> = Vec::new();
    for outer in asked.subquery.all_out_ref_exprs() {
        outer.apply(|outer| {
            if let Expr::OuterReferenceColumn(_, column) = outer
                && !input.schema().has_column(column)
                && !further.contains(outer)
            {
                further.push(outer.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    if further.is_empty() {
        return Ok(Transformed::no(part));
    }
    let mut near = |outer: &Expr| match outer {
        Expr::OuterReferenceColumn(field, _) if further.contains(outer) => {
            Some(Expr::OuterReferenceColumn(Arc::clone(field), values.column(outer)))
        }
        _ => None,
    };
    let plan = asked.subquery.as_ref().clone().transform_up(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expression| {
            let name = names.save(&expression);
            let named = expression.transform_up(|part| {
                Ok(near(&part).map_or_else(|| Transformed::no(part), Transformed::yes))
            })?;
            Ok(named.update_data(|named| name.restore(named)))
        })?
        .map_data(LogicalPlan::recompute_schema)
    })?;
    let plan = correlated::subquery(plan.data);
    Ok(Transformed::yes(over_plan(part, plan)))
}

fn over_plan(part: Expr, subquery: Subquery) -> Expr {
    match part {
        Expr::Exists(Exists { negated, .. }) => Expr::Exists(Exists { subquery, negated }),
        Expr::InSubquery(InSubquery { expr, negated, .. }) => {
            Expr::InSubquery(InSubquery { expr, subquery, negated })
        }
        Expr::SetComparison(SetComparison { expr, op, quantifier, .. }) => {
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier })
        }
        Expr::ScalarSubquery(_) => Expr::ScalarSubquery(subquery),
        other => other,
    }
}
