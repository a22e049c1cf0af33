//! The keep order as numbers: which of two similar documents stays.

use model::{DocId, KeepOrder, hash64};

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
        Self { place, text: hash64(raw), document }
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

/// Computes ranks under one keep order.
#[derive(Clone, Debug)]
pub struct Ranker(KeepOrder);

impl Ranker {
    /// For documents under this order.
    pub fn new(keep: &KeepOrder) -> Self {
        Self(keep.clone())
    }

    /// Whether ids are ranks, so that a newcomer never outranks what is stored.
    pub const fn is_first(&self) -> bool {
        matches!(self.0, KeepOrder::First)
    }

    /// The place of a source under the order `source-priority`: where it is named, or behind all that are. Other orders
    /// do not ask.
    pub fn place_of_source(&self, source: &str) -> u64 {
        let KeepOrder::SourcePriority(named) = &self.0 else { return 0 };
        let found = (0..).zip(named).find(|(_, name)| *name == source);
        found.map_or(self.place_of_others(), |(at, _)| at)
    }

    /// The place of a source that the order `source-priority` does not name.
    pub const fn place_of_others(&self) -> u64 {
        match &self.0 {
            KeepOrder::SourcePriority(named) => named.len() as u64,
            _ => 0,
        }
    }

    /// The rank of a document with this hash of its raw bytes, this many characters, its source at this place, and this
    /// number in the order's field, in the integer form of columns.
    pub fn rank(
        &self,
        document: DocId,
        raw: &[u8; 16],
        chars: u64,
        source: u64,
        number: Option<i64>,
    ) -> Rank {
        let place = match &self.0 {
            KeepOrder::First => return Rank::first(document),
            KeepOrder::Longest => !chars,
            KeepOrder::SourcePriority(_) => source,
            KeepOrder::Field(_) => place_of_number(number),
        };
        Rank::at(place, raw, document)
    }
}

/// Larger numbers come first, and documents without one last.
fn place_of_number(number: Option<i64>) -> u64 {
    // The sign bit turned makes the order of integers that of unsigned ones.
    number.map_or(u64::MAX, |n| !(n.cast_unsigned() ^ (1 << 63)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_order_looks_at_its_own() {
        let names = ["wiki", "web"].map(str::to_owned).to_vec();
        let by_source = Ranker::new(&KeepOrder::SourcePriority(names));
        assert_eq!(["web", "wiki", "code"].map(|name| by_source.place_of_source(name)), [1, 0, 2]);
        assert_eq!(by_source.place_of_others(), 2);
        for (order, is_before) in [
            (KeepOrder::First, true),
            (KeepOrder::Longest, false),
            (KeepOrder::SourcePriority(vec![]), true),
            (KeepOrder::Field("year".into()), false),
        ] {
            let ranker = Ranker::new(&order);
            assert_eq!(ranker.is_first(), order == KeepOrder::First);
            assert_eq!(ranker.place_of_source("web"), 0);
            let short = ranker.rank(DocId(1), &[9; 16], 10, 1, None);
            let long = ranker.rank(DocId(2), &[5; 16], 20, 2, Some(2020));
            assert_eq!(short < long, is_before, "{order:?}");
        }
    }

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
            let place = |number| place_of_number(Some(number));
            prop_assert_eq!(place(a).cmp(&place(b)), b.cmp(&a));
            prop_assert!(place(a) <= place_of_number(None));
        }
    }
}
