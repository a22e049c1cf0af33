//! Two rules for operands of comparisons: keys are compared with texts alone, and zero has no sign.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{Case, InList, InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};

/// The column of keys, in `documents` and in the tables that name documents.
const KEY: &str = "key";

/// Refuses to compare a key with a number: the engine would convert the key to a number, and 1, 01 and 001 would be one
/// key. The rule runs before types are made alike, while a number still is one.
#[derive(Debug)]
pub(in crate::sql) struct KeysAreTexts;

impl AnalyzerRule for KeysAreTexts {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|node| {
            // Most statements name no key: for them no schema is computed.
            if !has_part(node, &|part| named_key(part).is_some())? {
                return Ok(TreeNodeRecursion::Continue);
            }
            let inputs = node.inputs();
            let schema = if inputs.is_empty() {
                node.schema().as_ref().clone()
            } else {
                merge_schema(&inputs)
            };
            if let LogicalPlan::Join(join) = node {
                for (left, right) in &join.on {
                    check_sides(&[left, right], &schema)?;
                }
            }
            node.apply_expressions(|expression| {
                check_keys(expression, &schema)?;
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "keys_are_texts"
    }
}

/// Refuses an expression in which a key is compared with a number.
pub(in crate::sql) fn check_keys(expression: &Expr, schema: &DFSchema) -> Result<()> {
    let walked = expression.apply(|part| {
        match part {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() => {
                check_sides(&[left, right], schema)?;
            }
            Expr::Between(between) => {
                check_sides(&[&between.expr, &between.low, &between.high], schema)?;
            }
            Expr::InList(InList { expr, list, .. }) => {
                let sides: Vec<&Expr> = std::iter::once(&**expr).chain(list).collect();
                check_sides(&sides, schema)?;
            }
            Expr::Case(Case { expr: Some(expr), when_then_expr, .. }) => {
                let values = when_then_expr.iter().map(|(when, _)| &**when);
                let sides: Vec<&Expr> = std::iter::once(&**expr).chain(values).collect();
                check_sides(&sides, schema)?;
            }
            Expr::InSubquery(InSubquery { expr, subquery, .. })
            | Expr::SetComparison(SetComparison { expr, subquery, .. }) => {
                let asked = subquery.subquery.schema();
                let column = asked.columns().into_iter().next().map(Expr::Column);
                let number = column.and_then(|column| number(&column, asked));
                if let (true, Some(number)) = (is_key(expr, schema), number) {
                    return Err(refused(&number));
                }
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map(|_| ())
}

/// Refuses a key beside a number among operands of one comparison.
fn check_sides(sides: &[&Expr], schema: &DFSchema) -> Result<()> {
    if !sides.iter().any(|side| is_key(side, schema)) {
        return Ok(());
    }
    sides
        .iter()
        .find_map(|side| number(side, schema))
        .map_or(Ok(()), |number| Err(refused(&number)))
}

fn refused(number: &ComparedNumber) -> DataFusionError {
    let ComparedNumber { shown, as_text } = number;
    DataFusionError::Plan(format!(
        "`key` is text, and {shown} is a number: with {as_text} texts are compared, with CAST(key AS BIGINT) numbers"
    ))
}

fn is_key(side: &Expr, schema: &DFSchema) -> bool {
    named_key(side).is_some() && side.get_type(schema).is_ok_and(|kind| kind.is_string())
}

/// The column, if it has the name of keys.
fn named_key(side: &Expr) -> Option<&Column> {
    match side {
        Expr::Column(column) | Expr::OuterReferenceColumn(_, column) => {
            (column.name == KEY).then_some(column)
        }
        _ => None,
    }
}

/// Whether any expression of a node has a part for which `is_such`.
fn has_part(node: &LogicalPlan, is_such: &dyn Fn(&Expr) -> bool) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expression| {
        found = found || expression.exists(|part| Ok(is_such(part)))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// A number that a key is compared with, as the statement has it and as a text literal.
struct ComparedNumber {
    shown: String,
    as_text: String,
}

fn number(side: &Expr, schema: &DFSchema) -> Option<ComparedNumber> {
    if !side.get_type(schema).is_ok_and(|kind| kind.is_numeric()) {
        return None;
    }
    let shown = side.human_display().to_string();
    let as_text = match side {
        Expr::Literal(..) => format!("'{shown}'"),
        _ => format!("CAST({shown} AS VARCHAR)"),
    };
    Some(ComparedNumber { shown, as_text })
}

/// Replaces a negative zero in a comparison, such as `-0.0` or what folds to it, by zero: columns have no negative
/// zero, and the engine compares bits.
#[derive(Debug)]
pub(in crate::sql) struct ZeroHasNoSign;

impl OptimizerRule for ZeroHasNoSign {
    fn name(&self) -> &str {
        "zero_has_no_sign"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !has_part(&plan, &|part| unsigned_zero(part).is_some())? {
            return Ok(Transformed::no(plan));
        }
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expression| {
            let name = names.save(&expression);
            let rewritten = without_negative_zeros(expression)?;
            Ok(rewritten.update_data(|expression| name.restore(expression)))
        })
    }
}

/// An expression whose comparisons have no negative zero among their literals.
pub(in crate::sql) fn without_negative_zeros(expression: Expr) -> Result<Transformed<Expr>> {
    expression.transform_up(|part| {
        let compares = match &part {
            Expr::BinaryExpr(binary) => binary.op.supports_propagation(),
            Expr::Case(case) => case.expr.is_some(),
            Expr::InList(_) | Expr::Between(_) => true,
            _ => false,
        };
        if !compares {
            return Ok(Transformed::no(part));
        }
        part.map_children(|side| {
            Ok(match unsigned_zero(&side) {
                Some(zero) => Transformed::yes(Expr::Literal(zero, None)),
                None => Transformed::no(side),
            })
        })
    })
}

/// Zero of the same type, for the literal of a negative zero.
fn unsigned_zero(side: &Expr) -> Option<ScalarValue> {
    match side.as_literal()? {
        ScalarValue::Float64(Some(value)) if *value == 0.0 && value.is_sign_negative() => {
            Some(ScalarValue::Float64(Some(0.0)))
        }
        ScalarValue::Float32(Some(value)) if *value == 0.0 && value.is_sign_negative() => {
            Some(ScalarValue::Float32(Some(0.0)))
        }
        _ => None,
    }
}
