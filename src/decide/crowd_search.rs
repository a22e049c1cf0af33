//! Candidates of crowded buckets: asked of the crowd; where memory does not hold their members, by looking through them
//! part by part, each part a family of its own; or, where that is too much, the closest by their sketches.

use super::buckets::CandidateLimits;
use super::crowd::{CROWDED, CrowdIndex, CrowdMember, WHOLE, gather, share_a_bucket};
use super::error::DecideError;
use super::overlay::Overlay;
use model::{BucketKey, DocId, Interrupt, bucket_keys};
use roaring::RoaringTreemap;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use text::dedup::{FamilyIndex, FamilyQuery, Fingerprinter, Rank, Sketch, estimate_floor};

/// Documents read at once; the first of a part give it its order.
const READ: usize = 256;

/// A sketched document to look up.
pub(super) struct SketchedDocument {
    pub(super) document: DocId,
    pub(super) sketch: Sketch,
    pub(super) bands: Vec<u64>,
}

/// What was found by looking through crowded buckets in this commit.
#[derive(Default)]
pub(super) struct PartialSearch {
    /// Those who were examined last, and those who asked then.
    members: RoaringTreemap,
    asking: HashSet<DocId>,
    /// Of each document that ever asked the bands of the buckets that were looked through for it, and the members that
    /// may be similar to it. Documents that joined since are found elsewhere, and departed ones are marked: so nothing
    /// is looked through twice for a document.
    found: HashMap<DocId, (Vec<u8>, Vec<DocId>)>,
}

impl PartialSearch {
    /// The members that may be similar to a document, if it asked.
    pub(super) fn found(&self, document: DocId) -> &[DocId] {
        self.found.get(&document).map_or(&[], |(_, found)| found.as_slice())
    }

    /// Whether a document asked last, and so gets the other one if they are similar.
    pub(super) fn tells(&self, document: DocId, other: DocId) -> bool {
        self.members.contains(other.0) && self.asking.contains(&document)
    }
}

/// Looks through the kept members of these buckets, sorted by key, for those of `wanted` that are in any and did not
/// ask before, but for those that the crowd tells of. Each part is read once, and takes as much room as the crowd has.
pub(super) fn pass(
    overlay: &Overlay,
    crowd: &mut CrowdIndex,
    partial: &[BucketKey],
    wanted: &[SketchedDocument],
    passed: &mut PartialSearch,
    interrupt: &Interrupt,
) -> Result<(), DecideError> {
    passed.members.clear();
    passed.asking.clear();
    let policy = overlay.view.policy();
    let floor = estimate_floor(policy);
    let mut craft = Fingerprinter::new(policy);
    let is_partial: HashSet<&BucketKey> = partial.iter().collect();
    let mut asking: Vec<&SketchedDocument> = Vec::new();
    for one in wanted {
        let keys = bucket_keys(&one.bands);
        let bands: Vec<u8> =
            keys.filter(|key| is_partial.contains(key)).map(|(band, _)| band).collect();
        let known = passed.found.get(&one.document).map_or(&[][..], |(bands, _)| bands);
        if !bands.iter().all(|band| known.contains(band)) {
            passed.found.insert(one.document, (bands, Vec::new()));
            passed.asking.insert(one.document);
            asking.push(one);
        }
    }
    if asking.is_empty() {
        return Ok(());
    }
    let mut sample: Vec<Arc<[u64]>> = Vec::new();
    for one in asking.iter().take(READ) {
        sample.push(overlay.shingles(one.document, &mut craft)?);
    }
    // Those that are decided now are those that join.
    crowd.await_late(&sample);
    passed.members = members(overlay, crowd, partial)?;
    let mut members = passed.members.iter().map(DocId);
    while let Some(mut part) = read_part(overlay, crowd, &mut members, policy.threshold, interrupt)?
    {
        for one in &asking {
            let shingles = overlay.shingles(one.document, &mut craft)?;
            let sought = FamilyQuery { shingles: &shingles, sketch: &one.sketch, floor };
            for other in part.find(sought, |other| other != one.document) {
                let Some(sketch) = part.sketch(other) else { continue };
                let theirs = overlay.band_keys(other, sketch)?;
                if share_a_bucket(&theirs, &one.bands)
                    && let Some((_, found)) = passed.found.get_mut(&one.document)
                {
                    found.push(other);
                }
            }
        }
    }
    Ok(())
}

/// The kept members of the buckets that the crowd does not report to any of their look-ups.
fn members(
    overlay: &Overlay,
    crowd: &CrowdIndex,
    partial: &[BucketKey],
) -> Result<RoaringTreemap, DecideError> {
    let mut members = RoaringTreemap::new();
    for keys in partial.chunks(WHOLE) {
        let is_kept = |other| overlay.is_kept(other);
        let read = overlay.view.buckets_bulk(keys, usize::MAX, &is_kept)?;
        for (key, bucket) in keys.iter().zip(read) {
            let all = bucket.map(|bucket| bucket.members).unwrap_or_default();
            let told = |member: &DocId| crowd.has(key, *member);
            members.extend(all.into_iter().filter(|member| !told(member)).map(|member| member.0));
        }
    }
    Ok(members)
}

/// The next members, as many as there is room for; none when there are no more.
fn read_part(
    overlay: &Overlay,
    crowd: &CrowdIndex,
    members: &mut impl Iterator<Item = DocId>,
    threshold: f64,
    interrupt: &Interrupt,
) -> Result<Option<FamilyIndex>, DecideError> {
    gather(threshold, crowd.budget(), || {
        interrupt.check()?;
        let next: Vec<DocId> = members.by_ref().take(READ).collect();
        (!next.is_empty()).then(|| overlay.entrants(&next)).transpose()
    })
}

/// Candidates whose texts are not compared though their sketches are close enough.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SkippedCandidates {
    pub(super) count: u64,
    /// The closest of them.
    pub(super) example: Option<DocId>,
}

/// The `most` of these whose sketches agree best, of those that are close enough to be compared; and those skipped.
pub(super) fn closest(
    overlay: &Overlay,
    sketch: &Sketch,
    candidates: BTreeSet<Rank>,
    most: usize,
) -> Result<(Vec<Rank>, SkippedCandidates), DecideError> {
    let floor = estimate_floor(overlay.view.policy());
    let mut close = Vec::new();
    for candidate in candidates {
        let estimate = overlay.sketch(candidate.document)?.map_or(0.0, |one| one.estimate(sketch));
        if estimate >= floor {
            close.push((estimate, candidate));
        }
    }
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let passed = SkippedCandidates {
        count: close.len().saturating_sub(most) as u64,
        example: close.get(most).map(|(_, candidate)| candidate.document),
    };
    close.truncate(most);
    Ok((close.into_iter().map(|(_, candidate)| candidate).collect(), passed))
}

/// Asks the crowd for one document, and tells it of those that join.
pub(super) struct CrowdSearch<'s> {
    pub(super) overlay: &'s Overlay,
    pub(super) crowd: &'s mut CrowdIndex,
    pub(super) craft: &'s mut Fingerprinter,
    pub(super) limits: CandidateLimits,
    /// Candidates that are skipped, added to those so far.
    pub(super) skipped: &'s mut SkippedCandidates,
    /// Buckets that are read in part, added to those so far.
    pub(super) capped: &'s mut u64,
}

impl CrowdSearch<'_> {
    /// Kept documents that joined buckets of these in this commit, where all of them are examined. `taken` tells how
    /// many members the store has in each; with these too many, the bucket comes into the crowd.
    pub(super) fn joined_before(
        &mut self,
        keys: &[BucketKey],
        taken: &[usize],
    ) -> Result<BTreeSet<DocId>, DecideError> {
        let mut found = BTreeSet::new();
        let mut filled = Vec::new();
        for (key, taken) in keys.iter().zip(taken) {
            let joined = self.overlay.local(*key);
            if joined.is_empty() || self.crowd.held(*key).is_some() {
                continue;
            }
            if taken + joined.len() > CROWDED {
                filled.push(*key);
            } else {
                found.extend(joined.iter().copied());
            }
        }
        if !filled.is_empty() {
            self.absorb(&filled)?;
        }
        Ok(found)
    }

    /// Takes these buckets into the crowd, with those that joined them in this commit.
    fn absorb(&mut self, filled: &[BucketKey]) -> Result<(), DecideError> {
        for part in filled.chunks(WHOLE) {
            let overlay = self.overlay;
            let stored = overlay.view.buckets(part, usize::MAX, |other| overlay.is_kept(other))?;
            for (key, bucket) in part.iter().zip(stored) {
                let mut members: BTreeSet<DocId> =
                    bucket.map(|bucket| bucket.members).unwrap_or_default().into_iter().collect();
                members.extend(overlay.local(*key));
                let members: Vec<DocId> = members.into_iter().collect();
                self.crowd.absorb(*key, &members, &|part| overlay.entrants(part))?;
            }
        }
        Ok(())
    }

    /// Members of the crowd that share one of these buckets and may be similar, of those that `admit` lets
    /// pass; and of buckets that it has no room for, the closest that joined in this commit.
    pub(super) fn ask(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        keys: &[BucketKey],
        admit: impl Fn(Rank) -> bool,
    ) -> Result<BTreeSet<Rank>, DecideError> {
        if self.crowd.is_empty() {
            return Ok(BTreeSet::new());
        }
        let held = self.crowd.held_of(keys.iter().copied());
        if held.is_empty() {
            return Ok(BTreeSet::new());
        }
        let shingles = self.overlay.shingles(document, self.craft)?;
        let floor = estimate_floor(self.overlay.view.policy());
        let sought = FamilyQuery { shingles: &shingles, sketch, floor };
        let overlay = self.overlay;
        let admitted = |other: DocId| {
            other != document
                && overlay.is_kept(other)
                // An error counts as yes: it shows when the candidate is examined.
                && overlay.rank(other).map_or(true, &admit)
        };
        let own: Vec<u64> = keys.iter().map(|(_, hash)| *hash).collect();
        let mut found = self.crowd.find(&held, sought, admitted);
        found.extend(self.crowd.find_late(sought, admitted));
        let mut candidates = BTreeSet::new();
        for other in found {
            let Some(theirs) = self.overlay.sketch(other)? else { continue };
            let theirs = self.overlay.band_keys(other, &theirs)?;
            if share_a_bucket(&theirs, &own) {
                candidates.insert(self.overlay.rank(other)?);
            }
        }
        candidates.extend(self.joined_beyond(document, sketch, &held, &admit)?);
        let overlay = self.overlay;
        let is_kept = |other| overlay.is_kept(other);
        self.crowd.freshen(&held, is_kept, |_| None, &|part| overlay.entrants(part))?;
        Ok(candidates)
    }

    /// The closest of those that joined, in this commit, buckets that the crowd has no room for.
    fn joined_beyond(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        held: &[BucketKey],
        admit: impl Fn(Rank) -> bool,
    ) -> Result<Vec<Rank>, DecideError> {
        let mut joined = BTreeSet::new();
        for key in held.iter().filter(|key| !self.crowd.is_whole(**key)) {
            let members = self.overlay.local(*key);
            *self.capped += u64::from(members.len() > self.limits.read);
            for other in members.iter().take(self.limits.read) {
                let rank = self.overlay.rank(*other)?;
                if *other != document && self.overlay.is_kept(*other) && admit(rank) {
                    joined.insert(rank);
                }
            }
        }
        if joined.is_empty() {
            return Ok(Vec::new());
        }
        let (close, passed) = closest(self.overlay, sketch, joined, self.limits.verified)?;
        self.skipped.count += passed.count;
        self.skipped.example = self.skipped.example.or(passed.example);
        Ok(close)
    }

    /// The document is kept and in its buckets from now on.
    pub(super) fn join(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        keys: &[BucketKey],
    ) -> Result<(), DecideError> {
        if self.crowd.is_empty() {
            return Ok(());
        }
        let Self { overlay, crowd, craft, .. } = self;
        crowd.join(keys, || {
            let shingles = overlay.shingles(document, craft)?;
            Ok(CrowdMember { document, sketch: sketch.clone(), shingles })
        })
    }
}
