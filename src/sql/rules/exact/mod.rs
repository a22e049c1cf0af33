//! Keeps the engine from answering silently wrong: what it computes inexactly is computed exactly, or refused by name.
//!
//! One rule rewrites the parts of every expression before the engine makes types alike, so that casts are still those
//! of the user: [`arithmetic`] keeps whole numbers from wrapping, [`casts`] keeps narrowing casts where they were
//! written, [`floats`] have one zero and one NaN, [`intervals`] compares lengths of time, [`moments`] keeps timestamps in microseconds, [`patterns`] reads
//! LIKE with any escape. Sums are those of [`totals`], lead and lag those of [`neighbours`]. Statements, conditions and
//! values get all of it by [`register`].

mod arithmetic;
mod calendar;
mod casts;
mod float_aggregates;
mod floats;
mod frames;
mod intervals;
mod moments;
mod neighbours;
mod patterns;
mod series;
#[cfg(test)]
mod tests;
mod totals;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::config::ConfigOptions;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable};
use std::sync::Arc;

pub(in crate::sql::rules) use casts::identity;
pub(in crate::sql) use intervals::IntervalsHaveLengths;
pub(in crate::sql) use moments::TimestampsAreMicroseconds;
pub(in crate::sql) use series::register_series;

/// Functions whose value is one of their arguments.
const CHOOSING: [&str; 6] = ["coalesce", "greatest", "least", "nullif", "nvl", "nvl2"];

/// Registers the rule, and the functions in the place of the engine's.
pub(in crate::sql) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    moments::register(registry)?;
    neighbours::register(registry)?;
    totals::register(registry)?;
    registry.register_expr_planner(Arc::new(arithmetic::NegationPlanner))?;
    registry.register_function_rewrite(Arc::new(ExactAnswers))
}

#[derive(Debug)]
struct ExactAnswers;

impl FunctionRewrite for ExactAnswers {
    fn name(&self) -> &str {
        "corpusdb: exact answers"
    }

    fn rewrite(
        &self,
        part: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        exact(part, schema)
    }
}

/// Rewrites one part of an expression, whose own parts are rewritten.
fn exact(part: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match part {
        Expr::BinaryExpr(binary) if arithmetic::may_wrap(binary.op) => {
            let binary = moments::aligned(binary, schema);
            Ok(canonical(arithmetic::checked(binary, schema)?, schema))
        }
        Expr::Negative(inner) => Ok(canonical(arithmetic::negated(inner, schema)?, schema)),
        Expr::BinaryExpr(mut binary) if binary.op.supports_propagation() => {
            let changed = compared(&mut [&mut *binary.left, &mut *binary.right], schema)?;
            Ok(Transformed::new_transformed(Expr::BinaryExpr(binary), changed))
        }
        Expr::Between(mut between) => {
            let sides = &mut [&mut *between.expr, &mut *between.low, &mut *between.high];
            let changed = compared(sides, schema)?;
            Ok(Transformed::new_transformed(Expr::Between(between), changed))
        }
        Expr::InList(mut list) => {
            let mut sides = vec![&mut *list.expr];
            sides.extend(&mut list.list);
            let changed = compared(&mut sides, schema)?;
            Ok(Transformed::new_transformed(Expr::InList(list), changed))
        }
        Expr::Case(mut case) => {
            let mut values: Vec<&mut Expr> =
                case.when_then_expr.iter_mut().map(|(_, then)| &mut **then).collect();
            values.extend(case.else_expr.as_deref_mut());
            let changed = arithmetic::signed(&mut values, schema);
            let Some(of) = case.expr.as_deref_mut() else {
                return Ok(Transformed::new_transformed(Expr::Case(case), changed));
            };
            let mut sides = vec![of];
            sides.extend(case.when_then_expr.iter_mut().map(|(when, _)| &mut **when));
            let changed = compared(&mut sides, schema)? || changed;
            Ok(Transformed::new_transformed(Expr::Case(case), changed))
        }
        Expr::Like(like) => patterns::with_backslash(like, schema),
        Expr::SimilarTo(_) => patterns::no_similar_to(),
        Expr::Cast(_) | Expr::TryCast(_) => Ok(canonical(moments::cast(part, schema)?, schema)),
        Expr::ScalarFunction(mut call) => {
            if CHOOSING.contains(&call.name()) {
                let mut values: Vec<&mut Expr> = call.args.iter_mut().collect();
                arithmetic::signed(&mut values, schema);
            }
            intervals::check_call(call.name(), &call.args, schema)?;
            Ok(canonical(moments::called(call, schema)?, schema))
        }
        Expr::AggregateFunction(mut call) => {
            intervals::check_aggregate(&mut call, schema)?;
            Ok(Transformed::yes(Expr::AggregateFunction(call)))
        }
        Expr::WindowFunction(mut call) => {
            intervals::order_window(&mut call, schema)?;
            Ok(Transformed::yes(Expr::WindowFunction(frames::with_retraction(call))))
        }
        Expr::InSubquery(_) | Expr::SetComparison(_) => {
            intervals::check_subquery(&part, schema)?;
            Ok(Transformed::no(part))
        }
        part => Ok(Transformed::no(part)),
    }
}

/// A rewritten part that computes floats, with one zero and one NaN.
fn canonical(part: Transformed<Expr>, schema: &DFSchema) -> Transformed<Expr> {
    let is_call =
        |part: &Expr| matches!(part, Expr::ScalarFunction(call) if floats::kind_of(call).is_some());
    if is_call(&part.data) {
        return part.update_data(floats::once);
    }
    let part = part.update_data(|part| floats::canonical(part, schema));
    let is_new = is_call(&part.data);
    Transformed { transformed: part.transformed || is_new, ..part }
}

/// Rewrites the sides of one comparison; says whether any was.
fn compared(sides: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let mut changed = false;
    for side in &mut *sides {
        changed |= casts::keep(side, schema);
    }
    let kinds: Vec<Option<DataType>> = sides.iter().map(|side| kind(side, schema)).collect();
    changed |= moments::align(sides, &kinds);
    Ok(intervals::measure(sides, &kinds) || changed)
}

/// The type of an expression; none where it has none yet.
fn kind(expression: &Expr, schema: &DFSchema) -> Option<DataType> {
    match expression {
        Expr::Literal(value, _) => Some(value.data_type()),
        Expr::ScalarFunction(call)
            if let Some(kind) = arithmetic::kind_of(call).or_else(|| floats::kind_of(call)) =>
        {
            Some(kind)
        }
        other => other.get_type(schema).ok(),
    }
}

/// Replaces an expression by what `make` makes of it.
fn replace(expression: &mut Expr, make: impl FnOnce(Expr) -> Expr) {
    let whole = std::mem::take(expression);
    *expression = make(whole);
}
