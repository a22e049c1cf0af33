//! Text to syntax: tokens, dialect, parser, presets, parameters, the size of a statement.

pub(in crate::sql) mod dialect;
pub(in crate::sql) mod parameters;
pub(in crate::sql) mod parser;
pub(in crate::sql) mod presets;
mod rows;
pub(in crate::sql) mod script;
pub(in crate::sql) mod size;
