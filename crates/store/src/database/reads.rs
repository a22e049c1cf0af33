//! Typed reads of a pinned moment of the open database, and the checked iterator: a damaged block is an error.
//!
//! A plain iterator would end early there.

use crate::bytes::key::{StoreKey, after_prefix};
use crate::database::family::{RowKind, StoreFamily, corrupt_row, damaged_family, family_handle};
use crate::database::tuning;
use crate::error::{DecodeError, StoreError};
use rocksdb::{
    BoundColumnFamily, DB, DBPinnableSlice, DBRawIteratorWithThreadMode, ReadOptions,
    SnapshotWithThreadMode,
};
use std::any::Any;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The open database, and what it needs as long as it is open: the folder that its names lead into, and the lock.
pub(crate) struct Database {
    // Closed first.
    db: DB,
    /// The name that leads to the folder of the corpus, where it was opened at its place.
    root: Option<PathBuf>,
    _needs: Option<Box<dyn Any + Send + Sync>>,
}

impl Database {
    /// The database of the corpus in a folder that is held.
    pub(crate) fn at(root: PathBuf, db: DB, needs: impl Any + Send + Sync) -> Self {
        Self { db, root: Some(root), _needs: Some(Box::new(needs)) }
    }

    /// The name that leads to the folder of the corpus.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }
}

impl From<DB> for Database {
    fn from(db: DB) -> Self {
        Self { db, root: None, _needs: None }
    }
}

impl Deref for Database {
    type Target = DB;

    fn deref(&self) -> &DB {
        &self.db
    }
}

/// A snapshot tied to its database.
pub(crate) struct DbSnapshot<'db>(pub(crate) SnapshotWithThreadMode<'db, DB>);

self_cell::self_cell!(
    /// One moment of the database, alive as long as it is held.
    pub(crate) struct PinnedMoment {
        owner: Arc<Database>,
        #[covariant]
        dependent: DbSnapshot,
    }
);

impl PinnedMoment {
    pub(crate) fn at_now(db: &Arc<Database>) -> Self {
        Self::new(Arc::clone(db), |db| DbSnapshot(db.snapshot()))
    }

    pub(crate) fn family<C: StoreFamily>(&self) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
        family_handle::<C>(self.borrow_owner())
    }

    /// Bytes of the tables of a family; none where the database has no such family.
    pub(crate) fn table_bytes(&self, family: &str) -> Result<Option<u64>, StoreError> {
        let db = self.borrow_owner();
        let Some(handle) = db.cf_handle(family) else { return Ok(None) };
        let bytes = db.property_int_value_cf(&handle, "rocksdb.total-sst-files-size")?;
        Ok(Some(bytes.unwrap_or(0)))
    }

    pub(crate) fn get<K: RowKind>(
        &self,
        key: &K::Key,
    ) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        self.get_bytes::<K::Family>(&K::key_bytes(key))
    }

    pub(crate) fn get_bytes<C: StoreFamily>(
        &self,
        key: &[u8],
    ) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        crate::counted::read(C::NAME, 1);
        let family = self.family::<C>()?;
        let found = self.borrow_dependent().0.get_pinned_cf(&family, key);
        found.map_err(|error| damaged_family(C::NAME, error))
    }

    /// Reads one row; a failure to decode names family, key and byte.
    pub(crate) fn read<K, T>(&self, key: &K::Key) -> Result<Option<T>, StoreError>
    where
        K: for<'v> RowKind<Value<'v> = T>,
    {
        let key = K::key_bytes(key);
        let Some(value) = self.get_bytes::<K::Family>(&key)? else { return Ok(None) };
        Ok(Some(expect_row::<K>(&key, &value)?.1))
    }

    /// Reads like [`PinnedMoment::read`], and copies a value that lies in the bytes of the row.
    pub(crate) fn read_copy<K, T: ToOwned + ?Sized + 'static>(
        &self,
        key: &K::Key,
    ) -> Result<Option<T::Owned>, StoreError>
    where
        K: for<'v> RowKind<Value<'v> = &'v T>,
    {
        let key = K::key_bytes(key);
        let Some(value) = self.get_bytes::<K::Family>(&key)? else { return Ok(None) };
        Ok(Some(expect_row::<K>(&key, &value)?.1.to_owned()))
    }

    /// The values of `keys`, which must be sorted by their bytes.
    pub(crate) fn multi_get<C: StoreFamily>(
        &self,
        keys: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Option<DBPinnableSlice<'_>>>, StoreError> {
        crate::counted::read(C::NAME, keys.len());
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
    pub(crate) fn scan<K: RowKind>(
        &self,
        start: &[u8],
        end: Option<Vec<u8>>,
    ) -> Result<RowCursor<'_, K>, StoreError> {
        let family = self.family::<K::Family>()?;
        Ok(RowCursor::new(&self.borrow_dependent().0, &family, start, end, false))
    }

    /// The last key of a family that can be read; none also where it has none.
    pub(crate) fn last_key<C: StoreFamily>(&self) -> Option<C::Key> {
        let mut rows = self.scan::<C>(&[], None).ok()?;
        rows.seek_back(&[u8::MAX; 32]);
        let (key, _) = rows.advance().ok()??;
        C::Key::decode(key).ok()
    }

    /// Rows whose key begins with `prefix`.
    pub(crate) fn scan_prefix<K: RowKind>(
        &self,
        prefix: &[u8],
    ) -> Result<RowCursor<'_, K>, StoreError> {
        let family = self.family::<K::Family>()?;
        // A prefix that the filters know: a table without it is not read.
        let filtered = tuning::prefix_width(K::Family::NAME) == Some(prefix.len());
        let end = after_prefix(prefix);
        Ok(RowCursor::new(&self.borrow_dependent().0, &family, prefix, end, filtered))
    }
}

/// Key and value, undecoded.
pub(crate) type RawRow<'a> = (&'a [u8], &'a [u8]);

/// Key and value, decoded.
pub(crate) type DecodedRow<'a, K> = (<K as RowKind>::Key, <K as RowKind>::Value<'a>);

/// A row of a kind; none: it is of another one.
pub(crate) fn decode_row<'v, K: RowKind>(
    key: &[u8],
    value: &'v [u8],
) -> Result<Option<DecodedRow<'v, K>>, StoreError> {
    let decode = || match K::own_key(<K::Family as RowKind>::Key::decode(key)?) {
        Some(own) => K::decode(&own, value).map(|value| Some((own, value))),
        None => Ok(None),
    };
    decode().map_err(|why| corrupt_row::<K::Family>(K::WHAT, key, why))
}

/// A row that must be of a kind.
fn expect_row<'v, K: RowKind>(
    key: &[u8],
    value: &'v [u8],
) -> Result<DecodedRow<'v, K>, StoreError> {
    let other = || DecodeError::at(0, "the row of another kind");
    decode_row::<K>(key, value)?.ok_or_else(|| corrupt_row::<K::Family>(K::WHAT, key, other()))
}

/// Rows of one kind in key order. Yields an error once, then ends.
pub(crate) struct RowCursor<'a, K: RowKind> {
    raw: DBRawIteratorWithThreadMode<'a, DB>,
    started: bool,
    done: bool,
    kind: PhantomData<K>,
}

impl<'a, K: RowKind> RowCursor<'a, K> {
    /// `within_prefix`: `start` is a prefix of the family's width, and no row beyond it is wanted.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that checks the status of a raw iterator"
    )]
    pub(crate) fn new(
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
        Self { raw, started: false, done: false, kind: PhantomData }
    }

    /// Goes on with the first row at or behind `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) {
        self.raw.seek(key);
        self.started = false;
    }

    /// Goes on with the last row at or before `key`.
    pub(crate) fn seek_back(&mut self, key: &[u8]) {
        self.raw.seek_for_prev(key);
        self.started = false;
    }

    /// Moves to the next row, of whatever kind; its key and value borrow from the iterator.
    pub(crate) fn advance(&mut self) -> Result<Option<RawRow<'_>>, StoreError> {
        if self.done {
            return Ok(None);
        }
        if self.started {
            self.raw.next();
        }
        self.started = true;
        if !self.raw.valid() {
            self.done = true;
            self.raw.status().map_err(|error| damaged_family(K::Family::NAME, error))?;
            return Ok(None);
        }
        crate::counted::read(K::Family::NAME, 1);
        Ok(self.raw.item())
    }

    /// The next row, which must be of the kind; its value may borrow from the iterator.
    pub(crate) fn next(&mut self) -> Result<Option<DecodedRow<'_, K>>, StoreError> {
        let Some((key, value)) = self.advance()? else { return Ok(None) };
        expect_row::<K>(key, value).map(Some)
    }

    /// The other rows of the kind, each as `take` converts it: those that it does not convert, and those of other
    /// kinds, are skipped. Ends behind an error.
    pub(crate) fn filter_map<T>(
        mut self,
        mut take: impl FnMut(K::Key, K::Value<'_>) -> Option<T>,
    ) -> impl Iterator<Item = Result<T, StoreError>> {
        let mut next = move || {
            while let Some((key, value)) = self.advance()? {
                let row = decode_row::<K>(key, value)?;
                if let Some(taken) = row.and_then(|(key, value)| take(key, value)) {
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

/// Rows that this thread has read, by family: what tests of cost count. Nothing is counted in what is shipped: debug
/// assertions turn it on, `.cargo/test.toml` turns these on for this package.
pub mod counted {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    thread_local! {
        static ROWS: RefCell<BTreeMap<&'static str, u64>> = const { RefCell::new(BTreeMap::new()) };
    }

    const IS_ON: bool = cfg!(any(test, debug_assertions));

    pub(crate) fn read(family: &'static str, rows: usize) {
        if IS_ON {
            ROWS.with_borrow_mut(|counts| *counts.entry(family).or_default() += rows as u64);
        }
    }

    /// Rows of a family read while `work` was done, look-ups that found nothing included.
    ///
    /// # Panics
    ///
    /// Where nothing is counted: a test of cost that could not fail must not pass.
    #[expect(clippy::assertions_on_constants, reason = "another constant in what is shipped")]
    pub fn during<T>(work: impl FnOnce() -> T) -> (T, BTreeMap<&'static str, u64>) {
        assert!(IS_ON, "built without counters: `make test` and plain `cargo test` turn them on");
        ROWS.take();
        let done = work();
        (done, ROWS.take())
    }
}
