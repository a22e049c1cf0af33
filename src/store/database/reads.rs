//! A pinned moment of the open database with typed reads, and the checked iterator: a damaged block is an error, never
//! an early end.

use crate::store::bytes::key::{StoreKey, after_prefix};
use crate::store::database::family::{StoreFamily, corrupt_row, damaged_family, family_handle};
use crate::store::database::tuning;
use crate::store::error::{DecodeError, StoreError};
use rocksdb::{
    BoundColumnFamily, DB, DBPinnableSlice, DBRawIteratorWithThreadMode, ReadOptions,
    SnapshotWithThreadMode,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// A snapshot tied to its database.
pub(in crate::store) struct DbSnapshot<'db>(pub(in crate::store) SnapshotWithThreadMode<'db, DB>);

self_cell::self_cell!(
    /// One moment of the database, alive as long as it is held.
    pub(in crate::store) struct PinnedMoment {
        owner: Arc<DB>,
        #[covariant]
        dependent: DbSnapshot,
    }
);

impl PinnedMoment {
    pub(in crate::store) fn at_now(db: &Arc<DB>) -> Self {
        Self::new(Arc::clone(db), |db| DbSnapshot(db.snapshot()))
    }

    pub(in crate::store) fn family<C: StoreFamily>(
        &self,
    ) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
        family_handle::<C>(self.borrow_owner())
    }

    /// Bytes of the tables of a family; none where the database has no such family.
    pub(in crate::store) fn table_bytes(&self, family: &str) -> Result<Option<u64>, StoreError> {
        let db = self.borrow_owner();
        let Some(handle) = db.cf_handle(family) else { return Ok(None) };
        let bytes = db.property_int_value_cf(&handle, "rocksdb.total-sst-files-size")?;
        Ok(Some(bytes.unwrap_or(0)))
    }

    pub(in crate::store) fn get<C: StoreFamily>(
        &self,
        key: &C::Key,
    ) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        self.get_bytes::<C>(&key.to_bytes())
    }

    pub(in crate::store) fn get_bytes<C: StoreFamily>(
        &self,
        key: &[u8],
    ) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        #[cfg(test)]
        crate::store::counted::read(C::NAME, 1);
        let family = self.family::<C>()?;
        let found = self.borrow_dependent().0.get_pinned_cf(&family, key);
        found.map_err(|error| damaged_family(C::NAME, error))
    }

    /// Reads one row; a failure to decode names family, key and byte.
    pub(in crate::store) fn read<C, T>(
        &self,
        what: &'static str,
        key: &C::Key,
    ) -> Result<Option<T>, StoreError>
    where
        C: for<'v> StoreFamily<Value<'v> = T>,
    {
        self.read_with::<C, T>(what, key, Ok)
    }

    /// Reads one row and takes of it what is wanted.
    pub(in crate::store) fn read_with<C: StoreFamily, T>(
        &self,
        what: &'static str,
        key: &C::Key,
        take: impl FnOnce(C::Value<'_>) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, StoreError> {
        let Some(bytes) = self.get::<C>(key)? else { return Ok(None) };
        let taken = C::decode(key, &bytes).and_then(take);
        taken.map(Some).map_err(|why| corrupt_row::<C>(what, &key.to_bytes(), why))
    }

    /// The values of `keys`, which must be sorted by their bytes.
    pub(in crate::store) fn multi_get<C: StoreFamily>(
        &self,
        keys: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Option<DBPinnableSlice<'_>>>, StoreError> {
        #[cfg(test)]
        crate::store::counted::read(C::NAME, keys.len());
        let family = self.family::<C>()?;
        let mut options = ReadOptions::default();
        options.set_snapshot(&self.borrow_dependent().0);
        let mut found = Vec::with_capacity(keys.len());
        // Bounded chunks: RocksDB holds every block of one call at once.
        for chunk in keys.chunks(4096) {
            for value in
                self.borrow_owner().batched_multi_get_cf_opt(&family, chunk, true, &options)
            {
                found.push(value.map_err(|error| damaged_family(C::NAME, error))?);
            }
        }
        Ok(found)
    }

    /// Rows from `start` up to but without `end` (none: to the end of the family).
    pub(in crate::store) fn scan<C: StoreFamily>(
        &self,
        start: &[u8],
        end: Option<Vec<u8>>,
    ) -> Result<RowCursor<'_, C>, StoreError> {
        let family = self.family::<C>()?;
        Ok(RowCursor::new(&self.borrow_dependent().0, &family, start, end, false))
    }

    /// Rows whose key begins with `prefix`.
    pub(in crate::store) fn scan_prefix<C: StoreFamily>(
        &self,
        prefix: &[u8],
    ) -> Result<RowCursor<'_, C>, StoreError> {
        let family = self.family::<C>()?;
        // A prefix that the filters know: a table without it is not read.
        let filtered = tuning::prefix_width(C::NAME) == Some(prefix.len());
        let end = after_prefix(prefix);
        Ok(RowCursor::new(&self.borrow_dependent().0, &family, prefix, end, filtered))
    }
}

/// Key and value, undecoded.
pub(in crate::store) type RawRow<'a> = (&'a [u8], &'a [u8]);

/// Key and value, decoded.
pub(in crate::store) type DecodedRow<'a, C> =
    (<C as StoreFamily>::Key, <C as StoreFamily>::Value<'a>);

/// Rows of one family in key order. Yields an error once, then ends.
pub(in crate::store) struct RowCursor<'a, C: StoreFamily> {
    raw: DBRawIteratorWithThreadMode<'a, DB>,
    started: bool,
    done: bool,
    column: PhantomData<C>,
}

impl<'a, C: StoreFamily> RowCursor<'a, C> {
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
            self.raw.status().map_err(|error| damaged_family(C::NAME, error))?;
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
    ) -> Result<Option<DecodedRow<'_, C>>, StoreError> {
        let Some((key, value)) = self.advance()? else { return Ok(None) };
        let malformed = |why| corrupt_row::<C>(what, key, why);
        let typed = C::Key::decode(key).map_err(malformed)?;
        let value = C::decode(&typed, value).map_err(malformed)?;
        Ok(Some((typed, value)))
    }

    /// The next row, and of it what is wanted.
    pub(in crate::store) fn next_with<T>(
        &mut self,
        what: &'static str,
        take: impl FnOnce(C::Value<'_>) -> Result<T, DecodeError>,
    ) -> Result<Option<(C::Key, T)>, StoreError> {
        let Some((key, value)) = self.advance()? else { return Ok(None) };
        let malformed = |why| corrupt_row::<C>(what, key, why);
        let typed = C::Key::decode(key).map_err(malformed)?;
        let taken = C::decode(&typed, value).and_then(take).map_err(malformed)?;
        Ok(Some((typed, taken)))
    }

    /// The rows that are left, of each what `take` makes of it: those of which it makes nothing are passed over. Ends
    /// behind an error.
    pub(in crate::store) fn filter_map<T>(
        mut self,
        what: &'static str,
        mut take: impl FnMut(C::Key, C::Value<'_>) -> Result<Option<T>, DecodeError>,
    ) -> impl Iterator<Item = Result<T, StoreError>> {
        let mut next = move || {
            while let Some((key, value)) = self.advance()? {
                let malformed = |why| corrupt_row::<C>(what, key, why);
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

/// Rows that this thread has read, by family: what tests of cost count.
#[cfg(test)]
pub(crate) mod counted {
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
}
