//! Decides the texts of one component at each threshold: by verified pairs, and by shared buckets alone.
//!
//! The shingles of a text are made once for all thresholds, as far as there is room for them.

use super::buckets::{SizeSweep, part_of};
use super::tally::SweepTally;
use super::too_large;
use model::invariant::at;
use model::{DocId, Error, Policy};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use text::dedup::{
    DisjointSets, FamilyIndex, FamilyQuery, IndependentSet, MemberDecision, Overlap, Sketch,
    band_keys, estimate_floor,
};

/// Members from which kept ones are found by what is rare among them, and not one by one.
const CROWDED: usize = 128;
/// Members whose shingles tell what is rare.
const SAMPLE: usize = 1024;

/// What each threshold removes of all texts.
pub(super) fn tallies(sweep: &SizeSweep<'_>) -> Result<Vec<SweepTally>, Error> {
    let nothing = || vec![SweepTally::default(); sweep.policies.len()];
    let (components, alone) = sweep.components()?;
    let mut all = nothing();
    for text in alone {
        all.iter_mut().for_each(|tally| tally.add_equal(sweep.text(text).copies.into()));
    }
    let members: usize = components.iter().map(Vec::len).sum();
    let shingle = sweep.policies.first().map_or(0, |policy| policy.shingle);
    let stage = format!("comparing by {shingle}-token shingles");
    sweep.context.progress.begin(&stage, Some(members as u64));
    let done = AtomicU64::new(0);
    // Sums and sorted lists: the order in which components are added makes no difference.
    let found = components
        .par_iter()
        .try_fold(nothing, |mut all, members| {
            let found = ComponentSweep::new(sweep, members).tallies()?;
            all.iter_mut().zip(found).for_each(|(tally, found)| tally.add(found));
            let members = members.len() as u64;
            let before = done.fetch_add(members, Ordering::Relaxed);
            sweep.context.progress.advance(before + members);
            Ok::<_, Error>(all)
        })
        .try_reduce(nothing, |mut all, found| {
            all.iter_mut().zip(found).for_each(|(tally, found)| tally.add(found));
            Ok(all)
        })?;
    all.iter_mut().zip(found).for_each(|(tally, found)| tally.add(found));
    Ok(all)
}

/// Texts in the order of ranks, of which none shares a bucket with one that is not among them.
pub(super) struct ComponentSweep<'s> {
    sweep: &'s SizeSweep<'s>,
    members: &'s [usize],
    /// Of each member: without one, a text shares no bucket.
    sketches: Vec<&'s Sketch>,
    shingles: Vec<OnceLock<Arc<[u64]>>>,
}

impl<'s> ComponentSweep<'s> {
    pub(super) fn new(sweep: &'s SizeSweep<'s>, members: &'s [usize]) -> Self {
        let sketches = members.iter().filter_map(|text| sweep.sketch(*text)).collect();
        let shingles = members.iter().map(|_| OnceLock::new()).collect();
        Self { sweep, members, sketches, shingles }
    }

    /// What each threshold removes.
    pub(super) fn tallies(&self) -> Result<Vec<SweepTally>, Error> {
        self.sweep.policies.par_iter().map(|policy| self.tally(policy)).collect()
    }

    fn tally(&self, policy: &Policy) -> Result<SweepTally, Error> {
        let mut tally = SweepTally::default();
        self.verify(policy, &mut tally)?;
        self.link(policy, &mut tally)?;
        Ok(tally)
    }

    /// Mode `witness`: every member is compared with the kept ones before it that share a bucket with it.
    fn verify(&self, policy: &Policy, tally: &mut SweepTally) -> Result<(), Error> {
        let floor = estimate_floor(policy);
        let mut set = IndependentSet::default();
        let mut kept: Vec<usize> = Vec::new();
        let mut family = self.family(policy)?;
        let mut sizes = vec![0_u64; self.members.len()];
        for member in 0..self.members.len() {
            self.sweep.context.check_interrupt()?;
            let sketch = self.sketch(member);
            let candidates: Vec<usize> = match &mut family {
                Some(family) => {
                    let shingles = self.shingles(member)?;
                    let sought = FamilyQuery { shingles: &shingles, sketch, floor };
                    let mut found = family.find(sought, |_| true);
                    found.sort_unstable();
                    found.into_iter().filter_map(|one| usize::try_from(one.0).ok()).collect()
                }
                None => {
                    let is_close = |other: &usize| self.sketch(*other).estimate(sketch) >= floor;
                    kept.iter().copied().filter(is_close).collect()
                }
            };
            let similar = candidates
                .into_iter()
                .filter_map(|other| self.similar(member, other, policy).transpose());
            let copies = self.copies(member);
            let cluster = match set.decide(false, similar)? {
                MemberDecision::Removed(witness, overlap) => {
                    tally.verified.add_near(copies, overlap.jaccard());
                    witness
                }
                MemberDecision::Kept | MemberDecision::Unknown => {
                    tally.verified.add_equal(copies.into());
                    match &mut family {
                        Some(family) => self.insert(family, member, sketch)?,
                        None => kept.push(member),
                    }
                    member
                }
            };
            if let Some(size) = sizes.get_mut(cluster) {
                *size += u64::from(copies);
            }
        }
        sizes.into_iter().for_each(|size| tally.verified.add_cluster(size));
        Ok(())
    }

    /// Mode `lsh`: of all that shared buckets connect, the first is kept.
    fn link(&self, policy: &Policy, tally: &mut SweepTally) -> Result<(), Error> {
        let mut sets: DisjointSets<usize> = (0..self.members.len()).collect();
        self.sweep.join_buckets(self.members, policy, &mut sets)?;
        let mut sizes = vec![0_u64; self.members.len()];
        for member in 0..self.members.len() {
            let (kept, copies) = (sets.least(member).unwrap_or(member), self.copies(member));
            if let Some(size) = sizes.get_mut(kept) {
                *size += u64::from(copies);
            }
            if kept == member {
                tally.unverified.add_equal(copies.into());
                continue;
            }
            self.sweep.context.check_interrupt()?;
            let (own, others) = (self.shingles(member)?, self.shingles(kept)?);
            let overlap = Overlap::of(&own, &others);
            tally.unverified.add_near(copies, overlap.jaccard());
            if !overlap.reaches(policy.threshold) {
                tally.below += u64::from(copies);
            }
        }
        sizes.into_iter().for_each(|size| tally.unverified.add_cluster(size));
        Ok(())
    }

    /// An index of what is kept, if there are many members.
    fn family(&self, policy: &Policy) -> Result<Option<FamilyIndex>, Error> {
        if self.members.len() <= CROWDED {
            return Ok(None);
        }
        let step = self.members.len().div_ceil(SAMPLE);
        let sample = (0..self.members.len()).step_by(step).map(|member| self.shingles(member));
        let sample: Vec<Arc<[u64]>> = sample.collect::<Result<_, _>>()?;
        Ok(Some(FamilyIndex::new(policy.threshold, &sample)))
    }

    fn insert(
        &self,
        family: &mut FamilyIndex,
        member: usize,
        sketch: &Sketch,
    ) -> Result<(), Error> {
        family.insert(DocId(member as u64), sketch.clone(), &self.shingles(member)?);
        let at_once = rayon::current_num_threads().min(self.sweep.policies.len()).max(1);
        let (bytes, most) = (family.bytes(), part_of(self.sweep.context, 4) / at_once);
        if bytes > most {
            let bytes = (bytes / family.len().max(1)).saturating_mul(self.members.len());
            let what = format!("{} texts that shared buckets connect", self.members.len());
            return Err(too_large(&what, bytes as u64, most as u64));
        }
        Ok(())
    }

    /// The other member and the overlap with it, if it is similar: by its text, and by a bucket that both are in.
    fn similar(
        &self,
        member: usize,
        other: usize,
        policy: &Policy,
    ) -> Result<Option<(usize, Overlap)>, Error> {
        let (own, others) = (self.shingles(member)?, self.shingles(other)?);
        let overlap = Overlap::at_least(&own, &others, policy.threshold);
        Ok(overlap.filter(|_| self.share_a_bucket(member, other, policy)).map(|it| (other, it)))
    }

    fn share_a_bucket(&self, member: usize, other: usize, policy: &Policy) -> bool {
        let keys = |member: usize| {
            let source = self.sweep.text(*at(self.members, member)).source;
            band_keys(self.sketch(member), policy, source)
        };
        keys(member).iter().zip(&keys(other)).any(|(one, other)| one == other)
    }

    fn sketch(&self, member: usize) -> &Sketch {
        at::<&Sketch>(&self.sketches, member)
    }

    fn copies(&self, member: usize) -> u32 {
        self.sweep.text(*at(self.members, member)).copies
    }

    /// The shingles of a member, made once if there is room.
    fn shingles(&self, member: usize) -> Result<Arc<[u64]>, Error> {
        let held = at(&self.shingles, member);
        if let Some(shingles) = held.get() {
            return Ok(Arc::clone(shingles));
        }
        let document = self.sweep.text(*at(self.members, member)).document;
        let text = self.sweep.view.compared_text(document)?;
        let shingles: Arc<[u64]> = self.sweep.craft.clone().shingles(&text).into();
        let bytes = size_of_val(&*shingles);
        let take = |room: usize| room.checked_sub(bytes);
        if self.sweep.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
            && held.set(Arc::clone(&shingles)).is_err()
        {
            // Another threshold made them at the same time.
            self.sweep.room.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(shingles)
    }
}

impl Drop for ComponentSweep<'_> {
    fn drop(&mut self) {
        let held = self.shingles.iter().filter_map(OnceLock::get);
        let bytes = held.map(|shingles| size_of_val(&**shingles)).sum();
        self.sweep.room.fetch_add(bytes, Ordering::Relaxed);
    }
}
