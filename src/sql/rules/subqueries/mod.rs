//! Rewrites what asks a subquery, so that nulls, empty answers and counts come out as SQL says, or refuses it by name.
//!
//! The engine turns IN, EXISTS, ANY and ALL into joins. It loses nulls of NOT IN, takes a count without rows for no row,
//! drops OFFSET, and takes the column of an outer table for that of an inner one of the same name (apache/datafusion
//! issues 24960, 25258 and 25283). This rule runs before that: `quantified` leaves it joins that are right, `rows` says
//! which rows a subquery has at most, `correlated` which of them the engine can join, and `places` moves what it cannot
//! compute where it stands.

mod correlated;
mod inputs;
mod places;
mod quantified;
mod rows;
mod unnested;

pub(super) use correlated::is_correlated;
use correlated::{scalar, subquery};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::expr_fn::max;
use datafusion::logical_expr::expr::{
    AggregateFunction, Case, Exists, InSubquery, SetComparison, SetQuantifier,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{COUNT_STAR_EXPANSION, merge_schema};
use datafusion::logical_expr::{
    BinaryExpr, Expr, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit,
};
use datafusion::optimizer::AnalyzerRule;
use quantified::Quantified;
use rows::{Existence, Single, SubqueryRows};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use unnested::ComputedSubquery;

#[derive(Debug)]
pub(in crate::sql) struct SubqueriesKeepNulls;

impl AnalyzerRule for SubqueriesKeepNulls {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        // Most statements have none: their plan is not copied.
        if !plan.exists(|node| Ok(asks(node)))? {
            return Ok(plan);
        }
        let made = Cell::new(0);
        plan.transform_up_with_subqueries(|node| rewritten(node, &made)).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "subqueries_keep_nulls"
    }
}

/// Whether an expression of the node asks a subquery, or it is a join whose right side names columns of the left.
fn asks(node: &LogicalPlan) -> bool {
    let mut found = matches!(node, LogicalPlan::Join(join) if unnested::is_lateral(&join.right));
    // No visit fails.
    let _ = node.apply_expressions(|expression| {
        found = found || asks_within(expression);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

fn asks_within(expression: &Expr) -> bool {
    // No visit fails.
    expression.exists(|part| Ok(subquery_of(part).is_some())).unwrap_or(false)
}

fn subquery_of(part: &Expr) -> Option<&Subquery> {
    match part {
        Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. })
        | Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

fn rewritten(node: LogicalPlan, made: &Cell<usize>) -> Result<Transformed<LogicalPlan>> {
    if !asks(&node) {
        return Ok(Transformed::no(node));
    }
    let node = match node {
        LogicalPlan::Join(join) => unnested::lateral(join, made)?,
        node => node,
    };
    let node = places::above_join(node)?;
    let columns = node.schema().columns();
    let (node, completed) = inputs::completed(node, made)?;
    // The engine makes joins of IN and EXISTS where a condition keeps rows, and nowhere else.
    let keeps_rows = matches!(node, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
    let input = match node.inputs().as_slice() {
        [input] => Some((*input).clone()),
        _ => None,
    };
    let schema = merge_schema(&node.inputs());
    let outer = Outer { schema, keeps_rows, input, made, joins: RefCell::default() };
    let names = NamePreserver::new(&node);
    let node = node
        .map_expressions(|expression| {
            let name = names.save(&expression);
            let right = match keeps_rows {
                true => outer.condition(expression, false)?,
                false => outer.value(expression)?,
            };
            Ok(Transformed::yes(name.restore(right)))
        })?
        .data;
    let node = outer.joined(node)?.recompute_schema()?;
    let node = places::beneath(node, made)?;
    if !completed || node.schema().fields().len() == columns.len() {
        return Ok(Transformed::yes(node));
    }
    let columns = columns.into_iter().map(Expr::Column).collect::<Vec<_>>();
    LogicalPlanBuilder::from(node).project(columns)?.build().map(Transformed::yes)
}

/// A node whose expressions ask subqueries.
struct Outer<'a> {
    /// What its expressions may name.
    schema: DFSchema,
    keeps_rows: bool,
    /// Its input, if it has one alone.
    input: Option<LogicalPlan>,
    /// What its input is joined with.
    joins: RefCell<Vec<ComputedSubquery>>,
    /// How many names this pass made up.
    made: &'a Cell<usize>,
}

impl Outer<'_> {
    /// Rewrites a condition whose null counts as `unknown`.
    fn condition(&self, expression: Expr, unknown: bool) -> Result<Expr> {
        match expression {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: op @ (Operator::And | Operator::Or),
                right,
            }) => {
                let (left, right) =
                    (self.condition(*left, unknown)?, self.condition(*right, unknown)?);
                Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
            }
            Expr::Not(inner) => Ok(Expr::Not(Box::new(self.condition(*inner, !unknown)?))),
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                let left = self.value(*expr)?;
                self.is_in(left, subquery, negated, Some(unknown))
            }
            Expr::SetComparison(comparison) => {
                let SetComparison { expr, subquery, op, quantifier } = comparison;
                let left = self.value(*expr)?;
                self.compared(left, op, quantifier, subquery, Some(unknown))
            }
            other => self.value(other),
        }
    }

    /// Rewrites an expression whose null is one.
    fn value(&self, expression: Expr) -> Result<Expr> {
        let rewritten = expression.transform_up(|part| {
            Ok(match part {
                Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                    Transformed::yes(self.is_in(*expr, subquery, negated, None)?)
                }
                Expr::SetComparison(comparison) => {
                    let SetComparison { expr, subquery, op, quantifier } = comparison;
                    Transformed::yes(self.compared(*expr, op, quantifier, subquery, None)?)
                }
                Expr::Exists(Exists { subquery, negated }) => {
                    let exists = self.exists(subquery)?;
                    Transformed::yes(if negated { Expr::Not(Box::new(exists)) } else { exists })
                }
                Expr::ScalarSubquery(subquery) => Transformed::yes(self.scalar_value(subquery)?),
                other => Transformed::no(other),
            })
        });
        rewritten.map(|rewritten| rewritten.data)
    }

    fn is_in(
        &self,
        left: Expr,
        subquery: Subquery,
        negated: bool,
        unknown: Option<bool>,
    ) -> Result<Expr> {
        // NOT IN is <> ALL.
        let (op, quantifier) = match negated {
            false => (Operator::Eq, SetQuantifier::Any),
            true => (Operator::NotEq, SetQuantifier::All),
        };
        self.compared(left, op, quantifier, subquery, unknown)
    }

    fn compared(
        &self,
        left: Expr,
        op: Operator,
        quantifier: SetQuantifier,
        subquery: Subquery,
        unknown: Option<bool>,
    ) -> Result<Expr> {
        self.check_level(&subquery)?;
        let all = quantifier == SetQuantifier::All;
        let plan = Arc::unwrap_or_clone(subquery.subquery);
        match rows::of(plan)? {
            SubqueryRows::None => Ok(lit(all)),
            SubqueryRows::One { plan, conditions } => {
                let right = Box::new(self.value_of_one(plan)?);
                let compared = Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, right));
                self.guarded(conditions, compared, lit(all))
            }
            SubqueryRows::Many(plan) => {
                Quantified { outer: self, left, op, all }.over(plan, unknown)
            }
        }
    }

    fn exists(&self, subquery: Subquery) -> Result<Expr> {
        self.check_level(&subquery)?;
        match rows::existence(Arc::unwrap_or_clone(subquery.subquery))? {
            Existence::Always => Ok(lit(true)),
            Existence::Never => Ok(lit(false)),
            Existence::Where(conditions) => self.guarded(conditions, lit(true), lit(false)),
            Existence::Of(plan) => self.some(plan),
            Existence::After(plan, skipped) if !is_correlated(&plan) => {
                self.some(LogicalPlanBuilder::from(plan).limit(skipped, None)?.build()?)
            }
            Existence::After(plan, skipped) => {
                let skipped = i64::try_from(skipped).unwrap_or(i64::MAX);
                Ok(self.counted(plan)?.gt(lit(skipped)))
            }
        }
    }

    /// Whether `plan` has a row.
    fn some(&self, plan: LogicalPlan) -> Result<Expr> {
        if !is_correlated(&plan) {
            let first = LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build()?;
            return Ok(scalar(aggregated(first, max(lit(1_i64)))?).is_not_null());
        }
        let asked = match self.keeps_rows {
            true => correlated::check(&plan, false),
            false => correlated::check(&aggregated(plan.clone(), max(lit(1_i64)))?, true),
        };
        match (asked, self.keeps_rows) {
            (Ok(()), true) => Ok(Expr::Exists(Exists { subquery: subquery(plan), negated: false })),
            (Ok(()), false) => Ok(scalar(aggregated(plan, max(lit(1_i64)))?).is_not_null()),
            (Err(why), _) => Ok(self.computed(plan, true, why)?.is_not_null()),
        }
    }

    /// The value of a subquery, which is null where it has no row: the engine takes a column that is never null for a
    /// value that never is.
    fn scalar_value(&self, subquery: Subquery) -> Result<Expr> {
        self.check_level(&subquery)?;
        let plan = Arc::unwrap_or_clone(subquery.subquery);
        let field = plan.schema().field(0);
        let none = lit(ScalarValue::try_from(field.data_type())?);
        let nullable = field.is_nullable();
        match rows::single(&plan)? {
            Some(Single::Never) => Ok(none),
            Some(Single::Where(plan, conditions)) => {
                self.guarded(conditions, self.value_of_one(plan)?, none)
            }
            None => match correlated::check(&plan, true) {
                Err(why) => self.computed(plan, false, why),
                Ok(()) if nullable => Ok(scalar(plan)),
                Ok(()) => Ok(case(vec![(self.some(plan.clone())?, scalar(plan))], none)),
            },
        }
    }

    /// The value of a plan of one row, or of one at most.
    fn one_value(&self, plan: LogicalPlan) -> Result<Expr> {
        match correlated::check(&plan, true) {
            // Once `count(*) IS NULL` is simplified, the engine no longer sees that rows outside without a row within count 0.
            Ok(()) if is_correlated(&plan) && asks_for_null(&plan) => {
                self.computed(plan.clone(), false, refused("")).or_else(|_| Ok(scalar(plan)))
            }
            Ok(()) => Ok(scalar(plan)),
            Err(why) => self.computed(plan, false, why),
        }
    }

    /// The value of a plan that has one row. One without a column is a value for rows outside that have no row within,
    /// where the engine would have null.
    fn value_of_one(&self, plan: LogicalPlan) -> Result<Expr> {
        if let LogicalPlan::Projection(projection) = &plan
            && let [value] = projection.expr.as_slice()
            && !value.any_column_refs()
            && !value.contains_outer()
            && !asks_within(value)
        {
            return Ok(value.clone().unalias());
        }
        self.one_value(plan)
    }

    /// `inside` where every condition, a plan of one value, is true; else `outside`.
    fn guarded(&self, conditions: Vec<LogicalPlan>, inside: Expr, outside: Expr) -> Result<Expr> {
        let mut all = None;
        for condition in conditions {
            let holds = self.one_value(condition)?.is_true();
            all = Some(match all {
                None => holds,
                Some(before) => Expr::and(before, holds),
            });
        }
        Ok(match all {
            None => inside,
            Some(all) => case(vec![(all, inside)], outside),
        })
    }

    /// How many rows `plan` has.
    fn counted(&self, plan: LogicalPlan) -> Result<Expr> {
        let star = vec![Expr::Literal(COUNT_STAR_EXPANSION, None)];
        let count = AggregateFunction::new_udf(count_udaf(), star, false, None, vec![], None);
        self.one_value(aggregated(plan, Expr::AggregateFunction(count))?)
    }

    /// What the engine cannot join, as a column of a join beneath the node; `why` where that is not possible either.
    fn computed(&self, plan: LogicalPlan, exists: bool, why: DataFusionError) -> Result<Expr> {
        let single = exists || plan.max_rows().is_some_and(|most| most <= 1);
        let Some(input) = self.input.as_ref().filter(|_| single) else { return Err(why) };
        let Ok(computed) = ComputedSubquery::new(plan, input, exists, self.made) else {
            return Err(why);
        };
        let column = Expr::Column(computed.column.clone());
        self.joins.borrow_mut().push(computed);
        Ok(column)
    }

    /// The node over its input, joined with what was computed, and with the columns that it had.
    fn joined(&self, node: LogicalPlan) -> Result<LogicalPlan> {
        let (joins, Some(input)) = (self.joins.take(), &self.input) else { return Ok(node) };
        if joins.is_empty() {
            return Ok(node);
        }
        let columns: Vec<Expr> = node.schema().columns().into_iter().map(Expr::Column).collect();
        let mut input = input.clone();
        for join in joins {
            input = join.beside(input)?;
        }
        let shows =
            matches!(node, LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_));
        let node = places::over(node, input)?;
        match shows {
            true => LogicalPlanBuilder::from(node).project(columns)?.build(),
            false => Ok(node),
        }
    }

    /// Refuses a subquery that names a column of a query further out than the one that it stands in.
    fn check_level(&self, subquery: &Subquery) -> Result<()> {
        // LATERAL sides within name none any more.
        for part in subquery.subquery.all_out_ref_exprs() {
            part.apply(|part| match part {
                Expr::OuterReferenceColumn(_, column) if !self.schema.has_column(column) => {
                    Err(refused(&format!(
                        "a subquery in a subquery names `{column}` of the outermost query: give the query between them that column, and compare with it"
                    )))
                }
                _ => Ok(TreeNodeRecursion::Continue),
            })?;
        }
        Ok(())
    }
}

/// Whether it selects what may be simplified where a value is never null.
fn asks_for_null(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Projection(projection) = plan else { return false };
    let asks = |part: &Expr| {
        Ok(matches!(part, Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::ScalarFunction(_)))
    };
    // No visit fails.
    projection.expr.iter().any(|value| value.exists(asks).unwrap_or(true))
}

/// A number that no other name of this pass has.
fn next(made: &Cell<usize>) -> usize {
    made.set(made.get() + 1);
    made.get()
}

fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let branches = branches.into_iter().map(|(when, then)| (Box::new(when), Box::new(then)));
    Expr::Case(Case::new(None, branches.collect(), Some(Box::new(otherwise))))
}

fn aggregated(plan: LogicalPlan, by: Expr) -> Result<LogicalPlan> {
    let none: Vec<Expr> = Vec::new();
    LogicalPlanBuilder::from(plan).aggregate(none, [by])?.build()
}

fn refused(why: &str) -> DataFusionError {
    DataFusionError::Plan(why.to_owned())
}
