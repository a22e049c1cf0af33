//! Finding similar documents: buckets, then the sketch estimate, then the exact similarity.

use super::crowd::{CROWDED, Crowd, WHOLE};
use super::entrant::Entrant;
use super::error::DecideError;
use super::passes::{Looked, Wanted, pass};
use super::rank::Rank;
use super::scene::Scene;
use crate::dedup::{Fingerprinter, Sketch, estimate_floor, shared_at_least};
use crate::model::{DocId, Interrupt, Match, MatchKind, Policy};
use crate::store::{Bucket, View};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Members of a bucket, kept or not, that are read by each look-up. One of more is read whole, once a commit, and comes
/// into the crowd if enough of them are kept.
const BUSY: usize = 256;

/// How far is looked where the members of a crowded bucket are not in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Members read of such a bucket.
    pub(super) read: usize,
    /// Texts compared with of all of them: those whose sketches agree best.
    pub(super) verified: usize,
}

impl Reach {
    /// What a commit spends on a document. What is passed over is told.
    pub(super) const BOUNDED: Self = Self { read: 512, verified: 128 };
    /// Everything: what memory does not hold is passed part by part.
    pub(super) const ALL: Self = Self { read: usize::MAX, verified: usize::MAX };

    /// Whether nothing is passed over.
    pub(super) const fn is_all(self) -> bool {
        self.read == usize::MAX
    }

    /// Members linked to of a bucket in the transitive modes, beyond what they always look at.
    pub(super) const fn most(self) -> usize {
        if self.verified == usize::MAX { usize::MAX } else { 0 }
    }
}

/// What the store says about one document that is to be decided, found before its decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefetched {
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
    pub(super) passed: Passed,
    /// Candidates whose sketch was compared, and those whose text was.
    pub(super) compared: u64,
    pub(super) verified: u64,
}

/// Looks documents up in the store, in parallel, with the standings of this moment. Buckets that are
/// found crowded come into the crowd, which is asked at the decision itself.
pub(super) fn prefetch(
    scene: &Scene,
    crowd: &mut Crowd,
    reach: Reach,
    wanted: Vec<Wanted>,
    passed_by: &mut Looked,
    interrupt: &Interrupt,
) -> Result<Vec<(DocId, Prefetched)>, DecideError> {
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
                let Wanted { document, sketch, bands } = wanted;
                // The crowd tells of the members of these at the decision, whichever bucket they share.
                let asked = crowd.families_of((0..=u8::MAX).zip(bands.iter().copied()));
                let mut answer = Prefetched { bands, ..Prefetched::default() };
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

/// Candidates whose texts are not compared though their sketches are close enough.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    pub(super) count: u64,
    /// The closest of them.
    pub(super) example: Option<DocId>,
}

/// The `most` of these whose sketches agree best, of those that are close enough to be compared; and those
/// passed over.
pub(super) fn closest(
    scene: &Scene,
    sketch: &Sketch,
    candidates: BTreeSet<Rank>,
    most: usize,
) -> Result<(Vec<Rank>, Passed), DecideError> {
    let floor = estimate_floor(scene.view.policy());
    let mut close = Vec::new();
    for candidate in candidates {
        let estimate = scene.sketch(candidate.document)?.map_or(0.0, |one| one.estimate(sketch));
        if estimate >= floor {
            close.push((estimate, candidate));
        }
    }
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let passed = Passed {
        count: close.len().saturating_sub(most) as u64,
        example: close.get(most).map(|(_, candidate)| candidate.document),
    };
    close.truncate(most);
    Ok((close.into_iter().map(|(_, candidate)| candidate).collect(), passed))
}

/// Kept members of the buckets of many documents, each bucket looked up once.
struct Kept {
    /// Without the members of those that are whole in the crowd.
    buckets: Vec<Option<Bucket>>,
    places: Vec<Vec<u32>>,
    /// Places of crowded buckets that are not whole in the crowd.
    beyond: BTreeSet<u32>,
    /// These buckets, when they are passed part by part: then nothing of them was read.
    partial: Vec<(u8, u64)>,
}

fn look_up_kept(
    scene: &Scene,
    crowd: &mut Crowd,
    reach: Reach,
    keys: &[&[u64]],
) -> Result<Kept, DecideError> {
    let is_kept = |other| scene.is_kept(other);
    let (wanted, places) = sorted_keys(keys);
    let mut buckets = if crowd.knows_nothing() {
        scene.view.buckets_bulk(&wanted, BUSY, &|_| true)?
    } else {
        look_up_unknown(&scene.view, crowd, &wanted)?
    };
    let mut met = Vec::new();
    for (key, bucket) in wanted.iter().zip(&mut buckets) {
        let Some(bucket) = bucket else { continue };
        bucket.members.retain(|member| is_kept(*member));
        let is_crowded = bucket.capped || bucket.members.len() > CROWDED;
        if is_crowded && !crowd.knows(key.0, key.1) {
            met.push(*key);
        }
    }
    for part in met.chunks(WHOLE) {
        let whole = scene.view.buckets_bulk(part, usize::MAX, &is_kept)?;
        for (key, bucket) in part.iter().zip(whole) {
            let members = bucket.map(|bucket| bucket.members).unwrap_or_default();
            if members.len() > CROWDED {
                crowd.absorb(*key, &members, &|part| scene.entrants(part))?;
            } else {
                crowd.note_few(*key, &members);
            }
        }
    }
    let mut beyond = BTreeSet::new();
    let mut unheld = Vec::new();
    for ((at, key), bucket) in (0_u32..).zip(&wanted).zip(&mut buckets) {
        match (crowd.held(key.0, key.1), bucket) {
            (Some(held), Some(bucket)) if held.is_whole => bucket.members.clear(),
            (Some(_), Some(bucket)) => {
                bucket.members.clear();
                bucket.capped = false;
                beyond.insert(at);
                unheld.push(*key);
            }
            (None, Some(bucket)) => {
                if let Some(few) = crowd.few(key.0, key.1) {
                    bucket.members = few.iter().copied().filter(|one| is_kept(*one)).collect();
                    bucket.capped = false;
                }
            }
            (_, None) => {}
        }
    }
    if reach.is_all() {
        return Ok(Kept { buckets, places, beyond, partial: unheld });
    }
    if !unheld.is_empty() {
        let read = scene.view.buckets_bulk(&unheld, reach.read, &is_kept)?;
        for (at, bucket) in beyond.iter().zip(read) {
            if let Some(place) = buckets.get_mut(*at as usize) {
                *place = bucket;
            }
        }
    }
    Ok(Kept { buckets, places, beyond, partial: Vec::new() })
}

/// Looks sorted buckets up: the members of those that the crowd does not know, and of the others whether
/// there are any.
fn look_up_unknown(
    view: &View,
    crowd: &Crowd,
    wanted: &[(u8, u64)],
) -> Result<Vec<Option<Bucket>>, DecideError> {
    let (known, open): (Vec<_>, Vec<_>) =
        wanted.iter().partition(|(band, hash)| crowd.knows(*band, *hash));
    let mut known = known.iter().zip(view.buckets_bulk(&known, 0, &|_| true)?).peekable();
    let mut open = open.iter().zip(view.buckets_bulk(&open, BUSY, &|_| true)?).peekable();
    let answer = |key: &(u8, u64)| {
        let found = known.next_if(|(other, _)| *other == key).or_else(|| open.next());
        found.and_then(|(_, bucket)| bucket)
    };
    Ok(wanted.iter().map(answer).collect())
}

/// Buckets of many documents, each looked up once.
pub(super) struct Found {
    /// All distinct keys, ascending.
    pub(super) keys: Vec<(u8, u64)>,
    pub(super) buckets: Vec<Option<Bucket>>,
    /// Where among the buckets those of each document are, by band.
    pub(super) places: Vec<Vec<u32>>,
}

/// Looks the buckets of all documents up that `is_open` lets pass.
pub(super) fn look_up(
    view: &View,
    keys: &[&[u64]],
    is_open: &dyn Fn(u8, u64) -> bool,
    cap: usize,
    admit: &(dyn Fn(DocId) -> bool + Sync),
) -> Result<Found, DecideError> {
    let (keys, places) = sorted_keys(keys);
    let open: Vec<(u8, u64)> =
        keys.iter().copied().filter(|(band, hash)| is_open(*band, *hash)).collect();
    let mut read = open.iter().zip(view.buckets_bulk(&open, cap, admit)?).peekable();
    let mut answer = |key: &(u8, u64)| read.next_if(|(other, _)| *other == key)?.1;
    let buckets = keys.iter().map(&mut answer).collect();
    Ok(Found { keys, buckets, places })
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
    /// Reads stored documents and those of this commit with what is compared of them, in parallel; those too
    /// short for a sketch are left out.
    pub(super) fn entrants(&self, documents: &[DocId]) -> Result<Vec<Entrant>, DecideError> {
        let policy = self.view.policy();
        let read: Vec<Option<Entrant>> = documents
            .par_iter()
            .with_min_len(8)
            .map_init(
                || Fingerprinter::new(policy),
                |craft, document| {
                    let Some(sketch) = self.sketch(*document)? else { return Ok(None) };
                    let shingles = self.shingles(*document, craft)?;
                    Ok(Some(Entrant { document: *document, sketch, shingles }))
                },
            )
            .collect::<Result<_, DecideError>>()?;
        Ok(read.into_iter().flatten().collect())
    }
}
