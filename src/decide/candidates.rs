//! Candidates for being similar: found for many documents at once, then compared by sketch and by text.

use super::buckets::{CandidateLimits, look_up_kept};
use super::crowd::{CrowdIndex, CrowdMember};
use super::crowd_search::{PartialSearch, SketchedDocument, SkippedCandidates, closest, pass};
use super::error::DecideError;
use super::overlay::Overlay;
use crate::dedup::{Fingerprinter, Overlap, Sketch, estimate_floor};
use crate::model::{DocId, Interrupt, Match};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the store says about one document that is to be decided, found before its decision.
#[derive(Clone, Debug, Default)]
pub(super) struct CandidateLookup {
    /// Bucket keys, by band.
    pub(super) bands: Vec<u64>,
    /// What the store holds of each bucket: first member, and whether it is marked as having more.
    pub(super) buckets: Vec<Option<(DocId, bool)>>,
    /// Kept members the store has in each bucket that is not in the crowd: all were looked at.
    pub(super) taken: Vec<usize>,
    /// The best-ranked kept document of these that is similar and outranks this one.
    pub(super) nearest: Option<Match>,
    /// When there is none: similar kept documents of these that this one outranks.
    pub(super) outranked: Vec<DocId>,
    /// Buckets of which members were passed over.
    pub(super) capped: u64,
    /// Candidates passed over though their sketches are close enough.
    pub(super) passed: SkippedCandidates,
    /// Candidates whose sketch was compared, and those whose text was.
    pub(super) compared: u64,
    pub(super) verified: u64,
}

/// Looks documents up in the store, in parallel, with the standings of this moment. Buckets that are
/// found crowded come into the crowd, which is asked at the decision itself.
pub(super) fn prefetch(
    scene: &Overlay,
    crowd: &mut CrowdIndex,
    reach: CandidateLimits,
    wanted: Vec<SketchedDocument>,
    passed_by: &mut PartialSearch,
    interrupt: &Interrupt,
) -> Result<Vec<(DocId, CandidateLookup)>, DecideError> {
    let policy = scene.view.policy();
    let keys: Vec<&[u64]> = wanted.iter().map(|wanted| wanted.bands.as_slice()).collect();
    let found = look_up_kept(scene, crowd, reach, &keys)?;
    pass(scene, crowd, &found.partial, &wanted, passed_by, interrupt)?;
    let passed_by = &*passed_by;
    let crowd = &*crowd;
    wanted
        .into_par_iter()
        .zip(found.places)
        .with_min_len(8)
        .map_init(
            || Fingerprinter::new(policy),
            |craft, (wanted, places)| {
                let SketchedDocument { document, sketch, bands } = wanted;
                // The crowd tells of the members of these at the decision, whichever bucket they share.
                let asked = crowd.families_of((0..=u8::MAX).zip(bands.iter().copied()));
                let mut answer = CandidateLookup { bands, ..CandidateLookup::default() };
                let own = scene.rank(document)?;
                let (mut candidates, mut beyond) = (BTreeSet::new(), BTreeSet::new());
                for place in places {
                    let bucket = found.buckets.get(place as usize).and_then(Option::as_ref);
                    answer.buckets.push(bucket.map(|bucket| (bucket.first, bucket.more)));
                    let is_beyond = found.beyond.contains(&place);
                    let Some(bucket) = bucket else {
                        answer.taken.push(0);
                        continue;
                    };
                    answer.taken.push(if is_beyond { 0 } else { bucket.members.len() });
                    let into = if is_beyond { &mut beyond } else { &mut candidates };
                    let is_open = |other: &&DocId| {
                        **other != document
                            && !crowd.tells_of(&asked, **other)
                            && !passed_by.tells(document, **other)
                    };
                    for member in bucket.members.iter().filter(is_open) {
                        into.insert(scene.rank(*member)?);
                    }
                    answer.capped += u64::from(is_beyond && bucket.capped);
                }
                for member in passed_by.found(document).iter().filter(|one| scene.is_kept(**one)) {
                    candidates.insert(scene.rank(*member)?);
                }
                if !beyond.is_empty() {
                    let (close, passed) = closest(scene, &sketch, beyond, reach.verified)?;
                    candidates.extend(close);
                    answer.passed = passed;
                }
                let mut verifier = Verifier { scene, document, sketch: &sketch, own: None };
                for candidate in candidates {
                    let outranks = candidate < own;
                    if !outranks && answer.nearest.is_some() {
                        continue;
                    }
                    answer.compared += 1;
                    match verifier.verify(candidate.document, craft)? {
                        SimilarityVerdict::Far => {}
                        SimilarityVerdict::Different => answer.verified += 1,
                        SimilarityVerdict::Similar(matched) => {
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

/// What a comparison with one candidate came to.
pub(super) enum SimilarityVerdict {
    /// Too far apart by the sketches.
    Far,
    /// Below the threshold by the texts.
    Different,
    /// At or above it.
    Similar(Match),
}

/// Compares one document with candidates; its own shingles are made once, when first needed.
pub(super) struct Verifier<'a> {
    pub(super) scene: &'a Overlay,
    pub(super) document: DocId,
    pub(super) sketch: &'a Sketch,
    pub(super) own: Option<Arc<[u64]>>,
}

impl Verifier<'_> {
    pub(super) fn verify(
        &mut self,
        candidate: DocId,
        craft: &mut Fingerprinter,
    ) -> Result<SimilarityVerdict, DecideError> {
        let policy = self.scene.view.policy();
        let floor = estimate_floor(policy);
        let is_close = self
            .scene
            .sketch(candidate)?
            .is_some_and(|other| self.sketch.estimate(&other) >= floor);
        if !is_close {
            return Ok(SimilarityVerdict::Far);
        }
        let own = match &mut self.own {
            Some(own) => own,
            none => none.insert(self.scene.shingles(self.document, craft)?),
        };
        let other = self.scene.shingles(candidate, craft)?;
        Ok(match Overlap::at_least(own, &other, policy.threshold) {
            Some(overlap) => SimilarityVerdict::Similar(overlap.match_to(candidate)),
            None => SimilarityVerdict::Different,
        })
    }
}

impl Overlay {
    /// Reads stored documents and those of this commit with what is compared of them, in parallel; those too
    /// short for a sketch are left out.
    pub(super) fn entrants(&self, documents: &[DocId]) -> Result<Vec<CrowdMember>, DecideError> {
        let policy = self.view.policy();
        let read: Vec<Option<CrowdMember>> = documents
            .par_iter()
            .with_min_len(8)
            .map_init(
                || Fingerprinter::new(policy),
                |craft, document| {
                    let Some(sketch) = self.sketch(*document)? else { return Ok(None) };
                    let shingles = self.shingles(*document, craft)?;
                    Ok(Some(CrowdMember { document: *document, sketch, shingles }))
                },
            )
            .collect::<Result<_, DecideError>>()?;
        Ok(read.into_iter().flatten().collect())
    }
}
