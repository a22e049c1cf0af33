//! Joins by IS NOT DISTINCT FROM as by plain equalities, so that the optimiser cannot mix them up with others.
//!
//! The engine marks a whole join as one where null equals null. When it flattens joins it forgets the mark, and when it
//! adds an equality to a marked join, null equals null there too (apache/datafusion#25340). Here
//! `a IS NOT DISTINCT FROM b` becomes `(a IS NULL) = (b IS NULL) AND coalesce(a, x) = coalesce(b, x)`, x being the zero
//! or the empty value of their type: the same rows, and still a join by hashes.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

#[derive(Debug)]
pub(in crate::sql) struct JoinsKeepNulls;

impl AnalyzerRule for JoinsKeepNulls {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Join(mut join) => {
                let Some(filter) = join.filter.take() else {
                    return Ok(Transformed::no(LogicalPlan::Join(join)));
                };
                let schema = join.left.schema().join(join.right.schema())?;
                let filter = plain(filter, &schema)?;
                join.filter = Some(filter.data);
                Ok(Transformed::new_transformed(LogicalPlan::Join(join), filter.transformed))
            }
            // A condition behind joins becomes part of one.
            LogicalPlan::Filter(mut filter) if matches!(*filter.input, LogicalPlan::Join(_)) => {
                let schema = filter.input.schema().as_ref().clone();
                let predicate = plain(filter.predicate, &schema)?;
                filter.predicate = predicate.data;
                Ok(Transformed::new_transformed(LogicalPlan::Filter(filter), predicate.transformed))
            }
            other => Ok(Transformed::no(other)),
        })
        .map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "joins_keep_nulls"
    }
}

fn plain(condition: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    condition.transform_up(|part| match part {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::IsNotDistinctFrom, right })
            if left.any_column_refs() && right.any_column_refs() =>
        {
            let kind = left.get_type(schema)?;
            if right.get_type(schema)? != kind {
                let same = BinaryExpr { left, op: Operator::IsNotDistinctFrom, right };
                return Ok(Transformed::no(Expr::BinaryExpr(same)));
            }
            Ok(match same(*left, *right, &kind) {
                Ok(same) => Transformed::yes(same),
                Err(distinct) => Transformed::no(Expr::BinaryExpr(distinct)),
            })
        }
        part => Ok(Transformed::no(part)),
    })
}

/// That two values of one type are equal, or both null. Lists and their like come back as they are: there is no plain
/// value to put in the place of null.
pub(super) fn same(
    left: Expr,
    right: Expr,
    kind: &DataType,
) -> std::result::Result<Expr, BinaryExpr> {
    let Ok(zero) = ScalarValue::new_default(kind) else {
        return Err(BinaryExpr::new(Box::new(left), Operator::IsNotDistinctFrom, Box::new(right)));
    };
    let filled = |side: &Expr| coalesce(vec![side.clone(), lit(zero.clone())]);
    let values = filled(&left).eq(filled(&right));
    Ok(left.is_null().eq(right.is_null()).and(values))
}
