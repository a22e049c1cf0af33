//! The crowd of mode `components`: of a large cluster some members stand for all.
//!
//! A newcomer needs one link to each cluster that it touches, and mostly finds it to one of the first members. So of a
//! large cluster the crowd holds some, and notes by the cluster's name which buckets the other members are in. Only
//! when a document shares such a bucket and was not linked to the cluster are all its members put in
//! ([`CrowdIndex::deepen`]), as a group that documents linked to the cluster already do not ask.
//!
//! While links are found, the crowd also tracks which documents of a commit are in one component.

use super::cluster_labels::{ClusterCoverage, ClusterLabel};
use super::crowd::{CrowdIndex, CrowdMember, ReadMembers};
use super::overlay::Overlay;
use model::{BucketKey, DocId, Error, Standing};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use text::dedup::DisjointSets;

/// The most members of a cluster that are held at once, and the most in one bucket.
const STANDING: u32 = 64;
const HERE: u32 = 8;
/// Members read at once to be put in.
const READ: usize = 1024;
impl CrowdIndex {
    /// Adds a bucket; `cluster` gives, for each of its eligible `members`, a document of the member's cluster.
    pub(super) fn absorb_clusters(
        &mut self,
        bucket: BucketKey,
        members: &[DocId],
        mut cluster: impl FnMut(DocId) -> Result<DocId, Error>,
        read: &ReadMembers<'_>,
    ) -> Result<(), Error> {
        let (mut taken, mut passed) = (Vec::new(), BTreeMap::<ClusterLabel, Vec<DocId>>::new());
        // For each cluster: how many members are taken, and how many of these are not held yet.
        let mut here: BTreeMap<ClusterLabel, (u32, u32)> = BTreeMap::new();
        for member in members {
            let cluster = cluster(*member)?;
            let label = self.labels.note(cluster);
            let (count, new) = here.entry(label).or_default();
            let is_held = self.homes.contains_key(member);
            if is_held || *count < HERE || self.labels.held(label) + *new < STANDING {
                self.labels.join(*member, cluster);
                *count += 1;
                *new += u32::from(!is_held);
                taken.push(*member);
            } else {
                passed.entry(label).or_default().push(*member);
            }
        }
        self.absorb(bucket, &taken, read)?;
        for (label, (_, new)) in here {
            (0..new).for_each(|_| self.labels.hold(label));
        }
        let Some(held) = self.held(bucket) else { return Ok(()) };
        let Some(family) = held.family else { return Ok(()) };
        for (label, members) in passed {
            let label = self.labels.root(label);
            if !self.shallow.deep.contains(&(family, label)) {
                self.shallow.note(bucket, label);
            } else if !self.put_all(family, label, &members, read)? {
                self.shallow.note(bucket, label);
                self.shallow.deep.remove(&(family, label));
                self.shallow.beyond.insert((family, label));
            }
        }
        Ok(())
    }

    /// Puts members of a cluster into its group of a family; false when there is no room for all.
    fn put_all(
        &mut self,
        family: u32,
        label: ClusterLabel,
        members: &[DocId],
        read: &ReadMembers<'_>,
    ) -> Result<bool, Error> {
        let of = |crowd: &Self, one: &DocId| {
            crowd.family(Some(family)).is_some_and(|family| family.contains(*one))
        };
        let missing: Vec<DocId> = members.iter().copied().filter(|one| !of(self, one)).collect();
        for part in missing.chunks(READ) {
            for entrant in read(part)? {
                let document = entrant.document;
                if !self.put(family, Some(label), entrant) {
                    return Ok(false);
                }
                self.labels.hold(label);
                self.labels.enter(document, label);
            }
        }
        // Members that were held before may be of a cluster that was put together again since.
        members.iter().for_each(|one| {
            if of(self, one) {
                self.labels.enter(*one, label);
            }
        });
        Ok(true)
    }

    /// A document that is of the cluster it has a label of joined these buckets. What [`CrowdIndex::join`] does
    /// for those that are kept, for one that may stand for others.
    pub(super) fn join_cluster(
        &mut self,
        document: DocId,
        buckets: &[BucketKey],
        mut entrant: impl FnMut() -> Result<CrowdMember, Error>,
    ) -> Result<(), Error> {
        self.is_changed = true;
        let label = self.labels.note(document);
        let mut families: BTreeMap<u32, Vec<BucketKey>> = BTreeMap::new();
        for key in buckets {
            if let Some(held) = self.held(*key)
                && held.is_whole
                && let Some(family) = held.family
            {
                families.entry(family).or_default().push(*key);
            }
        }
        for (family, keys) in families {
            let is_here = self.family(Some(family)).is_some_and(|one| one.contains(document));
            let is_deep = self.shallow.deep.contains(&(family, label));
            let stands = self.labels.held(label) < STANDING;
            if !is_here && !stands && !is_deep {
                self.shallow.joined.push((label, document));
                keys.iter().for_each(|key| self.shallow.note(*key, label));
                continue;
            }
            let group = (!is_here && !stands).then_some(label);
            if self.put(family, group, entrant()?) {
                self.labels.hold(label);
                continue;
            }
            for key in keys {
                if let Some(held) = self.buckets.get_mut(&key) {
                    held.is_whole = false;
                }
            }
        }
        Ok(())
    }

    /// The clusters of skipped members of these buckets, each once, with its families and how much of it they hold.
    /// Clusters of the document itself are left out.
    pub(super) fn passed_over(
        &self,
        document: DocId,
        buckets: &[BucketKey],
    ) -> Vec<(u32, ClusterLabel, ClusterCoverage)> {
        let own = self.labels.of(document);
        let mut found: BTreeMap<(u32, ClusterLabel), ClusterCoverage> = BTreeMap::new();
        for key in buckets {
            let Some(family) = self.held(*key).and_then(|held| held.family) else {
                continue;
            };
            for name in self.shallow.passed.get(key).into_iter().flatten() {
                let root = self.labels.root(*name);
                if Some(root) == own {
                    continue;
                }
                let depth = if self.shallow.deep.contains(&(family, *name)) {
                    ClusterCoverage::All
                } else if self.shallow.beyond.contains(&(family, *name)) {
                    ClusterCoverage::Full
                } else {
                    ClusterCoverage::Some
                };
                // One name of it that is not all here is enough.
                let known = found.entry((family, root)).or_insert(depth);
                if *known == ClusterCoverage::All || depth == ClusterCoverage::Some {
                    *known = depth;
                }
            }
        }
        found.into_iter().map(|((family, label), depth)| (family, label, depth)).collect()
    }

    /// Members of a cluster that joined in this commit and were skipped.
    pub(super) fn joined_cluster(&self, label: ClusterLabel) -> BTreeSet<DocId> {
        let root = self.labels.root(label);
        let of = self.shallow.joined.iter().filter(|(label, _)| self.labels.root(*label) == root);
        of.map(|(_, document)| *document).collect()
    }

    /// Puts all members of a cluster into a family, if there is room for them.
    pub(super) fn deepen(
        &mut self,
        family: u32,
        label: ClusterLabel,
        members: &[DocId],
        read: &ReadMembers<'_>,
    ) -> Result<bool, Error> {
        self.is_changed = true;
        let label = self.labels.root(label);
        let has_room = self.put_all(family, label, members, read)?;
        for name in self.labels.names(label) {
            self.shallow.beyond.remove(&(family, name));
            let of = if has_room { &mut self.shallow.deep } else { &mut self.shallow.beyond };
            of.insert((family, name));
        }
        Ok(has_room)
    }

    /// Whether a look-up in these families gets the document, if the two may be similar.
    pub(super) fn tells_of_live(&self, families: &BTreeSet<u32>, document: DocId) -> bool {
        self.labels.of(document).is_some() && self.tells_of(families, document)
    }

    /// Two documents are of one cluster, if there is a crowd that it matters to.
    pub(super) fn link(&mut self, one: DocId, other: DocId) {
        if !self.is_empty() {
            self.is_changed = true;
            self.labels.join(one, other);
        }
    }

    /// The document's cluster is put together again.
    pub(super) fn dissolve(&mut self, document: DocId) {
        if self.labels.forget(document) {
            self.is_changed = true;
        }
    }

    /// Forgets the labels of documents that are neither held nor kept, when they are many.
    pub(super) fn prune(&mut self, is_kept: impl Fn(DocId) -> bool) {
        if self.labels.len() > 2 * self.homes.len() + 4096 {
            let homes = &self.homes;
            self.labels.retain(|document| homes.contains_key(&document) || is_kept(document));
        }
    }

    /// [`CrowdIndex::freshen`] for clusters: their members are grouped again.
    pub(super) fn freshen_clusters(
        &mut self,
        buckets: &[BucketKey],
        read: &ReadMembers<'_>,
    ) -> Result<(), Error> {
        let labels = std::mem::take(&mut self.labels);
        let mut counts: BTreeMap<ClusterLabel, u32> = BTreeMap::new();
        let group_of = |document| {
            let label = labels.of(document)?;
            let count = counts.entry(label).or_default();
            *count += 1;
            (*count > STANDING).then_some(label)
        };
        let is_live = |document| labels.of(document).is_some();
        let done = self.freshen(buckets, is_live, group_of, read);
        self.labels = labels;
        done
    }
}

/// Disjoint sets of documents; a set is named by its smallest member.
#[derive(Default)]
pub(super) struct DocumentSets {
    numbers: HashMap<DocId, usize>,
    sets: DisjointSets<DocId>,
}

impl DocumentSets {
    pub(super) fn find(&self, document: DocId) -> DocId {
        let number = self.numbers.get(&document);
        number.and_then(|number| self.sets.least(*number)).unwrap_or(document)
    }

    /// Joins the sets of two documents, also where the crowd knows them.
    pub(super) fn link(&mut self, a: DocId, b: DocId, crowd: &mut CrowdIndex) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            crowd.link(a, b);
            let (a, b) = (self.number(a), self.number(b));
            self.sets.join(a, b);
        }
    }

    fn number(&mut self, document: DocId) -> usize {
        *self.numbers.entry(document).or_insert_with(|| self.sets.add(document))
    }
}

/// The document that stands for the component of an eligible one so far.
pub(super) fn root_of(overlay: &Overlay, document: DocId) -> Result<DocId, Error> {
    match overlay.standing(document)? {
        Some(Standing::Exact | Standing::Near) => {
            Ok(overlay.match_of(document)?.map_or(document, |found| found.witness))
        }
        _ => Ok(document),
    }
}
