//! Which rows a subquery has at most, whatever it computes: none, one under conditions, or many.
//!
//! What does not matter to the asker is left out: order, repeated rows, and LIMIT and OFFSET that take nothing.

use super::refused;
use datafusion::common::Result;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, FetchType, Filter, Limit, LogicalPlan, LogicalPlanBuilder,
    Projection, SkipType, Sort, SubqueryAlias,
};
use std::sync::Arc;

/// The rows of a subquery, for one that asks which values there are.
pub(super) enum SubqueryRows {
    None,
    /// One row, if all conditions hold; each is a plan of one value.
    One {
        plan: LogicalPlan,
        conditions: Vec<LogicalPlan>,
    },
    Many(LogicalPlan),
}

/// What says whether a subquery has a row.
pub(super) enum Existence {
    Always,
    Never,
    /// It has one where each of these values is true.
    Where(Vec<LogicalPlan>),
    /// It has one where this has one.
    Of(LogicalPlan),
    /// It has one where this has more than so many.
    After(LogicalPlan, usize),
}

pub(super) fn of(plan: LogicalPlan) -> Result<SubqueryRows> {
    let plan = match single(&plan)? {
        Some(Single::Never) => return Ok(SubqueryRows::None),
        Some(Single::Where(plan, conditions)) => return Ok(SubqueryRows::One { plan, conditions }),
        None => plan,
    };
    Ok(match plan {
        LogicalPlan::Sort(Sort { input, fetch: None, .. })
        | LogicalPlan::Distinct(Distinct::All(input)) => of(Arc::unwrap_or_clone(input))?,
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            match of(Arc::unwrap_or_clone(input))? {
                SubqueryRows::Many(input) => {
                    SubqueryRows::Many(LogicalPlanBuilder::from(input).project(expr)?.build()?)
                }
                other => other,
            }
        }
        LogicalPlan::Limit(limit) => match taken(&limit)? {
            Taken::Nothing => SubqueryRows::None,
            Taken::All => of(Arc::unwrap_or_clone(limit.input))?,
            Taken::From(_) | Taken::Part => SubqueryRows::Many(LogicalPlan::Limit(limit)),
        },
        other => SubqueryRows::Many(other),
    })
}

pub(super) fn existence(plan: LogicalPlan) -> Result<Existence> {
    match single(&plan)? {
        Some(Single::Never) => return Ok(Existence::Never),
        Some(Single::Where(_, conditions)) if conditions.is_empty() => {
            return Ok(Existence::Always);
        }
        Some(Single::Where(_, conditions)) => return Ok(Existence::Where(conditions)),
        None => {}
    }
    match plan {
        LogicalPlan::Projection(Projection { input, .. })
        | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. })
        | LogicalPlan::Sort(Sort { input, fetch: None, .. })
        | LogicalPlan::Distinct(Distinct::All(input)) => existence(Arc::unwrap_or_clone(input)),
        LogicalPlan::Window(window) => existence(Arc::unwrap_or_clone(window.input)),
        LogicalPlan::Aggregate(aggregate) if !has_sets(&aggregate) => {
            existence(Arc::unwrap_or_clone(aggregate.input))
        }
        LogicalPlan::Limit(limit) => match taken(&limit)? {
            Taken::Nothing => Ok(Existence::Never),
            Taken::All => existence(Arc::unwrap_or_clone(limit.input)),
            Taken::From(0) => existence(Arc::unwrap_or_clone(limit.input)),
            Taken::From(skipped) => {
                Ok(Existence::After(Arc::unwrap_or_clone(limit.input), skipped))
            }
            Taken::Part => Ok(Existence::Of(LogicalPlan::Limit(limit))),
        },
        other => Ok(Existence::Of(other)),
    }
}

/// Whether groups are those of GROUPING SETS, of which one may be of no row.
fn has_sets(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_)))
}

/// A plan that has one row at most.
pub(super) enum Single {
    Never,
    Where(LogicalPlan, Vec<LogicalPlan>),
}

/// The plan without its conditions, if it has one row at most since it aggregates all.
pub(super) fn single(plan: &LogicalPlan) -> Result<Option<Single>> {
    let (input, conditions) = match plan {
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
            return Ok(Some(Single::Where(plan.clone(), Vec::new())));
        }
        LogicalPlan::Limit(limit) => match (single(&limit.input)?, limit_of(limit)?) {
            (None, _) => return Ok(None),
            (Some(single), (Some(0), fetch)) if fetch != Some(Some(0)) && fetch.is_some() => {
                return Ok(Some(single));
            }
            (Some(_), (Some(_), Some(_))) => return Ok(Some(Single::Never)),
            (Some(_), _) => return Err(refused(COMPUTED)),
        },
        LogicalPlan::Projection(Projection { input, .. })
        | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. })
        | LogicalPlan::Filter(Filter { input, .. })
        | LogicalPlan::Sort(Sort { input, fetch: None, .. })
        | LogicalPlan::Distinct(Distinct::All(input)) => match single(input)? {
            Some(Single::Where(input, conditions)) => (input, conditions),
            other => return Ok(other),
        },
        _ => return Ok(None),
    };
    let over = LogicalPlanBuilder::from(input.clone());
    Ok(Some(match plan {
        LogicalPlan::Projection(Projection { expr, .. }) => {
            Single::Where(over.project(expr.clone())?.build()?, conditions)
        }
        LogicalPlan::SubqueryAlias(SubqueryAlias { alias, .. }) => {
            Single::Where(over.alias(alias.clone())?.build()?, conditions)
        }
        LogicalPlan::Filter(Filter { predicate, .. }) => {
            let holds = Expr::Alias(Alias::new(predicate.clone(), None::<&str>, "__holds"));
            let mut conditions = conditions;
            conditions.push(over.project([holds])?.build()?);
            Single::Where(input, conditions)
        }
        _ => Single::Where(input, conditions),
    }))
}

const COMPUTED: &str =
    "LIMIT and OFFSET of a subquery take a number: write it as one, such as LIMIT 10";

/// What a LIMIT with OFFSET gives of its input.
enum Taken {
    Nothing,
    All,
    /// The rows behind the first ones, or some of them.
    From(usize),
    /// What it gives is computed.
    Part,
}

fn taken(limit: &Limit) -> Result<Taken> {
    let most = limit.input.max_rows();
    Ok(match limit_of(limit)? {
        (_, Some(Some(0))) => Taken::Nothing,
        (Some(skip), _) if most.is_some_and(|most| most <= skip) => Taken::Nothing,
        (Some(0), Some(None)) => Taken::All,
        (Some(0), Some(Some(fetch))) if most.is_some_and(|most| most <= fetch) => Taken::All,
        (Some(skip), Some(_)) => Taken::From(skip),
        _ => Taken::Part,
    })
}

/// The rows that are skipped and the most that are given, where they are literals.
pub(super) fn limit_of(limit: &Limit) -> Result<(Option<usize>, Option<Option<usize>>)> {
    let skip = match limit.get_skip_type()? {
        SkipType::Literal(skip) => Some(skip),
        SkipType::UnsupportedExpr => None,
    };
    let fetch = match limit.get_fetch_type()? {
        FetchType::Literal(fetch) => Some(fetch),
        FetchType::UnsupportedExpr => None,
    };
    Ok((skip, fetch))
}
