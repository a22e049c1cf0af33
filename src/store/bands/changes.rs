//! What one commit does to buckets: members leave, then others join.

use super::look_up::Bucket;
use crate::model::{BucketMap, DocId};
use crate::store::rows::band_firsts::bucket_of;
use crate::store::rows::band_runs::{Entry, First};
use rayon::prelude::*;

/// The buckets that a commit changes, of one generation, as it leaves them.
#[derive(Default)]
pub struct BandChanges {
    buckets: BucketMap<Head>,
    /// Further members that join or leave.
    members: Vec<Entry>,
    /// One more than the highest band.
    bands: u32,
}

/// The first member of a bucket after the changes so far.
#[derive(Clone, Copy)]
struct Head {
    now: Option<First>,
    /// It had a member before the commit.
    was_held: bool,
}

/// Changes in the order of their entries.
pub(super) struct Sorted {
    pub(super) firsts: Vec<Entry>,
    pub(super) members: Vec<Entry>,
    /// Buckets with a member: how many more there are than before.
    pub(super) gained: i64,
    pub(super) bands: u32,
}

impl BandChanges {
    /// Members leave a bucket. `found` is the bucket as stored, with two of the members that stay, or as
    /// many as there are.
    pub(in crate::store) fn leave(
        &mut self,
        band: u8,
        hash: u64,
        found: &Bucket,
        leaving: impl Iterator<Item = DocId>,
    ) {
        let mut first_leaves = false;
        for document in leaving {
            if document == found.first {
                first_leaves = true;
            } else if found.more {
                // One that is no member is none afterwards either.
                self.members.push(Entry::of_member(bucket_of(band, hash), document, true));
            }
        }
        let head = if first_leaves { found.members.first().copied() } else { Some(found.first) };
        if first_leaves
            && found.more
            && let Some(heir) = head
        {
            // A first member is not listed among the further ones.
            self.members.push(Entry::of_member(bucket_of(band, hash), heir, true));
        }
        let now = head.map(|head| (head, found.more && found.members.len() > 1));
        if now != Some((found.first, found.more)) {
            self.set(band, hash, Head { now, was_held: true });
        }
    }

    /// A document joins its buckets. `stored` says of each what the store holds.
    pub(in crate::store) fn join(
        &mut self,
        document: DocId,
        hashes: &[u64],
        stored: &[Option<First>],
    ) {
        for (band, (hash, stored)) in (0..=u8::MAX).zip(hashes.iter().zip(stored)) {
            let known = self.buckets.get(&(band, *hash)).copied();
            let Head { now, was_held } =
                known.unwrap_or(Head { now: *stored, was_held: stored.is_some() });
            match now {
                None => self.set(band, *hash, Head { now: Some((document, false)), was_held }),
                Some((first, _)) if first == document => {}
                Some((first, marked)) => {
                    if !marked {
                        self.set(band, *hash, Head { now: Some((first, true)), was_held });
                    }
                    let bucket = bucket_of(band, *hash);
                    self.members.push(Entry::of_member(bucket, document, false));
                }
            }
        }
    }

    fn set(&mut self, band: u8, hash: u64, head: Head) {
        self.buckets.insert((band, hash), head);
        self.bands = self.bands.max(u32::from(band) + 1);
    }

    /// Entries that the changes come to.
    pub(super) fn entries(&self) -> usize {
        self.buckets.len() + self.members.len()
    }

    pub(super) fn into_sorted(mut self) -> Sorted {
        let mut gained = 0;
        let mut firsts = Vec::with_capacity(self.buckets.len());
        for ((band, hash), head) in &self.buckets {
            gained += i64::from(head.now.is_some()) - i64::from(head.was_held);
            if head.now.is_some() || head.was_held {
                firsts.push(Entry::of_first(bucket_of(*band, *hash), head.now));
            }
        }
        rayon::join(|| firsts.par_sort_unstable(), || self.members.par_sort_unstable());
        self.members.dedup();
        Sorted { firsts, members: self.members, gained, bands: self.bands }
    }
}
