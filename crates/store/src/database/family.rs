//! What a column family is: its name, key, value and use, declared by a unit struct in the file of the family.

use crate::bytes::key::StoreKey;
use crate::error::{DecodeError, StoreError, in_words, is_derived};
use model::hexadecimal;
use rocksdb::{BoundColumnFamily, DB};
use std::sync::Arc;

/// One kind of row: a unit struct. A family of one kind is that kind itself; one of several lists them.
pub trait RowKind {
    /// The family that has such rows.
    type Family: StoreFamily;
    /// The key of such a row, which identifies it within its kind.
    type Key;
    /// Its value, decoded.
    type Value<'v>;
    /// What errors call such a row.
    const WHAT: &'static str;

    /// The bytes of a key.
    fn key_bytes(key: &Self::Key) -> Vec<u8>;

    /// The key of a row of the family; none: it is a row of another kind.
    fn own_key(key: <Self::Family as RowKind>::Key) -> Option<Self::Key>;

    /// Reads the value of the row of `key`: the one decoder of the kind.
    ///
    /// # Errors
    /// `DecodeError` with the offset where the bytes stop making sense.
    fn decode<'v>(key: &Self::Key, value: &'v [u8]) -> Result<Self::Value<'v>, DecodeError>;
}

/// One column family: a unit struct whose doc gives key, value, writer and readers. As a kind it is that of all its
/// rows: `check` asks its decoder about every one.
pub trait StoreFamily: RowKind<Family = Self, Key: StoreKey> {
    /// Its description.
    const INFO: FamilyInfo;
    /// Whether it has the records of tokenizers, which a view holds whole.
    const IS_TOKENIZERS: bool = matches!(Self::INFO.name.as_bytes(), b"tokenizers");
    /// Name on disk; never renamed.
    const NAME: &'static str = Self::INFO.name;
}

/// What is done with every family.
pub(crate) trait FamilyVisitor {
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
    /// Like `Dense`, with values that are compressed or random already.
    DensePacked,
    /// Point look-ups by hash, mostly misses.
    Hashed,
    /// Like `Hashed`, with many small rows, read by a writer that has its own filter, and in whole by scans.
    Buckets,
    /// Ranges under a fixed-width prefix.
    Ranged,
    /// Pages of many documents in id order, compressed by us or not at all.
    Pages,
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

/// Declares a family: `store_family! { /// What it is. Name = "name on disk", Shape, Key, "key in words" => "what errors
/// call a row": Value<'v>, decode, "value in words" }`; one of several kinds has these in braces, as [`row_kinds`] takes
/// them, in the place of value and decoder.
macro_rules! store_family {
    (
        $(#[$doc:meta])* $name:ident = $label:literal, $shape:ident,
        $key:ty, $key_doc:literal => { $($kinds:tt)+ } $value_doc:literal
    ) => {
        $crate::database::family::store_family! {
            $(#[$doc])* $name = $label, $shape,
            $key, $key_doc => "row": (), $name::decode_any, $value_doc
        }
        $crate::database::family::row_kinds! { $name, $key: $($kinds)+ }
    };
    (
        $(#[$doc:meta])* $name:ident = $label:literal, $shape:ident,
        $key:ty, $key_doc:literal => $what:literal: $value:ty, $decode:expr, $value_doc:literal
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $crate::database::family::StoreFamily for $name {
            const INFO: $crate::database::family::FamilyInfo = $crate::database::family::FamilyInfo {
                name: $label,
                shape: $crate::database::family::FamilyShape::$shape,
                key: $key_doc,
                value: $value_doc,
            };
        }

        impl $crate::database::family::RowKind for $name {
            type Family = Self;
            type Key = $key;
            type Value<'v> = $value;
            const WHAT: &'static str = $what;
            fn key_bytes(key: &$key) -> Vec<u8> {
                $crate::bytes::key::StoreKey::to_bytes(key)
            }
            fn own_key(key: $key) -> Option<$key> {
                Some(key)
            }
            fn decode<'v>(key: &$key, value: &'v [u8]) -> Result<$value, $crate::error::DecodeError> {
                let decode: fn(&$key, &'v [u8]) -> Result<$value, $crate::error::DecodeError> = $decode;
                decode(key, value)
            }
        }
    };
}
pub(crate) use store_family;

/// Lists the kinds of row of a family; each of its keys is of one: `/// What it is. Name = "what errors call a row", key:
/// Type [FamilyKey::Of(key)] if guard => Value<'v>, decode;`. What stands in brackets makes the key of the family out of
/// the kind's, and is the pattern of it.
macro_rules! row_kinds {
    ($family:ident, $whole:ty: $(
        $(#[$doc:meta])* $name:ident = $what:literal, $own:tt: $type:ty [$($key:tt)+] $(if $guard:expr)?
        => $value:ty, $decode:expr;
    )+) => {
        impl $family {
            fn decode_any(key: &$whole, value: &[u8]) -> Result<(), $crate::error::DecodeError> {
                use $crate::database::family::RowKind;
                $(if let Some(own) = $name::own_key(key.clone()) {
                    return $name::decode(&own, value).map(drop);
                })+
                Err($crate::error::DecodeError::at(0, "no kind of row has this key"))
            }
        }

        $($(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $crate::database::family::RowKind for $name {
            type Family = $family;
            type Key = $type;
            type Value<'v> = $value;
            const WHAT: &'static str = $what;
            fn key_bytes(key: &Self::Key) -> Vec<u8> {
                let $own = key.clone();
                $crate::bytes::key::StoreKey::to_bytes(&$($key)+)
            }
            fn own_key(key: $whole) -> Option<Self::Key> {
                match key {
                    $($key)+ $(if $guard)? => Some($own),
                    _ => None,
                }
            }
            fn decode<'v>(key: &Self::Key, value: &'v [u8]) -> Result<$value, $crate::error::DecodeError> {
                let decode: fn(&Self::Key, &'v [u8]) -> Result<$value, $crate::error::DecodeError> = $decode;
                decode(key, value)
            }
        })+
    };
}
pub(crate) use row_kinds;

/// A family of an open database, which must have it.
pub(crate) fn family_handle<C: StoreFamily>(
    db: &DB,
) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
    handle_named(db, C::NAME)
}

/// The handle of a family by its name on disk: steps from older formats name families that may be gone by now.
pub(crate) fn handle_named<'db>(
    db: &'db DB,
    name: &'static str,
) -> Result<Arc<BoundColumnFamily<'db>>, StoreError> {
    let missing =
        || StoreError::Missing { what: "column family", family: name, key: String::new() };
    db.cf_handle(name).ok_or_else(missing)
}

/// Checks that a row of a family decodes, of whatever kind it is.
pub(crate) fn check_row<C: StoreFamily>(key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let decoded = C::Key::decode(key).and_then(|typed| C::decode(&typed, value).map(drop));
    decoded.map_err(|why| corrupt_row::<C>("row", key, why))
}

/// The error for bytes of a family that do not decode.
pub(crate) fn corrupt_row<C: StoreFamily>(
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
pub(crate) fn damaged_family(family: &'static str, error: rocksdb::Error) -> StoreError {
    let why = in_words(error);
    if is_damage(&why) { StoreError::Damaged { family, why } } else { StoreError::Rocks(why) }
}

/// Whether RocksDB speaks of a table that is not as it was written, cannot be read, or is gone.
pub(crate) fn is_damage(words: &str) -> bool {
    words.contains("Corruption")
        || (words.contains(".sst")
            && ["No such file", "Input/output error"].iter().any(|why| words.contains(why)))
}

/// The error of [`damaged_family`] for a write: a flush or a compaction that met the bytes, whose table says which
/// family it was.
pub(crate) fn damaged_table(db: &DB, families: &[FamilyInfo], error: rocksdb::Error) -> StoreError {
    unopened_table(db, families, in_words(error))
}

/// The error of [`damaged_table`] where only RocksDB's words are known.
pub(crate) fn unopened_table(db: &DB, families: &[FamilyInfo], words: String) -> StoreError {
    if is_damage(&words)
        && let Ok(tables) = db.live_files()
        && let Some(table) = tables.iter().find(|table| words.contains(&table.name))
        && let Some(family) = families.iter().find(|it| it.name == table.column_family_name)
    {
        return StoreError::Damaged { family: family.name, why: words };
    }
    StoreError::Rocks(words)
}
