//! Counts the sizes of all clusters in one walk in the order of witnesses.

use crate::inspect::InspectError;
use model::DocId;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use store::View;

/// Clusters of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClusterSizes {
    /// The least size, the witness included.
    pub from: u64,
    /// The largest size.
    pub to: u64,
    /// How many clusters have so many documents.
    pub clusters: u64,
    /// Documents in them.
    pub documents: u64,
}

/// Counts of cluster sizes, and the largest clusters so far.
pub(in crate::inspect) struct ClusterSizeHistogram {
    /// Clusters and their documents, by the power of two that bounds their size.
    pub(in crate::inspect) powers: BTreeMap<u32, (u64, u64)>,
    heap: BinaryHeap<Reverse<(u64, Reverse<DocId>)>>,
    most: usize,
}

impl ClusterSizeHistogram {
    fn add(&mut self, cluster: DocId, size: u64) {
        let power = size.saturating_sub(1).checked_ilog2().map_or(0, |power| power + 1);
        let counts = self.powers.entry(power).or_default();
        counts.0 += 1;
        counts.1 += size;
        self.heap.push(Reverse((size, Reverse(cluster))));
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    /// Largest first, then lowest id.
    pub(in crate::inspect) fn largest(&self) -> Vec<(u64, Reverse<DocId>)> {
        let mut found: Vec<_> = self.heap.iter().map(|Reverse(cluster)| *cluster).collect();
        found.sort_by_key(|cluster| Reverse(*cluster));
        found
    }

    pub(in crate::inspect) fn bins(&self) -> Vec<ClusterSizes> {
        let bin = |(power, (clusters, documents)): (&u32, &(u64, u64))| {
            let to = 1_u64.checked_shl(*power).unwrap_or(u64::MAX);
            ClusterSizes { from: to / 2 + 1, to, clusters: *clusters, documents: *documents }
        };
        self.powers.iter().map(bin).collect()
    }
}

/// The sizes of clusters that removed a document for which `counts`, and the `most` largest.
pub(in crate::inspect) fn cluster_sizes(
    view: &View,
    most: usize,
    counts: impl Fn(DocId) -> bool,
) -> Result<ClusterSizeHistogram, InspectError> {
    let mut sizes = ClusterSizeHistogram { powers: BTreeMap::new(), heap: BinaryHeap::new(), most };
    // The current cluster, its size, and whether it counts.
    let mut open: Option<(DocId, u64, bool)> = None;
    for member in view.all_members()? {
        let (witness, removed) = member?;
        match &mut open {
            Some((cluster, size, counted)) if *cluster == witness => {
                *size += 1;
                *counted |= counts(removed);
            }
            _ => {
                if let Some((cluster, size, true)) = open.replace((witness, 2, counts(removed))) {
                    sizes.add(cluster, size);
                }
            }
        }
    }
    if let Some((cluster, size, true)) = open {
        sizes.add(cluster, size);
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_by_powers_and_the_largest_known() {
        let mut sizes =
            ClusterSizeHistogram { powers: BTreeMap::new(), heap: BinaryHeap::new(), most: 2 };
        for (cluster, size) in [(1, 2), (5, 4), (9, 3), (12, 5), (20, 5), (30, 2)] {
            sizes.add(DocId(cluster), size);
        }
        let bins: Vec<_> =
            sizes.bins().iter().map(|b| (b.from, b.to, b.clusters, b.documents)).collect();
        assert_eq!(bins, [(2, 2, 2, 4), (3, 4, 2, 7), (5, 8, 2, 10)]);
        assert_eq!(sizes.largest(), [(5, Reverse(DocId(12))), (5, Reverse(DocId(20)))]);
    }
}
