//! Rewrites IN lists so that the optimiser, which merges lists over one expression, cannot lose a null.
//!
//! The engine's simplifier makes `x IN (a) AND x IN (b)` false and `x NOT IN (a) OR x NOT IN (b)` true, where x may be
//! null and both are null. It also compares the values of two lists by how they are written, even where one is NULL or
//! a column. This rule runs before it: a list keeps its literals, its other values become comparisons beside it, and
//! where lists of one expression may be merged and a null would show, each is guarded by `x IS NOT NULL`.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

#[derive(Debug)]
pub(in crate::sql) struct NullSafeInLists;

impl AnalyzerRule for NullSafeInLists {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|node| {
            // A filter keeps rows for which its condition is true, so null counts as false.
            let truth = matches!(node, LogicalPlan::Filter(_));
            let names = NamePreserver::new(&node);
            node.map_expressions(|expression| {
                let name = names.save(&expression);
                let kept = if truth { keep_truth(expression) } else { keep_value(expression) };
                kept.map(|kept| kept.update_data(|expression| name.restore(expression)))
            })?
            .map_data(LogicalPlan::recompute_schema)
        });
        rewritten.map(|rewritten| rewritten.data)
    }

    fn name(&self) -> &str {
        "lists_keep_nulls"
    }
}

/// `condition` with lists that can be merged safely, where null counts as false.
pub(in crate::sql) fn keep_truth(condition: Expr) -> Result<Transformed<Expr>> {
    keep(condition, true)
}

fn keep_value(expression: Expr) -> Result<Transformed<Expr>> {
    keep(expression, false)
}

/// Rewrites the conditions in `expression`, and `expression` itself when it is one.
fn keep(expression: Expr, truth: bool) -> Result<Transformed<Expr>> {
    let mut outermost = truth;
    expression.transform_down(|part| {
        let truth = std::mem::take(&mut outermost);
        if !is_condition(&part) {
            return Ok(Transformed::no(part));
        }
        let meeting: Vec<Expr> = meeting(&part, truth).into_iter().cloned().collect();
        let kept = leaves(part, &|leaf| {
            let meets = tested(&leaf).is_some_and(|of| meeting.contains(of));
            let leaf = leaf.map_children(keep_value)?.data;
            let of = if meets { tested(&leaf).cloned() } else { None };
            let leaf = match leaf {
                Expr::InList(list) => literals_apart(list),
                other => other,
            };
            Ok(match of {
                Some(of) => behind_not_null(of, leaf),
                None => leaf,
            })
        })?;
        Ok(Transformed::new(kept, true, TreeNodeRecursion::Jump))
    })
}

fn is_condition(part: &Expr) -> bool {
    is_connective(part) || matches!(part, Expr::InList(_))
}

/// Whether it is AND, OR or NOT.
fn is_connective(part: &Expr) -> bool {
    match part {
        Expr::Not(_) => true,
        Expr::BinaryExpr(binary) => matches!(binary.op, Operator::And | Operator::Or),
        _ => false,
    }
}

/// Replaces each leaf under AND, OR and NOT by what `make` gives.
fn leaves(condition: Expr, make: &impl Fn(Expr) -> Result<Expr>) -> Result<Expr> {
    let rewritten = condition.transform_down(|part| {
        if is_connective(&part) {
            return Ok(Transformed::no(part));
        }
        Ok(Transformed::new(make(part)?, true, TreeNodeRecursion::Jump))
    });
    rewritten.map(|rewritten| rewritten.data)
}

/// The expression that a leaf compares with literals, for equality.
fn tested(leaf: &Expr) -> Option<&Expr> {
    match leaf {
        Expr::InList(list) if !list.expr.is_volatile() => Some(&list.expr),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq | Operator::NotEq, right }) => {
            match (&**left, &**right) {
                (Expr::Literal(..), Expr::Literal(..)) => None,
                (of, Expr::Literal(..)) | (Expr::Literal(..), of) => Some(of),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The expressions that two lists of one condition test, where a null of theirs would show.
fn meeting(condition: &Expr, truth: bool) -> Vec<&Expr> {
    let mut found: Vec<ListTests<'_>> = Vec::new();
    let mut left = vec![(condition, false, false)];
    while let Some((part, negated, alternative)) = left.pop() {
        match part {
            Expr::Not(inner) => left.push((inner, !negated, alternative)),
            Expr::BinaryExpr(BinaryExpr {
                left: a,
                op: op @ (Operator::And | Operator::Or),
                right: b,
            }) => {
                let alternative = alternative || (*op == Operator::Or) != negated;
                left.extend([(&**b, negated, alternative), (&**a, negated, alternative)]);
            }
            leaf => {
                let Some(of) = tested(leaf) else { continue };
                let (weight, turned) = match leaf {
                    Expr::InList(list) => (LIST, list.negated),
                    Expr::BinaryExpr(binary) => (EQUALITY, binary.op == Operator::NotEq),
                    _ => continue,
                };
                // NOT is pushed to the leaves before lists are merged. If nulls count as false, lists are merged to
                // true only where one of several such tests suffices.
                let shows = !truth || (alternative && turned != negated);
                match found.iter_mut().find(|known| known.of == of) {
                    None => found.push(ListTests { of, weight, shows }),
                    Some(known) => {
                        known.weight += weight;
                        known.shows |= shows;
                    }
                }
            }
        }
    }
    found.retain(|tests| tests.shows && tests.weight >= LIST + LIST);
    found.into_iter().map(|tests| tests.of).collect()
}

/// Two equalities can become a list.
const EQUALITY: usize = 1;
const LIST: usize = 2;

/// The tests of one expression in a condition.
struct ListTests<'a> {
    of: &'a Expr,
    weight: usize,
    /// Whether false or true instead of null changes what the condition says.
    shows: bool,
}

/// Splits a list: literals stay in it, other values become comparisons beside it.
fn literals_apart(list: InList) -> Expr {
    let plain = |value: &Expr| matches!(value, Expr::Literal(value, _) if !value.is_null());
    if list.expr.is_volatile() {
        return Expr::InList(list);
    }
    let InList { expr, list, negated } = list;
    // Most lists of literals have casts to the type of the tested expression. Beside the list, each would be a
    // comparison of its own, and thousands of them an OR that takes minutes to plan.
    let folded =
        |value: Expr| literal_of_cast(&value).map_or(value, |literal| Expr::Literal(literal, None));
    let list: Vec<Expr> = list.into_iter().map(folded).collect();
    if list.iter().all(plain) {
        return Expr::InList(InList { expr, list, negated });
    }
    let (literals, others): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(plain);
    let mut is_in = match literals.is_empty() {
        true => None,
        false => Some(Expr::InList(InList::new(expr.clone(), literals, false))),
    };
    let mut has_null = false;
    for other in others {
        let equal = match other {
            // One null has the effect of all.
            Expr::Literal(..) if std::mem::replace(&mut has_null, true) => continue,
            Expr::Literal(..) => lit(ScalarValue::Boolean(None)),
            other => expr.as_ref().clone().eq(other),
        };
        is_in = Some(match is_in {
            None => equal,
            Some(before) => before.or(equal),
        });
    }
    let is_in = is_in.unwrap_or_else(|| lit(false));
    if negated { Expr::Not(Box::new(is_in)) } else { is_in }
}

/// The value of a literal under casts; none where a cast fails: the engine reports that when it evaluates it.
fn literal_of_cast(value: &Expr) -> Option<ScalarValue> {
    match value {
        Expr::Literal(literal, _) => Some(literal.clone()),
        Expr::Cast(cast) => literal_of_cast(&cast.expr)?.cast_to(cast.field.data_type()).ok(),
        Expr::TryCast(cast) => {
            let (literal, to) = (literal_of_cast(&cast.expr)?, cast.field.data_type());
            literal.cast_to(to).or_else(|_| ScalarValue::try_from(to)).ok()
        }
        _ => None,
    }
}

/// `test`, which is null where `of` is.
fn behind_not_null(of: Expr, test: Expr) -> Expr {
    let unknown = of.clone().is_null().and(lit(ScalarValue::Boolean(None)));
    of.is_not_null().and(test).or(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::DataType;
    use datafusion::logical_expr::{cast, col, try_cast};

    #[test]
    fn literals_under_casts_stay_one_list() {
        // Each cast was a comparison of its own: 32,000 took a minute to plan.
        let values = |n: i64| cast(lit(n), DataType::UInt64);
        let list: Vec<Expr> = (0..64_000).map(values).collect();
        let kept = keep_truth(col("id").in_list(list, false)).unwrap().data;
        let Expr::InList(kept) = kept else { panic!("it is no list any more") };
        assert_eq!(kept.list.len(), 64_000);
        assert_eq!(kept.list.last(), Some(&lit(63_999_u64)));
    }

    #[test]
    fn nulls_among_literals_are_planned_once() {
        let words =
            |list: Vec<Expr>| keep_truth(col("n").in_list(list, false)).unwrap().data.to_string();
        let whole = |text: &str| try_cast(lit(text), DataType::Int64);
        assert_eq!(
            words(vec![whole("7"), whole("seven"), lit(ScalarValue::Int64(None)), whole("x")]),
            "n IN ([Int64(7)]) OR Boolean(NULL)"
        );
        let fails = words(vec![cast(lit("7"), DataType::Int64), cast(lit("x"), DataType::Int64)]);
        assert_eq!(fails, "n IN ([Int64(7)]) OR n = CAST(Utf8(\"x\") AS Int64)");
    }
}
