//! The family `lineage`: the documents whose place a document took.
//!
//! A document is its own root unless it has rows. Rows are only ever added, each with its commit, so that what a
//! snapshot shows of lineages never changes. Those of a generation count from the commit on that makes it current.

use crate::batch::CommitBatch;
use crate::bytes::cursor::empty;
use crate::bytes::key::{LineageKey, StoreKey, generation_prefix};
use crate::database::family::{corrupt_row, store_family};
use crate::error::StoreError;
use crate::view::View;
use model::invariant::part;
use model::{CommitSeq, DocId, Generation};
use std::collections::BTreeSet;

store_family! {
    /// The roots of documents that took the place of others. Written with decisions, read by holdouts.
    Lineage = "lineage", Ranged,
    LineageKey, "generation u32, document u64, commit u64, root u64"
    => "lineage": (), |_, bytes| empty(bytes),
    "empty"
}

/// The root of a lineage with more roots than are distinguished.
pub const TOO_MANY_ROOTS: DocId = DocId(u64::MAX);

/// Roots of one document that are distinguished; beyond them it has the root [`TOO_MANY_ROOTS`].
const MOST: usize = 32;

/// The roots of a document: empty says that it is its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineageRoots(BTreeSet<DocId>);

impl LineageRoots {
    /// The roots of a document that took no other's place: itself.
    #[must_use]
    pub fn of(document: DocId) -> Self {
        Self(BTreeSet::from([document]))
    }

    /// Takes in another's.
    pub fn join(&mut self, other: &Self) {
        self.0.extend(&other.0);
        if self.0.len() > MOST || self.0.contains(&TOO_MANY_ROOTS) {
            self.0 = BTreeSet::from([TOO_MANY_ROOTS]);
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of another's are among them.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        self.0.contains(&TOO_MANY_ROOTS) || self.0.is_superset(&other.0)
    }

    /// The roots, ascending.
    pub fn iter(&self) -> impl Iterator<Item = DocId> {
        self.0.iter().copied()
    }

    fn insert(&mut self, root: DocId) {
        self.join(&Self::of(root));
    }
}

impl View {
    /// The generations that have rows, up to the one of this view, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn lineage_generations(&self) -> Result<Vec<Generation>, StoreError> {
        let mut found = Vec::new();
        let mut next = Generation(0);
        while next <= self.generation() {
            let mut rows = self.pinned().scan::<Lineage>(&generation_prefix(next), None)?;
            let Some((key, _)) = rows.advance()? else { break };
            let key =
                LineageKey::decode(key).map_err(|why| corrupt_row::<Lineage>("key", key, why))?;
            if key.generation > self.generation() {
                break;
            }
            found.push(key.generation);
            next = Generation(key.generation.0.saturating_add(1));
        }
        Ok(found)
    }

    /// The roots that the rows of a document name, of `generations`.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn lineage(
        &self,
        generations: &[Generation],
        document: DocId,
    ) -> Result<LineageRoots, StoreError> {
        let mut roots = LineageRoots::default();
        for generation in generations {
            let (commit, root) = (CommitSeq(0), DocId(0));
            let from = LineageKey { generation: *generation, document, commit, root }.to_bytes();
            let mut rows = self.pinned().scan_prefix::<Lineage>(part(&from, ..12))?;
            while let Some((key, ())) = rows.next()? {
                roots.insert(key.root);
            }
        }
        Ok(roots)
    }

    /// (document, root) of every row that counted at `commit`, when `generation` was current: ascending by document
    /// within a generation.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn lineages_at(
        &self,
        (generation, commit): (Generation, CommitSeq),
    ) -> Result<impl Iterator<Item = Result<(DocId, DocId), StoreError>>, StoreError> {
        let after = generation.0.checked_add(1).map(Generation);
        let end = after.map(|after| generation_prefix(after).to_vec());
        let rows = self.pinned().scan::<Lineage>(&[], end)?;
        Ok(rows
            .filter_map(move |key, ()| (key.commit <= commit).then_some((key.document, key.root))))
    }
}

impl CommitBatch<'_> {
    /// Adds roots to a document that took the place of others, in the generation that is written to.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn add_roots(&mut self, document: DocId, roots: &[DocId]) -> Result<(), StoreError> {
        let (generation, commit) = (self.view().generation(), self.commit_seq());
        for root in roots {
            let key = LineageKey { generation, document, commit, root: *root };
            self.put::<Lineage>(&key, &[])?;
        }
        Ok(())
    }

    /// Forgets the roots that a generation added which never became current.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn forget_lineage(&mut self, generation: Generation) -> Result<(), StoreError> {
        let after = Generation(generation.0.saturating_add(1));
        let (from, to) = (generation_prefix(generation), generation_prefix(after));
        self.delete_range::<Lineage>(from.to_vec(), to.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_beyond_the_limit_become_many() {
        let mut roots = LineageRoots::default();
        (0..MOST as u64).for_each(|root| roots.insert(DocId(root)));
        assert_eq!(roots.iter().count(), MOST);
        roots.insert(DocId(7));
        assert_eq!(roots.iter().count(), MOST);
        roots.insert(DocId(900));
        assert_eq!(roots.iter().collect::<Vec<_>>(), [TOO_MANY_ROOTS]);
        roots.insert(DocId(0));
        assert_eq!(roots.iter().collect::<Vec<_>>(), [TOO_MANY_ROOTS]);
        assert!(LineageRoots::default().is_empty());
    }
}
