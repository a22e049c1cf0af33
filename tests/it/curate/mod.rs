//! Changes of what is stored: removals, purges, fields.

mod field_histories;
mod fields;
mod histories;
mod purge;
