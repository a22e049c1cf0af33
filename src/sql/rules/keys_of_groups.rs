//! Keeps the rows and columns that the engine would drop, since it takes the keys of groups for keys behind joins too.
//!
//! A GROUP BY tells its rows apart, and the engine notes so of its columns. Behind a join a row of it may come many times,
//! or be filled with nulls, and the note is still believed: DISTINCT keeps copies, a second GROUP BY loses a column, and
//! ORDER BY a key (apache/datafusion#23626, #23634, #23818 to #23820). So an input of a join that has such a note passes a
//! projection in which one column of the key is a call, which gives what it is given: the note ends there.

use crate::sql::rules::exact::identity;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, Result};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug)]
pub(in crate::sql) struct KeysEndAtJoins;

impl AnalyzerRule for KeysEndAtJoins {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut has_changed = false;
        let rewritten = plan.transform_up_with_subqueries(|node| {
            // What stands above a join has noted the keys as well.
            let node = if has_changed { node.recompute_schema()? } else { node };
            let mut join = match node {
                LogicalPlan::Join(join) => join,
                // It becomes groups later, whose key would be noted then.
                LogicalPlan::Distinct(Distinct::All(input))
                    if !input.schema().fields().is_empty() =>
                {
                    has_changed = true;
                    let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
                    let groups = Aggregate::try_new(input, columns, Vec::new())?;
                    return Ok(Transformed::yes(LogicalPlan::Aggregate(groups)));
                }
                other => return Ok(Transformed::no(other)),
            };
            if matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) {
                return Ok(Transformed::no(LogicalPlan::Join(join)));
            }
            let (left, right) = (without_keys(&join.left)?, without_keys(&join.right)?);
            if left.is_none() && right.is_none() {
                return Ok(Transformed::no(LogicalPlan::Join(join)));
            }
            has_changed = true;
            join.left = left.unwrap_or(join.left);
            join.right = right.unwrap_or(join.right);
            LogicalPlan::Join(join).recompute_schema().map(Transformed::yes)
        });
        rewritten.map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "keys_end_at_joins"
    }
}

/// The same rows and columns without keys; none where there are none.
fn without_keys(input: &Arc<LogicalPlan>) -> Result<Option<Arc<LogicalPlan>>> {
    let schema = input.schema();
    let keys = schema.functional_dependencies().iter();
    let places: BTreeSet<usize> =
        keys.filter_map(|key| key.source_indices.first().copied()).collect();
    if places.is_empty() {
        return Ok(None);
    }
    let columns = schema.iter().enumerate().map(|(place, (relation, field))| {
        let column = Expr::Column(Column::from((relation, field)));
        if !places.contains(&place) {
            return column;
        }
        identity(column).alias_qualified(relation.cloned(), field.name())
    });
    let projection = Projection::try_new(columns.collect(), Arc::clone(input))?;
    Ok(Some(Arc::new(LogicalPlan::Projection(projection))))
}
