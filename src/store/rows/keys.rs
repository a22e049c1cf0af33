//! Big-endian keys: byte order is value order, so a range of ids is a range of rows.

use crate::model::{
    ColumnId, CommitSeq, DocId, FieldId, FileId, Generation, SourceId, SuiteId, TermId, TokenizerId,
};
use crate::store::error::Malformed;
use crate::store::rows::kinds::{Blocked, RemovalPart, TextKind, TokenizerPart};
use crate::store::rows::parts::Part;
pub use crate::store::rows::parts::{BandHash, Block};

/// A typed key of one column family.
pub trait Key: Sized {
    /// Appends the key's bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads a key; trailing bytes are an error.
    ///
    /// # Errors
    /// [`Malformed`] with the offset where the bytes stop making sense.
    fn decode(bytes: &[u8]) -> Result<Self, Malformed>;

    /// The key's bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        self.encode(&mut out);
        out
    }
}

macro_rules! key {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $part:ty),+ $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name { $(#[doc = stringify!($field)] pub $field: $part),+ }

        impl Key for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)+
            }
            fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
                let mut at = 0;
                $(let width = <$part as Part>::WIDTH;
                let $field = bytes.get(at..at + width).and_then(<$part as Part>::get)
                    .ok_or_else(|| Malformed::at(at, concat!("key lacks ", stringify!($field))))?;
                at += width;)+
                if at == bytes.len() { Ok(Self { $($field),+ }) }
                else { Err(Malformed::at(at, "key has trailing bytes")) }
            }
        }
    )*};
}

key! {
    /// (commit, part).
    RemovalKey { commit: CommitSeq, part: RemovalPart }
    /// (document).
    DocumentKey { document: DocId }
    /// (commit).
    CommitKey { commit: CommitSeq }
    /// (source, file); file 0 is the source's own record.
    SourceKey { source: SourceId, file: FileId }
    /// (tokenizer, part).
    TokenizerKey { tokenizer: TokenizerId, part: TokenizerPart }
    /// (tokenizer, document).
    TokensKey { tokenizer: TokenizerId, document: DocId }
    /// (column, block).
    ColumnKey { column: ColumnId, block: Block }
    /// (term, block).
    PostingKey { term: TermId, block: Block }
    /// (generation, kind of text, blake3-128).
    ExactKey { generation: Generation, kind: TextKind, hash: [u8; 16] }
    /// (what is blocked, blake3-128).
    BlockKey { kind: Blocked, hash: [u8; 16] }
    /// (generation, band, hash).
    BandKey { generation: Generation, band: u8, hash: BandHash }
    /// (generation, band, hash, document).
    BandMemberKey { generation: Generation, band: u8, hash: BandHash, document: DocId }
    /// (commit, part); commit 0 is the row of counters.
    BandRunKey { commit: CommitSeq, part: u32 }
    /// (generation, removed document, commit).
    MatchKey { generation: Generation, removed: DocId, commit: CommitSeq }
    /// (generation, witness, removed document, commit).
    MemberKey { generation: Generation, witness: DocId, removed: DocId, commit: CommitSeq }
    /// (generation, document, commit, root).
    LineageKey { generation: Generation, document: DocId, commit: CommitSeq, root: DocId }
    /// (suite, row): row 0 is its record, its items count from 1.
    SuiteKey { suite: SuiteId, row: u32 }
    /// (suite, hash of an n-gram, big-endian).
    SuiteGramKey { suite: SuiteId, hash: [u8; 8] }
    /// (suite, document).
    ContaminationKey { suite: SuiteId, document: DocId }
    /// (suite, blake3-128 of the text, item counted from 0).
    VerdictKey { suite: SuiteId, text: [u8; 16], item: u32 }
    /// blake3-128 of a document's or a reject's identity.
    IdentityKey { hash: [u8; 16] }
    /// (number).
    NumberKey { number: FileId }
}

/// A key that is text: a name, or a name and a part number behind a zero byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameKey(pub String);

impl NameKey {
    /// Whether it is of what goes with a record: no name holds a zero byte.
    pub(in crate::store) fn is_beside(&self) -> bool {
        self.0.contains('\0')
    }

    /// Of the marks of an epoch: behind the number of their plan and a name that no source has, since no source's
    /// holds a zero byte.
    pub(in crate::store) fn of_marks(plan: u32, epoch: u64) -> Self {
        Self(format!("{plan:010}{MARKS}{epoch:020}"))
    }

    /// The epoch whose marks it is of.
    pub(in crate::store) fn epoch_of_marks(&self) -> Option<u64> {
        let (_, epoch) = self.0.split_once(MARKS)?;
        epoch.parse().ok()
    }
}

/// Between the number of a plan and that of an epoch.
const MARKS: &str = "\0\0marks\0";

impl Key for NameKey {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
    fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        std::str::from_utf8(bytes)
            .map(|name| Self(name.to_owned()))
            .map_err(|error| Malformed::at(error.valid_up_to(), "name is not UTF-8"))
    }
}

/// Either direction of the term dictionary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermKey {
    /// (field, value) -> term.
    Value(FieldId, Vec<u8>),
    /// term -> (field, value).
    Id(TermId),
}

impl Key for TermKey {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Value(field, value) => {
                out.push(0);
                field.put(out);
                out.extend_from_slice(value);
            }
            Self::Id(term) => {
                out.push(1);
                term.put(out);
            }
        }
    }
    fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        match bytes.split_first() {
            Some((0, rest)) => {
                let field = rest.get(..2).and_then(FieldId::get);
                let field = field.ok_or_else(|| Malformed::at(1, "key lacks field"))?;
                Ok(Self::Value(field, rest.get(2..).unwrap_or_default().to_vec()))
            }
            Some((1, rest)) => {
                TermId::get(rest).map(Self::Id).ok_or_else(|| Malformed::at(1, "key lacks term"))
            }
            _ => Err(Malformed::at(0, "unknown direction")),
        }
    }
}

/// (source, path bytes).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey {
    /// The source the file was ingested into.
    pub source: SourceId,
    /// Absolute path, as the system gives its bytes.
    pub path: Vec<u8>,
}

impl Key for FileKey {
    fn encode(&self, out: &mut Vec<u8>) {
        self.source.put(out);
        out.extend_from_slice(&self.path);
    }
    fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let source = bytes.get(..4).and_then(SourceId::get);
        let source = source.ok_or_else(|| Malformed::at(0, "key lacks source"))?;
        Ok(Self { source, path: bytes.get(4..).unwrap_or_default().to_vec() })
    }
}

/// The smallest byte string greater than every string that starts with `prefix`; none for all 0xff.
pub(in crate::store) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let keep = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut out = prefix.get(..=keep)?.to_vec();
    if let Some(last) = out.last_mut() {
        *last += 1;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ordered<K: Key + Ord + std::fmt::Debug + PartialEq>(a: K, b: K) {
        assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()), "{a:?} {b:?}");
        assert_eq!(K::decode(&a.to_bytes()).as_ref(), Ok(&a));
    }

    proptest! {
        #[test]
        fn byte_order_is_value_order(a: (u32, u8, u64, u64, u64), b: (u32, u8, u64, u64, u64)) {
            let mask = (1_u64 << 40) - 1;
            let member = |v: (u32, u8, u64, u64, u64)| BandMemberKey {
                generation: Generation(v.0), band: v.1, hash: BandHash(v.2 & mask), document: DocId(v.3),
            };
            ordered(member(a), member(b));
            let posting = |v: (u32, u8, u64, u64, u64)| PostingKey { term: TermId(v.0), block: Block(v.2 >> 16) };
            ordered(posting(a), posting(b));
            let matched = |v: (u32, u8, u64, u64, u64)| MemberKey {
                generation: Generation(v.0), witness: DocId(v.2), removed: DocId(v.3), commit: CommitSeq(v.4),
            };
            ordered(matched(a), matched(b));
        }

        #[test]
        fn text_keys_keep_the_order_of_their_bytes(a: (u16, Vec<u8>), b: (u16, Vec<u8>)) {
            ordered(TermKey::Value(FieldId(a.0), a.1.clone()), TermKey::Value(FieldId(b.0), b.1.clone()));
            ordered(
                FileKey { source: SourceId(a.0.into()), path: a.1 },
                FileKey { source: SourceId(b.0.into()), path: b.1 },
            );
        }

        #[test]
        fn after_prefix_bounds_every_extension(prefix: Vec<u8>, tail: Vec<u8>) {
            if let Some(end) = after_prefix(&prefix) {
                let mut extended = prefix.clone();
                extended.extend(tail);
                prop_assert!(extended < end);
            } else {
                prop_assert!(prefix.iter().all(|byte| *byte == 0xff));
            }
        }

        #[test]
        fn any_bytes_are_an_error_or_a_key(bytes: Vec<u8>) {
            if let Ok(key) = MatchKey::decode(&bytes) { prop_assert_eq!(key.to_bytes(), bytes.clone()); }
            if let Ok(key) = TermKey::decode(&bytes) { prop_assert_eq!(key.to_bytes(), bytes.clone()); }
            if let Ok(key) = BandKey::decode(&bytes) { prop_assert_eq!(key.to_bytes(), bytes); }
        }
    }
}
