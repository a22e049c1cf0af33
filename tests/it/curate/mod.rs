//! Changes of what is stored: removals, purges, fields.

mod field_histories;
mod fields;
mod interrupts;
mod purge;
mod purge_aside;
mod purge_histories;
