//! Finds candidates for similarity, for many documents at once, and compares them by sketch and by text.

use super::buckets::{CandidateLimits, FollowerCache, look_up_kept};
use super::crowd::{CrowdIndex, CrowdMember};
use super::crowd_search::{
    BucketScans, CrowdSearch, SketchedDocument, SkippedCandidates, closest, scan_buckets,
};
use super::decision::DecisionCounts;
use super::overlay::Overlay;
use model::{DocId, Error, Interrupt, Match, Policy, bucket_keys};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use text::dedup::{Fingerprinter, Overlap, Rank, Sketch, estimate_floor};

/// The results of a look-up in the store for one document, made before its decision.
#[derive(Clone, Debug, Default)]
pub(super) struct CandidateLookup {
    /// Bucket keys, by band.
    pub(super) bands: Vec<u64>,
    /// What the store holds of each bucket: first member, and whether it is marked as having more.
    pub(super) buckets: Vec<Option<(DocId, bool)>>,
    /// Kept members the store has in each bucket that is not in the crowd: all were examined.
    pub(super) stored_counts: Vec<usize>,
    /// The best-ranked kept member of these buckets that is similar and outranks this document.
    pub(super) nearest: Option<Match>,
    /// Similar kept members that this document outranks, where none is nearest.
    pub(super) outranked: Vec<DocId>,
    /// Buckets with skipped members.
    pub(super) capped: u64,
    /// Candidates skipped though their sketches are close enough.
    pub(super) skipped: SkippedCandidates,
    /// Candidates that were compared.
    pub(super) counts: DecisionCounts,
}

/// Finds candidates for the documents of a commit: by the store and the crowd, within limits.
pub(super) struct CandidateFinder {
    pub(super) craft: Fingerprinter,
    pub(super) prefetched: HashMap<DocId, CandidateLookup>,
    pub(super) crowd: CrowdIndex,
    /// Scans of buckets that memory does not hold.
    scans: BucketScans,
    pub(super) followers: FollowerCache,
    pub(super) limits: CandidateLimits,
    /// Candidates that the decision being made skipped.
    pub(super) skipped: SkippedCandidates,
}

impl CandidateFinder {
    /// A finder under this policy, with the crowd that is known.
    pub(super) fn new(policy: &Policy, crowd: CrowdIndex) -> Self {
        Self {
            craft: Fingerprinter::new(policy),
            prefetched: HashMap::new(),
            crowd,
            scans: BucketScans::default(),
            followers: FollowerCache::default(),
            limits: CandidateLimits::BOUNDED,
            skipped: SkippedCandidates::default(),
        }
    }

    /// Whether what the store says about the document is known. It holds as long as the one found stays: others
    /// can only have gone, and those that came are among the buckets of this commit.
    pub(super) fn is_looked_up(&self, overlay: &Overlay, document: DocId) -> bool {
        self.prefetched
            .get(&document)
            .is_some_and(|found| found.nearest.is_none_or(|one| overlay.is_kept(one.witness)))
    }

    /// Looks documents up in the store; answers how many were compared.
    pub(super) fn look_up(
        &mut self,
        overlay: &Overlay,
        wanted: Vec<SketchedDocument>,
        interrupt: &Interrupt,
    ) -> Result<DecisionCounts, Error> {
        let (crowd, scans) = (&mut self.crowd, &mut self.scans);
        let mut counts = DecisionCounts::default();
        for (document, answer) in prefetch(overlay, crowd, self.limits, wanted, scans, interrupt)? {
            counts += answer.counts;
            self.prefetched.insert(document, answer);
        }
        Ok(counts)
    }

    /// The search in the crowd, for the decision being made.
    pub(super) const fn crowd_search<'s>(
        &'s mut self,
        overlay: &'s Overlay,
        capped: &'s mut u64,
    ) -> CrowdSearch<'s> {
        CrowdSearch {
            overlay,
            crowd: &mut self.crowd,
            craft: &mut self.craft,
            limits: self.limits,
            skipped: &mut self.skipped,
            capped,
        }
    }

    /// The first of the candidates that is similar to a document.
    pub(super) fn first_similar(
        &mut self,
        overlay: &Overlay,
        (document, sketch): (DocId, &Sketch),
        candidates: impl IntoIterator<Item = Rank>,
        counts: &mut DecisionCounts,
    ) -> Result<Option<Match>, Error> {
        let mut verifier = Verifier::new(overlay, document, sketch);
        let mut found = None;
        for candidate in candidates {
            found = verifier.verify(candidate.document, &mut self.craft)?;
            if found.is_some() {
                break;
            }
        }
        *counts += verifier.counts;
        Ok(found)
    }
}

/// Looks documents up in the store, in parallel, with the standings of this moment. Crowded buckets come into the
/// crowd, which is searched at the decision itself.
fn prefetch(
    overlay: &Overlay,
    crowd: &mut CrowdIndex,
    reach: CandidateLimits,
    wanted: Vec<SketchedDocument>,
    scans: &mut BucketScans,
    interrupt: &Interrupt,
) -> Result<Vec<(DocId, CandidateLookup)>, Error> {
    let policy = overlay.view.policy();
    let keys: Vec<&[u64]> = wanted.iter().map(|wanted| wanted.bands.as_slice()).collect();
    let found = look_up_kept(overlay, crowd, reach, &keys)?;
    scan_buckets(overlay, crowd, &found.too_large, &wanted, scans, interrupt)?;
    let scans = &*scans;
    let crowd = &*crowd;
    wanted
        .into_par_iter()
        .zip(found.places)
        .with_min_len(8)
        .map_init(
            || Fingerprinter::new(policy),
            |craft, (wanted, places)| {
                let SketchedDocument { document, sketch, bands } = wanted;
                // The crowd gives the members of these families at the decision, whichever bucket they share.
                let asked = crowd.families_of(bucket_keys(&bands));
                let mut answer = CandidateLookup { bands, ..CandidateLookup::default() };
                let own = overlay.rank(document)?;
                let (mut candidates, mut beyond) = (BTreeSet::new(), BTreeSet::new());
                for place in places {
                    let bucket = found.buckets.get(place as usize).and_then(Option::as_ref);
                    answer.buckets.push(bucket.map(|bucket| (bucket.first, bucket.more)));
                    let is_beyond = found.beyond.contains(&place);
                    let Some(bucket) = bucket else {
                        answer.stored_counts.push(0);
                        continue;
                    };
                    answer.stored_counts.push(if is_beyond { 0 } else { bucket.members.len() });
                    let into = if is_beyond { &mut beyond } else { &mut candidates };
                    let is_open = |other: &&DocId| {
                        **other != document
                            && !crowd.tells_of(&asked, **other)
                            && !scans.was_scanned_for(**other, document)
                    };
                    for member in bucket.members.iter().filter(is_open) {
                        into.insert(overlay.rank(*member)?);
                    }
                    answer.capped += u64::from(is_beyond && bucket.capped);
                }
                for member in scans.candidates(document).iter().filter(|one| overlay.is_kept(**one))
                {
                    candidates.insert(overlay.rank(*member)?);
                }
                if !beyond.is_empty() {
                    let (close, skipped) = closest(overlay, &sketch, beyond, reach.verified)?;
                    candidates.extend(close);
                    answer.skipped = skipped;
                }
                let mut verifier = Verifier::new(overlay, document, &sketch);
                // Candidates that outrank the document come first.
                for candidate in candidates {
                    let Some(matched) = verifier.verify(candidate.document, craft)? else {
                        continue;
                    };
                    if candidate < own {
                        answer.nearest = Some(matched);
                        break;
                    }
                    answer.outranked.push(candidate.document);
                }
                answer.counts = verifier.counts;
                Ok((document, answer))
            },
        )
        .collect()
}

/// Compares one document with candidates, and counts them; its own shingles are made once, when first needed.
pub(super) struct Verifier<'a> {
    overlay: &'a Overlay,
    document: DocId,
    sketch: &'a Sketch,
    own: Option<Arc<[u64]>>,
    /// Candidates whose sketches were compared, and those whose texts were.
    pub(super) counts: DecisionCounts,
}

impl<'a> Verifier<'a> {
    pub(super) fn new(overlay: &'a Overlay, document: DocId, sketch: &'a Sketch) -> Self {
        Self { overlay, document, sketch, own: None, counts: DecisionCounts::default() }
    }

    /// The match to a candidate whose text is similar; none is made of texts whose sketches are too far apart.
    pub(super) fn verify(
        &mut self,
        candidate: DocId,
        craft: &mut Fingerprinter,
    ) -> Result<Option<Match>, Error> {
        let policy = self.overlay.view.policy();
        self.counts.compared += 1;
        let other = self.overlay.sketch(candidate)?;
        if other.is_none_or(|other| self.sketch.estimate(&other) < estimate_floor(policy)) {
            return Ok(None);
        }
        self.counts.verified += 1;
        let own = match &mut self.own {
            Some(own) => own,
            none => none.insert(self.overlay.shingles(self.document, craft)?),
        };
        let other = self.overlay.shingles(candidate, craft)?;
        let overlap = Overlap::at_least(own, &other, policy.threshold);
        Ok(overlap.map(|overlap| overlap.match_to(candidate)))
    }
}

impl Overlay {
    /// Reads sketches and shingles of stored documents and of those of this commit, in parallel; documents too short
    /// for a sketch are left out.
    pub(super) fn entrants(&self, documents: &[DocId]) -> Result<Vec<CrowdMember>, Error> {
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
            .collect::<Result<_, Error>>()?;
        Ok(read.into_iter().flatten().collect())
    }
}
