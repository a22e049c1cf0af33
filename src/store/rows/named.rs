//! Values of `sources`, `tokenizers`, `snapshots` and `epochs`: a record, and beside it what the record goes with.

use crate::model::FileId;
use crate::store::error::Malformed;
use crate::store::rows::codec;
use crate::store::rows::keys::{NameKey, SourceKey, TokenizerKey};
use crate::store::rows::kinds::TokenizerPart;
use crate::store::rows::marks::MarksRecord;
use crate::store::rows::records::{EpochRecord, SnapshotRecord, SourceRecord, TokenizerRecord};
use bincode::Decode;
use roaring::RoaringTreemap;

/// A record, or what goes with one.
pub enum Named<R, B> {
    /// The record itself.
    Record(R),
    /// What goes with it, under a longer key.
    Beside(B),
}

impl<R: Decode<()>, B> Named<R, B> {
    fn of_record(bytes: &[u8]) -> Result<Self, Malformed> {
        codec::decode(bytes).map(Self::Record)
    }
}

impl<R, B> Named<R, B> {
    pub(in crate::store) fn record(self) -> Result<R, Malformed> {
        match self {
            Self::Record(record) => Ok(record),
            Self::Beside(_) => Err(Malformed::at(0, "goes with a record and is none")),
        }
    }

    pub(in crate::store) fn beside(self) -> Result<B, Malformed> {
        match self {
            Self::Beside(bytes) => Ok(bytes),
            Self::Record(_) => Err(Malformed::at(0, "a record, not what goes with one")),
        }
    }
}

/// A source, or the path of one of its files.
pub type SourceRow<'v> = Named<SourceRecord, &'v [u8]>;
/// A tokenizer, or one of its files.
pub type TokenizerRow<'v> = Named<TokenizerRecord, &'v [u8]>;
/// A snapshot, or the documents that it has as kept.
pub type SnapshotRow = Named<SnapshotRecord, RoaringTreemap>;
/// A plan, or what goes with it.
pub type EpochRow<'v> = Named<EpochRecord, WithPlan<'v>>;

/// What goes with a plan.
pub enum WithPlan<'v> {
    /// What it pins of a source, as the epoch layer wrote it.
    Pinned(&'v [u8]),
    /// Marks of an epoch; none in a form of another release.
    Marks(Option<MarksRecord>),
}

pub(in crate::store) fn source<'v>(
    key: &SourceKey,
    bytes: &'v [u8],
) -> Result<SourceRow<'v>, Malformed> {
    if key.file == FileId(0) {
        return Named::of_record(bytes);
    }
    some(bytes, "path without a byte").map(Named::Beside)
}

pub(in crate::store) fn tokenizer<'v>(
    key: &TokenizerKey,
    bytes: &'v [u8],
) -> Result<TokenizerRow<'v>, Malformed> {
    match key.part {
        TokenizerPart::Record => Named::of_record(bytes),
        // The record holds the hashes of the others, which `check` compares.
        TokenizerPart::File | TokenizerPart::Original(_) => Ok(Named::Beside(bytes)),
        TokenizerPart::Decisions => {
            let json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
            json.map_err(|error| Malformed::at(0, error.to_string()))?;
            Ok(Named::Beside(bytes))
        }
    }
}

pub(in crate::store) fn snapshot(key: &NameKey, bytes: &[u8]) -> Result<SnapshotRow, Malformed> {
    if !key.is_beside() {
        return Named::of_record(bytes);
    }
    let kept = RoaringTreemap::deserialize_from(bytes);
    kept.map(Named::Beside).map_err(|error| Malformed::at(0, error.to_string()))
}

pub(in crate::store) fn epoch<'v>(
    key: &NameKey,
    bytes: &'v [u8],
) -> Result<EpochRow<'v>, Malformed> {
    if !key.is_beside() {
        return Named::of_record(bytes);
    }
    if key.epoch_of_marks().is_some() {
        return MarksRecord::decode(bytes).map(|marks| Named::Beside(WithPlan::Marks(marks)));
    }
    some(bytes, "what is pinned is empty").map(|bytes| Named::Beside(WithPlan::Pinned(bytes)))
}

fn some<'v>(bytes: &'v [u8], why: &'static str) -> Result<&'v [u8], Malformed> {
    if bytes.is_empty() { Err(Malformed::at(0, why)) } else { Ok(bytes) }
}
