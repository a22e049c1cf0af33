//! Candidates of a document from crowded buckets: those with more kept members than are compared one by one.
//!
//! [`CrowdIndex`] holds the members of most crowded buckets in memory and answers at once ([`CrowdSearch::ask`]). For a
//! bucket that it has no room for, limits decide. Without limits [`scan_buckets`] reads the members part by part, makes
//! a [`FamilyIndex`] of each part and asks it for all waiting documents: a bucket is read once for many of them. With
//! limits [`closest`] takes the members whose sketches agree best; decisions that leave others out are marked (`marks`).

use super::buckets::CandidateLimits;
use super::crowd::{CROWDED, CrowdIndex, CrowdMember, WHOLE, gather, share_a_bucket};
use super::overlay::Overlay;
use model::{BucketKey, DocId, Error, Interrupt, bucket_keys};
use roaring::RoaringTreemap;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use text::dedup::{FamilyIndex, FamilyQuery, Fingerprinter, Rank, Sketch, estimate_floor};

/// Documents read at once; the first of a part give its family the order.
const READ_AT_ONCE: usize = 256;

/// A sketched document to look up.
pub(super) struct SketchedDocument {
    pub(super) document: DocId,
    pub(super) sketch: Sketch,
    pub(super) bands: Vec<u64>,
}

/// Results of the scans of a commit. Buckets are scanned once for a document, unless more of its buckets become too
/// large: members that join later come by [`CrowdSearch::ask`], and who reads the candidates leaves departed ones out.
#[derive(Default)]
pub(super) struct BucketScans {
    /// The members that the last scan read, and the documents that it was made for.
    members: RoaringTreemap,
    documents: HashSet<DocId>,
    /// By document: the bands of the buckets scanned for it, and the members that may be similar.
    candidates: HashMap<DocId, (Vec<u8>, Vec<DocId>)>,
}

impl BucketScans {
    /// The members of scanned buckets that may be similar to a document.
    pub(super) fn candidates(&self, document: DocId) -> &[DocId] {
        self.candidates.get(&document).map_or(&[], |(_, members)| members.as_slice())
    }

    /// Whether the last scan looked at a member for a document: if the two may be similar, the document has it as a
    /// candidate.
    pub(super) fn was_scanned_for(&self, member: DocId, document: DocId) -> bool {
        self.members.contains(member.0) && self.documents.contains(&document)
    }
}

/// Scans the buckets `too_large`, sorted by key, for those of the `waiting` documents that they were not scanned for
/// before. Members that the crowd tells of are left out. A part takes as much room as the crowd has.
pub(super) fn scan_buckets(
    overlay: &Overlay,
    crowd: &mut CrowdIndex,
    too_large: &[BucketKey],
    waiting: &[SketchedDocument],
    scans: &mut BucketScans,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    scans.members.clear();
    scans.documents.clear();
    let policy = overlay.view.policy();
    let floor = estimate_floor(policy);
    let mut craft = Fingerprinter::new(policy);
    let is_too_large: HashSet<&BucketKey> = too_large.iter().collect();
    let mut new: Vec<&SketchedDocument> = Vec::new();
    for one in waiting {
        let keys = bucket_keys(&one.bands);
        let bands: Vec<u8> =
            keys.filter(|key| is_too_large.contains(key)).map(|(band, _)| band).collect();
        let scanned = scans.candidates.get(&one.document).map_or(&[][..], |(bands, _)| bands);
        if !bands.iter().all(|band| scanned.contains(band)) {
            scans.candidates.insert(one.document, (bands, Vec::new()));
            scans.documents.insert(one.document);
            new.push(one);
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    let mut sample: Vec<Arc<[u64]>> = Vec::new();
    for one in new.iter().take(READ_AT_ONCE) {
        sample.push(overlay.shingles(one.document, &mut craft)?);
    }
    // The documents that are decided now are the ones that will join.
    crowd.await_late(&sample);
    scans.members = unheld_members(overlay, crowd, too_large)?;
    let mut members = scans.members.iter().map(DocId);
    while let Some(mut part) = read_part(overlay, crowd, &mut members, policy.threshold, interrupt)?
    {
        for one in &new {
            let shingles = overlay.shingles(one.document, &mut craft)?;
            let sought = FamilyQuery { shingles: &shingles, sketch: &one.sketch, floor };
            for member in part.find(sought, |member| member != one.document) {
                let Some(sketch) = part.sketch(member) else { continue };
                let bands = overlay.band_keys(member, sketch)?;
                if share_a_bucket(&bands, &one.bands)
                    && let Some((_, candidates)) = scans.candidates.get_mut(&one.document)
                {
                    candidates.push(member);
                }
            }
        }
    }
    Ok(())
}

/// The kept members of these buckets that the crowd does not report to a look-up of the bucket.
fn unheld_members(
    overlay: &Overlay,
    crowd: &CrowdIndex,
    too_large: &[BucketKey],
) -> Result<RoaringTreemap, Error> {
    let mut unheld = RoaringTreemap::new();
    for keys in too_large.chunks(WHOLE) {
        let is_kept = |other| overlay.is_kept(other);
        let read = overlay.view.buckets_bulk(keys, usize::MAX, &is_kept)?;
        for (key, bucket) in keys.iter().zip(read) {
            let all = bucket.map(|bucket| bucket.members).unwrap_or_default();
            let is_held = |member: &DocId| crowd.has(key, *member);
            unheld.extend(all.into_iter().filter(|member| !is_held(member)).map(|member| member.0));
        }
    }
    Ok(unheld)
}

/// Reads a family of the next members, as many as there is room for; none when there are no more.
fn read_part(
    overlay: &Overlay,
    crowd: &CrowdIndex,
    members: &mut impl Iterator<Item = DocId>,
    threshold: f64,
    interrupt: &Interrupt,
) -> Result<Option<FamilyIndex>, Error> {
    gather(threshold, crowd.budget(), || {
        interrupt.check()?;
        let next: Vec<DocId> = members.by_ref().take(READ_AT_ONCE).collect();
        (!next.is_empty()).then(|| overlay.entrants(&next)).transpose()
    })
}

/// Candidates whose texts are not compared though their sketches are close enough.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SkippedCandidates {
    pub(super) count: u64,
    /// The one whose sketch agrees best.
    pub(super) example: Option<DocId>,
}

/// The `most` candidates whose sketches agree best, of those close enough to be compared; and how many are skipped.
pub(super) fn closest(
    overlay: &Overlay,
    sketch: &Sketch,
    candidates: BTreeSet<Rank>,
    most: usize,
) -> Result<(Vec<Rank>, SkippedCandidates), Error> {
    let floor = estimate_floor(overlay.view.policy());
    let mut close = Vec::new();
    for candidate in candidates {
        let estimate = overlay.sketch(candidate.document)?.map_or(0.0, |one| one.estimate(sketch));
        if estimate >= floor {
            close.push((estimate, candidate));
        }
    }
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let skipped = SkippedCandidates {
        count: close.len().saturating_sub(most) as u64,
        example: close.get(most).map(|(_, candidate)| candidate.document),
    };
    close.truncate(most);
    Ok((close.into_iter().map(|(_, candidate)| candidate).collect(), skipped))
}

/// Asks the crowd for the candidates of one document, and puts documents into it as they join buckets.
pub(super) struct CrowdSearch<'s> {
    pub(super) overlay: &'s Overlay,
    pub(super) crowd: &'s mut CrowdIndex,
    pub(super) craft: &'s mut Fingerprinter,
    pub(super) limits: CandidateLimits,
    /// Candidates skipped so far: the count grows.
    pub(super) skipped: &'s mut SkippedCandidates,
    /// Buckets read in part so far: the count grows.
    pub(super) capped: &'s mut u64,
}

impl CrowdSearch<'_> {
    /// Documents that joined these buckets earlier in this commit, but for buckets in the crowd; a bucket that has
    /// become crowded by them comes into it. `stored_counts`: kept members that the store has in each bucket.
    pub(super) fn joined_before(
        &mut self,
        keys: &[BucketKey],
        stored_counts: &[usize],
    ) -> Result<BTreeSet<DocId>, Error> {
        let mut documents = BTreeSet::new();
        let mut newly_crowded = Vec::new();
        for (key, stored) in keys.iter().zip(stored_counts) {
            let joined = self.overlay.local(*key);
            if joined.is_empty() || self.crowd.held(*key).is_some() {
                continue;
            }
            if stored + joined.len() > CROWDED {
                newly_crowded.push(*key);
            } else {
                documents.extend(joined.iter().copied());
            }
        }
        if !newly_crowded.is_empty() {
            self.absorb(&newly_crowded)?;
        }
        Ok(documents)
    }

    /// Takes buckets into the crowd, with the documents that joined them in this commit.
    fn absorb(&mut self, newly_crowded: &[BucketKey]) -> Result<(), Error> {
        for part in newly_crowded.chunks(WHOLE) {
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

    /// The members of the document's buckets `keys` that may be similar to it and that `admit` lets pass: those in the
    /// crowd, and of buckets that it has no room for the closest that joined in this commit.
    pub(super) fn ask(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        keys: &[BucketKey],
        admit: impl Fn(Rank) -> bool,
    ) -> Result<BTreeSet<Rank>, Error> {
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
        let own_bands: Vec<u64> = keys.iter().map(|(_, hash)| *hash).collect();
        let mut similar = self.crowd.find(&held, sought, admitted);
        similar.extend(self.crowd.find_late(sought, admitted));
        let mut candidates = BTreeSet::new();
        for other in similar {
            let Some(sketch) = self.overlay.sketch(other)? else { continue };
            let bands = self.overlay.band_keys(other, &sketch)?;
            if share_a_bucket(&bands, &own_bands) {
                candidates.insert(self.overlay.rank(other)?);
            }
        }
        candidates.extend(self.closest_joined(document, sketch, &held, &admit)?);
        let overlay = self.overlay;
        let is_kept = |other| overlay.is_kept(other);
        self.crowd.freshen(&held, is_kept, |_| None, &|part| overlay.entrants(part))?;
        Ok(candidates)
    }

    /// The closest of the documents that joined, in this commit, buckets that the crowd has no room for.
    fn closest_joined(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        held: &[BucketKey],
        admit: impl Fn(Rank) -> bool,
    ) -> Result<Vec<Rank>, Error> {
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
        let (close, skipped) = closest(self.overlay, sketch, joined, self.limits.verified)?;
        self.skipped.count += skipped.count;
        self.skipped.example = self.skipped.example.or(skipped.example);
        Ok(close)
    }

    /// Notes that a document is kept, and a member of its buckets from now on.
    pub(super) fn join(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        keys: &[BucketKey],
    ) -> Result<(), Error> {
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
