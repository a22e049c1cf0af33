//! The tables beside `documents`: what they are, and their rows.

pub(in crate::sql) mod arrays;
pub(in crate::sql) mod contamination;
pub(in crate::sql) mod outputs;
pub(in crate::sql) mod rejects;
pub(in crate::sql) mod removals;
pub(in crate::sql) mod specs;
pub(in crate::sql) mod system;
