//! The bytes of rows: keys, records, hand-packed values, and how each is read.
//!
//! Nothing here opens a database.
//!
//! `key` has the keys, `record` the small records, `output` the record of an output;
//! `bitmap_block` and `number_block` are the values of the two merge operators; `cursor` reads and writes integers.
//! `page` has strings of many documents compressed together, as `page_cutter` cuts them, and `page_changes` what a commit
//! changes of them; `grid_page` columns of a fixed
//! number of documents, which are read in place, and `grid_rows` those that there are.

pub(crate) mod bitmap_block;
pub(crate) mod cursor;
pub(crate) mod grid_page;
pub(crate) mod grid_rows;
pub(crate) mod key;
pub(crate) mod number_block;
pub(crate) mod output;
pub(crate) mod page;
pub(crate) mod page_changes;
pub(crate) mod page_cutter;
pub(crate) mod record;
