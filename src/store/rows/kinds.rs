//! Kinds and parts that stand as one byte in keys.

use crate::model::DedupMode;
use crate::store::rows::header::Header;
use crate::store::rows::parts::Part;

/// Which form of a text an exact row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TextKind {
    /// As it came.
    Raw = 0,
    /// Normalised.
    Normalised = 1,
}

impl TextKind {
    /// The forms of a text by which documents are equal in a mode.
    #[must_use]
    pub const fn of_mode(mode: DedupMode) -> &'static [Self] {
        match mode {
            DedupMode::None => &[],
            DedupMode::Exact => &[Self::Raw],
            DedupMode::Witness | DedupMode::Components | DedupMode::Lsh => {
                &[Self::Raw, Self::Normalised]
            }
        }
    }

    /// The hash of a document's text in this form.
    #[must_use]
    pub const fn hash_of(self, header: &Header) -> [u8; 16] {
        match self {
            Self::Raw => header.raw,
            Self::Normalised => header.normalised,
        }
    }
}

/// What a removed document blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Blocked {
    /// Documents whose raw text has the hash.
    Text = 0,
    /// Documents whose identity is the hash.
    Identity = 1,
    /// Documents whose normalised text has the hash.
    Normalised = 2,
    /// Documents whose sketch has the hash among its own, and that are similar to the removed ones.
    Similar = 3,
}

impl Blocked {
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
    pub(in crate::store) const MOST_ORIGINALS: u8 = u8::MAX - ORIGINALS;

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

impl Blocked {
    pub(in crate::store) const fn as_byte(self) -> u8 {
        self as u8
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_byte() == byte)
    }
}

macro_rules! part {
    ($($name:ident),*) => {$(
        impl Part for $name {
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
part!(TextKind, Blocked, RemovalPart, TokenizerPart);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_one_kind_or_none() {
        for byte in 0..=u8::MAX {
            assert!(TextKind::from_byte(byte).is_none_or(|kind| kind.as_byte() == byte));
            assert!(Blocked::from_byte(byte).is_none_or(|kind| kind.as_byte() == byte));
            assert!(RemovalPart::from_byte(byte).is_none_or(|part| part.as_byte() == byte));
            assert!(TokenizerPart::from_byte(byte).is_none_or(|part| part.as_byte() == byte));
        }
        assert_eq!([TextKind::Raw, TextKind::Normalised].map(TextKind::as_byte), [0, 1]);
        assert_eq!(Blocked::ALL.map(Blocked::as_byte), [0, 1, 2, 3]);
        assert_eq!(TokenizerPart::Original(0).as_byte(), 16);
    }
}
