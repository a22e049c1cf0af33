//! Plans `meta -> 'a'` and `meta ->> 'a'` as calls of functions.
//!
//! A chain of operators becomes one call, which reads its text once.

use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ScalarUDF};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct MemberOperators {
    /// `->`.
    pub(super) json: Arc<ScalarUDF>,
    /// `->>`.
    pub(super) text: Arc<ScalarUDF>,
}

impl ExprPlanner for MemberOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let function = match expr.op {
            BinaryOperator::Arrow => &self.json,
            BinaryOperator::LongArrow => &self.text,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        // The title of a column is the expression as the statement has it.
        let title = format!("{} {} {}", title(&expr.left), expr.op, title(&expr.right));
        let mut arguments = chain(expr.left);
        arguments.push(expr.right);
        Ok(PlannerResult::Planned(function.call(arguments).alias(title)))
    }
}

/// The JSON and the path so far, where the left side is a chain; else the left side alone.
fn chain(left: Expr) -> Vec<Expr> {
    let is_json = |call: &ScalarFunction| matches!(call.func.name(), "json_get" | "json_get_json");
    match left {
        Expr::Alias(alias) if matches!(&*alias.expr, Expr::ScalarFunction(call) if is_json(call)) => {
            chain(*alias.expr)
        }
        Expr::ScalarFunction(call) if is_json(&call) => call.args,
        other => vec![other],
    }
}

fn title(expression: &Expr) -> String {
    match expression {
        Expr::Column(column) => column.name.clone(),
        Expr::Alias(alias) => alias.name.clone(),
        Expr::Literal(value, _) => match value.try_as_str().flatten() {
            Some(text) => format!("'{text}'"),
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}
