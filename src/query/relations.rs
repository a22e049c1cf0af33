//! How a document relates to its cluster: its witness, how similar, and how many there are.

use super::error::QueryError;
use crate::model::{DocId, Match, MatchKind, Standing};
use crate::store::View;
use std::collections::BTreeMap;

/// A document's place in its cluster; all none when it is in none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Relation {
    /// The witness it duplicates.
    pub duplicate: Option<Match>,
    /// The cluster, named by its witness.
    pub cluster: Option<DocId>,
}

impl Relation {
    /// The relation of a document of a known standing.
    pub(super) fn of(view: &View, document: DocId, standing: Standing) -> Result<Self, QueryError> {
        Ok(match standing {
            Standing::Kept => Self { duplicate: None, cluster: Some(document) },
            Standing::Exact | Standing::Near => {
                let duplicate =
                    view.match_of(document)?.filter(|found| found.kind != MatchKind::Superseded);
                Self { duplicate, cluster: duplicate.map(|found| found.witness) }
            }
            _ => Self::default(),
        })
    }
}

/// Sizes of clusters, each looked up once.
#[derive(Default)]
pub(super) struct Sizes(BTreeMap<DocId, i64>);

impl Sizes {
    /// Documents of a cluster, its witness included.
    pub(super) fn of(&mut self, view: &View, cluster: DocId) -> Result<i64, QueryError> {
        if let Some(known) = self.0.get(&cluster) {
            return Ok(*known);
        }
        let size = i64::try_from(view.members(cluster)?.len()).unwrap_or(i64::MAX - 1) + 1;
        self.0.insert(cluster, size);
        Ok(size)
    }
}
