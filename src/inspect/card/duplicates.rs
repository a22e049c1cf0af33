//! The part of a report about duplicates: counts by source, similarities, and differences within the largest clusters.

use crate::inspect;
use crate::inspect::card::options::ReportOptions;
use crate::inspect::duplicates::{
    ClusterSizes, DiffPart, DuplicatesOptions, DuplicatesSummary, LargeCluster, RemovedCount,
    Similarities, SourcePair,
};
use model::{DedupMode, DocId, Error};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use store::View;

/// Characters of a difference, at most.
const CHARACTERS: usize = 1500;
/// Sources of a cluster that are named, at most.
const NAMED: usize = 8;

/// What dedup removed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DuplicatesReport {
    /// Documents not kept, of each standing that has any: `exact` and `near` are duplicates.
    pub removed: Vec<RemovedCount>,
    /// Between which sources.
    pub matrix: SourceMatrix,
    /// Similarity of duplicates to their witness.
    pub similarity: Similarities,
    /// The least similarity of a near duplicate; absent where only exact ones are found.
    pub threshold: Option<f64>,
    /// Clusters of two documents and more.
    pub clusters: u64,
    /// Their sizes, by powers of two.
    pub cluster_sizes: Vec<ClusterSizes>,
    /// The largest ones, largest first.
    pub largest: Vec<ReportCluster>,
}

/// How many documents of each source were removed in favour of each source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceMatrix {
    /// The sources that gave and took most duplicates, largest first: rows and columns.
    pub sources: Vec<String>,
    /// How many other sources have any; where there are, they make the last row and column.
    pub left_out: u64,
    /// How many documents of each row's source are stored, kept or not.
    pub documents: Vec<u64>,
    /// In row i and column j the documents of source i whose witness is of source j.
    pub removed: Vec<Vec<u64>>,
}

/// A large cluster, and how two of its members differ.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReportCluster {
    /// The cluster. Without texts it has no example.
    #[serde(flatten)]
    pub cluster: LargeCluster,
    /// How many more sources it has documents of than are named.
    pub sources_left_out: u64,
    /// The example from the first change on: parts of the kept text are `removed`, of the other one `added`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<DiffPart>,
}

/// What dedup took away, alone.
///
/// # Errors
/// [`Error`] for sources by the thousand that have duplicates of each other, or when rows cannot be read.
pub(crate) fn duplicates(view: &View, options: &ReportOptions) -> Result<DuplicatesReport, Error> {
    let asked = DuplicatesOptions { largest: options.clusters, ..DuplicatesOptions::default() };
    let summary: DuplicatesSummary = inspect::duplicates_summary(view, &asked)?;
    let policy = view.policy();
    let stored: Vec<(&str, u64)> =
        view.sources().map(|(_, record)| (record.name.as_str(), record.documents)).collect();
    let mut largest = Vec::with_capacity(summary.largest.len());
    for cluster in summary.largest {
        largest.push(reported(view, cluster, options.texts)?);
    }
    Ok(DuplicatesReport {
        removed: summary.removed,
        matrix: matrix(&summary.source_pairs, &stored, options.sources),
        similarity: summary.similarity,
        threshold: (policy.mode != DedupMode::Exact).then_some(policy.threshold),
        clusters: summary.clusters,
        cluster_sizes: summary.cluster_sizes,
        largest,
    })
}

fn reported(view: &View, mut cluster: LargeCluster, texts: bool) -> Result<ReportCluster, Error> {
    let sources_left_out = cluster.sources.len().saturating_sub(NAMED) as u64;
    cluster.sources.truncate(NAMED);
    if !texts {
        cluster.example = None;
    }
    let diff = match &cluster.example {
        None => Vec::new(),
        Some(example) => {
            let (kept, removed) = (DocId(example.pair.witness), DocId(example.pair.id));
            inspect::diff_near(view, kept, removed, CHARACTERS)?
        }
    };
    Ok(ReportCluster { cluster, sources_left_out, diff })
}

fn matrix(pairs: &[SourcePair], stored: &[(&str, u64)], most: usize) -> SourceMatrix {
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    for pair in pairs {
        *sizes.entry(&pair.source).or_default() += pair.removed.documents;
        *sizes.entry(&pair.witness_source).or_default() += pair.removed.documents;
    }
    let mut order: Vec<(Reverse<u64>, &str)> =
        sizes.into_iter().map(|(source, size)| (Reverse(size), source)).collect();
    order.sort();
    let places: BTreeMap<&str, usize> =
        order.iter().enumerate().map(|(at, (_, source))| (*source, at.min(most))).collect();
    let length = order.len().min(most + 1);
    let mut documents = vec![0; length];
    for (source, count) in stored {
        if let Some(sum) = places.get(source).and_then(|at| documents.get_mut(*at)) {
            *sum += count;
        }
    }
    let mut removed = vec![vec![0; length]; length];
    for pair in pairs {
        let place = |source: &str| places.get(source).copied();
        let cell = place(&pair.source).zip(place(&pair.witness_source));
        let cell = cell.and_then(|(row, column)| removed.get_mut(row)?.get_mut(column));
        if let Some(sum) = cell {
            *sum += pair.removed.documents;
        }
    }
    SourceMatrix {
        sources: order.iter().take(most).map(|(_, source)| (*source).to_owned()).collect(),
        left_out: order.len().saturating_sub(most) as u64,
        documents,
        removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::PairShare;

    #[test]
    fn sources_beyond_the_largest_share_a_row_and_a_column() {
        let pair = |source: &str, witness: &str, documents| SourcePair {
            source: source.to_owned(),
            witness_source: witness.to_owned(),
            removed: PairShare { documents, exact: 0, bytes: 0, share: 0.0, share_bytes: 0.0 },
        };
        let pairs = [pair("a", "b", 10), pair("b", "b", 4), pair("c", "a", 2), pair("d", "c", 1)];
        let losses = [("a", 50), ("b", 40), ("c", 30), ("d", 20), ("e", 9)];
        let found = matrix(&pairs, &losses, 2);
        assert_eq!((found.sources, found.left_out), (vec!["b".to_owned(), "a".to_owned()], 2));
        assert_eq!(found.documents, [40, 50, 50]);
        assert_eq!(found.removed, [vec![4, 0, 0], vec![10, 0, 0], vec![0, 2, 1]]);
        let whole = matrix(&pairs, &losses, 4);
        assert_eq!((whole.sources.len(), whole.left_out, whole.removed.len()), (4, 0, 4));
        assert_eq!(matrix(&[], &losses, 4), SourceMatrix::default());
    }
}
