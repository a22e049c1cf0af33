//! The table `documents`: its columns, conditions as bitmaps, the scan, columns of documents that are given by id.

pub(in crate::sql) mod by_id;
pub(in crate::sql) mod coded;
pub(in crate::sql) mod columns;
pub(in crate::sql) mod filter;
pub(in crate::sql) mod intervals;
pub(in crate::sql) mod pairs;
pub(in crate::sql) mod predicate;
pub(in crate::sql) mod relations;
pub(in crate::sql) mod scan;
pub(in crate::sql) mod schema;
pub(in crate::sql) mod table;
