//! Finding similar kept documents: buckets, then the sketch estimate, then the exact similarity.

use super::error::DecideError;
use super::scene::{Scene, stored_sketch};
use crate::dedup::{Fingerprint, Fingerprinter, Sketch, bands, estimate_floor, shared_at_least};
use crate::model::{DocId, Match, MatchKind, Policy};
use crate::store::{Bucket, View};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Candidates read of one bucket: the first in rank order. What is passed over is counted.
pub(super) const BUCKET_CAP: usize = 128;

/// What the store says about one newcomer, found before any decision of this commit.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefetched {
    /// Bucket keys, by band.
    pub(super) bands: Vec<u64>,
    /// What the store holds of each bucket: first member, and whether it is marked as having more.
    pub(super) buckets: Vec<Option<(DocId, bool)>>,
    /// Kept members the store has in each bucket, up to the cap.
    pub(super) taken: Vec<usize>,
    /// The kept document of lowest id that is similar.
    pub(super) nearest: Option<Match>,
    /// Buckets whose reading was capped.
    pub(super) capped: u64,
    /// Candidates whose sketch was compared, and those whose text was.
    pub(super) compared: u64,
    pub(super) verified: u64,
}

/// Looks every newcomer up in the store, in parallel. `newcomers` are sketched ones.
pub(super) fn prefetch(
    view: &View,
    is_kept: &(dyn Fn(DocId) -> bool + Sync),
    newcomers: &[&Fingerprint],
) -> Result<Vec<Prefetched>, DecideError> {
    let policy = view.policy();
    let keys: Vec<Vec<u64>> = newcomers
        .par_iter()
        .map(|newcomer| {
            newcomer.sketch.as_ref().map(|sketch| bands(sketch, policy)).unwrap_or_default()
        })
        .collect();
    let (wanted, places) = sorted_keys(&keys);
    let found: Vec<Option<Bucket>> = wanted
        .par_chunks(4096)
        .map(|chunk| view.buckets(chunk, BUCKET_CAP, is_kept))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect();
    newcomers
        .par_iter()
        .zip(keys)
        .zip(places)
        .map_init(
            || Fingerprinter::new(policy),
            |craft, ((newcomer, bands), places)| {
                let mut answer = Prefetched::default();
                let mut candidates = BTreeSet::new();
                for place in places {
                    let bucket = found.get(place as usize).and_then(Option::as_ref);
                    answer.buckets.push(bucket.map(|bucket| (bucket.first, bucket.more)));
                    answer.taken.push(bucket.map_or(0, |bucket| bucket.members.len()));
                    answer.capped += u64::from(bucket.is_some_and(|bucket| bucket.capped));
                    candidates.extend(
                        bucket.into_iter().flat_map(|bucket| bucket.members.iter().copied()),
                    );
                }
                answer.bands = bands;
                if let Some(sketch) = &newcomer.sketch {
                    for candidate in candidates {
                        answer.compared += 1;
                        let Some(other) = stored_sketch(view, candidate)? else { continue };
                        if sketch.estimate(&other) < estimate_floor(policy) {
                            continue;
                        }
                        answer.verified += 1;
                        let shingles = craft.shingles(&view.text(candidate)?);
                        if let Some(matched) =
                            near(policy, &newcomer.shingles, candidate, &shingles)
                        {
                            answer.nearest = Some(matched);
                            break;
                        }
                    }
                }
                Ok(answer)
            },
        )
        .collect()
}

/// All distinct bucket keys, ascending, and where in them those of each newcomer are.
fn sorted_keys(keys: &[Vec<u64>]) -> (Vec<(u8, u64)>, Vec<Vec<u32>>) {
    let mut all: Vec<(u8, u64, u32)> = Vec::with_capacity(keys.iter().map(Vec::len).sum());
    for (newcomer, bands) in (0..=u32::MAX).zip(keys) {
        all.extend((0..=u8::MAX).zip(bands).map(|(band, hash)| (band, *hash, newcomer)));
    }
    all.par_sort_unstable();
    let mut wanted: Vec<(u8, u64)> = Vec::with_capacity(all.len());
    // A newcomer's bands come in their order, because bands sort first.
    let mut places: Vec<Vec<u32>> =
        keys.iter().map(|bands| Vec::with_capacity(bands.len())).collect();
    for (band, hash, newcomer) in all {
        if wanted.last() != Some(&(band, hash)) {
            wanted.push((band, hash));
        }
        if let Some(places) = places.get_mut(newcomer as usize) {
            places.push(u32::try_from(wanted.len() - 1).unwrap_or(u32::MAX));
        }
    }
    (wanted, places)
}

/// The match of a document to a candidate, if they are similar.
fn near(policy: &Policy, own: &[u64], candidate: DocId, other: &[u64]) -> Option<Match> {
    let shared = shared_at_least(own, other, policy.threshold)?;
    let count = |shingles: &[u64]| u32::try_from(shingles.len()).unwrap_or(u32::MAX);
    Some(Match {
        kind: MatchKind::Near,
        witness: candidate,
        shared,
        removed_shingles: count(own),
        witness_shingles: count(other),
    })
}

impl Scene {
    /// The kept document of lowest id below `document` that is similar to it, and the number of
    /// buckets that were capped.
    pub(super) fn lower_neighbour(
        &self,
        document: DocId,
        sketch: &Sketch,
        craft: &mut Fingerprinter,
    ) -> Result<(Option<Match>, u64), DecideError> {
        let (candidates, capped) =
            self.candidates(sketch, |other| other < document && self.is_kept(other))?;
        Ok((self.first_similar(document, sketch, candidates, craft)?, capped))
    }

    /// Kept documents above `document` that are similar to it.
    pub(super) fn higher_neighbours(
        &self,
        document: DocId,
        sketch: &Sketch,
        craft: &mut Fingerprinter,
    ) -> Result<Vec<DocId>, DecideError> {
        let (candidates, _) =
            self.candidates(sketch, |other| other > document && self.is_kept(other))?;
        let mut similar = Vec::new();
        for candidate in candidates {
            if self.first_similar(document, sketch, [candidate], craft)?.is_some() {
                similar.push(candidate);
            }
        }
        Ok(similar)
    }

    /// Documents that share a bucket with the sketch, in the store and in this commit.
    fn candidates(
        &self,
        sketch: &Sketch,
        admit: impl Fn(DocId) -> bool,
    ) -> Result<(BTreeSet<DocId>, u64), DecideError> {
        let keys: Vec<(u8, u64)> = (0..=u8::MAX).zip(bands(sketch, self.view.policy())).collect();
        let buckets = self.view.buckets(&keys, BUCKET_CAP, &admit)?;
        let mut candidates = BTreeSet::new();
        let mut capped = 0;
        for ((band, hash), bucket) in keys.into_iter().zip(buckets) {
            let mut members: BTreeSet<DocId> =
                self.local(band, hash).iter().copied().filter(|other| admit(*other)).collect();
            if let Some(bucket) = bucket {
                capped += u64::from(bucket.capped);
                members.extend(bucket.members);
            }
            capped += u64::from(members.len() > BUCKET_CAP);
            candidates.extend(members.into_iter().take(BUCKET_CAP));
        }
        Ok((candidates, capped))
    }

    /// The first of `candidates` that is similar to `document`.
    pub(super) fn first_similar(
        &self,
        document: DocId,
        sketch: &Sketch,
        candidates: impl IntoIterator<Item = DocId>,
        craft: &mut Fingerprinter,
    ) -> Result<Option<Match>, DecideError> {
        let policy = self.view.policy();
        let mut own = None;
        for candidate in candidates {
            let floor = estimate_floor(policy);
            let near_enough =
                self.sketch(candidate)?.is_some_and(|other| sketch.estimate(&other) >= floor);
            if !near_enough {
                continue;
            }
            let own = match &mut own {
                Some(own) => own,
                none => none.insert(self.shingles(document, craft)?),
            };
            let other = self.shingles(candidate, craft)?;
            if let Some(matched) = near(policy, own, candidate, &other) {
                return Ok(Some(matched));
            }
        }
        Ok(None)
    }
}
