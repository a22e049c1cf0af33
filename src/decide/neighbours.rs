//! Finding similar documents: buckets, then the sketch estimate, then the exact similarity.

use super::error::DecideError;
use super::rank::Rank;
use super::scene::Scene;
use crate::dedup::{Fingerprinter, Sketch, estimate_floor, shared_at_least};
use crate::model::{DocId, Match, MatchKind, Policy};
use crate::store::{Bucket, View};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Candidates looked at of one bucket: the first in rank order. What is passed over is counted.
pub(super) const BUCKET_CAP: usize = 128;

/// Members read of one bucket where ids are not ranks, to find the first in rank order among them.
const READ_CAP: usize = 1024;

/// What the store says about one document that is to be decided, found before any decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefetched {
    /// Bucket keys, by band.
    pub(super) bands: Vec<u64>,
    /// What the store holds of each bucket: first member, and whether it is marked as having more.
    pub(super) buckets: Vec<Option<(DocId, bool)>>,
    /// Admitted members the store has in each bucket, up to the cap.
    pub(super) taken: Vec<usize>,
    /// The best-ranked kept document that is similar and outranks this one.
    pub(super) nearest: Option<Match>,
    /// When there is none: similar kept documents that this one outranks.
    pub(super) outranked: Vec<DocId>,
    /// Buckets whose reading was capped.
    pub(super) capped: u64,
    /// Candidates whose sketch was compared, and those whose text was.
    pub(super) compared: u64,
    pub(super) verified: u64,
}

/// A sketched document to look up.
pub(super) struct Wanted {
    pub(super) document: DocId,
    pub(super) sketch: Sketch,
    pub(super) bands: Vec<u64>,
}

/// Looks documents up in the store, in parallel, with the standings of this moment.
pub(super) fn prefetch(
    scene: &Scene,
    wanted: Vec<Wanted>,
) -> Result<Vec<(DocId, Prefetched)>, DecideError> {
    let policy = scene.view.policy();
    let keys: Vec<&[u64]> = wanted.iter().map(|wanted| wanted.bands.as_slice()).collect();
    let admit = |other| scene.is_kept(other);
    let found = look_up(&scene.view, &keys, scene.read_cap(), &admit)?;
    wanted
        .into_par_iter()
        .zip(found.places)
        .with_min_len(8)
        .map_init(
            || Fingerprinter::new(policy),
            |craft, (wanted, places)| {
                let Wanted { document, sketch, bands } = wanted;
                let mut answer = Prefetched { bands, ..Prefetched::default() };
                let own = scene.rank(document)?;
                let mut candidates = BTreeSet::new();
                for place in places {
                    let bucket = found.buckets.get(place as usize).and_then(Option::as_ref);
                    answer.buckets.push(bucket.map(|bucket| (bucket.first, bucket.more)));
                    let (taken, capped) = scene.first_in_rank(bucket, &mut candidates)?;
                    answer.taken.push(taken);
                    answer.capped += u64::from(capped);
                }
                let mut verifier = Verifier { scene, document, sketch: &sketch, own: None };
                for candidate in candidates {
                    let outranks = candidate < own;
                    if candidate.document == document || (!outranks && answer.nearest.is_some()) {
                        continue;
                    }
                    answer.compared += 1;
                    match verifier.verify(candidate.document, craft)? {
                        Verdict::Far => {}
                        Verdict::Different => answer.verified += 1,
                        Verdict::Similar(matched) => {
                            answer.verified += 1;
                            if outranks {
                                answer.nearest = Some(matched);
                                break;
                            }
                            answer.outranked.push(candidate.document);
                        }
                    }
                }
                Ok((document, answer))
            },
        )
        .collect()
}

/// Buckets of many documents, each looked up once.
pub(super) struct Found {
    pub(super) buckets: Vec<Option<Bucket>>,
    /// Where among the buckets those of each document are, by band.
    pub(super) places: Vec<Vec<u32>>,
}

/// Looks the buckets of all documents up.
pub(super) fn look_up(
    view: &View,
    keys: &[&[u64]],
    cap: usize,
    admit: &(dyn Fn(DocId) -> bool + Sync),
) -> Result<Found, DecideError> {
    let (wanted, places) = sorted_keys(keys);
    let buckets = view.buckets_bulk(&wanted, cap, admit)?;
    Ok(Found { buckets, places })
}

/// All distinct bucket keys, ascending, and where in them those of each document are.
fn sorted_keys(keys: &[&[u64]]) -> (Vec<(u8, u64)>, Vec<Vec<u32>>) {
    let mut all: Vec<(u8, u64, u32)> =
        Vec::with_capacity(keys.iter().map(|bands| bands.len()).sum());
    for (document, bands) in (0..=u32::MAX).zip(keys) {
        all.extend((0..=u8::MAX).zip(*bands).map(|(band, hash)| (band, *hash, document)));
    }
    all.par_sort_unstable();
    let mut wanted: Vec<(u8, u64)> = Vec::with_capacity(all.len());
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

/// What a comparison with one candidate came to.
pub(super) enum Verdict {
    /// Too far apart by the sketches.
    Far,
    /// Below the threshold by the texts.
    Different,
    /// At or above it.
    Similar(Match),
}

/// Compares one document with candidates; its own shingles are made once, when first needed.
pub(super) struct Verifier<'a> {
    pub(super) scene: &'a Scene,
    pub(super) document: DocId,
    pub(super) sketch: &'a Sketch,
    pub(super) own: Option<Arc<[u64]>>,
}

impl Verifier<'_> {
    pub(super) fn verify(
        &mut self,
        candidate: DocId,
        craft: &mut Fingerprinter,
    ) -> Result<Verdict, DecideError> {
        let policy = self.scene.view.policy();
        let floor = estimate_floor(policy);
        let is_close = self
            .scene
            .sketch(candidate)?
            .is_some_and(|other| self.sketch.estimate(&other) >= floor);
        if !is_close {
            return Ok(Verdict::Far);
        }
        let own = match &mut self.own {
            Some(own) => own,
            none => none.insert(self.scene.shingles(self.document, craft)?),
        };
        let other = self.scene.shingles(candidate, craft)?;
        Ok(near(policy, own, candidate, &other).map_or(Verdict::Different, Verdict::Similar))
    }
}

/// The match of a document to a candidate, if they are similar.
fn near(policy: &Policy, own: &[u64], candidate: DocId, other: &[u64]) -> Option<Match> {
    let shared = shared_at_least(own, other, policy.threshold)?;
    Some(overlap(shared, own, candidate, other))
}

/// The match of a document to another with `shared` shingles in common.
pub(super) fn overlap(shared: u32, own: &[u64], witness: DocId, other: &[u64]) -> Match {
    let count = |shingles: &[u64]| u32::try_from(shingles.len()).unwrap_or(u32::MAX);
    Match {
        kind: MatchKind::Near,
        witness,
        shared,
        removed_shingles: count(own),
        witness_shingles: count(other),
    }
}

impl Scene {
    /// Members to read of a bucket so that the first in rank order are among them.
    pub(super) fn read_cap(&self) -> usize {
        if self.ranker.is_first() { BUCKET_CAP } else { READ_CAP }
    }

    /// Adds the first members of a bucket in rank order; how many, and whether some were passed over.
    fn first_in_rank(
        &self,
        bucket: Option<&Bucket>,
        candidates: &mut BTreeSet<Rank>,
    ) -> Result<(usize, bool), DecideError> {
        let Some(bucket) = bucket else { return Ok((0, false)) };
        let mut ranks = Vec::with_capacity(bucket.members.len());
        for member in &bucket.members {
            ranks.push(self.rank(*member)?);
        }
        ranks.sort_unstable();
        let capped = bucket.capped || ranks.len() > BUCKET_CAP;
        ranks.truncate(BUCKET_CAP);
        let taken = ranks.len();
        candidates.extend(ranks);
        Ok((taken, capped))
    }

    /// Documents of the store and of this commit that share a bucket with the sketch and are
    /// admitted, and the number of buckets that were capped.
    pub(super) fn candidates(
        &self,
        document: DocId,
        sketch: &Sketch,
        admit: impl Fn(DocId) -> bool,
    ) -> Result<(BTreeSet<Rank>, u64), DecideError> {
        let bands = self.band_keys(document, sketch)?;
        let keys: Vec<(u8, u64)> = (0..=u8::MAX).zip(bands).collect();
        let admit = |other| other != document && admit(other);
        let buckets = self.view.buckets(&keys, self.read_cap(), admit)?;
        let mut candidates = BTreeSet::new();
        let mut capped = 0;
        for ((band, hash), bucket) in keys.into_iter().zip(buckets) {
            let mut bucket = bucket.unwrap_or(Bucket {
                first: document,
                more: false,
                members: Vec::new(),
                capped: false,
            });
            bucket.members.extend(self.local(band, hash).iter().filter(|other| admit(**other)));
            bucket.members.sort_unstable();
            bucket.members.dedup();
            let (_, passed_over) = self.first_in_rank(Some(&bucket), &mut candidates)?;
            capped += u64::from(passed_over);
        }
        Ok((candidates, capped))
    }
}
