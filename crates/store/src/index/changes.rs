//! What one commit does to buckets: members leave, then others join.

use crate::index::bucket::bucket_of;
use crate::index::lookup::BandBucket;
use crate::index::run::{FirstMember, IndexEntry};
use model::{BucketMap, DocId};
use rayon::prelude::*;
use std::borrow::Cow;

/// The buckets that a commit changes, of one generation, as it leaves them.
#[derive(Default)]
pub struct BandBatch {
    /// The changes of even and of odd bands: no change concerns both, so both halves are made in parallel.
    halves: [HalfChanges; 2],
}

/// A document with the hashes of its bands, and of each bucket what the store holds of it.
pub struct BucketJoin<'a> {
    /// Who joins.
    pub document: DocId,
    /// One a band.
    pub hashes: &'a [u64],
    /// First member, and whether there are more; as many as hashes.
    pub stored: Cow<'a, [Option<FirstMember>]>,
}

#[derive(Default)]
struct HalfChanges {
    buckets: BucketMap<BucketHead>,
    /// Further members that join or leave.
    members: Vec<IndexEntry>,
    /// One more than the highest band.
    bands: u32,
}

/// The first member of a bucket after the changes so far.
#[derive(Clone, Copy)]
struct BucketHead {
    now: Option<FirstMember>,
    /// The bucket had a member before the commit.
    was_held: bool,
}

/// Changes in the order of their entries.
pub(crate) struct Sorted {
    pub(crate) firsts: Vec<IndexEntry>,
    pub(crate) members: Vec<IndexEntry>,
    /// Buckets with a member: how many more there are than before.
    pub(crate) gained: i64,
    pub(crate) bands: u32,
}

impl BandBatch {
    /// Members leave a bucket; see [`HalfChanges::leave`].
    pub(crate) fn leave(
        &mut self,
        band: u8,
        hash: u64,
        found: &BandBucket,
        leaving: impl Iterator<Item = DocId>,
    ) {
        let [even, odd] = &mut self.halves;
        let half = if band.is_multiple_of(2) { even } else { odd };
        half.leave(band, hash, found, leaving);
    }

    /// Documents join their buckets, in this order.
    pub(crate) fn join(&mut self, members: &[BucketJoin<'_>]) {
        let [even, odd] = &mut self.halves;
        rayon::join(|| even.join(members, 0), || odd.join(members, 1));
    }

    /// Entries that the changes come to.
    pub(crate) fn entries(&self) -> usize {
        self.halves.iter().map(|half| half.buckets.len() + half.members.len()).sum()
    }

    pub(crate) fn into_sorted(self) -> Sorted {
        let bands = self.halves.iter().map(|half| half.bands).max().unwrap_or(0);
        let (mut gained, mut firsts, mut members) = (0, Vec::new(), Vec::new());
        firsts.reserve(self.halves.iter().map(|half| half.buckets.len()).sum());
        for half in self.halves {
            for ((band, hash), head) in half.buckets {
                gained += i64::from(head.now.is_some()) - i64::from(head.was_held);
                if head.now.is_some() || head.was_held {
                    firsts.push(IndexEntry::of_first(bucket_of(band, hash), head.now));
                }
            }
            members.extend(half.members);
        }
        rayon::join(|| firsts.par_sort_unstable(), || members.par_sort_unstable());
        members.dedup();
        Sorted { firsts, members, gained, bands }
    }
}

impl HalfChanges {
    /// Members leave a bucket. `found` is the bucket as stored, with two of the members that stay, or as
    /// many as there are.
    fn leave(
        &mut self,
        band: u8,
        hash: u64,
        found: &BandBucket,
        leaving: impl Iterator<Item = DocId>,
    ) {
        let mut first_leaves = false;
        for document in leaving {
            if document == found.first {
                first_leaves = true;
            } else if found.more {
                // A document that is not a member is not one afterwards either.
                self.members.push(IndexEntry::of_member(bucket_of(band, hash), document, true));
            }
        }
        let head = if first_leaves { found.members.first().copied() } else { Some(found.first) };
        if first_leaves
            && found.more
            && let Some(heir) = head
        {
            // A first member is not listed among the further ones.
            self.members.push(IndexEntry::of_member(bucket_of(band, hash), heir, true));
        }
        let now = head.map(|head| (head, found.more && found.members.len() > 1));
        if now != Some((found.first, found.more)) {
            self.set(band, hash, BucketHead { now, was_held: true });
        }
    }

    /// Documents join those of their buckets whose bands leave this `rest` when halved.
    fn join(&mut self, members: &[BucketJoin<'_>], rest: usize) {
        let joins = members.iter().map(|it| it.hashes.len().saturating_sub(rest).div_ceil(2)).sum();
        self.buckets.reserve(joins);
        for BucketJoin { document, hashes, stored } in members {
            let buckets = (0..=u8::MAX).zip(hashes.iter().zip(stored.iter()));
            for (band, (hash, stored)) in buckets.skip(rest).step_by(2) {
                self.join_one(*document, (band, *hash), *stored);
            }
        }
    }

    fn join_one(&mut self, document: DocId, (band, hash): (u8, u64), stored: Option<FirstMember>) {
        let known = self.buckets.get(&(band, hash)).copied();
        let BucketHead { now, was_held } =
            known.unwrap_or(BucketHead { now: stored, was_held: stored.is_some() });
        match now {
            None => self.set(band, hash, BucketHead { now: Some((document, false)), was_held }),
            Some((first, _)) if first == document => {}
            Some((first, marked)) => {
                if !marked {
                    self.set(band, hash, BucketHead { now: Some((first, true)), was_held });
                }
                self.members.push(IndexEntry::of_member(bucket_of(band, hash), document, false));
            }
        }
    }

    fn set(&mut self, band: u8, hash: u64, head: BucketHead) {
        self.buckets.insert((band, hash), head);
        self.bands = self.bands.max(u32::from(band) + 1);
    }
}
