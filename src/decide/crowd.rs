//! The kept members of crowded buckets, joined by what is rare among them: kept in memory by the writer
//! from commit to commit, built of the store when they are first met, never stored.
//!
//! Which buckets are here, and since when, decides what a look-up costs and not what it finds: a document's
//! candidates are the kept members of its buckets, here or not.

use super::error::DecideError;
use crate::dedup::{Family, Sketch, Sought};
use crate::model::{BucketMap, DocId, Generation};
use crate::store::Batch;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Kept members from which a bucket is crowded: fewer are compared one by one.
pub(super) const CROWDED: usize = 128;
/// Members read at once to be put in; the first of them give a family its order.
const READ: usize = 1024;
/// Members looked at to tell which family a bucket is of.
const TOLD: usize = 64;

/// What is known of a crowded bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    family: u32,
    /// All its kept members are here. If not, there was no room for them.
    pub(super) is_whole: bool,
}

/// A document with what is compared of it.
pub(super) struct Entrant {
    pub(super) document: DocId,
    pub(super) sketch: Sketch,
    pub(super) shingles: Arc<[u64]>,
}

/// Reads documents; those too short for a sketch are left out.
pub(super) type Read<'r> = dyn Fn(&[DocId]) -> Result<Vec<Entrant>, DecideError> + 'r;

/// The crowded buckets that were met, and their members.
pub(super) struct Crowd {
    generation: Generation,
    threshold: f64,
    budget: usize,
    families: Vec<Family>,
    buckets: BucketMap<Held>,
    /// The family that each member came into first.
    homes: HashMap<DocId, u32>,
    bytes: usize,
    /// Members that are not kept any more.
    dead: usize,
    /// Something was put in since the last commit.
    is_changed: bool,
}

impl Crowd {
    /// The crowd that the last commit left, if it is of the generation that this one writes to.
    pub(super) fn take(batch: &Batch<'_>) -> Self {
        let (view, budget) = (batch.view(), batch.memory_aside());
        let left: Option<Self> = batch.take_aside();
        left.filter(|left| left.generation == view.generation()).unwrap_or_else(|| Self {
            generation: view.generation(),
            threshold: view.policy().threshold,
            budget,
            families: Vec::new(),
            buckets: BucketMap::default(),
            homes: HashMap::new(),
            bytes: 0,
            dead: 0,
            is_changed: false,
        })
    }

    /// Leaves the crowd to the next commit. `gone` are documents that are not kept any more: when they are
    /// the most, what is left is read again when it is met.
    pub(super) fn leave(mut self, batch: &mut Batch<'_>, gone: &[DocId]) {
        self.dead += gone.iter().filter(|document| self.homes.contains_key(document)).count();
        if !self.is_changed && self.dead == 0 {
            batch.return_aside(self);
        } else if 2 * self.dead <= self.homes.len() {
            self.is_changed = false;
            batch.leave_aside(self);
        }
    }

    /// Gives the crowd more room, for work that holds little else.
    pub(super) const fn widen(&mut self) {
        self.budget = self.budget.saturating_mul(4);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    pub(super) fn held(&self, band: u8, hash: u64) -> Option<Held> {
        self.buckets.get(&(band, hash)).copied()
    }

    fn has_room(&self) -> bool {
        self.bytes + self.homes.len() * 32 + self.buckets.len() * 32 < self.budget
    }

    /// Takes a bucket in. `members` are all its kept members.
    pub(super) fn absorb(
        &mut self,
        bucket: (u8, u64),
        members: &[DocId],
        read: &Read<'_>,
    ) -> Result<(), DecideError> {
        self.is_changed = true;
        let home = self.home_of(members);
        let mut missing: Vec<DocId> = match home.and_then(|at| self.families.get(at as usize)) {
            Some(family) => members.iter().copied().filter(|one| !family.contains(*one)).collect(),
            None => members.to_vec(),
        };
        missing.sort_unstable();
        let (is_new, mut home) = (home.is_none(), home);
        let mut is_whole = true;
        for part in missing.chunks(READ) {
            if !self.has_room() {
                is_whole = false;
                break;
            }
            let entrants = read(part)?;
            let at = match home {
                Some(at) => at,
                None => self.found(&entrants),
            };
            home = Some(at);
            is_whole &= entrants.into_iter().all(|entrant| self.put(at, entrant));
        }
        let family = match home {
            Some(at) => at,
            None => self.found(&[]),
        };
        if let Some(family) = self.families.get_mut(family as usize).filter(|_| is_new) {
            family.settle();
        }
        self.buckets.insert(bucket, Held { family, is_whole });
        Ok(())
    }

    /// The family that most of the members are of, if most are of one.
    fn home_of(&self, members: &[DocId]) -> Option<u32> {
        let step = members.len().div_ceil(TOLD).max(1);
        let mut homes: BTreeMap<u32, usize> = BTreeMap::new();
        for member in members.iter().step_by(step) {
            if let Some(home) = self.homes.get(member) {
                *homes.entry(*home).or_default() += 1;
            }
        }
        let (home, count) = homes.into_iter().max_by_key(|(home, count)| (*count, !*home))?;
        (2 * count * step >= members.len()).then_some(home)
    }

    /// Makes a family for documents like these.
    fn found(&mut self, entrants: &[Entrant]) -> u32 {
        let sample: Vec<&[u64]> = entrants.iter().map(|one| &*one.shingles).collect();
        let family = Family::new(self.threshold, &sample);
        self.bytes += family.bytes();
        self.families.push(family);
        u32::try_from(self.families.len() - 1).unwrap_or(u32::MAX)
    }

    /// Puts a document into a family; false when there is no room.
    fn put(&mut self, at: u32, entrant: Entrant) -> bool {
        if !self.has_room() {
            return false;
        }
        let Some(family) = self.families.get_mut(at as usize) else { return false };
        let before = family.bytes();
        family.insert(entrant.document, entrant.sketch, &entrant.shingles);
        self.bytes = (self.bytes + family.bytes()).saturating_sub(before);
        self.homes.entry(entrant.document).or_insert(at);
        true
    }

    /// A document joined these buckets: those that are here hear of it. One that it finds no room in is not
    /// whole from now on.
    pub(super) fn join(
        &mut self,
        buckets: &[(u8, u64)],
        entrant: impl Fn() -> Result<Entrant, DecideError>,
    ) -> Result<(), DecideError> {
        let held = buckets.iter().filter_map(|key| self.buckets.get(key));
        let families: BTreeSet<u32> =
            held.filter(|held| held.is_whole).map(|held| held.family).collect();
        for family in families {
            self.is_changed = true;
            if self.put(family, entrant()?) {
                continue;
            }
            for key in buckets {
                if let Some(held) = self.buckets.get_mut(key)
                    && held.family == family
                {
                    held.is_whole = false;
                }
            }
        }
        Ok(())
    }

    /// The members of the families of these buckets that `admit` lets pass and that may be similar: all that
    /// are, of those that are here.
    pub(super) fn find(
        &mut self,
        buckets: &[(u8, u64)],
        sought: Sought<'_>,
        admit: impl Fn(DocId) -> bool,
    ) -> BTreeSet<DocId> {
        let mut found = BTreeSet::new();
        for at in self.families_of(buckets.iter().copied()) {
            if let Some(family) = self.families.get_mut(at as usize) {
                found.extend(family.find(sought, &admit));
            }
        }
        found
    }

    /// The families that a look-up of these buckets asks.
    pub(super) fn families_of(&self, buckets: impl Iterator<Item = (u8, u64)>) -> BTreeSet<u32> {
        buckets.filter_map(|key| self.buckets.get(&key)).map(|held| held.family).collect()
    }

    /// Whether one of these families has the document: then [`Crowd::find`] tells of it, if it may be
    /// similar, and it need not be compared as a member of another bucket.
    pub(super) fn tells_of(&self, families: &BTreeSet<u32>, document: DocId) -> bool {
        let mut asked = families.iter().filter_map(|at| self.families.get(*at as usize));
        asked.any(|family| family.contains(document))
    }

    /// Makes those families of these buckets anew whose order no longer fits.
    pub(super) fn freshen(
        &mut self,
        buckets: &[(u8, u64)],
        is_kept: impl Fn(DocId) -> bool,
        read: &Read<'_>,
    ) -> Result<(), DecideError> {
        for at in self.families_of(buckets.iter().copied()) {
            let Some(family) = self.families.get(at as usize).filter(|family| family.is_stale())
            else {
                continue;
            };
            let members: Vec<DocId> =
                family.documents().iter().copied().filter(|one| is_kept(*one)).collect();
            let step = members.len().div_ceil(READ).max(1);
            let sample: Vec<DocId> = members.iter().copied().step_by(step).collect();
            let sample: Vec<Arc<[u64]>> =
                read(&sample)?.into_iter().map(|entrant| entrant.shingles).collect();
            let mut fresh = Family::new(self.threshold, &sample);
            for part in members.chunks(READ) {
                for Entrant { document, sketch, shingles } in read(part)? {
                    fresh.insert(document, sketch, &shingles);
                }
            }
            fresh.settle();
            self.is_changed = true;
            if let Some(family) = self.families.get_mut(at as usize) {
                self.bytes = (self.bytes + fresh.bytes()).saturating_sub(family.bytes());
                *family = fresh;
            }
        }
        Ok(())
    }
}
