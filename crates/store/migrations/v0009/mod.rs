//! Format 9: texts, keys, metadata, places, prints and sketches lie in pages. A corpus of format 8 is copied.
//!
//! ```text
//! db (format 8, only read) -> migrating-9: kept families row by row, then documents -> `migrated` -> db is renamed to
//!     before-format-9, migrating-9 to db -> journal, notes, FORMAT -> `migrated` is removed
//! ```
//!
//! Each batch of the copy has its progress in it. While `migrated` stands, the next writer ends what is left of the swap.

mod copy;
mod families;
mod swap;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use copy::{CopyLimits, copy, open_old};
pub(crate) use families::FROM;
pub(crate) use swap::{before, finish, making, mark};
