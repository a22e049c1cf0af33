//! The bytes of rows: keys, records, hand-packed values, and how each is read.
//!
//! Nothing here opens a database.

pub(crate) mod bitmap_block;
pub(crate) mod cursor;
pub(crate) mod key;
pub(crate) mod number_block;
pub(crate) mod output;
pub(crate) mod record;
pub(crate) mod text;
