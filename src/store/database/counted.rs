//! Rows that this thread has read, by family: what tests of cost count.

use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static ROWS: RefCell<BTreeMap<&'static str, u64>> = const { RefCell::new(BTreeMap::new()) };
}

pub(in crate::store) fn read(family: &'static str, rows: usize) {
    ROWS.with_borrow_mut(|counts| *counts.entry(family).or_default() += rows as u64);
}

/// Rows of a family read while `work` was done, look-ups that found nothing included.
pub(crate) fn during<T>(work: impl FnOnce() -> T) -> (T, BTreeMap<&'static str, u64>) {
    ROWS.take();
    let done = work();
    (done, ROWS.take())
}
