//! Modes `components` and `lsh`: of every connected component the best-ranked document is kept.
//!
//! Documents are linked when they share a text or a bucket and, in `components`, when their exact
//! similarity reaches the threshold. A cluster is a component: its kept document stands for it, so a
//! newcomer is linked to whole clusters. Links are not stored: when a member leaves, its cluster is
//! dissolved and put together again from buckets and texts, which is all that the links depend on.

use super::eligible::Eligible;
use super::error::DecideError;
use super::neighbours::{Verdict, Verifier, look_up, overlap};
use super::rank::Rank;
use super::session::{Decision, Session};
use crate::dedup::{Fingerprinter, Sketch, shared};
use crate::model::{DedupMode, DocId, Standing};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Candidates looked at of one bucket. What is passed over is counted.
const BUCKET_CAP: usize = 128;

/// Disjoint sets of documents; a set is named by its smallest member.
#[derive(Default)]
struct Forest(HashMap<DocId, DocId>);

impl Forest {
    fn find(&mut self, document: DocId) -> DocId {
        let mut at = document;
        while let Some(parent) = self.0.get(&at).copied() {
            if let Some(above) = self.0.get(&parent).copied() {
                self.0.insert(at, above);
            }
            at = parent;
        }
        at
    }

    fn join(&mut self, a: DocId, b: DocId) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.0.insert(a.max(b), a.min(b));
        }
    }
}

/// A document whose component is to be found, with what the store links it to.
struct Loose {
    document: DocId,
    sketch: Option<Sketch>,
    bands: Vec<u64>,
    links: Vec<DocId>,
    compared: u64,
    verified: u64,
    capped: u64,
}

impl Session {
    pub(super) fn settle_components(&mut self) -> Result<(), DecideError> {
        self.dissolve()?;
        let ids: BTreeSet<DocId> = self.queue.iter().map(|rank| rank.document).collect();
        self.queue.clear();
        let loose = self.linked_in_store(&ids)?;
        let mut forest = Forest::default();
        // Clusters that something was linked to, by their kept documents.
        let mut touched = BTreeSet::new();
        for one in loose {
            self.counts.compared += one.compared;
            self.counts.verified += one.verified;
            self.counts.capped += one.capped;
            if one.capped > 0 {
                self.leave_open(one.document);
            }
            for twin in self.meet_texts(one.document)? {
                let root = self.root(twin)?;
                touched.insert(root);
                forest.join(one.document, root);
            }
            for link in &one.links {
                let root = self.root(*link)?;
                touched.insert(root);
                forest.join(one.document, root);
            }
            if let Some(sketch) = &one.sketch {
                self.link_in_commit(one.document, sketch, &one.bands, &mut forest)?;
                self.scene.index(one.document, one.bands, |_, _| true);
            }
        }
        let clusters = touched.into_iter().filter(|root| !ids.contains(root));
        let mut components: BTreeMap<DocId, (Vec<DocId>, Vec<DocId>)> = BTreeMap::new();
        for cluster in clusters {
            components.entry(forest.find(cluster)).or_default().0.push(cluster);
        }
        for document in &ids {
            components.entry(forest.find(*document)).or_default().1.push(*document);
        }
        components.into_values().try_for_each(|(clusters, loose)| self.unite(&clusters, loose))
    }

    /// What is left of the clusters that a document left is to be decided again.
    fn dissolve(&mut self) -> Result<(), DecideError> {
        let kept: BTreeSet<DocId> = self.left.values().copied().collect();
        for kept in kept {
            let mut cluster = self.scene.members(kept)?;
            cluster.insert(kept);
            for member in cluster {
                if self.scene.is_eligible(member)? {
                    self.scene.set_standing(member, None)?;
                    let rank = self.scene.rank(member)?;
                    self.queue.insert(rank);
                }
            }
        }
        Ok(())
    }

    /// The document that stands for the component of an eligible one so far.
    fn root(&self, document: DocId) -> Result<DocId, DecideError> {
        match self.scene.standing(document)? {
            Some(Standing::Exact | Standing::Near) => {
                Ok(self.scene.match_of(document)?.map_or(document, |found| found.witness))
            }
            _ => Ok(document),
        }
    }

    /// Looks the documents up in the store, in parallel.
    fn linked_in_store(&self, ids: &BTreeSet<DocId>) -> Result<Vec<Loose>, DecideError> {
        let mut loose = Vec::with_capacity(ids.len());
        for document in ids {
            let sketch = self.scene.sketch(*document)?;
            let bands = match &sketch {
                Some(sketch) => self.scene.band_keys(*document, sketch)?,
                None => Vec::new(),
            };
            let (document, links) = (*document, Vec::new());
            loose.push(Loose {
                document,
                sketch,
                bands,
                links,
                compared: 0,
                verified: 0,
                capped: 0,
            });
        }
        let is_unverified = self.mode() == DedupMode::Lsh;
        // One decided member links to the whole bucket when nothing is verified.
        let cap = if is_unverified { 1 } else { BUCKET_CAP.max(self.reach.most()) };
        let eligible = Eligible::new(&self.scene)?;
        // Those that are to be decided meet each other in this commit; counted here, they would crowd
        // the decided ones out.
        let admit = |other: DocId| match self.scene.standings.get(&other) {
            Some(change) => change.now.is_some_and(Standing::is_eligible),
            None => eligible.contains(other),
        };
        let keys: Vec<&[u64]> = loose.iter().map(|one| one.bands.as_slice()).collect();
        let found = look_up(&self.scene.view, &keys, cap, &admit)?;
        eligible.end()?;
        let policy = self.scene.view.policy();
        loose
            .into_par_iter()
            .zip(found.places)
            .with_min_len(8)
            .map_init(
                || Fingerprinter::new(policy),
                |craft, (mut one, places)| {
                    let bucket = |place: &u32| found.buckets.get(*place as usize)?.as_ref();
                    let buckets = places.iter().filter_map(bucket);
                    let mut candidates = BTreeSet::new();
                    for bucket in buckets {
                        one.capped += u64::from(bucket.capped && !is_unverified);
                        candidates.extend(
                            bucket.members.iter().copied().filter(|other| *other != one.document),
                        );
                    }
                    let Some(sketch) = &one.sketch else { return Ok(one) };
                    if is_unverified {
                        one.links = candidates.into_iter().collect();
                        return Ok(one);
                    }
                    let mut linked = BTreeSet::new();
                    let document = one.document;
                    let mut verifier = Verifier { scene: &self.scene, document, sketch, own: None };
                    for candidate in candidates {
                        let root = self.root(candidate)?;
                        if linked.contains(&root) {
                            continue;
                        }
                        one.compared += 1;
                        let verdict = verifier.verify(candidate, craft)?;
                        one.verified += u64::from(!matches!(verdict, Verdict::Far));
                        if matches!(verdict, Verdict::Similar(_)) {
                            linked.insert(root);
                            one.links.push(candidate);
                        }
                    }
                    Ok(one)
                },
            )
            .collect()
    }

    /// The eligible documents whose texts equal the document's; it leads its texts if it outranks them.
    fn meet_texts(&mut self, document: DocId) -> Result<Vec<DocId>, DecideError> {
        let header = self.scene.header(document)?;
        let rank = self.scene.rank(document)?;
        let mut twins = Vec::new();
        for form in self.forms() {
            let hash = self.scene.text_hash(*form, &header);
            let mut leads = true;
            if let Some(twin) = self.scene.exact(*form, hash)?
                && twin != document
                && self.scene.is_eligible(twin)?
            {
                leads = rank < self.scene.rank(twin)?;
                twins.push(twin);
            }
            if leads {
                self.scene.exact.insert((*form, hash), Some(document));
            }
        }
        Ok(twins)
    }

    /// Links a document to those of this commit that were indexed before it.
    fn link_in_commit(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        bands: &[u64],
        forest: &mut Forest,
    ) -> Result<(), DecideError> {
        let is_unverified = self.mode() == DedupMode::Lsh;
        let mut verifier = Verifier { scene: &self.scene, document, sketch, own: None };
        let mut compared = BTreeSet::new();
        let cap = BUCKET_CAP.max(self.reach.most());
        let mut is_open = false;
        for (band, hash) in (0..=u8::MAX).zip(bands) {
            let members = self.scene.local(band, *hash);
            let is_capped = !is_unverified && members.len() > cap;
            self.counts.capped += u64::from(is_capped);
            is_open |= is_capped;
            for other in members.iter().take(if is_unverified { 1 } else { cap }) {
                if forest.find(*other) == forest.find(document) || !compared.insert(*other) {
                    continue;
                }
                self.counts.compared += 1;
                let linked = is_unverified
                    || match verifier.verify(*other, &mut self.craft)? {
                        Verdict::Far => false,
                        verdict => {
                            self.counts.verified += 1;
                            matches!(verdict, Verdict::Similar(_))
                        }
                    };
                if linked {
                    forest.join(document, *other);
                }
            }
        }
        if is_open {
            self.leave_open(document);
        }
        Ok(())
    }

    /// Makes one cluster of clusters, given by their kept documents, and of loose documents.
    fn unite(&mut self, clusters: &[DocId], loose: Vec<DocId>) -> Result<(), DecideError> {
        let mut best: Option<Rank> = None;
        for document in clusters.iter().chain(&loose) {
            let rank = self.scene.rank(*document)?;
            best = Some(best.map_or(rank, |best| best.min(rank)));
        }
        let Some(Rank { document: kept, .. }) = best else { return Ok(()) };
        let mut changed = loose;
        for cluster in clusters.iter().filter(|cluster| **cluster != kept) {
            changed.push(*cluster);
            changed.extend(self.scene.members(*cluster)?);
        }
        for document in changed {
            if document == kept {
                self.conclude(document, Decision { standing: Standing::Kept, matched: None })?;
                continue;
            }
            let own = self.scene.shingles(document, &mut self.craft)?;
            let other = self.scene.shingles(kept, &mut self.craft)?;
            let matched = overlap(shared(&own, &other), &own, kept, &other);
            let decision = self.standing_by(&self.scene.header(document)?, matched)?;
            self.conclude(document, decision)?;
        }
        Ok(())
    }
}
