//! The bytes of rows: keys, records, hand-packed values, and how each is read.
//!
//! Nothing here opens a database.
//!
//! `key` has the keys, `record` the small records, `text` the compressed texts, `output` the record of an output;
//! `bitmap_block` and `number_block` are the values of the two merge operators; `cursor` reads and writes integers.

pub(crate) mod bitmap_block;
pub(crate) mod cursor;
pub(crate) mod key;
pub(crate) mod number_block;
pub(crate) mod output;
pub(crate) mod record;
pub(crate) mod text;
