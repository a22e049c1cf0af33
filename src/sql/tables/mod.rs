//! The tables beside `documents`: what they are, and their rows.

pub(in crate::sql) mod arrays;
pub(in crate::sql) mod long_tables;
pub(in crate::sql) mod specs;
pub(in crate::sql) mod system;
