//! Mode `components`: a document's links to clusters through crowded buckets, one verified link to each cluster.

use super::buckets::{CommitBuckets, look_up};
use super::candidates::{SimilarityVerdict, Verifier};
use super::cluster_crowd::{DocumentSets, root_of};
use super::cluster_labels::{ClusterCoverage, ClusterLabel};
use super::crowd::{CROWDED, CrowdIndex, CrowdMember, WHOLE, share_a_bucket};
use super::error::DecideError;
use super::overlay::{Eligible, Overlay};
use super::session::DecisionSession;
use crate::dedup::{FamilyQuery, Sketch, estimate_floor};
use crate::model::{BucketMap, DocId, Standing};
use roaring::RoaringTreemap;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

/// Members of a cluster whose witness is read one by one, before all of it are read at once.
const ASKED: u32 = 16;

/// A document that is being linked.
pub(super) struct LinkState<'l> {
    pub(super) document: DocId,
    pub(super) sketch: &'l Sketch,
    pub(super) bands: &'l [u64],
    pub(super) forest: &'l mut DocumentSets,
    /// Clusters that something was linked to, by their kept documents.
    pub(super) touched: &'l mut BTreeSet<DocId>,
}

/// The documents that stand for the clusters of many members, read without a look-up for each.
struct ClusterRoots<'s> {
    scene: &'s Overlay,
    asked: HashMap<DocId, u32>,
    read: Vec<(DocId, RoaringTreemap)>,
}

impl<'s> ClusterRoots<'s> {
    fn new(scene: &'s Overlay) -> Self {
        Self { scene, asked: HashMap::new(), read: Vec::new() }
    }

    fn of(&mut self, document: DocId) -> Result<DocId, DecideError> {
        if self.scene.is_kept(document) {
            return Ok(document);
        }
        let is_decided = self.scene.standing(document)?.is_some();
        if let Some((root, _)) =
            self.read.iter().find(|(_, all)| is_decided && all.contains(document.0))
        {
            return Ok(*root);
        }
        let root = root_of(self.scene, document)?;
        let asked = self.asked.entry(root).or_default();
        *asked += 1;
        if *asked == ASKED {
            let members = self.scene.members(root)?;
            self.read.push((root, members.into_iter().map(|member| member.0).collect()));
        }
        Ok(root)
    }
}

/// Whether links may lead to a document by now: those that are to be decided are met as they are.
pub(super) fn is_met(scene: &Overlay, document: DocId) -> bool {
    match scene.standing_change(document) {
        Some(change) => change.now.is_some_and(Standing::is_eligible),
        // An error counts as yes: it shows when the document is looked at.
        None => scene.is_eligible(document).unwrap_or(true),
    }
}

/// Looks up the buckets that the crowd does not hold, and takes those into it that are crowded: these are left
/// without members.
pub(super) fn look_up_eligible(
    scene: &Overlay,
    crowd: &mut CrowdIndex,
    keys: &[&[u64]],
) -> Result<CommitBuckets, DecideError> {
    let eligible = Eligible::new(scene)?;
    let admit = |other: DocId| eligible.is_met(other);
    let is_open = |band, hash| crowd.held(band, hash).is_none();
    let mut found = look_up(&scene.view, keys, &is_open, CROWDED, &admit)?;
    let mut met = Vec::new();
    for (key, bucket) in found.keys.iter().zip(&mut found.buckets) {
        if let Some(bucket) = bucket.as_mut().filter(|bucket| bucket.capped) {
            bucket.members.clear();
            met.push(*key);
        }
    }
    let mut roots = ClusterRoots::new(scene);
    for part in met.chunks(WHOLE) {
        let whole = scene.view.buckets_bulk(part, usize::MAX, &admit)?;
        for (key, bucket) in part.iter().zip(whole) {
            let members = bucket.map(|bucket| bucket.members).unwrap_or_default();
            let cluster = |member| roots.of(member);
            crowd.absorb_clusters(*key, &members, cluster, &|part| scene.entrants(part))?;
        }
    }
    drop(roots);
    eligible.end()?;
    Ok(found)
}

impl DecisionSession {
    /// Takes those of a document's buckets into the crowd that documents of this commit made crowded. `taken` tells
    /// how many members the store has in each.
    pub(super) fn absorb_joined(
        &mut self,
        bands: &[u64],
        taken: &[usize],
        forest: &mut DocumentSets,
    ) -> Result<(), DecideError> {
        for (key, taken) in (0..=u8::MAX).zip(bands.iter().copied()).zip(taken) {
            let joined = self.scene.local(key.0, key.1);
            if taken + joined.len() <= CROWDED || self.crowd.held(key.0, key.1).is_some() {
                continue;
            }
            let scene = &self.scene;
            let stored = match taken {
                0 => Vec::new(),
                _ => scene.view.buckets(&[key], usize::MAX, |other| is_met(scene, other))?,
            };
            let mut members: BTreeSet<DocId> =
                stored.into_iter().flatten().flat_map(|bucket| bucket.members).collect();
            members.extend(joined);
            let members: Vec<DocId> = members.into_iter().collect();
            let mut roots = ClusterRoots::new(scene);
            let cluster = |member| Ok(forest.find(roots.of(member)?));
            self.crowd.absorb_clusters(key, &members, cluster, &|part| scene.entrants(part))?;
        }
        Ok(())
    }

    /// Links a document to the members of its crowded buckets, once to each cluster. Answers whether any were left
    /// out.
    pub(super) fn link_crowded(
        &mut self,
        one: &mut LinkState<'_>,
        beyond: &mut BucketMap<(Vec<DocId>, bool)>,
    ) -> Result<bool, DecideError> {
        let keys = (0..=u8::MAX).zip(one.bands.iter().copied());
        let held: Vec<(u8, u64)> =
            keys.filter(|key| self.crowd.held(key.0, key.1).is_some()).collect();
        if held.is_empty() {
            return Ok(false);
        }
        let rank = one.forest.find(one.document);
        self.crowd.link(one.document, rank);
        let families = self.crowd.families_of(held.iter().copied());
        for family in &families {
            self.link_in(one, *family, None)?;
        }
        let mut is_open = false;
        for (family, label, depth) in self.crowd.passed_over(one.document, &held) {
            if self.is_linked(one.document, label) || depth == ClusterCoverage::All {
                continue;
            }
            let members = self.cluster(label)?;
            let scene = &self.scene;
            let is_whole = depth == ClusterCoverage::Some
                && self.crowd.deepen(family, label, &members, &|part| scene.entrants(part))?;
            if !is_whole && self.reach.is_all() {
                self.link_candidates(one, members)?;
            } else if !is_whole {
                is_open = true;
                self.counts.capped += 1;
            }
        }
        for family in &families {
            let groups: Vec<u32> = self
                .crowd
                .family(Some(*family))
                .map(|one| one.groups().collect())
                .unwrap_or_default();
            for group in groups {
                if !self.is_linked(one.document, group) {
                    self.link_in(one, *family, Some(group))?;
                }
            }
        }
        let mut candidates = BTreeSet::new();
        for key in &held {
            is_open |= self.beyond(*key, beyond, &mut candidates)?;
        }
        self.link_candidates(one, candidates)?;
        let scene = &self.scene;
        self.crowd.freshen_clusters(&held, &|part| scene.entrants(part))?;
        Ok(is_open)
    }

    fn is_linked(&self, document: DocId, label: ClusterLabel) -> bool {
        self.crowd.labels.of(document) == Some(self.crowd.labels.root(label))
    }

    /// The documents of a cluster that links may lead to.
    fn cluster(&self, label: ClusterLabel) -> Result<Vec<DocId>, DecideError> {
        let known = self.crowd.labels.documents(label);
        let mut members = self.crowd.joined_cluster(label);
        let mut roots = BTreeSet::new();
        for document in known {
            roots.insert(root_of(&self.scene, document)?);
            members.insert(document);
        }
        for root in roots {
            let of = self.scene.members(root)?;
            members.extend(of.into_iter().filter(|member| is_met(&self.scene, *member)));
        }
        Ok(members.into_iter().collect())
    }

    /// Links a document to members of a family, of a group of it or of none.
    fn link_in(
        &mut self,
        one: &mut LinkState<'_>,
        family: u32,
        group: Option<u32>,
    ) -> Result<(), DecideError> {
        let shingles = self.scene.shingles(one.document, &mut self.craft)?;
        let floor = estimate_floor(self.scene.view.policy());
        let sought = FamilyQuery { shingles: &shingles, sketch: one.sketch, floor };
        let CrowdIndex { families, labels, .. } = &mut self.crowd;
        let own = labels.of(one.document);
        // Who has no label is to be decided, or went.
        let admit = |other: DocId| {
            other != one.document && labels.of(other).is_some_and(|of| Some(of) != own)
        };
        let Some(family) = families.get_mut(family as usize) else { return Ok(()) };
        let mut found = family.find_in(group, sought, admit);
        found.sort_unstable();
        self.link_candidates(one, found)
    }

    /// Links a document to those of the candidates that share a bucket with it and are similar, but for those of
    /// clusters that it is linked to already.
    fn link_candidates(
        &mut self,
        one: &mut LinkState<'_>,
        candidates: impl IntoIterator<Item = DocId>,
    ) -> Result<(), DecideError> {
        let (scene, crowd) = (&self.scene, &mut self.crowd);
        let mut verifier =
            Verifier { scene, document: one.document, sketch: one.sketch, own: None };
        for other in candidates {
            let label = crowd.labels.of(other);
            if other == one.document || label.is_some() && label == crowd.labels.of(one.document) {
                continue;
            }
            let Some(theirs) = scene.sketch(other)? else { continue };
            if !share_a_bucket(&scene.band_keys(other, &theirs)?, one.bands) {
                continue;
            }
            let root = root_of(scene, other)?;
            if one.forest.find(root) == one.forest.find(one.document) {
                crowd.link(one.document, other);
                continue;
            }
            self.counts.compared += 1;
            match verifier.verify(other, &mut self.craft)? {
                SimilarityVerdict::Far => {}
                SimilarityVerdict::Different => self.counts.verified += 1,
                SimilarityVerdict::Similar(_) => {
                    self.counts.verified += 1;
                    one.touched.insert(root);
                    one.forest.link(one.document, root, crowd);
                    crowd.link(one.document, other);
                }
            }
        }
        Ok(())
    }

    /// Adds the members of a bucket that the crowd has no room for: the first of them, or all. Answers whether any
    /// were left out.
    fn beyond(
        &mut self,
        key: (u8, u64),
        beyond: &mut BucketMap<(Vec<DocId>, bool)>,
        candidates: &mut BTreeSet<DocId>,
    ) -> Result<bool, DecideError> {
        if self.crowd.held(key.0, key.1).is_none_or(|held| held.is_whole) {
            return Ok(false);
        }
        let cap = CROWDED.max(self.reach.most());
        if let Entry::Vacant(unread) = beyond.entry(key) {
            let scene = &self.scene;
            let read = scene.view.buckets(&[key], cap, |other| is_met(scene, other))?;
            let bucket = read.into_iter().flatten().next();
            unread.insert(bucket.map(|one| (one.members, one.capped)).unwrap_or_default());
        }
        let Some((stored, is_capped)) = beyond.get(&key) else { return Ok(false) };
        let joined = self.scene.local(key.0, key.1);
        let is_open = *is_capped || joined.len() > cap;
        candidates.extend(stored.iter().chain(joined.iter().take(cap)));
        self.counts.capped += u64::from(is_open);
        Ok(is_open)
    }

    /// The document is in its buckets from now on.
    pub(super) fn join_clusters(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        bands: &[u64],
    ) -> Result<(), DecideError> {
        let held: Vec<(u8, u64)> = (0..=u8::MAX)
            .zip(bands.iter().copied())
            .filter(|(band, hash)| self.crowd.held(*band, *hash).is_some())
            .collect();
        if held.is_empty() {
            return Ok(());
        }
        let (scene, craft) = (&self.scene, std::cell::RefCell::new(&mut self.craft));
        self.crowd.join_cluster(document, &held, || {
            let shingles = scene.shingles(document, *craft.borrow_mut())?;
            Ok(CrowdMember { document, sketch: sketch.clone(), shingles })
        })
    }
}
