//! Big-endian keys: byte order is value order, so a range of ids is a range of rows.
//!
//! Here are the keys with their fixed-width parts, what keys begin with, the kinds that stand as one byte in them, and
//! document ids as stored values, which have the byte order of keys.
#![expect(
    clippy::big_endian_bytes,
    reason = "keys are the one place where byte order must be value order"
)]

use crate::error::{DecodeError, StoreError};
use model::invariant::part;
use model::{
    ColumnId, CommitSeq, DocId, FieldId, FileId, Generation, SourceId, SuiteId, TermId, TokenizerId,
};

/// A typed key of one column family.
pub trait StoreKey: Clone {
    /// Appends the key's bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads a key; trailing bytes are an error.
    ///
    /// # Errors
    /// [`DecodeError`] with the offset where the bytes stop making sense.
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError>;

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

        impl StoreKey for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)+
            }
            fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
                let mut at = 0;
                $(let width = <$part as KeyPart>::WIDTH;
                let $field = bytes.get(at..at + width).and_then(<$part as KeyPart>::get)
                    .ok_or_else(|| DecodeError::at(at, concat!("key lacks ", stringify!($field))))?;
                at += width;)+
                if at == bytes.len() { Ok(Self { $($field),+ }) }
                else { Err(DecodeError::at(at, "key has trailing bytes")) }
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
    ColumnKey { column: ColumnId, block: BlockNumber }
    /// (term, block).
    PostingKey { term: TermId, block: BlockNumber }
    /// (generation, kind of text, blake3-128).
    ExactKey { generation: Generation, kind: TextKind, hash: [u8; 16] }
    /// (what is blocked, blake3-128).
    BlockKey { kind: BlockKind, hash: [u8; 16] }
    /// (generation, band, hash).
    BandKey { generation: Generation, band: u8, hash: BandHashPart }
    /// (generation, band, hash, document).
    BandMemberKey { generation: Generation, band: u8, hash: BandHashPart, document: DocId }
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

/// A row of a snapshot, by its name. No name holds a zero byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotKey {
    /// Its record.
    Record(String),
    /// The documents that it has as kept.
    Kept(String),
}

const KEPT: &str = "\0kept";

impl StoreKey for SnapshotKey {
    fn encode(&self, out: &mut Vec<u8>) {
        let (name, beside) = match self {
            Self::Record(name) => (name, ""),
            Self::Kept(name) => (name, KEPT),
        };
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(beside.as_bytes());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let name = name(bytes)?;
        match name.strip_suffix(KEPT) {
            Some(name) => Ok(Self::Kept(name.to_owned())),
            None if name.contains('\0') => Err(DecodeError::at(0, "no row has this name")),
            None => Ok(Self::Record(name.to_owned())),
        }
    }
}

/// A row of a stored plan, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanKey {
    /// Its record.
    Record(u32),
    /// What it pins of a source.
    Part(u32, String),
    /// Marks along one of its epochs, behind a name that no source has: none holds a zero byte.
    Marks(u32, u64),
}

const MARKS: &str = "\0marks\0";

impl StoreKey for PlanKey {
    fn encode(&self, out: &mut Vec<u8>) {
        let name = match self {
            Self::Record(plan) => format!("{plan:010}"),
            Self::Part(plan, source) => format!("{plan:010}\0{source}"),
            Self::Marks(plan, epoch) => format!("{plan:010}\0{MARKS}{epoch:020}"),
        };
        out.extend_from_slice(name.as_bytes());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let name = name(bytes)?;
        let (plan, beside) = name.split_once('\0').map_or((name, None), |(a, b)| (a, Some(b)));
        let key = plan.parse().ok().and_then(|plan| match beside {
            None => Some(Self::Record(plan)),
            Some(beside) => match beside.strip_prefix(MARKS) {
                None => Some(Self::Part(plan, beside.to_owned())),
                Some(epoch) => epoch.parse().ok().map(|epoch| Self::Marks(plan, epoch)),
            },
        });
        // Numbers have one spelling.
        let key = key.filter(|key| key.to_bytes() == bytes);
        key.ok_or_else(|| DecodeError::at(0, "no row has this name"))
    }
}

fn name(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes)
        .map_err(|error| DecodeError::at(error.valid_up_to(), "name is not UTF-8"))
}

/// Either direction of the term dictionary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermKey {
    /// (field, value) -> term.
    Value(FieldId, Vec<u8>),
    /// term -> (field, value).
    Id(TermId),
}

impl StoreKey for TermKey {
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
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        match bytes.split_first() {
            Some((0, rest)) => {
                let field = rest.get(..2).and_then(FieldId::get);
                let field = field.ok_or_else(|| DecodeError::at(1, "key lacks field"))?;
                Ok(Self::Value(field, part(rest, 2..).to_vec()))
            }
            Some((1, rest)) => {
                TermId::get(rest).map(Self::Id).ok_or_else(|| DecodeError::at(1, "key lacks term"))
            }
            _ => Err(DecodeError::at(0, "unknown direction")),
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

impl StoreKey for FileKey {
    fn encode(&self, out: &mut Vec<u8>) {
        self.source.put(out);
        out.extend_from_slice(&self.path);
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let source = bytes.get(..4).and_then(SourceId::get);
        let source = source.ok_or_else(|| DecodeError::at(0, "key lacks source"))?;
        Ok(Self { source, path: part(bytes, 4..).to_vec() })
    }
}

/// The smallest byte string greater than every string that starts with `prefix`; none for all 0xff.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let keep = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut out = prefix.get(..=keep)?.to_vec();
    if let Some(last) = out.last_mut() {
        *last += 1;
    }
    Some(out)
}

pub(crate) const fn generation_prefix(generation: Generation) -> [u8; 4] {
    generation.0.to_be_bytes()
}

/// How the keys of a suite begin.
pub(crate) fn suite_prefix(suite: SuiteId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4);
    suite.put(&mut bytes);
    bytes
}

/// A part of a fixed-width key.
pub(crate) trait KeyPart: Sized {
    const WIDTH: usize;
    fn put(&self, out: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Option<Self>;
}

macro_rules! part {
    ($($name:ty as $inner:ty),*) => {$(
        impl KeyPart for $name {
            const WIDTH: usize = size_of::<$inner>();
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.0.to_be_bytes());
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                Some(Self(<$inner>::from_be_bytes(bytes.try_into().ok()?)))
            }
        }
    )*};
}
part!(
    DocId as u64,
    SourceId as u32,
    FileId as u32,
    TokenizerId as u16,
    SuiteId as u32,
    CommitSeq as u64,
    Generation as u32,
    FieldId as u16,
    TermId as u32,
    ColumnId as u16
);

impl KeyPart for u8 {
    const WIDTH: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        bytes.first().copied()
    }
}

impl KeyPart for u32 {
    const WIDTH: usize = 4;
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self::from_be_bytes(bytes.try_into().ok()?))
    }
}

impl<const N: usize> KeyPart for [u8; N] {
    const WIDTH: usize = N;
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

/// A block number; 48 bits in a key, which addresses 2^64 documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockNumber(pub u64);

impl KeyPart for BlockNumber {
    const WIDTH: usize = 6;
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(part(&self.0.to_be_bytes(), 2..));
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        let mut wide = [0_u8; 8];
        wide.get_mut(2..)?.copy_from_slice(bytes.get(..6)?);
        Some(Self(u64::from_be_bytes(wide)))
    }
}

/// A 40-bit band hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BandHashPart(pub u64);

impl KeyPart for BandHashPart {
    const WIDTH: usize = 5;
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(part(&self.0.to_be_bytes(), 3..));
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        let mut wide = [0_u8; 8];
        wide.get_mut(3..)?.copy_from_slice(bytes.get(..5)?);
        Some(Self(u64::from_be_bytes(wide)))
    }
}

/// Which form of a text an exact row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TextKind {
    /// The text as it came.
    Raw = 0,
    /// Normalised.
    Normalised = 1,
}

/// What a removed document blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum BlockKind {
    /// Documents whose raw text has the hash.
    Text = 0,
    /// Documents whose identity is the hash.
    Identity = 1,
    /// Documents whose normalised text has the hash.
    Normalised = 2,
    /// Documents whose sketch has the hash among its own, and that are similar to the removed ones.
    Similar = 3,
}

impl BlockKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Identity, Self::Normalised, Self::Similar];
}

/// What is kept of a commit that removed, restored or purged documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum RemovalPart {
    /// The documents that it was about.
    Documents = 0,
    /// What is left to know of those that it purged.
    Traces = 1,
    /// All documents of a purge that has not ended.
    Unended = 2,
}

/// A row of a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenizerPart {
    /// Its record.
    Record,
    /// Its `tokenizer.json`.
    File,
    /// How it was made, as JSON.
    Decisions,
    /// One of the files it was made of, by its place in the record.
    Original(u8),
}

/// The byte of the first original file.
const ORIGINALS: u8 = 16;

impl TokenizerPart {
    /// Files that a tokenizer may be made of.
    pub(crate) const MOST_ORIGINALS: u8 = u8::MAX - ORIGINALS;

    const fn as_byte(self) -> u8 {
        match self {
            Self::Record => 0,
            Self::File => 1,
            Self::Decisions => 2,
            Self::Original(at) => ORIGINALS.saturating_add(at),
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Record),
            1 => Some(Self::File),
            2 => Some(Self::Decisions),
            _ => byte.checked_sub(ORIGINALS).map(Self::Original),
        }
    }
}

impl TextKind {
    const fn as_byte(self) -> u8 {
        self as u8
    }

    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Raw),
            1 => Some(Self::Normalised),
            _ => None,
        }
    }
}

impl RemovalPart {
    const fn as_byte(self) -> u8 {
        self as u8
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Documents, Self::Traces, Self::Unended].get(usize::from(byte)).copied()
    }
}

impl BlockKind {
    pub(crate) const fn as_byte(self) -> u8 {
        self as u8
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_byte() == byte)
    }
}

macro_rules! kind {
    ($($name:ident),*) => {$(
        impl KeyPart for $name {
            const WIDTH: usize = 1;
            fn put(&self, out: &mut Vec<u8>) {
                out.push(self.as_byte());
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                Self::from_byte(*bytes.first()?)
            }
        }
    )*};
}
kind!(TextKind, BlockKind, RemovalPart, TokenizerPart);

pub(crate) fn encode_document(document: DocId) -> [u8; 8] {
    document.0.to_be_bytes()
}

pub(crate) fn decode_document(bytes: &[u8]) -> Result<DocId, DecodeError> {
    let bytes = bytes.try_into().map_err(|_| DecodeError::at(0, "document id is not 8 bytes"))?;
    Ok(DocId(u64::from_be_bytes(bytes)))
}

/// A list of documents.
pub(crate) fn encode_documents(documents: &[DocId]) -> Vec<u8> {
    documents.iter().flat_map(|document| document.0.to_be_bytes()).collect()
}

pub(crate) fn decode_documents(bytes: &[u8]) -> Result<Vec<DocId>, DecodeError> {
    if !bytes.len().is_multiple_of(8) {
        return Err(DecodeError::at(bytes.len() / 8 * 8, "document id is not 8 bytes"));
    }
    bytes.chunks_exact(8).map(decode_document).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ordered<K: StoreKey + Ord + std::fmt::Debug + PartialEq>(a: K, b: K) {
        assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()), "{a:?} {b:?}");
        assert_eq!(K::decode(&a.to_bytes()).as_ref(), Ok(&a));
    }

    proptest! {
        #[test]
        fn byte_order_is_value_order(a: (u32, u8, u64, u64, u64), b: (u32, u8, u64, u64, u64)) {
            let mask = (1_u64 << 40) - 1;
            let member = |v: (u32, u8, u64, u64, u64)| BandMemberKey {
                generation: Generation(v.0), band: v.1, hash: BandHashPart(v.2 & mask), document: DocId(v.3),
            };
            ordered(member(a), member(b));
            let posting = |v: (u32, u8, u64, u64, u64)| PostingKey { term: TermId(v.0), block: BlockNumber(v.2 >> 16) };
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

#[cfg(test)]
mod kind_tests {
    use super::*;

    #[test]
    fn golden_names() {
        let kept = SnapshotKey::Kept("v1".to_owned());
        for (key, name) in [(SnapshotKey::Record("v1".to_owned()), "v1"), (kept, "v1\0kept")] {
            assert_eq!(key.to_bytes(), name.as_bytes());
            assert_eq!(SnapshotKey::decode(name.as_bytes()), Ok(key));
        }
        assert!(SnapshotKey::decode(b"v1\0other").is_err());
        for (key, name) in [
            (PlanKey::Record(7), "0000000007"),
            (PlanKey::Part(7, "wiki".to_owned()), "0000000007\0wiki"),
            (PlanKey::Marks(7, 30), "0000000007\0\0marks\x0000000000000000000030"),
        ] {
            assert_eq!(key.to_bytes(), name.as_bytes());
            assert_eq!(PlanKey::decode(name.as_bytes()), Ok(key));
        }
        for name in ["7", "v1", "", "0000000007\0\0marks\x0030"] {
            assert!(PlanKey::decode(name.as_bytes()).is_err(), "{name}");
        }
    }

    #[test]
    fn every_byte_is_one_kind_or_none() {
        for byte in 0..=u8::MAX {
            assert!(TextKind::from_byte(byte).is_none_or(|kind| kind.as_byte() == byte));
            assert!(BlockKind::from_byte(byte).is_none_or(|kind| kind.as_byte() == byte));
            assert!(RemovalPart::from_byte(byte).is_none_or(|part| part.as_byte() == byte));
            assert!(TokenizerPart::from_byte(byte).is_none_or(|part| part.as_byte() == byte));
        }
        assert_eq!([TextKind::Raw, TextKind::Normalised].map(TextKind::as_byte), [0, 1]);
        assert_eq!(BlockKind::ALL.map(BlockKind::as_byte), [0, 1, 2, 3]);
        assert_eq!(TokenizerPart::Original(0).as_byte(), 16);
    }
}

/// What a name may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Up to 200 bytes of anything that can be shown.
    Shown,
    /// Like `Shown`, for lists that are cut at commas and spaces.
    Listed,
    /// Up to 100 bytes of what needs no quotes where columns are named.
    Column,
}

/// Refuses a name that does not keep to its rule; `what` begins the message.
pub(crate) fn check_name(what: &str, name: &str, rule: NameRule) -> Result<(), StoreError> {
    let is_listed = |c: char| !c.is_control() && !c.is_whitespace() && c != ',';
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (longest, is_good, wanted) = match rule {
        NameRule::Shown => (
            200,
            !name.chars().any(char::is_control),
            "must have 1 to 200 bytes and no control characters",
        ),
        NameRule::Listed => (
            200,
            name.chars().all(is_listed),
            "must have 1 to 200 bytes, without commas, spaces and control characters",
        ),
        NameRule::Column => (
            100,
            name.chars().all(is_plain),
            "must be letters, digits, `_`, `-` or `.`, at most 100 bytes",
        ),
    };
    if is_good && !name.is_empty() && name.len() <= longest {
        return Ok(());
    }
    Err(StoreError::Name(format!("{what} {name:?} {wanted}")))
}
