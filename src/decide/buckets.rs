//! The band buckets of a commit's documents: keys in one sorted run, each bucket read once and up to a limit.

use super::crowd::{CROWDED, CrowdIndex, WHOLE};
use super::overlay::Overlay;
use model::{BucketKey, BucketMap, DocId, Error, bucket_keys};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{BandBucket, View};
use text::dedup::Rank;

/// Members of a bucket, kept or not, that each look-up reads. A larger bucket is read whole, once a commit, and comes
/// into the crowd if enough of its members are kept.
const BUSY: usize = 256;

/// The limits of a search where the members of a crowded bucket are not in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct CandidateLimits {
    /// Members read of such a bucket.
    pub(super) read: usize,
    /// The number of texts that are compared: of the candidates whose sketches agree best.
    pub(super) verified: usize,
}

impl CandidateLimits {
    /// The limits of a document in an ordinary commit. Skipped members are reported.
    pub(super) const BOUNDED: Self = Self { read: 512, verified: 128 };
    /// Everything: buckets that memory does not hold are scanned part by part (`scan_buckets`).
    pub(super) const ALL: Self = Self { read: usize::MAX, verified: usize::MAX };

    /// Whether nothing is skipped.
    pub(super) const fn is_all(self) -> bool {
        self.read == usize::MAX
    }

    /// Members linked to of a bucket in the transitive modes, beyond what they always look at.
    pub(super) const fn most(self) -> usize {
        if self.verified == usize::MAX { usize::MAX } else { 0 }
    }
}

/// Kept members of the buckets of many documents, each bucket looked up once.
pub(super) struct KeptBuckets {
    /// The buckets, without the members of those that are whole in the crowd.
    pub(super) buckets: Vec<Option<BandBucket>>,
    pub(super) places: Vec<Vec<u32>>,
    /// Places of crowded buckets that are not whole in the crowd.
    pub(super) beyond: BTreeSet<u32>,
    /// The keys of buckets that are to be scanned: none of their members was read.
    pub(super) too_large: Vec<BucketKey>,
}

pub(super) fn look_up_kept(
    overlay: &Overlay,
    crowd: &mut CrowdIndex,
    reach: CandidateLimits,
    keys: &[&[u64]],
) -> Result<KeptBuckets, Error> {
    let is_kept = |other| overlay.is_kept(other);
    let (wanted, places) = sorted_keys(keys);
    let mut buckets = if crowd.knows_nothing() {
        overlay.view.buckets_bulk(&wanted, BUSY, &|_| true)?
    } else {
        look_up_unknown(&overlay.view, crowd, &wanted)?
    };
    let mut met = Vec::new();
    for (key, bucket) in wanted.iter().zip(&mut buckets) {
        let Some(bucket) = bucket else { continue };
        bucket.members.retain(|member| is_kept(*member));
        let is_crowded = bucket.capped || bucket.members.len() > CROWDED;
        if is_crowded && !crowd.knows(*key) {
            met.push(*key);
        }
    }
    for part in met.chunks(WHOLE) {
        let whole = overlay.view.buckets_bulk(part, usize::MAX, &is_kept)?;
        for (key, bucket) in part.iter().zip(whole) {
            let members = bucket.map(|bucket| bucket.members).unwrap_or_default();
            if members.len() > CROWDED {
                crowd.absorb(*key, &members, &|part| overlay.entrants(part))?;
            } else {
                crowd.note_few(*key, &members);
            }
        }
    }
    let mut beyond = BTreeSet::new();
    let mut unheld = Vec::new();
    for ((at, key), bucket) in (0_u32..).zip(&wanted).zip(&mut buckets) {
        match (crowd.held(*key), bucket) {
            (Some(held), Some(bucket)) if held.is_whole => bucket.members.clear(),
            (Some(_), Some(bucket)) => {
                bucket.members.clear();
                bucket.capped = false;
                beyond.insert(at);
                unheld.push(*key);
            }
            (None, Some(bucket)) => {
                if let Some(few) = crowd.few(*key) {
                    bucket.members = few.iter().copied().filter(|one| is_kept(*one)).collect();
                    bucket.capped = false;
                }
            }
            (_, None) => {}
        }
    }
    if reach.is_all() {
        return Ok(KeptBuckets { buckets, places, beyond, too_large: unheld });
    }
    if !unheld.is_empty() {
        let read = overlay.view.buckets_bulk(&unheld, reach.read, &is_kept)?;
        for (at, bucket) in beyond.iter().zip(read) {
            if let Some(place) = buckets.get_mut(*at as usize) {
                *place = bucket;
            }
        }
    }
    Ok(KeptBuckets { buckets, places, beyond, too_large: Vec::new() })
}

/// Looks sorted buckets up: the members of those that the crowd does not know, and of the others whether
/// there are any.
fn look_up_unknown(
    view: &View,
    crowd: &CrowdIndex,
    wanted: &[BucketKey],
) -> Result<Vec<Option<BandBucket>>, Error> {
    let (known, open): (Vec<_>, Vec<_>) = wanted.iter().partition(|key| crowd.knows(**key));
    let mut known = known.iter().zip(view.buckets_bulk(&known, 0, &|_| true)?).peekable();
    let mut open = open.iter().zip(view.buckets_bulk(&open, BUSY, &|_| true)?).peekable();
    let answer = |key: &BucketKey| {
        let found = known.next_if(|(other, _)| *other == key).or_else(|| open.next());
        found.and_then(|(_, bucket)| bucket)
    };
    Ok(wanted.iter().map(answer).collect())
}

/// The removed members of buckets, each with the rank of its witness, the worst-ranked first: each bucket is read once a
/// commit, as far as memory allows.
#[derive(Default)]
pub(super) struct FollowerCache {
    buckets: BucketMap<Arc<[(Rank, DocId)]>>,
    /// Members in these, and buckets.
    held: usize,
}

impl FollowerCache {
    /// Members that are held: some 32 MB.
    pub(super) const MOST: usize = 1 << 20;

    pub(super) fn of(&self, bucket: BucketKey) -> Option<&[(Rank, DocId)]> {
        self.buckets.get(&bucket).map(|members| &**members)
    }

    pub(super) fn remember(&mut self, bucket: BucketKey, members: Vec<(Rank, DocId)>) {
        if members.len() > Self::MOST {
            return;
        }
        if self.held + members.len() > Self::MOST {
            self.buckets.clear();
            self.held = 0;
        }
        self.held += members.len() + 1;
        self.buckets.insert(bucket, members.into());
    }
}

/// Buckets of many documents, each looked up once.
pub(super) struct CommitBuckets {
    /// All distinct keys, ascending.
    pub(super) keys: Vec<BucketKey>,
    pub(super) buckets: Vec<Option<BandBucket>>,
    /// For each document, the places of its buckets among `buckets`, by band.
    pub(super) places: Vec<Vec<u32>>,
}

/// Looks the buckets of all documents up that `is_open` lets pass.
pub(super) fn look_up(
    view: &View,
    keys: &[&[u64]],
    is_open: &dyn Fn(BucketKey) -> bool,
    cap: usize,
    admit: &(dyn Fn(DocId) -> bool + Sync),
) -> Result<CommitBuckets, Error> {
    let (keys, places) = sorted_keys(keys);
    let open: Vec<BucketKey> = keys.iter().copied().filter(|key| is_open(*key)).collect();
    let mut read = open.iter().zip(view.buckets_bulk(&open, cap, admit)?).peekable();
    let mut answer = |key: &BucketKey| read.next_if(|(other, _)| *other == key)?.1;
    let buckets = keys.iter().map(&mut answer).collect();
    Ok(CommitBuckets { keys, buckets, places })
}

/// All distinct bucket keys, ascending, and for each document the places of its keys.
fn sorted_keys(keys: &[&[u64]]) -> (Vec<BucketKey>, Vec<Vec<u32>>) {
    let mut all: Vec<(u8, u64, u32)> =
        Vec::with_capacity(keys.iter().map(|bands| bands.len()).sum());
    for (document, bands) in (0..=u32::MAX).zip(keys) {
        all.extend(bucket_keys(bands).map(|(band, hash)| (band, hash, document)));
    }
    all.par_sort_unstable();
    let mut wanted: Vec<BucketKey> = Vec::with_capacity(all.len());
    // A document's bands come in their order, because bands sort first.
    let mut places: Vec<Vec<u32>> =
        keys.iter().map(|bands| Vec::with_capacity(bands.len())).collect();
    for (band, hash, document) in all {
        if wanted.last() != Some(&(band, hash)) {
            wanted.push((band, hash));
        }
        if let Some(places) = places.get_mut(document as usize) {
            places.push(u32::try_from(wanted.len() - 1).unwrap_or(u32::MAX));
        }
    }
    (wanted, places)
}
