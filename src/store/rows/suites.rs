//! Rows of suites: their records and items, and what they have under the hash of an n-gram.

use crate::model::{GramPlace, ShortItem, SuiteGram, SuiteItem, SuitePart};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::bytes::{Cursor, put_varint};
use crate::store::rows::codec;
use crate::store::rows::keys::SuiteKey;
use bincode::{Decode, Encode};

const SEED: u8 = 1;
const SHORT: u8 = 2;
const PIECE: u8 = 3;

/// A suite, and how far stored texts were searched for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SuiteRecord {
    /// Its name.
    pub name: String,
    /// Absolute paths of the files that it was read from.
    pub files: Vec<String>,
    /// blake3 over its items: equal for equal items.
    pub hash: [u8; 32],
    /// Items.
    pub items: u32,
    /// Of these, those without an answer.
    pub weak: u32,
    /// Items of which nothing is long enough to be looked for.
    pub unsearchable: u32,
    /// Distinct n-grams.
    pub grams: u32,
    /// Documents below this id were searched; `u64::MAX`: all, and every one that comes is.
    pub next: u64,
}

impl SuiteRecord {
    /// Whether all stored texts were searched for it.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.next == u64::MAX
    }
}

#[derive(Encode, Decode)]
struct ItemRecord {
    id: String,
    parts: [String; 3],
}

/// A row of the family `suites`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuiteRow {
    /// The suite itself.
    Record(SuiteRecord),
    /// One of its items.
    Item(SuiteItem),
}

impl SuiteRow {
    pub(in crate::store) fn decode(key: &SuiteKey, bytes: &[u8]) -> Result<Self, Malformed> {
        if key.row == 0 {
            return codec::decode(bytes).map(Self::Record);
        }
        let ItemRecord { id, parts } = codec::decode(bytes)?;
        Ok(Self::Item(SuiteItem { id, parts }))
    }

    pub(in crate::store) fn record(self) -> Result<SuiteRecord, Malformed> {
        match self {
            Self::Record(record) => Ok(record),
            Self::Item(_) => Err(Malformed::at(0, "an item, not a suite")),
        }
    }

    pub(in crate::store) fn item(self) -> Result<SuiteItem, Malformed> {
        match self {
            Self::Item(item) => Ok(item),
            Self::Record(_) => Err(Malformed::at(0, "a suite, not an item")),
        }
    }
}

/// The stored form of an item.
pub(in crate::store) fn encode_item(item: &SuiteItem) -> Result<Vec<u8>, StoreError> {
    let SuiteItem { id, parts } = item.clone();
    codec::encode("item of a suite", &ItemRecord { id, parts })
}

/// The stored form of what a suite has under a hash.
pub(in crate::store) fn encode_gram(gram: &SuiteGram) -> Vec<u8> {
    let mut out = Vec::new();
    match gram {
        SuiteGram::Seed(number, places) => {
            out.push(SEED);
            put_varint(&mut out, (*number).into());
            put_places(&mut out, places);
        }
        SuiteGram::Short(items) => {
            out.push(SHORT);
            for short in items {
                put_varint(&mut out, short.item.into());
                for tokens in [&short.question, &short.answer] {
                    put_varint(&mut out, tokens.len() as u64);
                    out.extend(tokens.iter().flat_map(|token| token.to_le_bytes()));
                }
            }
        }
        SuiteGram::Piece(places) => {
            out.push(PIECE);
            put_places(&mut out, places);
        }
    }
    out
}

fn put_places(out: &mut Vec<u8>, places: &[GramPlace]) {
    let mut before = 0;
    for place in places {
        put_varint(out, (place.item - before).into());
        out.push(place.part as u8);
        put_varint(out, place.position.into());
        before = place.item;
    }
}

/// What a suite has under a hash.
pub(in crate::store) fn decode_gram(bytes: &[u8]) -> Result<SuiteGram, Malformed> {
    let mut cursor = Cursor::new(bytes);
    match cursor.u8()? {
        SEED => {
            let number = cursor.varint_u32()?;
            Ok(SuiteGram::Seed(number, places(&mut cursor)?))
        }
        PIECE => Ok(SuiteGram::Piece(places(&mut cursor)?)),
        SHORT => {
            let mut items = Vec::new();
            while cursor.end().is_err() {
                let item = cursor.varint_u32()?;
                let (question, answer) = (tokens(&mut cursor)?, tokens(&mut cursor)?);
                items.push(ShortItem { item, question, answer });
            }
            Ok(SuiteGram::Short(items))
        }
        kind => Err(Malformed::at(0, format!("unknown kind {kind} of n-gram"))),
    }
}

fn places(cursor: &mut Cursor<'_>) -> Result<Vec<GramPlace>, Malformed> {
    let mut places: Vec<GramPlace> = Vec::new();
    while cursor.end().is_err() {
        places.push(place(cursor, places.last())?);
    }
    if places.is_empty() {
        return Err(Malformed::at(cursor.offset(), "an n-gram that stands nowhere"));
    }
    Ok(places)
}

fn place(cursor: &mut Cursor<'_>, before: Option<&GramPlace>) -> Result<GramPlace, Malformed> {
    let at = cursor.offset();
    let far = |why: &str| Malformed::at(at, why);
    let step = cursor.varint_u32()?;
    let item = before.map_or(0, |before| before.item).checked_add(step);
    let item = item.ok_or_else(|| far("number of an item beyond 32 bits"))?;
    let part = cursor.u8()?;
    let part = SuitePart::ALL.get(usize::from(part)).copied();
    let part = part.ok_or_else(|| far("unknown part"))?;
    let found = GramPlace { item, part, position: cursor.varint_u32()? };
    if before.is_some_and(|before| *before >= found) {
        return Err(far("places out of order"));
    }
    Ok(found)
}

fn tokens(cursor: &mut Cursor<'_>) -> Result<Vec<u64>, Malformed> {
    let count = cursor.varint()?;
    let mut tokens = Vec::new();
    for _ in 0..count {
        tokens.push(cursor.u64()?);
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let place = |item, position| GramPlace { item, part: SuitePart::Answer, position };
        let seed = SuiteGram::Seed(300, vec![place(2, 1), place(2, 3), place(7, 0)]);
        let bytes = encode_gram(&seed);
        assert_eq!(bytes, [1, 0xac, 2, 2, 1, 1, 0, 1, 3, 5, 1, 0]);
        assert_eq!(decode_gram(&bytes), Ok(seed));
        let short = ShortItem { item: 1, question: vec![1], answer: Vec::new() };
        let short = SuiteGram::Short(vec![short]);
        let bytes = encode_gram(&short);
        assert_eq!(bytes, [2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(decode_gram(&bytes), Ok(short));
        let piece = SuiteGram::Piece(vec![place(2, 1), place(7, 0)]);
        let bytes = encode_gram(&piece);
        assert_eq!(bytes, [3, 2, 1, 1, 5, 1, 0]);
        assert_eq!(decode_gram(&bytes), Ok(piece));
        // Places out of order, an unknown part, n-grams of nowhere, an unknown kind.
        for bad in [&[1, 0, 2, 0, 3, 0, 0, 3][..], &[1, 0, 2, 3, 0], &[1, 0], &[3], &[4], &[]] {
            assert!(decode_gram(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_row(bytes: Vec<u8>, row in 0..3_u32) {
            let _ = decode_gram(&bytes);
            let _ = SuiteRow::decode(&SuiteKey { suite: crate::model::SuiteId(1), row }, &bytes);
        }
    }
}
