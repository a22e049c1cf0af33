//! Links documents to clusters through crowded buckets in mode `components`: one verified link to each cluster.

use super::buckets::{CommitBuckets, look_up};
use super::candidates::Verifier;
use super::cluster_crowd::{DocumentSets, root_of};
use super::cluster_labels::{ClusterCoverage, ClusterLabel};
use super::crowd::{CROWDED, CrowdIndex, CrowdMember, WHOLE, share_a_bucket};
use super::overlay::Overlay;
use super::session::DecisionSession;
use model::{BucketKey, BucketMap, DocId, Error, bucket_keys};
use roaring::RoaringTreemap;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use text::dedup::{FamilyQuery, Sketch, estimate_floor};

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
    overlay: &'s Overlay,
    asked: HashMap<DocId, u32>,
    read: Vec<(DocId, RoaringTreemap)>,
}

impl<'s> ClusterRoots<'s> {
    fn new(overlay: &'s Overlay) -> Self {
        Self { overlay, asked: HashMap::new(), read: Vec::new() }
    }

    fn of(&mut self, document: DocId) -> Result<DocId, Error> {
        if self.overlay.is_kept(document) {
            return Ok(document);
        }
        let is_decided = self.overlay.standing(document)?.is_some();
        if let Some((root, _)) =
            self.read.iter().find(|(_, all)| is_decided && all.contains(document.0))
        {
            return Ok(*root);
        }
        let root = root_of(self.overlay, document)?;
        let asked = self.asked.entry(root).or_default();
        *asked += 1;
        if *asked == ASKED {
            let members = self.overlay.members(root)?;
            self.read.push((root, members.into_iter().map(|member| member.0).collect()));
        }
        Ok(root)
    }
}

/// Looks up the buckets that the crowd does not hold, and takes those into it that are crowded: these are left
/// without members.
pub(super) fn look_up_eligible(
    overlay: &Overlay,
    crowd: &mut CrowdIndex,
    keys: &[&[u64]],
) -> Result<CommitBuckets, Error> {
    let admit = |other: DocId| overlay.is_met(other);
    let is_open = |key| crowd.held(key).is_none();
    let mut found = look_up(&overlay.view, keys, &is_open, CROWDED, &admit)?;
    let mut met = Vec::new();
    for (key, bucket) in found.keys.iter().zip(&mut found.buckets) {
        if let Some(bucket) = bucket.as_mut().filter(|bucket| bucket.capped) {
            bucket.members.clear();
            met.push(*key);
        }
    }
    let mut roots = ClusterRoots::new(overlay);
    for part in met.chunks(WHOLE) {
        let whole = overlay.view.buckets_bulk(part, usize::MAX, &admit)?;
        for (key, bucket) in part.iter().zip(whole) {
            let members = bucket.map(|bucket| bucket.members).unwrap_or_default();
            let cluster = |member| roots.of(member);
            crowd.absorb_clusters(*key, &members, cluster, &|part| overlay.entrants(part))?;
        }
    }
    Ok(found)
}

impl DecisionSession {
    /// Adds to the crowd the buckets of a document that documents of this commit made crowded. `taken` is how many
    /// members the store has in each.
    pub(super) fn absorb_joined(
        &mut self,
        bands: &[u64],
        taken: &[usize],
        forest: &mut DocumentSets,
    ) -> Result<(), Error> {
        for (key, taken) in bucket_keys(bands).zip(taken) {
            let joined = self.overlay.local(key);
            if taken + joined.len() <= CROWDED || self.finder.crowd.held(key).is_some() {
                continue;
            }
            let overlay = &self.overlay;
            let stored = match taken {
                0 => Vec::new(),
                _ => overlay.view.buckets(&[key], usize::MAX, |other| overlay.is_met(other))?,
            };
            let mut members: BTreeSet<DocId> =
                stored.into_iter().flatten().flat_map(|bucket| bucket.members).collect();
            members.extend(joined);
            let members: Vec<DocId> = members.into_iter().collect();
            let mut roots = ClusterRoots::new(overlay);
            let cluster = |member| Ok(forest.find(roots.of(member)?));
            self.finder
                .crowd
                .absorb_clusters(key, &members, cluster, &|part| overlay.entrants(part))?;
        }
        Ok(())
    }

    /// Links a document to the members of its crowded buckets, once to each cluster. Answers whether any were left
    /// out.
    pub(super) fn link_crowded(
        &mut self,
        one: &mut LinkState<'_>,
        beyond: &mut BucketMap<(Vec<DocId>, bool)>,
    ) -> Result<bool, Error> {
        let held = self.finder.crowd.held_of(bucket_keys(one.bands));
        if held.is_empty() {
            return Ok(false);
        }
        let rank = one.forest.find(one.document);
        self.finder.crowd.link(one.document, rank);
        let families = self.finder.crowd.families_of(held.iter().copied());
        for family in &families {
            self.link_in(one, *family, None)?;
        }
        let mut is_open = false;
        for (family, label, depth) in self.finder.crowd.passed_over(one.document, &held) {
            if self.is_linked(one.document, label) || depth == ClusterCoverage::All {
                continue;
            }
            let members = self.cluster(label)?;
            let overlay = &self.overlay;
            let is_whole = depth == ClusterCoverage::Some
                && self
                    .finder
                    .crowd
                    .deepen(family, label, &members, &|part| overlay.entrants(part))?;
            if !is_whole && self.finder.limits.is_all() {
                self.link_candidates(one, members)?;
            } else if !is_whole {
                is_open = true;
                self.counts.capped += 1;
            }
        }
        for family in &families {
            let groups: Vec<u32> = self
                .finder
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
        let overlay = &self.overlay;
        self.finder.crowd.freshen_clusters(&held, &|part| overlay.entrants(part))?;
        Ok(is_open)
    }

    fn is_linked(&self, document: DocId, label: ClusterLabel) -> bool {
        self.finder.crowd.labels.of(document) == Some(self.finder.crowd.labels.root(label))
    }

    /// The documents of a cluster that links may lead to.
    fn cluster(&self, label: ClusterLabel) -> Result<Vec<DocId>, Error> {
        let known = self.finder.crowd.labels.documents(label);
        let mut members = self.finder.crowd.joined_cluster(label);
        let mut roots = BTreeSet::new();
        for document in known {
            roots.insert(root_of(&self.overlay, document)?);
            members.insert(document);
        }
        for root in roots {
            let of = self.overlay.members(root)?;
            members.extend(of.into_iter().filter(|member| self.overlay.is_met(*member)));
        }
        Ok(members.into_iter().collect())
    }

    /// Links a document to members of a family, of a group of it or of none.
    fn link_in(
        &mut self,
        one: &mut LinkState<'_>,
        family: u32,
        group: Option<u32>,
    ) -> Result<(), Error> {
        let shingles = self.overlay.shingles(one.document, &mut self.finder.craft)?;
        let floor = estimate_floor(self.overlay.view.policy());
        let sought = FamilyQuery { shingles: &shingles, sketch: one.sketch, floor };
        let CrowdIndex { families, labels, .. } = &mut self.finder.crowd;
        let own = labels.of(one.document);
        // A document without a label is to be decided, or went.
        let admit = |other: DocId| {
            other != one.document && labels.of(other).is_some_and(|of| Some(of) != own)
        };
        let Some(family) = families.get_mut(family as usize) else { return Ok(()) };
        let mut found = family.find_in(group, sought, admit);
        found.sort_unstable();
        self.link_candidates(one, found)
    }

    /// Links a document to the candidates that share a bucket with it and are similar, except those of clusters that
    /// it is linked to already.
    fn link_candidates(
        &mut self,
        one: &mut LinkState<'_>,
        candidates: impl IntoIterator<Item = DocId>,
    ) -> Result<(), Error> {
        let (overlay, crowd) = (&self.overlay, &mut self.finder.crowd);
        let mut verifier = Verifier::new(overlay, one.document, one.sketch);
        for other in candidates {
            let label = crowd.labels.of(other);
            if other == one.document || label.is_some() && label == crowd.labels.of(one.document) {
                continue;
            }
            let Some(theirs) = overlay.sketch(other)? else { continue };
            if !share_a_bucket(&overlay.band_keys(other, &theirs)?, one.bands) {
                continue;
            }
            let root = root_of(overlay, other)?;
            if one.forest.find(root) == one.forest.find(one.document) {
                crowd.link(one.document, other);
                continue;
            }
            if verifier.verify(other, &mut self.finder.craft)?.is_some() {
                one.touched.insert(root);
                one.forest.link(one.document, root, crowd);
                crowd.link(one.document, other);
            }
        }
        self.counts += verifier.counts;
        Ok(())
    }

    /// Adds members of a bucket that the crowd has no room for: the first ones, or all. Answers whether any were left
    /// out.
    fn beyond(
        &mut self,
        key: BucketKey,
        beyond: &mut BucketMap<(Vec<DocId>, bool)>,
        candidates: &mut BTreeSet<DocId>,
    ) -> Result<bool, Error> {
        if self.finder.crowd.held(key).is_none_or(|held| held.is_whole) {
            return Ok(false);
        }
        let cap = CROWDED.max(self.finder.limits.most());
        if let Entry::Vacant(unread) = beyond.entry(key) {
            let overlay = &self.overlay;
            let read = overlay.view.buckets(&[key], cap, |other| overlay.is_met(other))?;
            let bucket = read.into_iter().flatten().next();
            unread.insert(bucket.map(|one| (one.members, one.capped)).unwrap_or_default());
        }
        let Some((stored, is_capped)) = beyond.get(&key) else { return Ok(false) };
        let joined = self.overlay.local(key);
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
    ) -> Result<(), Error> {
        let held = self.finder.crowd.held_of(bucket_keys(bands));
        if held.is_empty() {
            return Ok(());
        }
        let Self { overlay, finder, .. } = self;
        finder.crowd.join_cluster(document, &held, || {
            let shingles = overlay.shingles(document, &mut finder.craft)?;
            Ok(CrowdMember { document, sketch: sketch.clone(), shingles })
        })
    }
}
