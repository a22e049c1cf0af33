//! What a column family is: its name, key, value and use, declared by a unit struct in the file of the family.

use crate::model::hexadecimal;
use crate::store::bytes::key::StoreKey;
use crate::store::error::{DecodeError, StoreError, is_derived};
use rocksdb::{BoundColumnFamily, DB};
use std::sync::Arc;

/// One column family: a unit struct whose doc gives key, value, writer and readers.
pub trait StoreFamily {
    /// What is told of it.
    const INFO: FamilyInfo;
    /// Whether it has the records of tokenizers, which a view holds whole.
    const IS_TOKENIZERS: bool = matches!(Self::INFO.name.as_bytes(), b"tokenizers");
    /// Name on disk; never renamed.
    const NAME: &'static str = Self::INFO.name;
    /// Its key.
    type Key: StoreKey;
    /// Its value, decoded: one type, or an enum where the key says which row it is.
    type Value<'v>;

    /// Reads the value of the row of `key`. The one decoder of the family: readers go through it, and `check`
    /// asks it about every row.
    ///
    /// # Errors
    /// `DecodeError` with the offset where the bytes stop making sense.
    fn decode<'v>(key: &Self::Key, value: &'v [u8]) -> Result<Self::Value<'v>, DecodeError>;
}

/// What is done with every family.
pub(in crate::store) trait FamilyVisitor {
    /// Does it with one.
    fn family<C: StoreFamily>(&mut self);
}

/// How a family is used, which decides its tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyShape {
    /// Few small rows.
    Small,
    /// Rows in id order, scanned in ranges and looked up by existing id.
    Dense,
    /// As `Dense`, with values that are compressed or random already.
    DensePacked,
    /// Point look-ups by hash, mostly misses.
    Hashed,
    /// As `Hashed`, with many small rows, read by a writer that has its own filter, and in whole by scans.
    Buckets,
    /// Ranges under a fixed-width prefix.
    Ranged,
    /// Block values changed by merge operands.
    Bitmaps,
    /// Block values changed by merge operands.
    Numbers,
}

/// One row of the table of families.
#[derive(Clone, Copy, Debug)]
pub struct FamilyInfo {
    /// Name on disk.
    pub name: &'static str,
    /// How it is used.
    pub shape: FamilyShape,
    /// Its key, in words.
    pub key: &'static str,
    /// Its value, in words.
    pub value: &'static str,
}

impl FamilyInfo {
    /// Whether its rows follow from those of other families, so that a repair makes them again.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        is_derived(self.name)
    }
}

/// Declares a family: `store_family! { /// What it is. Name = "name on disk", Shape, Key, "key in words" => Value<'v>,
/// decode, "value in words" }`.
macro_rules! store_family {
    (
        $(#[$doc:meta])* $name:ident = $label:literal, $shape:ident,
        $key:ty, $key_doc:literal => $value:ty, $decode:expr, $value_doc:literal
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $crate::store::database::family::StoreFamily for $name {
            const INFO: $crate::store::database::family::FamilyInfo = $crate::store::database::family::FamilyInfo {
                name: $label,
                shape: $crate::store::database::family::FamilyShape::$shape,
                key: $key_doc,
                value: $value_doc,
            };
            type Key = $key;
            type Value<'v> = $value;
            fn decode<'v>(key: &$key, value: &'v [u8]) -> Result<$value, $crate::store::error::DecodeError> {
                let decode: fn(&$key, &'v [u8]) -> Result<$value, $crate::store::error::DecodeError> = $decode;
                decode(key, value)
            }
        }
    };
}
pub(in crate::store) use store_family;

/// A family of an open database, which must have it.
pub(in crate::store) fn family_handle<C: StoreFamily>(
    db: &DB,
) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
    handle_named(db, C::NAME)
}

/// As [`family_handle`], by its name on disk: steps from older formats name families that may be gone by now.
pub(in crate::store) fn handle_named<'db>(
    db: &'db DB,
    name: &'static str,
) -> Result<Arc<BoundColumnFamily<'db>>, StoreError> {
    let missing =
        || StoreError::Missing { what: "column family", family: name, key: String::new() };
    db.cf_handle(name).ok_or_else(missing)
}

/// The error for bytes of a family that do not decode.
pub(in crate::store) fn corrupt_row<C: StoreFamily>(
    what: &'static str,
    key: &[u8],
    malformed: DecodeError,
) -> StoreError {
    StoreError::Corrupt {
        what,
        family: C::NAME,
        key: hexadecimal(key),
        offset: malformed.offset,
        why: malformed.why,
    }
}

/// What RocksDB says of bytes that it cannot read or has lost, with the family that they are of.
pub(in crate::store) fn damaged_family(family: &'static str, error: rocksdb::Error) -> StoreError {
    let why = error.into_string();
    if is_damage(&why) { StoreError::Damaged { family, why } } else { StoreError::Rocks(why) }
}

/// Whether RocksDB speaks of a table that is not as it was written, cannot be read, or is gone.
pub(in crate::store) fn is_damage(words: &str) -> bool {
    words.contains("Corruption")
        || (words.contains(".sst")
            && ["No such file", "Input/output error"].iter().any(|why| words.contains(why)))
}

/// As [`damaged_family`], of a write: a flush or a compaction that met the bytes, whose table says which family it was.
pub(in crate::store) fn damaged_table(
    db: &DB,
    families: &[FamilyInfo],
    error: rocksdb::Error,
) -> StoreError {
    unopened_table(db, families, error.into_string())
}

/// The same of words, of which nothing is known but that they are RocksDB's.
pub(in crate::store) fn unopened_table(
    db: &DB,
    families: &[FamilyInfo],
    words: String,
) -> StoreError {
    if is_damage(&words)
        && let Ok(tables) = db.live_files()
        && let Some(table) = tables.iter().find(|table| words.contains(&table.name))
        && let Some(family) = families.iter().find(|it| it.name == table.column_family_name)
    {
        return StoreError::Damaged { family: family.name, why: words };
    }
    StoreError::Rocks(words)
}
