//! `x op ANY` and `x op ALL` of a subquery of many rows, IN and NOT IN among them, as conditions that keep nulls.
//!
//! Three things decide: whether x op y is true (for ALL: false) for some row, whether it is null for some, and what null
//! counts as. Each becomes one question whether the subquery, under a name of its own, has such a row.

use super::correlated;
use super::correlated::{is_correlated, subquery};
use super::{Outer, aggregated, case, next, refused};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, ExprSchema, Result, ScalarValue};
use datafusion::functions_aggregate::expr_fn::{max, min};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Projection, lit,
};
use std::sync::Arc;

pub(super) struct Quantified<'a> {
    pub(super) outer: &'a Outer<'a>,
    pub(super) left: Expr,
    pub(super) op: Operator,
    pub(super) all: bool,
}

impl Quantified<'_> {
    /// The comparison with the rows of `plan`; where its null counts as true or false, `unknown` says which.
    pub(super) fn over(self, plan: LogicalPlan, unknown: Option<bool>) -> Result<Expr> {
        let field = plan.schema().field(0);
        let null_right = field.is_nullable();
        // What a join beneath the node computes may be null.
        let null_left = self.left.nullable(&self.outer.schema).unwrap_or(true);
        if self.outer.keeps_rows && unknown == Some(false) {
            let is_in = !self.all && self.op == Operator::Eq;
            // With a null on neither side, NOT IN has no third truth.
            let is_not_in = self.all
                && self.op == Operator::NotEq
                && matches!(self.left, Expr::Column(_))
                && !null_left
                && !null_right
                && !is_correlated(&plan);
            if (is_in || is_not_in) && correlated::check(&plan, false).is_ok() {
                // The engine looks for the first column by its name within, and would find it twice.
                let names = plan.head_output_expr()?;
                let bare = |column: &Column| column.relation.is_none();
                let plan = match names.is_some_and(|it| it.column_refs().into_iter().any(bare)) {
                    true => self.under_a_name(plan)?,
                    false => plan,
                };
                return Ok(Expr::InSubquery(InSubquery {
                    expr: Box::new(self.left),
                    subquery: subquery(plan),
                    negated: is_not_in,
                }));
            }
        }
        self.check(&plan)?;
        let op = match self.all {
            false => Some(self.op),
            true => self.op.negate(),
        };
        let Some(op) = op else {
            return Err(refused("ANY and ALL take =, <>, <, <=, > and >="));
        };
        let plan = self.under_a_name(plan)?;
        let hit = self.hit(op, &plan)?;
        let null = self.null(plan, null_left, null_right)?;
        let (found, otherwise) = (lit(!self.all), lit(self.all));
        Ok(match (unknown, null) {
            (None, Some(null)) => {
                case(vec![(hit, found), (null, lit(ScalarValue::Boolean(None)))], otherwise)
            }
            (None, None) if self.all => Expr::Not(Box::new(hit)),
            (None, None) => hit,
            (Some(counts), Some(null)) if counts != self.all => {
                let hit = hit.or(null);
                if self.all { Expr::Not(Box::new(hit)) } else { hit }
            }
            (Some(_), _) if self.all => Expr::Not(Box::new(hit)),
            (Some(_), _) => hit,
        })
    }

    /// Refuses what cannot be asked several times, or within the subquery.
    fn check(&self, plan: &LogicalPlan) -> Result<()> {
        let mut volatile = self.left.is_volatile();
        plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expression| {
                volatile |= expression.is_volatile();
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        if volatile {
            return Err(refused(
                "NOT IN, ANY and ALL over random values are not possible where a null may be: IN, or EXISTS, is",
            ));
        }
        let beyond = self.left.exists(|part| {
            Ok(match part {
                Expr::Column(column) => !self.outer.schema.has_column(column),
                Expr::OuterReferenceColumn(..) => true,
                Expr::ScalarSubquery(inner) => !inner.outer_ref_columns.is_empty(),
                Expr::Exists(inner) => !inner.subquery.outer_ref_columns.is_empty(),
                Expr::InSubquery(inner) => !inner.subquery.outer_ref_columns.is_empty(),
                _ => false,
            })
        })?;
        match beyond {
            true => Err(refused(
                "a subquery compares a column from outside with another subquery: select that column in the query between them",
            )),
            false => Ok(()),
        }
    }

    /// `plan` with one column, whose name is no outer one's. It gets no table of its own: the engine lifts no condition
    /// out of one.
    fn under_a_name(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let name = format!("__value_{}", next(self.outer.made));
        if let LogicalPlan::Projection(Projection { expr, input, .. }) = &plan
            && let [value] = expr.as_slice()
        {
            let value = value.clone().unalias().alias(name);
            return Ok(LogicalPlan::Projection(Projection::try_new(
                vec![value],
                Arc::clone(input),
            )?));
        }
        let column = Expr::Column(Column::from(plan.schema().qualified_field(0)));
        LogicalPlanBuilder::from(plan).project([column.alias(name)])?.build()
    }

    /// Whether x op y is true for some row.
    fn hit(&self, op: Operator, plan: &LogicalPlan) -> Result<Expr> {
        let beside = is_correlated(plan);
        if op == Operator::Eq || (beside && self.outer.keeps_rows) {
            let left = self.left_from_within()?;
            return self.outer.some(filtered(plan.clone(), compare(left, op, value(plan)))?);
        }
        let least = || self.extreme(plan, min(value(plan)));
        let most = || self.extreme(plan, max(value(plan)));
        let compared = |side: Expr| compare(self.left.clone(), op, side);
        Ok(match op {
            Operator::Gt | Operator::GtEq => compared(least()?).is_true(),
            Operator::Lt | Operator::LtEq => compared(most()?).is_true(),
            Operator::NotEq => compared(least()?).is_true().or(compared(most()?).is_true()),
            _ => return Err(refused("ANY and ALL take =, <>, <, <=, > and >=")),
        })
    }

    fn extreme(&self, plan: &LogicalPlan, of: Expr) -> Result<Expr> {
        self.outer.one_value(aggregated(plan.clone(), of)?)
    }

    /// Whether x op y is null for some row; none where it never is.
    fn null(&self, plan: LogicalPlan, left: bool, right: bool) -> Result<Option<Expr>> {
        let of_right = match right {
            true => Some(self.outer.some(filtered(plan.clone(), value(&plan).is_null())?)?),
            false => None,
        };
        let of_left = match left {
            true => Some(self.left.clone().is_null().and(self.outer.some(plan)?)),
            false => None,
        };
        Ok(match (of_right, of_left) {
            (Some(right), Some(left)) => Some(right.or(left)),
            (one, other) => one.or(other),
        })
    }

    /// The left side as the subquery names it.
    fn left_from_within(&self) -> Result<Expr> {
        let named = self.left.clone().transform_up(|part| match part {
            Expr::Column(column) => {
                let field = self.outer.schema.field_from_column(&column)?;
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field.clone(), column)))
            }
            other => Ok(Transformed::no(other)),
        });
        named.map(|named| named.data)
    }
}

/// `left op right`, with the column of the subquery in front: the engine groups by such conditions.
fn compare(left: Expr, op: Operator, right: Expr) -> Expr {
    let (left, op, right) = match op.swap() {
        Some(op) => (right, op, left),
        None => (left, op, right),
    };
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

fn value(plan: &LogicalPlan) -> Expr {
    Expr::Column(Column::from(plan.schema().qualified_field(0)))
}

fn filtered(plan: LogicalPlan, condition: Expr) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan).filter(condition)?.build()
}
