//! The keep order as numbers: which of two similar documents stays.

use crate::model::{DocId, hash_start};

/// A document's place in the keep order; the smaller one stays. Ties of what the order looks at are broken by a hash of
/// the text, so that the order of arrival does not decide, and then by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    place: u64,
    text: u64,
    /// The document, by the place in which it came.
    pub document: DocId,
}

impl Rank {
    /// Bytes of a rank.
    pub const LEN: usize = 24;

    /// The rank under the order `first`, where ids are ranks.
    #[must_use]
    pub const fn first(document: DocId) -> Self {
        Self { place: 0, text: 0, document }
    }

    /// The rank under an order that gives the document this place; `raw` is the hash of its raw bytes.
    #[must_use]
    pub const fn at(place: u64, raw: &[u8; 16], document: DocId) -> Self {
        Self { place, text: hash_start(raw), document }
    }

    /// The place under the order `longest`, of a text of so many characters.
    #[must_use]
    pub const fn place_of_length(chars: u64) -> u64 {
        !chars
    }

    /// The place under the order `source-priority` of a source: where it is named, or behind all that are.
    #[must_use]
    pub fn place_of_source(named: &[String], source: &str) -> u64 {
        let found = (0..).zip(named).find(|(_, name)| *name == source);
        found.map_or(named.len() as u64, |(at, _)| at)
    }

    /// The place under the order `field`, of a number in the integer form of columns; those without one come last.
    #[must_use]
    pub fn place_of_number(number: Option<i64>) -> u64 {
        // The sign bit turned makes the order of integers that of unsigned ones.
        number.map_or(u64::MAX, |n| !(n.cast_unsigned() ^ (1 << 63)))
    }

    /// Bytes in the order of ranks: place, text and document, each big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let parts = [self.place, self.text, self.document.0].map(u64::to_be_bytes);
        for (to, from) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
            *to = from;
        }
        bytes
    }

    /// The rank of these bytes; none unless there are [`Rank::LEN`].
    #[must_use]
    #[expect(clippy::big_endian_bytes, reason = "bytes are in the order of ranks")]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([place, text, document], []) = bytes.as_chunks::<8>() else { return None };
        let [place, text, document] = [place, text, document].map(|part| u64::from_be_bytes(*part));
        Some(Self { place, text, document: DocId(document) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_are_in_the_order_of_ranks(
            a in (0..3_u64, any::<[u8; 16]>(), 0..3_u64),
            b in (0..3_u64, any::<[u8; 16]>(), 0..3_u64),
        ) {
            let [a, b] = [a, b].map(|(place, raw, id)| Rank::at(place, &raw, DocId(id)));
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
            prop_assert_eq!(Rank::from_bytes(&a.to_bytes()), Some(a));
        }

        #[test]
        fn larger_numbers_come_first_and_none_last(a in any::<i64>(), b in any::<i64>()) {
            let place = |number| Rank::place_of_number(Some(number));
            prop_assert_eq!(place(a).cmp(&place(b)), b.cmp(&a));
            prop_assert!(place(a) <= Rank::place_of_number(None));
        }
    }
}
