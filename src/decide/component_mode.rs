//! Modes `components` and `lsh`: of every connected component the best-ranked document is kept.
//!
//! Documents are linked when they share a text or a bucket and, in `components`, when their exact similarity reaches
//! the threshold. A cluster is a component: its kept document stands for it, so a newcomer is linked to whole clusters.
//! Links are not stored: when a member leaves, its cluster is dissolved and put together again from buckets and texts,
//! which is all that the links depend on.
//!
//! To store the verified pairs would cost every cluster, and a stored spanning tree would depend on the order of
//! arrival; putting together costs the size of the cluster. A cluster has no alias: when two join, the matches of the
//! lower-ranked one are rewritten, so that every removed document names a kept one.

use super::buckets::look_up;
use super::candidates::Verifier;
use super::cluster_crowd::{DocumentSets, root_of};
use super::cluster_links::{LinkState, look_up_eligible};
use super::decision::{Decision, DecisionCounts};
use super::session::DecisionSession;
use super::text_leaders::meet_texts;
use model::{BucketMap, DedupMode, DocId, Error, bucket_keys};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use text::dedup::{Fingerprinter, Overlap, Rank, Sketch};

/// A document whose component is to be found, with what the store links it to.
struct UnlinkedDocument {
    document: DocId,
    sketch: Option<Sketch>,
    bands: Vec<u64>,
    links: Vec<DocId>,
    counts: DecisionCounts,
    /// Members that the store has in each bucket that is not in the crowd.
    taken: Vec<usize>,
}

impl DecisionSession {
    pub(super) fn settle_components(&mut self) -> Result<(), Error> {
        self.dissolve()?;
        let ids: BTreeSet<DocId> = self.agenda.queue.iter().map(|rank| rank.document).collect();
        self.agenda.queue.clear();
        let loose = self.linked_in_store(&ids)?;
        let mut forest = DocumentSets::default();
        // Clusters that something was linked to, by their kept documents.
        let mut touched = BTreeSet::new();
        let mut beyond = BucketMap::default();
        for one in loose {
            self.check_interrupt()?;
            self.counts += one.counts;
            let twins = meet_texts(&mut self.overlay, one.document)?;
            for other in twins.iter().chain(&one.links) {
                let root = root_of(&self.overlay, *other)?;
                touched.insert(root);
                forest.link(one.document, root, &mut self.finder.crowd);
            }
            if let Some(sketch) = &one.sketch {
                let (document, bands) = (one.document, &one.bands);
                if self.overlay.mode() == DedupMode::Components {
                    self.absorb_joined(bands, &one.taken, &mut forest)?;
                }
                self.link_in_commit(document, sketch, bands, &mut forest)?;
                let (forest, touched) = (&mut forest, &mut touched);
                let mut linking = LinkState { document, sketch, bands, forest, touched };
                if self.link_crowded(&mut linking, &mut beyond)? {
                    self.mark_open(document);
                }
                self.join_clusters(document, sketch, bands)?;
                let crowd = &self.finder.crowd;
                self.overlay.index(document, one.bands, |key| !crowd.is_whole(key));
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
        components.into_values().try_for_each(|(clusters, loose)| self.unite(&clusters, loose))?;
        self.finder.crowd.prune(|document| self.overlay.is_kept(document));
        Ok(())
    }

    /// Queues the rest of the clusters that a document left to be decided again.
    fn dissolve(&mut self) -> Result<(), Error> {
        let kept: BTreeSet<DocId> = self.agenda.departed.values().copied().collect();
        self.agenda.departed.keys().for_each(|document| self.finder.crowd.dissolve(*document));
        for kept in kept {
            let mut cluster = self.overlay.members(kept)?;
            cluster.insert(kept);
            for member in cluster {
                self.finder.crowd.dissolve(member);
                if self.overlay.is_eligible(member)? {
                    self.overlay.set_standing(member, None)?;
                    let rank = self.overlay.rank(member)?;
                    self.agenda.queue.insert(rank);
                }
            }
        }
        Ok(())
    }

    /// Looks the documents up in the store, in parallel.
    fn linked_in_store(&mut self, ids: &BTreeSet<DocId>) -> Result<Vec<UnlinkedDocument>, Error> {
        let mut loose = Vec::with_capacity(ids.len());
        for document in ids {
            let sketch = self.overlay.sketch(*document)?;
            let bands = match &sketch {
                Some(sketch) => self.overlay.band_keys(*document, sketch)?,
                None => Vec::new(),
            };
            let (document, links) = (*document, Vec::new());
            loose.push(UnlinkedDocument {
                document,
                sketch,
                bands,
                links,
                counts: DecisionCounts::default(),
                taken: Vec::new(),
            });
        }
        let is_unverified = self.overlay.mode() == DedupMode::Lsh;
        let keys: Vec<&[u64]> = loose.iter().map(|one| one.bands.as_slice()).collect();
        let found = if is_unverified {
            // One decided member links to the whole bucket when nothing is verified.
            let admit = |other: DocId| self.overlay.is_met(other);
            look_up(&self.overlay.view, &keys, &|_| true, 1, &admit)?
        } else {
            look_up_eligible(&self.overlay, &mut self.finder.crowd, &keys)?
        };
        let (overlay, crowd) = (&self.overlay, &self.finder.crowd);
        let policy = overlay.view.policy();
        loose
            .into_par_iter()
            .zip(found.places)
            .with_min_len(8)
            .map_init(
                || Fingerprinter::new(policy),
                |craft, (mut one, places)| {
                    let asked = crowd.families_of(bucket_keys(&one.bands));
                    let mut candidates = BTreeSet::new();
                    for place in places {
                        let bucket = found.buckets.get(place as usize).and_then(Option::as_ref);
                        let members = bucket.map_or(&[][..], |bucket| bucket.members.as_slice());
                        one.taken.push(members.len());
                        candidates.extend(members.iter().copied().filter(|other| {
                            *other != one.document && !crowd.tells_of_live(&asked, *other)
                        }));
                    }
                    let Some(sketch) = &one.sketch else { return Ok(one) };
                    if is_unverified {
                        one.links = candidates.into_iter().collect();
                        return Ok(one);
                    }
                    let mut linked = BTreeSet::new();
                    let document = one.document;
                    let mut verifier = Verifier::new(overlay, document, sketch);
                    for candidate in candidates {
                        let root = root_of(overlay, candidate)?;
                        if linked.contains(&root) {
                            continue;
                        }
                        if verifier.verify(candidate, craft)?.is_some() {
                            linked.insert(root);
                            one.links.push(candidate);
                        }
                    }
                    one.counts = verifier.counts;
                    Ok(one)
                },
            )
            .collect()
    }

    /// Links a document to documents of this commit that were indexed before it.
    fn link_in_commit(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        bands: &[u64],
        forest: &mut DocumentSets,
    ) -> Result<(), Error> {
        let is_unverified = self.overlay.mode() == DedupMode::Lsh;
        let mut verifier = Verifier::new(&self.overlay, document, sketch);
        let mut compared = BTreeSet::new();
        let asked = self.finder.crowd.families_of(bucket_keys(bands));
        for key in bucket_keys(bands) {
            if self.finder.crowd.held(key).is_some() {
                continue;
            }
            let members = self.overlay.local(key);
            for other in members.iter().take(if is_unverified { 1 } else { usize::MAX }) {
                if forest.find(*other) == forest.find(document)
                    || !compared.insert(*other)
                    || self.finder.crowd.tells_of_live(&asked, *other)
                {
                    continue;
                }
                self.counts.compared += u64::from(is_unverified);
                if is_unverified || verifier.verify(*other, &mut self.finder.craft)?.is_some() {
                    forest.link(document, *other, &mut self.finder.crowd);
                }
            }
        }
        self.counts += verifier.counts;
        Ok(())
    }

    /// Makes one cluster of clusters, given by their kept documents, and of loose documents.
    fn unite(&mut self, clusters: &[DocId], loose: Vec<DocId>) -> Result<(), Error> {
        let mut best: Option<Rank> = None;
        for document in clusters.iter().chain(&loose) {
            let rank = self.overlay.rank(*document)?;
            best = Some(best.map_or(rank, |best| best.min(rank)));
        }
        let Some(Rank { document: kept, .. }) = best else { return Ok(()) };
        let mut changed = loose;
        for cluster in clusters.iter().filter(|cluster| **cluster != kept) {
            changed.push(*cluster);
            changed.extend(self.overlay.members(*cluster)?);
        }
        for document in changed {
            if document == kept {
                self.conclude(document, Decision::KEPT)?;
                continue;
            }
            let own = self.overlay.shingles(document, &mut self.finder.craft)?;
            let other = self.overlay.shingles(kept, &mut self.finder.craft)?;
            let matched = Overlap::of(&own, &other).match_to(kept);
            let decision = self.removal_decision(document, matched)?;
            self.conclude(document, decision)?;
        }
        Ok(())
    }
}
