//! The bytes of rows: keys, records, hand-packed values, and how each is read.
//!
//! Nothing here opens a database.

pub(in crate::store) mod bitmap_block;
pub(in crate::store) mod cursor;
pub(in crate::store) mod key;
pub(in crate::store) mod number_block;
pub(in crate::store) mod output;
pub(in crate::store) mod record;
pub(in crate::store) mod text;
