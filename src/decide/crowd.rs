//! An in-memory index of the kept members of crowded buckets, joined by their rare shingles.
//!
//! The writer keeps it from commit to commit. It is built from the store when a crowded bucket is first met, and never
//! stored. Which buckets are held, and since when, decides what a look-up costs and not what it finds: a document's
//! candidates are the kept members of its buckets, held or not. In mode `components` members are those that are
//! eligible, and of a cluster of many only some are held until others are needed (`cluster_labels`).

use super::cluster_labels::{ClusterLabels, PartialClusters};
use model::{BucketKey, BucketMap, DocId, Error, Generation};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use store::CommitBatch;
use text::dedup::{FamilyIndex, FamilyQuery, Sketch};

/// Kept members beyond which a bucket is crowded. Members of smaller buckets are compared one by one, except members
/// that a crowded bucket of the same document has as well: the crowd says which of these may be similar
/// ([`CrowdIndex::tells_of`]).
pub(super) const CROWDED: usize = 128;
/// Crowded buckets whose members are read whole at once: each may have as many as there are documents.
pub(super) const WHOLE: usize = 8;
/// Members that are read and added at once; the first ones give a family its order.
const READ: usize = 1024;
/// Members looked at to tell which family a bucket is of.
const TOLD: usize = 64;

/// Bytes of a bucket or of a member's home in their tables, about.
const ROW: usize = 32;

/// A crowded bucket as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct CrowdBucket {
    /// None when there was no room for a family of its members.
    pub(super) family: Option<u32>,
    /// Whether all its kept members are held. If not, there was no room for them.
    pub(super) is_whole: bool,
}

/// The crowded buckets that were met, and their members.
pub(super) struct CrowdIndex {
    generation: Generation,
    threshold: f64,
    budget: usize,
    /// Whether the crowd was made with more room than a commit has otherwise.
    is_wide: bool,
    pub(super) families: Vec<FamilyIndex>,
    pub(super) buckets: BucketMap<CrowdBucket>,
    /// The family that each member came into first.
    pub(super) homes: HashMap<DocId, u32>,
    bytes: usize,
    /// Members that are not kept any more.
    dead: usize,
    /// Something was put in since the last commit.
    pub(super) is_changed: bool,
    /// In mode `components`: the cluster of each member, and the clusters that are held in part.
    pub(super) labels: ClusterLabels,
    pub(super) shallow: PartialClusters,
    /// Documents that joined buckets in this commit that are not whole, while such buckets are scanned.
    late: Option<FamilyIndex>,
    /// The kept members of large buckets with few kept members, as this commit read them. Such buckets are not
    /// crowded: a family of so few would be in no good order for later members.
    few: BucketMap<Box<[DocId]>>,
    /// The bytes of `few`.
    few_bytes: usize,
}

impl CrowdIndex {
    /// The crowd that the last commit left, if it is of the generation that this one writes to.
    pub(super) fn of(left: Option<Self>, batch: &CommitBatch<'_>) -> Self {
        let (view, budget) = (batch.view(), batch.carry_over_budget());
        match left.filter(|left| left.generation == view.generation()) {
            // The room is this commit's, whatever the last one had.
            Some(left) => Self { budget, is_changed: false, ..left },
            None => Self::new(view.generation(), view.policy().threshold, budget),
        }
    }

    fn new(generation: Generation, threshold: f64, budget: usize) -> Self {
        Self {
            generation,
            threshold,
            budget,
            is_wide: false,
            families: Vec::new(),
            buckets: BucketMap::default(),
            homes: HashMap::new(),
            bytes: 0,
            dead: 0,
            is_changed: false,
            labels: ClusterLabels::default(),
            shallow: PartialClusters::default(),
            late: None,
            few: BucketMap::default(),
            few_bytes: 0,
        }
    }

    /// Says which documents are not kept any more.
    pub(super) fn forget_gone(&mut self, gone: &[DocId]) {
        let dead = gone.iter().filter(|document| self.homes.contains_key(document)).count();
        self.dead += dead;
        self.is_changed |= dead > 0;
    }

    /// Whether it is another than the one that was left by the last commit.
    pub(super) const fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// The index that is left to the next commit: none when most of its members are not kept any more and take room
    /// that others need; the kept ones will be read again when they are met.
    pub(super) fn leave(mut self) -> Option<Self> {
        self.late = None;
        self.shallow.end();
        self.few = BucketMap::default();
        self.few_bytes = 0;
        if 2 * ROW * self.buckets.len() > self.budget {
            self.forget_partial();
        }
        let is_waste = (2 * self.dead > self.homes.len() || self.labels.is_waste())
            && 4 * self.bytes() > self.budget;
        (!is_waste).then_some(self)
    }

    /// Gives the crowd of this commit twice the room, for work that holds little else. Buckets that found none
    /// may find some now.
    pub(super) fn widen(&mut self) {
        self.budget = self.budget.saturating_mul(2);
        self.is_wide = true;
        if self.has_room() {
            self.forget_partial();
            self.shallow.try_again();
        }
    }

    /// Forgets everything when it was made with more room than this commit has, and takes it.
    pub(super) fn shrink(&mut self) {
        if self.is_wide && self.bytes() > self.budget {
            *self = Self::new(self.generation, self.threshold, self.budget);
            self.is_changed = true;
        }
        self.is_wide = false;
    }

    fn forget_partial(&mut self) {
        self.is_changed = true;
        self.buckets.retain(|_, held| held.is_whole);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Whether there is no bucket that it [knows](Self::knows).
    pub(super) fn knows_nothing(&self) -> bool {
        self.buckets.is_empty() && self.few.is_empty()
    }

    pub(super) fn held(&self, bucket: BucketKey) -> Option<CrowdBucket> {
        self.buckets.get(&bucket).copied()
    }

    /// The buckets among these that the crowd has, with all members or in part.
    pub(super) fn held_of(&self, buckets: impl IntoIterator<Item = BucketKey>) -> Vec<BucketKey> {
        buckets.into_iter().filter(|bucket| self.buckets.contains_key(bucket)).collect()
    }

    /// Whether a look-up of the bucket gets all its members.
    pub(super) fn is_whole(&self, bucket: BucketKey) -> bool {
        self.held(bucket).is_some_and(|held| held.is_whole)
    }

    /// Notes the kept members of a bucket that need not be read again in this commit, because they are few.
    pub(super) fn note_few(&mut self, bucket: BucketKey, members: &[DocId]) {
        if self.few.insert(bucket, members.into()).is_none() {
            self.few_bytes += ROW + size_of_val(members);
        }
    }

    /// The kept members of a bucket that was noted as having few.
    pub(super) fn few(&self, bucket: BucketKey) -> Option<&[DocId]> {
        self.few.get(&bucket).map(|members| &**members)
    }

    /// Whether the kept members of a bucket need not be read, for one reason or the other.
    pub(super) fn knows(&self, bucket: BucketKey) -> bool {
        self.held(bucket).is_some() || self.few.contains_key(&bucket)
    }

    /// Bytes that are held, about.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.homes.len() + self.buckets.len();
        self.bytes
            + self.few_bytes
            + self.labels.bytes()
            + self.shallow.bytes()
            + rows * ROW
            + self.families.len() * size_of::<FamilyIndex>()
    }

    /// Bytes that may be held.
    pub(super) const fn budget(&self) -> usize {
        self.budget
    }

    fn has_room(&self) -> bool {
        self.bytes() < self.budget
    }

    /// Takes a bucket in. `members` are all its kept members.
    pub(super) fn absorb(
        &mut self,
        bucket: BucketKey,
        members: &[DocId],
        read: &ReadMembers<'_>,
    ) -> Result<(), Error> {
        self.is_changed = true;
        let mut home = self.home_of(members);
        let is_new = home.is_none();
        let mut missing: Vec<DocId> = match self.family(home) {
            Some(family) => members.iter().copied().filter(|one| !family.contains(*one)).collect(),
            None => members.to_vec(),
        };
        missing.sort_unstable();
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
            is_whole &= entrants.into_iter().all(|entrant| self.put(at, None, entrant));
        }
        // Documents that join later need a family to join, also when the bucket has no member yet.
        let home = home.or_else(|| is_whole.then(|| self.found(&[])));
        if is_new
            && let Some(at) = home
            && let Some(family) = self.families.get_mut(at as usize)
        {
            family.settle();
        }
        self.buckets.insert(bucket, CrowdBucket { family: home, is_whole });
        Ok(())
    }

    pub(super) fn family(&self, at: Option<u32>) -> Option<&FamilyIndex> {
        self.families.get(at? as usize)
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
    fn found(&mut self, entrants: &[CrowdMember]) -> u32 {
        let family = family_like(self.threshold, entrants);
        self.bytes += family.bytes();
        self.families.push(family);
        u32::try_from(self.families.len() - 1).unwrap_or(u32::MAX)
    }

    /// Puts a document into a family; false when there is no room.
    pub(super) fn put(&mut self, at: u32, group: Option<u32>, entrant: CrowdMember) -> bool {
        let has_room = self.has_room();
        let Some(family) = self.families.get_mut(at as usize) else { return false };
        if family.contains(entrant.document) {
            return true;
        }
        if !has_room {
            return false;
        }
        let before = family.bytes();
        family.insert_in(group, entrant.document, entrant.sketch, &entrant.shingles);
        self.bytes = (self.bytes + family.bytes()).saturating_sub(before);
        self.homes.entry(entrant.document).or_insert(at);
        true
    }

    /// A document joined these buckets: those that are here hear of it. One that it finds no room in is not
    /// whole from now on.
    pub(super) fn join(
        &mut self,
        buckets: &[BucketKey],
        mut entrant: impl FnMut() -> Result<CrowdMember, Error>,
    ) -> Result<(), Error> {
        let held = |crowd: &Self| -> Vec<CrowdBucket> {
            buckets.iter().filter_map(|key| crowd.buckets.get(key)).copied().collect()
        };
        let whole = held(self).into_iter().filter(|held| held.is_whole);
        let families: BTreeSet<u32> = whole.filter_map(|held| held.family).collect();
        for family in families {
            self.is_changed = true;
            if self.put(family, None, entrant()?) {
                continue;
            }
            for key in buckets {
                if let Some(held) = self.buckets.get_mut(key)
                    && held.family == Some(family)
                {
                    held.is_whole = false;
                }
            }
        }
        if self.late.is_some() && held(self).iter().any(|held| !held.is_whole) {
            let CrowdMember { document, sketch, shingles } = entrant()?;
            if let Some(late) = &mut self.late {
                late.insert(document, sketch, &shingles);
            }
        }
        Ok(())
    }

    /// From now on those that join buckets that are not whole are held until the end of the commit; they are
    /// much like these.
    pub(super) fn await_late(&mut self, like: &[Arc<[u64]>]) {
        if self.late.is_none() {
            self.late = Some(FamilyIndex::new(self.threshold, like));
        }
    }

    /// Whether those that join buckets that are not whole are held.
    pub(super) const fn awaits_late(&self) -> bool {
        self.late.is_some()
    }

    /// Whether [`CrowdIndex::find_late`] tells of the document, if it may be similar.
    pub(super) fn tells_of_late(&self, document: DocId) -> bool {
        self.late.as_ref().is_some_and(|late| late.contains(document))
    }

    /// Documents that joined partly held buckets, that `admit` lets pass, and that may be similar.
    pub(super) fn find_late(
        &mut self,
        sought: FamilyQuery<'_>,
        admit: impl Fn(DocId) -> bool,
    ) -> Vec<DocId> {
        self.late.as_mut().map_or_else(Vec::new, |late| late.find(sought, admit))
    }

    /// The held members of these buckets' families that `admit` lets pass and that may be similar.
    pub(super) fn find(
        &mut self,
        buckets: &[BucketKey],
        sought: FamilyQuery<'_>,
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

    /// The families that a look-up of these buckets searches.
    pub(super) fn families_of(&self, buckets: impl Iterator<Item = BucketKey>) -> BTreeSet<u32> {
        buckets.filter_map(|key| self.buckets.get(&key)?.family).collect()
    }

    /// Whether the crowd reports the document to a look-up of this bucket.
    pub(super) fn has(&self, bucket: &BucketKey, document: DocId) -> bool {
        let family = self.family(self.buckets.get(bucket).and_then(|held| held.family));
        family.is_some_and(|family| family.contains(document))
    }

    /// Whether one of these families has the document: then [`CrowdIndex::find`] gives it if it may be similar, and it
    /// need not be compared as a member of another bucket.
    pub(super) fn tells_of(&self, families: &BTreeSet<u32>, document: DocId) -> bool {
        let mut asked = families.iter().filter_map(|at| self.families.get(*at as usize));
        asked.any(|family| family.contains(document))
    }

    /// Rebuilds the families of these buckets whose order no longer fits.
    pub(super) fn freshen(
        &mut self,
        buckets: &[BucketKey],
        is_kept: impl Fn(DocId) -> bool,
        mut group_of: impl FnMut(DocId) -> Option<u32>,
        read: &ReadMembers<'_>,
    ) -> Result<(), Error> {
        for at in self.families_of(buckets.iter().copied()) {
            let Some(family) =
                self.families.get_mut(at as usize).filter(|family| family.is_stale())
            else {
                continue;
            };
            // The old one goes before the new one is made, so that there is never room for both needed.
            let old = std::mem::replace(family, FamilyIndex::new::<&[u64]>(self.threshold, &[]));
            self.bytes = self.bytes.saturating_sub(old.bytes());
            let members: Vec<DocId> =
                old.documents().iter().copied().filter(|one| is_kept(*one)).collect();
            let patience = old.patience_after();
            drop(old);
            let step = members.len().div_ceil(READ).max(1);
            let sample: Vec<DocId> = members.iter().copied().step_by(step).collect();
            let sample: Vec<Arc<[u64]>> =
                read(&sample)?.into_iter().map(|entrant| entrant.shingles).collect();
            let mut fresh = FamilyIndex::new(self.threshold, &sample);
            for part in members.chunks(READ) {
                for CrowdMember { document, sketch, shingles } in read(part)? {
                    fresh.insert_in(group_of(document), document, sketch, &shingles);
                }
            }
            fresh.settle_with(patience);
            self.is_changed = true;
            self.bytes += fresh.bytes();
            if let Some(family) = self.families.get_mut(at as usize) {
                *family = fresh;
            }
        }
        Ok(())
    }
}

/// A document with what is compared of it.
pub(super) struct CrowdMember {
    pub(super) document: DocId,
    pub(super) sketch: Sketch,
    pub(super) shingles: Arc<[u64]>,
}

/// Reads documents; those too short for a sketch are left out.
pub(super) type ReadMembers<'r> = dyn Fn(&[DocId]) -> Result<Vec<CrowdMember>, Error> + 'r;

/// An empty family in an order for documents like these.
pub(super) fn family_like(threshold: f64, entrants: &[CrowdMember]) -> FamilyIndex {
    let sample: Vec<&[u64]> = entrants.iter().map(|one| &*one.shingles).collect();
    FamilyIndex::new(threshold, &sample)
}

/// Builds a family of the documents that `next` gives part by part, ordered by the first part, until there are no more
/// or it takes `budget` bytes. None when there are none.
pub(super) fn gather(
    threshold: f64,
    budget: usize,
    mut next: impl FnMut() -> Result<Option<Vec<CrowdMember>>, Error>,
) -> Result<Option<FamilyIndex>, Error> {
    let mut gathered: Option<FamilyIndex> = None;
    while gathered.as_ref().is_none_or(|family| family.bytes() < budget) {
        let Some(entrants) = next()? else { break };
        let family = gathered.get_or_insert_with(|| family_like(threshold, &entrants));
        for CrowdMember { document, sketch, shingles } in entrants {
            family.insert(document, sketch, &shingles);
        }
    }
    Ok(gathered)
}

/// Whether two documents share a bucket, by the keys of each, one a band.
pub(super) fn share_a_bucket(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).any(|(one, other)| one == other)
}
