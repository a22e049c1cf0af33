//! The merge operators as RocksDB calls them.
//!
//! They never panic: unreadable bytes poison the value.

use crate::bytes::{bitmap_block, number_block};
use rocksdb::MergeOperands;
use std::cell::Cell;

thread_local! {
    static NUMBERS: Cell<u64> = const { Cell::new(0) };
}

/// Blocks of numbers that this thread has put together so far: RocksDB merges what is read on the thread that reads.
pub(crate) fn numbers_merged() -> u64 {
    NUMBERS.get()
}

pub(crate) fn bitmaps_full(
    _: &[u8],
    existing: Option<&[u8]>,
    operands: &MergeOperands,
) -> Option<Vec<u8>> {
    Some(bitmap_block::merge_full(existing, operands.iter()))
}

pub(crate) fn bitmaps_partial(
    _: &[u8],
    _: Option<&[u8]>,
    operands: &MergeOperands,
) -> Option<Vec<u8>> {
    bitmap_block::merge_partial(operands.iter())
}

pub(crate) fn numbers_full(
    _: &[u8],
    existing: Option<&[u8]>,
    operands: &MergeOperands,
) -> Option<Vec<u8>> {
    NUMBERS.set(NUMBERS.get().wrapping_add(1));
    Some(number_block::merge_full(existing, operands.iter()))
}

pub(crate) fn numbers_partial(
    _: &[u8],
    _: Option<&[u8]>,
    operands: &MergeOperands,
) -> Option<Vec<u8>> {
    number_block::merge_partial(operands.iter())
}
