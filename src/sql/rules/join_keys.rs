//! Keeps equalities over several tables when the engine puts joins into another order.
//!
//! It takes all inner joins apart and joins their tables again by those equalities of which each side is of one of the
//! two inputs at hand. One whose side is of several tables, such as `(a.x = b.y) = c.z`, finds no such inputs in the new
//! order and is lost where it is a key of a join; as a condition of the join it stays.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Join, JoinType, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// It stands before the rule that orders joins.
#[derive(Debug)]
pub(in crate::sql) struct KeysOfOneTable;

impl OptimizerRule for KeysOfOneTable {
    fn name(&self) -> &str {
        "keys_of_one_table"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        let single = |(left, right): &(Expr, Expr)| is_of_one(left) && is_of_one(right);
        if join.join_type != JoinType::Inner
            || join.null_equality != NullEquality::NullEqualsNothing
            || join.on.iter().all(single)
        {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let (keys, conditions): (Vec<_>, Vec<_>) = join.on.into_iter().partition(single);
        let conditions = conditions.into_iter().map(|(left, right)| left.eq(right));
        let filter = conjunction(join.filter.take().into_iter().chain(conditions));
        Join::try_new(
            join.left,
            join.right,
            keys,
            filter,
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )
        .map(|join| Transformed::yes(LogicalPlan::Join(join)))
    }
}

/// Whether all columns of a key are of one table.
fn is_of_one(key: &Expr) -> bool {
    let mut tables = key.column_refs().into_iter().map(|column| &column.relation);
    let first = tables.next();
    // A column without a table may be of any.
    tables.all(|table| Some(table) == first && table.is_some())
}
