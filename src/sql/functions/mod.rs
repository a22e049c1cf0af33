//! The functions of SQL that are ours: over texts, over JSON, and those that are tables.

pub(in crate::sql) mod arguments;
pub(in crate::sql) mod canonical_floats;
pub(in crate::sql) mod counts;
pub(in crate::sql) mod engine_function;
pub(in crate::sql) mod json;
pub(in crate::sql) mod table_functions;
pub(in crate::sql) mod text_quality;
