//! Turns a histogram of lengths into items by size: full chunks of long documents, everything shorter, and fragments.

use super::{LengthHistogram, PackPolicy, RowPatterns, Segment};
use crate::epoch::recipe::PackKind;
use std::collections::BTreeMap;

/// The items of one pool, by the places they take up. An item is named by its size and its index below
/// [`Items::count`]; nothing is stored per whole document.
#[derive(Clone, Debug, Default)]
pub struct PackItems {
    sizes: BTreeMap<u32, SizeClass>,
    /// Tokens of its document between an item that fills a row and the next one.
    step: u32,
}

/// The items of one size: those of whole documents, then fragments.
#[derive(Clone, Debug, Default)]
struct SizeClass {
    shares: Vec<LengthShare>,
    fragments: Vec<Segment>,
}

/// The documents of one length that have items of a size.
#[derive(Clone, Copy, Debug)]
struct LengthShare {
    length: u32,
    /// First token of the first item within its document's effective sequence.
    offset: u32,
    /// Tokens of each item.
    tokens: u32,
    /// Items of the size a document has: full chunks may be several, a tail is one.
    per_document: u32,
    /// Items of the size up to and with this length.
    end: u64,
}

/// Where an item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackItem {
    /// An item of the document that has some rank among those of its length.
    Ranked {
        /// Effective length of its document.
        length: u32,
        /// Rank of its document among those of that length.
        rank: u64,
        /// First token of the item within the document's effective sequence.
        offset: u32,
        /// Its tokens.
        tokens: u32,
    },
    /// A part of a document.
    Part(Segment),
}

impl PackItem {
    /// Its tokens.
    #[must_use]
    pub const fn tokens(&self) -> u32 {
        match self {
            Self::Ranked { tokens, .. } => *tokens,
            Self::Part(fragment) => fragment.length,
        }
    }

    /// First token of the item within its document's effective sequence.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        match self {
            Self::Ranked { offset, .. } => *offset,
            Self::Part(fragment) => fragment.offset,
        }
    }
}

impl PackItems {
    /// The items of a pool with documents of these lengths and these fragments under `policy`. No
    /// fragment is longer than a row.
    #[must_use]
    pub fn of(histogram: &LengthHistogram, fragments: &[Segment], policy: &PackPolicy) -> Self {
        let mut items = Self { sizes: BTreeMap::new(), step: policy.step() };
        for (length, documents) in histogram {
            let (full, tail) = policy.full_rows(*length);
            let share = LengthShare {
                length: *length,
                offset: 0,
                tokens: policy.capacity,
                per_document: full,
                end: 0,
            };
            items.add(policy.capacity, share, *documents);
            let (offset, per_document) = (full * policy.step(), u32::from(tail > 0));
            let share = LengthShare { offset, tokens: tail, per_document, ..share };
            items.add(policy.slot(tail), share, *documents);
        }
        for fragment in fragments {
            let fragment = policy.in_row(*fragment);
            let class = items.sizes.entry(policy.slot(fragment.length)).or_default();
            class.fragments.push(fragment);
        }
        items
    }

    fn add(&mut self, size: u32, share: LengthShare, documents: u64) {
        if share.per_document == 0 || documents == 0 {
            return;
        }
        let class = self.sizes.entry(size).or_default();
        let end = class.ranked() + u64::from(share.per_document) * documents;
        class.shares.push(LengthShare { end, ..share });
    }

    /// Items of `size`.
    #[must_use]
    pub fn count(&self, size: u32) -> u64 {
        self.sizes.get(&size).map_or(0, SizeClass::count)
    }

    /// Sizes with their item counts, largest size first.
    pub fn descending(&self) -> impl Iterator<Item = (u32, u64)> + Clone + '_ {
        self.sizes.iter().rev().map(|(size, class)| (*size, class.count()))
    }

    /// Their rows, many at a time.
    #[must_use]
    pub fn patterns(&self, policy: &PackPolicy) -> RowPatterns {
        match policy.kind {
            PackKind::None => RowPatterns::single(self.descending()),
            _ => RowPatterns::pack(self.descending(), policy.capacity, policy.most_segments),
        }
    }

    /// Item `index` of `size`; none when there are not as many.
    #[must_use]
    pub fn locate(&self, size: u32, index: u64) -> Option<PackItem> {
        let class = self.sizes.get(&size)?;
        if let Some(fragment) = index.checked_sub(class.ranked()) {
            let fragment = class.fragments.get(usize::try_from(fragment).ok()?)?;
            return Some(PackItem::Part(*fragment));
        }
        let at = class.shares.partition_point(|share| share.end <= index);
        let share = class.shares.get(at)?;
        let before =
            at.checked_sub(1).and_then(|at| class.shares.get(at)).map_or(0, |share| share.end);
        let within = index - before;
        let per_document = u64::from(share.per_document);
        let chunk = u32::try_from(within % per_document).ok()?;
        let offset = share.offset + chunk * self.step;
        let (length, rank, tokens) = (share.length, within / per_document, share.tokens);
        Some(PackItem::Ranked { length, rank, offset, tokens })
    }
}

impl SizeClass {
    fn ranked(&self) -> u64 {
        self.shares.last().map_or(0, |share| share.end)
    }

    fn count(&self) -> u64 {
        self.ranked() + self.fragments.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::recipe::LongDocuments;
    use model::DocId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_cover_every_packed_token_once(
            lengths in proptest::collection::btree_map(1_u32..60, 1_u64..4, 1..12),
            rows in 2_u32..12,
            multiple in 1_u32..5,
            long in prop_oneof![Just(LongDocuments::Split), Just(LongDocuments::Truncate), Just(LongDocuments::Drop)],
            eos: bool,
            cut_eos: bool,
        ) {
            let (capacity, cut_eos) = (rows * multiple, eos && cut_eos);
            let policy =
                PackPolicy { kind: PackKind::BestFit, capacity, long, bos: false, eos, multiple, overlap: false, whole_rows: false, cut_eos, most_segments: None };
            let fragment = Segment {
                document: DocId(9),
                offset: 3,
                length: capacity - 1 - u32::from(cut_eos && capacity > 2),
                document_length: 100,
            };
            let items = PackItems::of(&lengths, &[fragment], &policy);
            let mut fragments = 0;
            let mut covered = BTreeMap::<(u32, u64), Vec<u32>>::new();
            for (size, count) in items.descending() {
                prop_assert_eq!(size % multiple, 0);
                for index in 0..count {
                    match items.locate(size, index).unwrap() {
                        PackItem::Part(found) => {
                            prop_assert_eq!(policy.of_document(found), fragment);
                            fragments += 1;
                        }
                        PackItem::Ranked { length, rank, offset, tokens } => {
                            prop_assert!(rank < lengths[&length]);
                            prop_assert_eq!(policy.slot(tokens), size);
                            let segment = Segment { document: DocId(1), offset, length: tokens, document_length: length };
                            prop_assert_eq!(cut_eos && segment.end() < length, policy.adds_eos(&segment));
                            let end = policy.of_document(segment).end();
                            covered.entry((length, rank)).or_default().extend(offset..end);
                        }
                    }
                }
                prop_assert_eq!(items.locate(size, count), None);
            }
            prop_assert_eq!(fragments, 1);
            for (length, documents) in &lengths {
                for rank in 0..*documents {
                    let mut tokens = covered.remove(&(*length, rank)).unwrap_or_default();
                    tokens.sort_unstable();
                    prop_assert!(tokens.into_iter().eq(0..policy.packed(*length)));
                }
            }
            prop_assert!(covered.is_empty());
        }
    }
}
