//! Rules on plans, that keep the engine from answers that are wrong: a kind each, with the issue that it waits for.

pub(in crate::sql) mod exact;
pub(in crate::sql) mod in_lists;
pub(in crate::sql) mod join_keys;
pub(in crate::sql) mod keys_of_groups;
pub(in crate::sql) mod multisets;
pub(in crate::sql) mod null_joins;
pub(in crate::sql) mod operands;
pub(in crate::sql) mod single_rows;
pub(in crate::sql) mod sorts;
pub(in crate::sql) mod subqueries;
