//! The open database and a pinned moment of it; typed reads. Iteration only through `rows`.

use super::tuning;
use crate::store::columns::{Column, FAMILIES, corrupt};
use crate::store::database::scan::Rows;
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::keys::{Key, after_prefix};
use rocksdb::{BoundColumnFamily, DB, DBPinnableSlice, ReadOptions, SnapshotWithThreadMode};
use std::sync::Arc;

/// A snapshot tied to its database.
pub(in crate::store) struct Frozen<'db>(pub(in crate::store) SnapshotWithThreadMode<'db, DB>);

self_cell::self_cell!(
    /// One moment of the database, alive as long as it is held.
    pub(in crate::store) struct Pinned {
        owner: Arc<DB>,
        #[covariant]
        dependent: Frozen,
    }
);

impl Pinned {
    pub(in crate::store) fn at_now(db: &Arc<DB>) -> Self {
        Self::new(Arc::clone(db), |db| Frozen(db.snapshot()))
    }

    pub(in crate::store) fn family<C: Column>(
        &self,
    ) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
        family::<C>(self.borrow_owner())
    }

    pub(in crate::store) fn table_bytes(&self) -> Result<Vec<(&'static str, u64)>, StoreError> {
        let db = self.borrow_owner();
        let mut found = Vec::new();
        for family in FAMILIES {
            if let Some(handle) = db.cf_handle(family.name) {
                let bytes = db.property_int_value_cf(&handle, "rocksdb.total-sst-files-size")?;
                found.push((family.name, bytes.unwrap_or(0)));
            }
        }
        Ok(found)
    }

    pub(in crate::store) fn get<C: Column>(
        &self,
        key: &C::Key,
    ) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        self.get_bytes::<C>(&key.to_bytes())
    }

    pub(in crate::store) fn get_bytes<C: Column>(
        &self,
        key: &[u8],
    ) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        #[cfg(test)]
        crate::store::counted::read(C::NAME, 1);
        let family = self.family::<C>()?;
        Ok(self.borrow_dependent().0.get_pinned_cf(&family, key)?)
    }

    /// Reads one row; a failure to decode names family, key and byte.
    pub(in crate::store) fn read<C, T>(
        &self,
        what: &'static str,
        key: &C::Key,
    ) -> Result<Option<T>, StoreError>
    where
        C: for<'v> Column<Value<'v> = T>,
    {
        self.read_with::<C, T>(what, key, Ok)
    }

    /// Reads one row and takes of it what is wanted.
    pub(in crate::store) fn read_with<C: Column, T>(
        &self,
        what: &'static str,
        key: &C::Key,
        take: impl FnOnce(C::Value<'_>) -> Result<T, Malformed>,
    ) -> Result<Option<T>, StoreError> {
        let Some(bytes) = self.get::<C>(key)? else { return Ok(None) };
        let taken = C::decode(key, &bytes).and_then(take);
        taken.map(Some).map_err(|why| corrupt::<C>(what, &key.to_bytes(), why))
    }

    /// The values of `keys`, which must be sorted by their bytes.
    pub(in crate::store) fn multi_get<C: Column>(
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
                found.push(value?);
            }
        }
        Ok(found)
    }

    /// Rows from `start` up to but without `end` (none: to the end of the family).
    pub(in crate::store) fn scan<C: Column>(
        &self,
        start: &[u8],
        end: Option<Vec<u8>>,
    ) -> Result<Rows<'_, C>, StoreError> {
        let family = self.family::<C>()?;
        Ok(Rows::new(&self.borrow_dependent().0, &family, start, end, false))
    }

    /// Rows whose key begins with `prefix`.
    pub(in crate::store) fn scan_prefix<C: Column>(
        &self,
        prefix: &[u8],
    ) -> Result<Rows<'_, C>, StoreError> {
        let family = self.family::<C>()?;
        // A prefix that the filters know: a table without it is not read.
        let filtered = tuning::prefix_width(C::NAME) == Some(prefix.len());
        let end = after_prefix(prefix);
        Ok(Rows::new(&self.borrow_dependent().0, &family, prefix, end, filtered))
    }
}

pub(in crate::store) fn family<C: Column>(
    db: &DB,
) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
    db.cf_handle(C::NAME).ok_or(StoreError::Missing {
        what: "column family",
        family: C::NAME,
        key: String::new(),
    })
}
