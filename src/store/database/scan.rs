//! The checked iterator: a damaged block is an error, never an early end.

use crate::store::columns::{Column, corrupt};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::keys::Key;
use rocksdb::{
    BoundColumnFamily, DB, DBRawIteratorWithThreadMode, ReadOptions, SnapshotWithThreadMode,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// Key and value, undecoded.
pub(in crate::store) type RawRow<'a> = (&'a [u8], &'a [u8]);

/// Key and value, decoded.
pub(in crate::store) type Row<'a, C> = (<C as Column>::Key, <C as Column>::Value<'a>);

/// Rows of one family in key order. Yields an error once, then ends.
pub(in crate::store) struct Rows<'a, C: Column> {
    raw: DBRawIteratorWithThreadMode<'a, DB>,
    started: bool,
    done: bool,
    column: PhantomData<C>,
}

impl<'a, C: Column> Rows<'a, C> {
    /// `within_prefix`: `start` is a prefix of the family's width, and no row beyond it is wanted.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that checks the status of a raw iterator"
    )]
    pub(in crate::store) fn new(
        snapshot: &'a SnapshotWithThreadMode<'_, DB>,
        family: &Arc<BoundColumnFamily<'_>>,
        start: &[u8],
        end: Option<Vec<u8>>,
        within_prefix: bool,
    ) -> Self {
        let mut options = ReadOptions::default();
        // Only within one prefix may its filter be asked; else the order is that of all keys.
        options.set_total_order_seek(!within_prefix);
        options.set_prefix_same_as_start(within_prefix);
        if let Some(end) = end {
            options.set_iterate_upper_bound(end);
        }
        let mut raw = snapshot.raw_iterator_cf_opt(family, options);
        raw.seek(start);
        Self { raw, started: false, done: false, column: PhantomData }
    }

    /// Goes on with the first row at or behind `key`.
    pub(in crate::store) fn seek(&mut self, key: &[u8]) {
        self.raw.seek(key);
        self.started = false;
    }

    /// Moves to the next row; its key and value borrow from the iterator.
    pub(in crate::store) fn advance(&mut self) -> Result<Option<RawRow<'_>>, StoreError> {
        if self.done {
            return Ok(None);
        }
        if self.started {
            self.raw.next();
        }
        self.started = true;
        if !self.raw.valid() {
            self.done = true;
            self.raw.status()?;
            return Ok(None);
        }
        #[cfg(test)]
        crate::store::counted::read(C::NAME, 1);
        Ok(self.raw.item())
    }

    /// The next row, decoded; its value may borrow from the iterator.
    pub(in crate::store) fn next(
        &mut self,
        what: &'static str,
    ) -> Result<Option<Row<'_, C>>, StoreError> {
        let Some((key, value)) = self.advance()? else { return Ok(None) };
        let malformed = |why| corrupt::<C>(what, key, why);
        let typed = C::Key::decode(key).map_err(malformed)?;
        let value = C::decode(&typed, value).map_err(malformed)?;
        Ok(Some((typed, value)))
    }

    /// The next row, and of it what is wanted.
    pub(in crate::store) fn next_with<T>(
        &mut self,
        what: &'static str,
        take: impl FnOnce(C::Value<'_>) -> Result<T, Malformed>,
    ) -> Result<Option<(C::Key, T)>, StoreError> {
        let Some((key, value)) = self.advance()? else { return Ok(None) };
        let malformed = |why| corrupt::<C>(what, key, why);
        let typed = C::Key::decode(key).map_err(malformed)?;
        let taken = C::decode(&typed, value).and_then(take).map_err(malformed)?;
        Ok(Some((typed, taken)))
    }

    /// The rows that are left, of each what `take` makes of it: those of which it makes nothing are passed over. Ends
    /// behind an error.
    pub(in crate::store) fn taken<T>(
        mut self,
        what: &'static str,
        mut take: impl FnMut(C::Key, C::Value<'_>) -> Result<Option<T>, Malformed>,
    ) -> impl Iterator<Item = Result<T, StoreError>> {
        let mut next = move || {
            while let Some((key, value)) = self.advance()? {
                let malformed = |why| corrupt::<C>(what, key, why);
                let typed = C::Key::decode(key).map_err(malformed)?;
                let value = C::decode(&typed, value).map_err(malformed)?;
                if let Some(taken) = take(typed, value).map_err(malformed)? {
                    return Ok(Some(taken));
                }
            }
            Ok(None)
        };
        let mut is_over = false;
        std::iter::from_fn(move || {
            let given = if is_over { None } else { next().transpose() };
            is_over = !matches!(given, Some(Ok(_)));
            given
        })
    }
}
