//! A histogram of lengths as items by size: full chunks of long documents, and everything shorter.

use super::{Histogram, Policy};
use std::collections::BTreeMap;

/// The items of one source, by size. An item is named by its size and its index below
/// [`Items::count`]; nothing is stored per item.
#[derive(Clone, Debug, Default)]
pub struct Items {
    sizes: BTreeMap<u32, Vec<Share>>,
    capacity: u32,
}

/// The documents of one length that have items of a size.
#[derive(Clone, Copy, Debug)]
struct Share {
    length: u32,
    /// Tokens packed of each document.
    packed: u32,
    /// Items of the size a document has: full chunks may be several, a tail is one.
    per_document: u32,
    /// Items of the size up to and with this length.
    end: u64,
}

/// Where an item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Effective length of its document.
    pub length: u32,
    /// Rank of its document among those of that length.
    pub rank: u64,
    /// First token of the item within the document's effective sequence.
    pub offset: u32,
}

impl Items {
    /// The items of a source with these lengths under `policy`.
    #[must_use]
    pub fn of(histogram: &Histogram, policy: &Policy) -> Self {
        let mut items = Self { sizes: BTreeMap::new(), capacity: policy.capacity };
        for (length, documents) in histogram {
            let packed = policy.packed(*length);
            let (full, tail) = (packed / policy.capacity, packed % policy.capacity);
            items.add(policy.capacity, *length, packed, full, *documents);
            items.add(tail, *length, packed, u32::from(tail > 0), *documents);
        }
        items
    }

    fn add(&mut self, size: u32, length: u32, packed: u32, per_document: u32, documents: u64) {
        if per_document == 0 || documents == 0 {
            return;
        }
        let shares = self.sizes.entry(size).or_default();
        let before = shares.last().map_or(0, |share| share.end);
        let end = before + u64::from(per_document) * documents;
        shares.push(Share { length, packed, per_document, end });
    }

    /// Items of `size`.
    #[must_use]
    pub fn count(&self, size: u32) -> u64 {
        self.sizes.get(&size).and_then(|shares| shares.last()).map_or(0, |share| share.end)
    }

    /// Sizes with their item counts, largest size first.
    pub fn descending(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.sizes.keys().rev().map(|size| (*size, self.count(*size)))
    }

    /// Item `index` of `size`; none when there are not as many.
    #[must_use]
    pub fn locate(&self, size: u32, index: u64) -> Option<Item> {
        let shares = self.sizes.get(&size)?;
        let at = shares.partition_point(|share| share.end <= index);
        let share = shares.get(at)?;
        let before = at.checked_sub(1).and_then(|at| shares.get(at)).map_or(0, |share| share.end);
        let within = index - before;
        let per_document = u64::from(share.per_document);
        let chunk = u32::try_from(within % per_document).ok()?;
        let offset =
            if size == self.capacity { chunk * self.capacity } else { share.packed - size };
        Some(Item { length: share.length, rank: within / per_document, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::recipe::{Long, PackKind};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_cover_every_packed_token_once(
            lengths in proptest::collection::btree_map(1_u32..60, 1_u64..4, 1..12),
            capacity in 2_u32..12,
            long in prop_oneof![Just(Long::Split), Just(Long::Truncate), Just(Long::Drop)],
            eos: bool,
        ) {
            let policy = Policy { kind: PackKind::BestFit, capacity, long, bos: false, eos };
            let items = Items::of(&lengths, &policy);
            let mut covered = std::collections::BTreeMap::<(u32, u64), Vec<u32>>::new();
            for (size, count) in items.descending() {
                for index in 0..count {
                    let item = items.locate(size, index).unwrap();
                    prop_assert!(item.rank < lengths[&item.length]);
                    covered.entry((item.length, item.rank)).or_default().extend(item.offset..item.offset + size);
                }
                prop_assert_eq!(items.locate(size, count), None);
            }
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
