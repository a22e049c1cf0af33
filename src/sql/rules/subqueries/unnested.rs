//! Computes a subquery for all values from outside at once, where the engine cannot join it with the rows outside.
//!
//! The values are the combinations of columns that it names, each once. Every node of the subquery gets them as further
//! columns: it groups by them, numbers rows within them, and joins its sides by them. The rows outside are joined with
//! the result by these columns, null with null.

use super::correlated::{self, is_correlated};
use super::rows::limit_of;
use super::{next, refused};
use crate::sql::rules::null_joins::same;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::error::DataFusionError;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::Sort as SortKey;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, Expr, ExprFunctionExt, ExprSchemable, Filter, Join, JoinType,
    LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias, Window, lit,
};
use std::cell::Cell;
use std::sync::Arc;

/// Aggregates whose value does not depend on the order of rows, and over no row is null or their default.
const KNOWN: [&str; 11] = [
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "count",
    "max",
    "min",
    "string_agg",
    "sum",
];
/// Those whose value depends on it, unless they name one.
const ORDERED: [&str; 3] = ["array_agg", "first_value", "last_value"];

/// A subquery, computed: at most one row for each combination of values from outside.
pub(super) struct ComputedSubquery {
    rows: LogicalPlan,
    outside: Outside,
    /// The column with its value, or with true where it asks whether there is a row.
    pub(super) column: Column,
}

impl ComputedSubquery {
    /// The rows of `plan`, whose columns it names; `exists` asks whether it has a row, else it has one at most.
    pub(super) fn new(
        plan: LogicalPlan,
        input: &LogicalPlan,
        exists: bool,
        made: &Cell<usize>,
    ) -> Result<Self> {
        if is_volatile(&plan)? {
            return Err(unsupported());
        }
        let outside = Outside::new(&plan, input, made)?;
        let value = Expr::Column(Column::from(plan.schema().qualified_field(0)));
        let name = format!("__value_{}", next(made));
        let mut rows = outside.within(plan)?;
        if exists {
            rows = project(rows, outside.columns().collect())?;
            rows = LogicalPlanBuilder::from(rows).distinct()?.build()?;
        }
        let value = if exists { lit(true) } else { value };
        let rows = project(rows, outside.columns().chain([value.alias(&name)]).collect())?;
        Ok(Self { rows, outside, column: Column::from_name(name) })
    }

    /// `input` with its column, null for rows that have no row within.
    pub(super) fn beside(self, input: LogicalPlan) -> Result<LogicalPlan> {
        let outer = self.outside.from.iter().cloned().map(Expr::Column);
        let on = self.outside.equal(outer)?;
        LogicalPlanBuilder::from(input).join_on(self.rows, JoinType::Left, on)?.build()
    }
}

/// Whether the plan is a LATERAL one, that names columns of the side beside it.
pub(super) fn is_lateral(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => is_lateral(&alias.input),
        plan => matches!(plan, LogicalPlan::Subquery(_)),
    }
}

/// A join whose right side is LATERAL as one of plain sides. The engine's own way knows no LIMIT, and leaves columns of
/// the left side in the right one until it is optimised, where a subquery around both would take them for its own.
pub(super) fn lateral(join: Join, made: &Cell<usize>) -> Result<LogicalPlan> {
    let (asked, alias) = match join.right.as_ref() {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
            (Arc::clone(input), Some(alias.clone()))
        }
        _ => (Arc::clone(&join.right), None),
    };
    let LogicalPlan::Subquery(asked) = asked.as_ref() else { return Ok(LogicalPlan::Join(join)) };
    let Some((outside, rows)) = beside(&asked.subquery, &join.left, made)? else {
        correlated::check(&asked.subquery, true)?;
        return Ok(LogicalPlan::Join(join));
    };
    let columns = join.schema.columns();
    let own = asked.subquery.schema().columns().into_iter().map(|column| {
        let of = alias.clone().or_else(|| column.relation.clone());
        let name = column.name.clone();
        Expr::Column(column).alias_qualified(of, name)
    });
    let rows = project(rows, own.chain(outside.columns()).collect())?;
    let left = outside.from.iter().cloned().map(Expr::Column);
    let on = join.filter.into_iter().chain(outside.equal(left)?);
    let plan = LogicalPlanBuilder::from(Arc::unwrap_or_clone(join.left));
    let plan = plan.join_on(rows, join.join_type, on)?;
    plan.project(columns.into_iter().map(Expr::Column).collect::<Vec<_>>())?.build()
}

/// The values that `plan` takes from the rows of `left`, and its rows for each of them; none where that is not possible.
fn beside(
    plan: &LogicalPlan,
    left: &LogicalPlan,
    made: &Cell<usize>,
) -> Result<Option<(Outside, LogicalPlan)>> {
    if is_volatile(plan)? {
        return Ok(None);
    }
    let Ok(outside) = Outside::new(plan, left, made) else { return Ok(None) };
    Ok(outside.within(plan.clone()).ok().map(|rows| (outside, rows)))
}

/// The values that a subquery takes from outside.
struct Outside {
    /// The columns outside.
    from: Vec<Column>,
    names: Vec<String>,
    kinds: Vec<DataType>,
    /// Their combinations, under these names.
    plan: LogicalPlan,
}

impl Outside {
    fn new(plan: &LogicalPlan, input: &LogicalPlan, made: &Cell<usize>) -> Result<Self> {
        let mut from: Vec<Column> = Vec::new();
        for part in plan.all_out_ref_exprs() {
            part.apply(|part| {
                if let Expr::OuterReferenceColumn(_, column) = part
                    && !from.contains(column)
                {
                    from.push(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        let number = next(made);
        let names: Vec<String> =
            (0..from.len()).map(|at| format!("__outer_{number}_{at}")).collect();
        let named =
            from.iter().zip(&names).map(|(from, name)| Expr::Column(from.clone()).alias(name));
        let values = project(again(input, &from)?, named.collect())?;
        let kinds =
            values.schema().fields().iter().map(|field| field.data_type().clone()).collect();
        let plan = LogicalPlanBuilder::from(values).distinct()?.build()?;
        Ok(Self { from, names, kinds, plan })
    }

    fn columns(&self) -> impl Iterator<Item = Expr> + '_ {
        self.names.iter().map(|name| Expr::Column(Column::from_name(name)))
    }

    /// The same values under other names.
    fn renamed(&self) -> Result<Self> {
        let names: Vec<String> = self.names.iter().map(|name| format!("{name}_again")).collect();
        let renamed = self.columns().zip(&names).map(|(column, name)| column.alias(name)).collect();
        let plan = project(self.plan.clone(), renamed)?;
        let (from, kinds) = (self.from.clone(), self.kinds.clone());
        Ok(Self { from, names, kinds, plan })
    }

    /// That these values are those of `others`.
    fn equal(&self, others: impl Iterator<Item = Expr>) -> Result<Option<Expr>> {
        let pairs = self.columns().zip(others).zip(&self.kinds);
        let equal: Option<Vec<Expr>> =
            pairs.map(|((own, other), kind)| same(other, own, kind).ok()).collect();
        equal.map(conjunction).ok_or_else(unsupported)
    }

    /// An expression of the subquery over these values.
    fn named(&self, expression: Expr) -> Result<Expr> {
        expression
            .transform_up(|part| match &part {
                Expr::OuterReferenceColumn(_, column) => {
                    let at = self.from.iter().position(|from| from == column);
                    let name = at.and_then(|at| self.names.get(at)).ok_or_else(unsupported)?;
                    Ok(Transformed::yes(Expr::Column(Column::from_name(name))))
                }
                _ => Ok(Transformed::no(part)),
            })
            .map(|named| named.data)
    }

    /// The columns of `plan` and these.
    fn all(&self, plan: &LogicalPlan) -> Vec<Expr> {
        plan.schema().columns().into_iter().map(Expr::Column).chain(self.columns()).collect()
    }

    /// `plan` for every combination of values, with them as columns.
    fn within(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if !is_correlated(&plan) {
            return LogicalPlanBuilder::from(plan).cross_join(self.plan.clone())?.build();
        }
        match plan {
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                self.projected(expr, self.within(Arc::unwrap_or_clone(input))?)
            }
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                let input = Arc::new(self.within(Arc::unwrap_or_clone(input))?);
                Ok(LogicalPlan::Filter(Filter::try_new(self.named(predicate)?, input)?))
            }
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
                let inner = Arc::new(self.within(Arc::unwrap_or_clone(input))?);
                let aliased = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(inner, alias)?);
                let plain = |column: Column| match self.names.contains(&column.name) {
                    true => Expr::Column(column.clone()).alias(column.name),
                    false => Expr::Column(column),
                };
                let columns = aliased.schema().columns().into_iter().map(plain).collect();
                project(aliased, columns)
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                self.within(Arc::unwrap_or_clone(sort.input))
            }
            LogicalPlan::Limit(limit) => match limit_of(&limit)? {
                (Some(skip), Some(fetch)) => {
                    let end = fetch.map(|fetch| skip.saturating_add(fetch));
                    self.cut(Arc::unwrap_or_clone(limit.input), skip, end)
                }
                _ => Err(unsupported()),
            },
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let rows = self.within(Arc::unwrap_or_clone(input))?;
                LogicalPlanBuilder::from(rows).distinct()?.build()
            }
            LogicalPlan::Distinct(Distinct::On(first)) => self.first(first),
            LogicalPlan::Aggregate(aggregate) => self.aggregated(aggregate),
            LogicalPlan::Window(window) => self.numbered(window),
            LogicalPlan::Join(join) => self.joined(join),
            LogicalPlan::Union(union) => {
                let columns = union.schema.columns();
                let mut all: Option<LogicalPlanBuilder> = None;
                for input in union.inputs {
                    let input = Arc::unwrap_or_clone(input);
                    let columns = self.all(&input);
                    let part = project(self.within(input)?, columns)?;
                    all = Some(match all {
                        None => LogicalPlanBuilder::from(part),
                        Some(all) => all.union(part)?,
                    });
                }
                let all = all.ok_or_else(unsupported)?.build()?;
                let names = columns.into_iter().map(|column| (column.relation, column.name));
                let names = names.chain(self.names.iter().map(|name| (None, name.clone())));
                let renamed = all.schema().columns().into_iter().zip(names);
                let renamed = renamed.map(|(column, (of, name))| match of {
                    Some(of) => Expr::Column(column).alias_qualified(Some(of), name),
                    None => Expr::Column(column).alias(name),
                });
                let renamed = renamed.collect();
                project(all, renamed)
            }
            _ => Err(unsupported()),
        }
    }

    fn projected(&self, expressions: Vec<Expr>, input: LogicalPlan) -> Result<LogicalPlan> {
        project(input, self.selected(expressions)?)
    }

    /// Expressions of the subquery, and these values.
    fn selected(&self, expressions: Vec<Expr>) -> Result<Vec<Expr>> {
        let names = NamePreserver::new_for_projection();
        let mut columns = Vec::with_capacity(expressions.len() + self.names.len());
        for expression in expressions {
            let name = names.save(&expression);
            columns.push(name.restore(self.named(expression)?));
        }
        columns.extend(self.columns());
        Ok(columns)
    }

    fn first(&self, first: DistinctOn) -> Result<LogicalPlan> {
        let DistinctOn { on_expr, select_expr, sort_expr, input, .. } = first;
        let on = on_expr.into_iter().map(|on| self.named(on)).collect::<Result<Vec<_>>>()?;
        let on = self.columns().chain(on).collect();
        let sort = sort_expr.map(|sort| {
            let own = self.columns().map(|column| column.sort(true, false)).map(Ok);
            own.chain(sort.into_iter().map(|key| self.key(key))).collect::<Result<Vec<_>>>()
        });
        let input = self.within(Arc::unwrap_or_clone(input))?;
        LogicalPlanBuilder::from(input)
            .distinct_on(on, self.selected(select_expr)?, sort.transpose()?)?
            .build()
    }

    fn key(&self, SortKey { expr, asc, nulls_first }: SortKey) -> Result<SortKey> {
        Ok(SortKey { expr: self.named(expr)?, asc, nulls_first })
    }

    /// The rows behind the first `skip`, up to `end`, of those of each combination.
    fn cut(&self, plan: LogicalPlan, skip: usize, end: Option<usize>) -> Result<LogicalPlan> {
        let (input, order) = match plan {
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                let input = self.cut(Arc::unwrap_or_clone(input), skip, end)?;
                return self.projected(expr, input);
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (sort.input, sort.expr),
            other => (Arc::new(other), Vec::new()),
        };
        let order = order.into_iter().map(|key| self.key(key)).collect::<Result<Vec<_>>>()?;
        let columns = self.all(&input);
        let number = row_number().partition_by(self.columns().collect());
        let number = if order.is_empty() { number } else { number.order_by(order) }.build()?;
        let rows = self.within(Arc::unwrap_or_clone(input))?;
        let numbered = LogicalPlanBuilder::from(rows).window([number])?.build()?;
        let place = numbered.schema().columns().pop().map(Expr::Column).ok_or_else(unsupported)?;
        let mut within = place.clone().gt(lit(skip as u64));
        if let Some(end) = end {
            within = within.and(place.lt_eq(lit(end as u64)));
        }
        LogicalPlanBuilder::from(numbered).filter(within)?.project(columns)?.build()
    }

    fn aggregated(&self, aggregate: Aggregate) -> Result<LogicalPlan> {
        let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate;
        let within = group_expr.iter().chain(&aggr_expr);
        let sets = group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_)));
        if sets || within.clone().any(Expr::contains_outer) {
            return Err(unsupported());
        }
        let rows = self.within(Arc::unwrap_or_clone(input))?;
        let grouped = |groups: Vec<Expr>| {
            LogicalPlanBuilder::from(rows.clone()).aggregate(groups, aggr_expr.clone())?.build()
        };
        if !group_expr.is_empty() {
            return grouped(group_expr.into_iter().chain(self.columns()).collect());
        }
        // Values without a row within have a group, too.
        let all = self.renamed()?;
        let groups = grouped(self.columns().collect())?;
        let on = all.equal(self.columns())?;
        let joined = LogicalPlanBuilder::from(all.plan.clone());
        let joined = joined.join_on(groups, JoinType::Left, on)?.build()?;
        let mut columns = Vec::with_capacity(aggr_expr.len() + self.names.len());
        for (expression, column) in aggr_expr.iter().zip(schema.columns()) {
            let Expr::AggregateFunction(call) = expression.clone().unalias() else {
                return Err(unsupported());
            };
            let name = call.func.name();
            let ordered = !call.params.order_by.is_empty() && ORDERED.contains(&name);
            if !KNOWN.contains(&name) && !ordered {
                return Err(unsupported());
            }
            let kind = Expr::Column(column.clone()).get_type(&schema)?;
            let none = call.func.default_value(&kind)?;
            let value = Expr::Column(column.clone());
            columns.push(match none.is_null() {
                true => value,
                false => coalesce(vec![value, lit(none)]).alias(column.name),
            });
        }
        let names = all.columns().zip(&self.names).map(|(column, name)| column.alias(name));
        columns.extend(names);
        project(joined, columns)
    }

    fn numbered(&self, window: Window) -> Result<LogicalPlan> {
        let Window { input, mut window_expr, schema } = window;
        let before = input.schema().fields().len();
        for expression in &mut window_expr {
            let asked = std::mem::replace(expression, lit(true)).unalias();
            let Expr::WindowFunction(mut call) = asked else { return Err(unsupported()) };
            call.params.partition_by.extend(self.columns());
            *expression = Expr::WindowFunction(call);
            if expression.contains_outer() {
                return Err(unsupported());
            }
        }
        let rows = Arc::new(self.within(Arc::unwrap_or_clone(input))?);
        let kept = rows.schema().fields().len();
        let numbered = LogicalPlan::Window(Window::try_new(window_expr, rows)?);
        let made = numbered.schema().columns().into_iter().skip(kept);
        let named = schema.columns().into_iter().skip(before).zip(made);
        let named = named.map(|(name, made)| Expr::Column(made).alias(name.name));
        let old = schema.columns().into_iter().take(before).map(Expr::Column);
        let columns = old.chain(named).chain(self.columns()).collect();
        project(numbered, columns)
    }

    fn joined(&self, join: Join) -> Result<LogicalPlan> {
        let columns = self.all(&LogicalPlan::Join(join.clone()));
        let on_outer = join.on.iter().any(|(a, b)| a.contains_outer() || b.contains_outer());
        if on_outer || join.null_aware {
            return Err(unsupported());
        }
        let keeps_left = match join.join_type {
            JoinType::Inner => is_correlated(&join.left) || !is_correlated(&join.right),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => true,
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                false
            }
            JoinType::Full => return Err(unsupported()),
        };
        let (left, right) = (Arc::unwrap_or_clone(join.left), Arc::unwrap_or_clone(join.right));
        let (kept, other) = if keeps_left { (left, right) } else { (right, left) };
        let kept = self.within(kept)?;
        let mut filter: Vec<Expr> =
            join.filter.map(|on| self.named(on)).transpose()?.into_iter().collect();
        let other = match is_correlated(&other) {
            false => other,
            true => {
                let again = self.renamed()?;
                filter.extend(again.equal(self.columns())?);
                // Their names inside are those of its own values.
                again.within(other)?
            }
        };
        let (left, right) = if keeps_left { (kept, other) } else { (other, kept) };
        let joined = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            join.on,
            conjunction(filter),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            false,
        )?;
        project(LogicalPlan::Join(joined), columns)
    }
}

fn project(input: LogicalPlan, columns: Vec<Expr>) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?))
}

/// A plan with all values of these columns of `plan`, and maybe more: what has other rows when it is computed a second
/// time, such as LIMIT, is left out.
fn again(plan: &LogicalPlan, columns: &[Column]) -> Result<LogicalPlan> {
    if comes_again(plan)? {
        return Ok(plan.clone());
    }
    let schema = plan.schema();
    let named = |input: &LogicalPlan, expressions: Vec<Expr>| {
        let needed: Vec<Column> = expressions.iter().flat_map(Expr::column_refs).cloned().collect();
        if expressions
            .iter()
            .any(|expression| expression.is_volatile() || expression.contains_outer())
        {
            return Err(unsupported());
        }
        let named = expressions.into_iter().zip(columns).map(|(expression, column)| {
            expression.unalias().alias_qualified(column.relation.clone(), &column.name)
        });
        let named = named.collect();
        project(again(input, &needed)?, named)
    };
    let places = columns.iter().map(|column| schema.index_of_column(column));
    let places = places.collect::<Result<Vec<_>>>()?;
    let input_has = |input: &LogicalPlan| columns.iter().all(|it| input.schema().has_column(it));
    match plan {
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            named(input, places.iter().filter_map(|at| expr.get(*at)).cloned().collect())
        }
        LogicalPlan::Aggregate(Aggregate { group_expr, input, .. })
            if places.iter().all(|at| *at < group_expr.len())
                && !group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_))) =>
        {
            named(input, places.iter().filter_map(|at| group_expr.get(*at)).cloned().collect())
        }
        LogicalPlan::Distinct(Distinct::On(DistinctOn { select_expr, input, .. })) => {
            named(input, places.iter().filter_map(|at| select_expr.get(*at)).cloned().collect())
        }
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => {
            let below = input.schema().columns();
            let below = places.iter().filter_map(|at| below.get(*at)).cloned();
            named(input, below.map(Expr::Column).collect())
        }
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti
                if input_has(&join.left) =>
            {
                again(&join.left, columns)
            }
            JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti
                if input_has(&join.right) =>
            {
                again(&join.right, columns)
            }
            _ => Err(unsupported()),
        },
        LogicalPlan::Filter(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => match plan.inputs().as_slice() {
            [input] if input_has(input) => again(input, columns),
            _ => Err(unsupported()),
        },
        _ => Err(unsupported()),
    }
}

/// Whether a plan that stands twice in a statement has the same rows in both places.
fn comes_again(plan: &LogicalPlan) -> Result<bool> {
    let again = match plan {
        LogicalPlan::TableScan(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Distinct(Distinct::All(_))
        | LogicalPlan::Union(_)
        | LogicalPlan::RecursiveQuery(_)
        | LogicalPlan::Values(_)
        | LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Sort(sort) => sort.fetch.is_none(),
        // What adds floats up differs by the order of rows.
        LogicalPlan::Aggregate(aggregate) => {
            let exact = ["bool_and", "bool_or", "count", "max", "min"];
            aggregate.aggr_expr.iter().all(|expression| match expression.clone().unalias() {
                Expr::AggregateFunction(call) => exact.contains(&call.func.name()),
                _ => false,
            })
        }
        _ => false,
    };
    if !again || is_volatile(plan)? {
        return Ok(false);
    }
    for input in plan.inputs() {
        if !comes_again(input)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_volatile(plan: &LogicalPlan) -> Result<bool> {
    let mut volatile = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            volatile |= expression.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(volatile)
}

fn unsupported() -> DataFusionError {
    refused("a subquery names columns from outside beneath what cannot be joined with them")
}
