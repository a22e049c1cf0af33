//! The relation of a document to its cluster: its witness, their similarity, and the size of the cluster.

use crate::sql::error::SqlError;
use model::{DocId, Match, Standing};
use std::collections::HashMap;
use store::View;

/// A document's relation to its cluster; all fields are none when it is in no cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClusterRelation {
    /// The witness that the document duplicates.
    pub duplicate: Option<Match>,
    /// The cluster, named by its witness.
    pub cluster: Option<DocId>,
}

impl ClusterRelation {
    /// The relation of a document whose standing is known.
    pub(crate) fn of(view: &View, document: DocId, standing: Standing) -> Result<Self, SqlError> {
        Ok(match standing {
            Standing::Kept => Self { duplicate: None, cluster: Some(document) },
            Standing::Exact | Standing::Near => {
                let duplicate = view.match_of(document)?.filter(|found| found.is_duplicate());
                Self { duplicate, cluster: duplicate.map(|found| found.witness) }
            }
            _ => Self::default(),
        })
    }
}

const REMEMBERED: usize = 1 << 16;

/// Sizes of clusters. The largest, which cost most to look up, are remembered longest, so that a cluster of a million
/// is counted once, and not once for every batch that has a member of it.
pub(crate) struct ClusterSizeCache {
    known: HashMap<DocId, i64>,
    /// The size from which clusters are remembered.
    least: i64,
    most: usize,
}

impl Default for ClusterSizeCache {
    fn default() -> Self {
        Self { known: HashMap::new(), least: 0, most: REMEMBERED }
    }
}

impl ClusterSizeCache {
    /// Documents of a cluster with its witness; `members` counts those without it.
    pub(crate) fn of(
        &mut self,
        cluster: DocId,
        members: impl FnOnce() -> Result<usize, SqlError>,
    ) -> Result<i64, SqlError> {
        if let Some(known) = self.known.get(&cluster) {
            return Ok(*known);
        }
        let size = i64::try_from(members()?).unwrap_or(i64::MAX - 1) + 1;
        if size >= self.least {
            self.known.insert(cluster, size);
        }
        while self.known.len() > self.most {
            self.least = self.least.saturating_mul(2).max(2);
            let least = self.least;
            self.known.retain(|_, size| *size >= least);
        }
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_large_cluster_are_read_once() {
        // Every batch of 8,192 rows read all members of each of its clusters again.
        let mut sizes = ClusterSizeCache { most: 100, ..ClusterSizeCache::default() };
        let mut read = 0;
        for row in 0..100_000_u64 {
            // A kept document without duplicates, then one of five large clusters.
            for (cluster, members) in [(DocId(1000 + row), 0), (DocId(row % 5), 20_000)] {
                let size = sizes.of(cluster, || {
                    read += members;
                    Ok(members)
                });
                assert_eq!(size.unwrap(), members as i64 + 1);
            }
            assert!(sizes.known.len() <= 100);
        }
        assert_eq!(read, 5 * 20_000);
    }
}
