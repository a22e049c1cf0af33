//! Disjoint sets of documents by cluster, as far as links were found, and the clusters that the crowd holds in part.

use model::invariant::at;
use model::{BucketKey, BucketMap, DocId};
use std::collections::{BTreeSet, HashMap};
use text::dedup::DisjointSets;

/// The name of a set. Two sets that become one continue under the name of either; no name is given twice.
pub(super) type ClusterLabel = u32;

/// Disjoint sets of documents. Documents of one set are of one cluster; documents of two sets may be.
#[derive(Default)]
pub(super) struct ClusterLabels {
    of: HashMap<DocId, ClusterLabel>,
    /// Which names are of one set, whose size is the documents that ever were in it.
    sets: DisjointSets,
    /// Documents of the set that the crowd holds.
    held: Vec<u32>,
}

impl ClusterLabels {
    /// Bytes of a document, and of a name.
    const ROW: usize = 24;
    const NAME: usize = 12;

    /// The name in use of the set that another one names.
    pub(super) fn root(&self, label: ClusterLabel) -> ClusterLabel {
        ClusterLabel::try_from(self.sets.root(label as usize)).unwrap_or(label)
    }

    /// The set that a document is in, if it is in any.
    pub(super) fn of(&self, document: DocId) -> Option<ClusterLabel> {
        self.of.get(&document).map(|label| self.root(*label))
    }

    /// The set that a document is in, which may be one of its own from now on.
    pub(super) fn note(&mut self, document: DocId) -> ClusterLabel {
        if let Some(label) = self.of(document) {
            return label;
        }
        let label = ClusterLabel::try_from(self.sets.add(())).unwrap_or(ClusterLabel::MAX);
        self.held.push(0);
        self.of.insert(document, label);
        label
    }

    /// Two documents are of one cluster.
    pub(super) fn join(&mut self, a: DocId, b: DocId) {
        let (a, b) = (self.note(a), self.note(b));
        let Some((stays, goes)) = self.sets.join(a as usize, b as usize) else { return };
        let more = *at(&self.held, goes);
        if let Some(held) = self.held.get_mut(stays) {
            *held = held.saturating_add(more);
        }
    }

    /// A document is of a set.
    pub(super) fn enter(&mut self, document: DocId, label: ClusterLabel) {
        let label = self.root(label);
        if self.of(document) != Some(label) {
            self.of.insert(document, label);
            self.sets.enlarge(label as usize);
        }
    }

    /// A document's cluster is to be put together again: all of it must be forgotten. Answers whether the document was
    /// in a set.
    pub(super) fn forget(&mut self, document: DocId) -> bool {
        self.of.remove(&document).is_some()
    }

    /// Forgets those that `is_needed` does not let pass.
    pub(super) fn retain(&mut self, is_needed: impl Fn(DocId) -> bool) {
        self.of.retain(|document, _| is_needed(*document));
    }

    /// The crowd holds one more document of a set.
    pub(super) fn hold(&mut self, label: ClusterLabel) {
        let root = self.root(label) as usize;
        if let Some(held) = self.held.get_mut(root) {
            *held = held.saturating_add(1);
        }
    }

    /// How many documents of a set the crowd holds.
    pub(super) fn held(&self, label: ClusterLabel) -> u32 {
        *at(&self.held, self.root(label) as usize)
    }

    /// The documents of a set, ascending.
    pub(super) fn documents(&self, label: ClusterLabel) -> Vec<DocId> {
        let root = self.root(label);
        let of = self.of.iter().filter(|(_, label)| self.root(**label) == root);
        let mut documents: Vec<DocId> = of.map(|(document, _)| *document).collect();
        documents.sort_unstable();
        documents
    }

    /// Every name that a set has had, ascending.
    pub(super) fn names(&self, label: ClusterLabel) -> Vec<ClusterLabel> {
        let root = self.root(label);
        let all = 0..ClusterLabel::try_from(self.sets.len()).unwrap_or(ClusterLabel::MAX);
        all.filter(|label| self.root(*label) == root).collect()
    }

    /// Documents that are in a set.
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether most names belong to no document.
    pub(super) fn is_waste(&self) -> bool {
        self.sets.len() > 4 * (self.of.len() + 1024)
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        self.of.len() * Self::ROW + self.sets.len() * Self::NAME
    }
}

/// Bytes of a note.
const NOTE: usize = 64;

/// Which clusters are held in part.
#[derive(Default)]
pub(super) struct PartialClusters {
    /// For each bucket: the clusters some of whose members were skipped.
    pub(super) passed: BucketMap<Vec<ClusterLabel>>,
    /// Names in these, in all buckets.
    notes: usize,
    /// The clusters whose members are all in a family, and those for whose members it has no room.
    pub(super) deep: BTreeSet<(u32, ClusterLabel)>,
    pub(super) beyond: BTreeSet<(u32, ClusterLabel)>,
    /// Members that were skipped in this commit. The store does not have them in a cluster yet.
    pub(super) joined: Vec<(ClusterLabel, DocId)>,
}

impl PartialClusters {
    /// Forgets what is of one commit.
    pub(super) fn end(&mut self) {
        self.joined = Vec::new();
    }

    /// Retries clusters that were full: there may be room now.
    pub(super) fn try_again(&mut self) {
        self.beyond.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        (self.passed.len() + self.deep.len() + self.beyond.len()) * NOTE
            + self.notes * size_of::<ClusterLabel>()
            + self.joined.len() * size_of::<(ClusterLabel, DocId)>()
    }

    pub(super) fn note(&mut self, bucket: BucketKey, label: ClusterLabel) {
        let noted = self.passed.entry(bucket).or_default();
        if !noted.contains(&label) {
            noted.push(label);
            self.notes += 1;
        }
    }
}

/// How much of a cluster is in a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClusterCoverage {
    Some,
    All,
    /// There is no room for all members.
    Full,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_joined_forgotten_and_never_named_alike() {
        let mut labels = ClusterLabels::default();
        for number in 1..10 {
            labels.join(DocId(number / 3), DocId(number));
        }
        // 0, 1, 2 and all that lead to them.
        let one = labels.of(DocId(0)).unwrap();
        assert!((0..10).all(|number| labels.of(DocId(number)) == Some(one)));
        assert_eq!(labels.documents(one).len(), 10);
        assert_eq!(labels.names(one).len(), 10);
        labels.hold(one);
        assert_eq!(labels.held(one), 1);
        (0..10).for_each(|number| assert!(labels.forget(DocId(number))));
        assert!(!labels.forget(DocId(3)) && labels.documents(one).is_empty());
        let again = labels.note(DocId(3));
        assert!(labels.root(again) != labels.root(one) && labels.held(again) == 0);
        labels.enter(DocId(4), again);
        assert_eq!(labels.documents(again), [DocId(3), DocId(4)]);
    }
}
