//! The record of an output as bytes: what left the corpus, where to, and which documents it had.
//!
//! A file of the folder `outputs` and a row have the same bytes: a form, the record as JSON behind its length, the
//! documents, a checksum.

use crate::bytes::bitmap_block::{decode_treemap, put_treemap};
use crate::bytes::cursor::ByteCursor;
use crate::bytes::record::REDACTED;
use crate::error::{DecodeError, StoreError};
use model::named;
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

const FORM: u8 = 1;
/// Bytes of the form and the length before the JSON, and of the checksum behind it all.
const HEAD: usize = 5;
const SUM: usize = 8;

/// What left a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub enum OutputKind {
    /// Documents as files.
    #[default]
    Export,
    /// An epoch as files.
    Epoch,
    /// Batches of an epoch, given to a program.
    Stream,
    /// A backup.
    Backup,
}

named!(OutputKind { Export = "export", Epoch = "epoch", Stream = "stream", Backup = "backup" });

/// An output on record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputRecord {
    /// What it is.
    pub kind: OutputKind,
    /// Where it went: an absolute path, an address without what is secret in it, `stdout`, or `loader`.
    pub destination: String,
    /// The last commit of the corpus as it was read; of a backup the commit that names it.
    pub commit: u64,
    /// The batches that it had, of an epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<OutputBatches>,
    /// The condition that selected its documents, as it was typed; of an answer the statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// blake3 of its manifest, in hexadecimal; of a file without one that of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// When, in microseconds since 1970 in UTC, as the program said that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
    /// The documents that it had, where it is not of an epoch, nor a backup; none: they are not known.
    #[serde(skip)]
    pub documents: Option<RoaringTreemap>,
}

/// Batches of an epoch that left a corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputBatches {
    /// The number of the plan; none: it was not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<u32>,
    /// blake3 of the plan, in hexadecimal.
    pub hash: String,
    /// The epoch of the plan, counted from 0.
    pub epoch: u64,
    /// The first global batch; a row where the recipe has no batches.
    pub first: u64,
    /// The global batch behind the last one.
    pub end: u64,
    /// The rank, and the number of ranks; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<(u64, u64)>,
    /// Whether the output is under way, or was stopped at an unknown point: everything up to `end` may have gone out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
}

impl OutputRecord {
    /// The stored form of the record.
    ///
    /// # Errors
    /// [`StoreError::Encode`] when it is too long.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let refused = |why: String| StoreError::Encode { what: "output", why };
        let json = serde_json::to_vec(self).map_err(|error| refused(error.to_string()))?;
        let length = u32::try_from(json.len()).map_err(|error| refused(error.to_string()))?;
        let mut out = vec![FORM];
        out.extend(length.to_le_bytes());
        out.extend(json);
        if let Some(documents) = &self.documents {
            out = put_treemap(documents, out)?;
        }
        out.extend(xxh3_64(&out).to_le_bytes());
        Ok(out)
    }

    /// Reads its stored form.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (body, sum) = bytes
            .len()
            .checked_sub(SUM)
            .and_then(|end| bytes.split_at_checked(end))
            .ok_or_else(|| DecodeError::at(0, "it is cut off"))?;
        if xxh3_64(body).to_le_bytes() != *sum {
            return Err(DecodeError::at(body.len(), "its checksum does not match"));
        }
        let mut cursor = ByteCursor::new(body);
        let form = cursor.u8()?;
        if form != FORM {
            return Err(DecodeError::at(0, format!("form {form} of an output, not {FORM}")));
        }
        let length = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
        let (json, documents) = body
            .get(HEAD..)
            .and_then(|rest| rest.split_at_checked(length))
            .ok_or_else(|| DecodeError::at(1, "its record is cut off"))?;
        let mut record: Self = serde_json::from_slice(json)
            .map_err(|error| DecodeError::at(HEAD, error.to_string()))?;
        if !documents.is_empty() {
            record.documents = Some(decode_treemap(documents, HEAD + length)?);
        }
        Ok(record)
    }

    /// In the place of what was written of the same stream before: what was redacted stays so, and the time is the first.
    #[must_use]
    pub(crate) fn over(self, before: &Self) -> Self {
        let destination = match before.destination == REDACTED {
            true => before.destination.clone(),
            false => self.destination,
        };
        Self { destination, time: before.time.or(self.time), ..self }
    }

    /// Whether both are of one stream: of one rank in one epoch, wherever it was stopped.
    #[must_use]
    pub(crate) fn is_same_stream(&self, other: &Self) -> bool {
        let of = |record: &Self| {
            let batches = record.batches.as_ref()?;
            Some((batches.hash.clone(), batches.epoch, batches.rank))
        };
        self.kind == OutputKind::Stream && other.kind == self.kind && of(self) == of(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let record = OutputRecord {
            kind: OutputKind::Export,
            destination: "/a".to_owned(),
            commit: 3,
            documents: Some(RoaringTreemap::from_iter([1, 2])),
            ..OutputRecord::default()
        };
        let bytes = record.encode().unwrap();
        let json = br#"{"kind":"export","destination":"/a","commit":3}"#;
        let mut expected = [&[1, json.len() as u8, 0, 0, 0][..], json].concat();
        record.documents.as_ref().unwrap().serialize_into(&mut expected).unwrap();
        assert_eq!(bytes[..bytes.len() - 8], expected);
        assert_eq!(OutputRecord::decode(&bytes), Ok(record));
    }

    #[test]
    fn a_bit_flipped_or_a_byte_gone_is_an_error() {
        let batches = OutputBatches { rank: Some((1, 4)), ..OutputBatches::default() };
        let record = OutputRecord { batches: Some(batches), ..OutputRecord::default() };
        let bytes = record.encode().unwrap();
        for at in 0..bytes.len() {
            assert!(OutputRecord::decode(&bytes[..at]).is_err(), "{at}");
            let mut other = bytes.clone();
            other[at] ^= 4;
            assert!(OutputRecord::decode(&other).is_err(), "{at}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_an_error_or_an_output(mut bytes: Vec<u8>) {
            let _ = OutputRecord::decode(&bytes);
            bytes.insert(0, FORM);
            bytes.extend(xxh3_64(&bytes).to_le_bytes());
            let _ = OutputRecord::decode(&bytes);
        }
    }
}
