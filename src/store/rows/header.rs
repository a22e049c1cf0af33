//! The document header: hand-packed, read by every scan, so small and without text.

use crate::model::{CommitSeq, DocId, FileId, SourceId};
use crate::store::error::Malformed;
use crate::store::rows::bytes::{Cursor, put_varint};

const FORMAT: u8 = 1;
const HAS_OWNER: u8 = 1;
const HAS_KEY: u8 = 2;

/// What every stored document has beside its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The source of the document.
    pub source: SourceId,
    /// The file it was read from.
    pub file: FileId,
    /// Records before it in that file.
    pub number: u64,
    /// The commit that added it.
    pub commit: CommitSeq,
    /// The key the user gave, if any.
    pub key: Option<String>,
    /// blake3-128 of the text.
    pub raw: [u8; 16],
    /// blake3-128 of the normalised text.
    pub normalised: [u8; 16],
    /// blake3-128 of text and metadata together.
    pub content: [u8; 16],
    /// UTF-8 bytes of the text.
    pub bytes: u64,
    /// Unicode scalar values of the text.
    pub chars: u64,
    /// Tokens after normalisation.
    pub words: u32,
    /// Distinct shingles.
    pub shingles: u32,
    /// The earlier document that stores the same text and sketch, when this one does not.
    pub text_of: Option<DocId>,
}

impl Header {
    /// The document whose rows hold this one's text and sketch.
    #[must_use]
    pub fn text_owner(&self, own: DocId) -> DocId {
        self.text_of.unwrap_or(own)
    }

    /// The stored form.
    #[must_use]
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(96);
        out.push(FORMAT);
        let owner = if self.text_of.is_some() { HAS_OWNER } else { 0 };
        let key = if self.key.is_some() { HAS_KEY } else { 0 };
        out.push(owner | key);
        put_varint(&mut out, self.source.0.into());
        put_varint(&mut out, self.file.0.into());
        put_varint(&mut out, self.number);
        put_varint(&mut out, self.commit.0);
        put_varint(&mut out, self.bytes);
        put_varint(&mut out, self.chars);
        put_varint(&mut out, self.words.into());
        put_varint(&mut out, self.shingles.into());
        out.extend_from_slice(&self.raw);
        out.extend_from_slice(&self.normalised);
        out.extend_from_slice(&self.content);
        if let Some(owner) = self.text_of {
            put_varint(&mut out, owner.0);
        }
        if let Some(key) = &self.key {
            out.extend_from_slice(key.as_bytes());
        }
        out
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`Malformed`] for bytes no release wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let format = cursor.u8()?;
        if format != FORMAT {
            return Err(Malformed::at(0, format!("header format {format}, not {FORMAT}")));
        }
        let flags = cursor.u8()?;
        let mut header = Self {
            source: SourceId(cursor.varint_u32()?),
            file: FileId(cursor.varint_u32()?),
            number: cursor.varint()?,
            commit: CommitSeq(cursor.varint()?),
            bytes: cursor.varint()?,
            chars: cursor.varint()?,
            words: cursor.varint_u32()?,
            shingles: cursor.varint_u32()?,
            raw: cursor.array()?,
            normalised: cursor.array()?,
            content: cursor.array()?,
            text_of: None,
            key: None,
        };
        if flags & HAS_OWNER != 0 {
            header.text_of = Some(DocId(cursor.varint()?));
        }
        if flags & HAS_KEY != 0 {
            let at = cursor.offset();
            let key = std::str::from_utf8(cursor.rest());
            let key =
                key.map_err(|error| Malformed::at(at + error.valid_up_to(), "key is not UTF-8"))?;
            header.key = Some(key.to_owned());
        }
        cursor.end()?;
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Header {
        Header {
            source: SourceId(1),
            file: FileId(2),
            number: 300,
            commit: CommitSeq(4),
            key: Some("k".to_owned()),
            raw: [1; 16],
            normalised: [2; 16],
            content: [3; 16],
            bytes: 5,
            chars: 6,
            words: 7,
            shingles: 8,
            text_of: Some(DocId(9)),
        }
    }

    #[test]
    fn golden_bytes() {
        let mut expected = vec![1, 3, 1, 2, 0xac, 2, 4, 5, 6, 7, 8];
        expected.extend([1; 16]);
        expected.extend([2; 16]);
        expected.extend([3; 16]);
        expected.extend([9, b'k']);
        assert_eq!(sample().encode(), expected);
        assert_eq!(Header::decode(&expected), Ok(sample()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_header(bytes: Vec<u8>) {
            if let Ok(header) = Header::decode(&bytes) {
                prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
            }
        }

        #[test]
        fn round_trips(number: u64, bytes: u64, key: Option<String>, owner: Option<u64>) {
            let header = Header { number, bytes, key, text_of: owner.map(DocId), ..sample() };
            prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
        }
    }
}
