//! Why documents are not kept, and whom a witness stands for.

use super::View;
use crate::model::{CommitSeq, DocId, Generation, Match};
use crate::store::columns::{Matches, Members};
use crate::store::database::Rows;
use crate::store::error::StoreError;
use crate::store::rows::keys::{Key, MatchKey, MemberKey};
use std::ops::Range;

/// The documents that have a match, ascending, each with the commit that gave it. Holds one; ends behind an error.
pub struct MatchedDocuments<'a> {
    rows: Rows<'a, Matches>,
    /// Rows of later commits do not count.
    until: CommitSeq,
    newest: Option<(MatchKey, Option<Match>)>,
    is_over: bool,
}

impl View {
    /// Why a document is not kept, when another document is the reason.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn match_of(&self, removed: DocId) -> Result<Option<Match>, StoreError> {
        self.match_at(self.last(), removed)
    }

    /// Why a document was not kept at `commit`, when `generation` was current.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub(crate) fn match_at(
        &self,
        (generation, commit): (Generation, CommitSeq),
        removed: DocId,
    ) -> Result<Option<Match>, StoreError> {
        let from = MatchKey { generation, removed, commit: CommitSeq(0) }.to_bytes();
        let prefix = from.get(..12).unwrap_or_default();
        let mut rows = self.pinned().scan_prefix::<Matches>(prefix)?;
        let mut newest = None;
        while let Some((key, found)) = rows.next("match")? {
            if key.commit > commit {
                break;
            }
            newest = found;
        }
        Ok(newest)
    }

    /// The newest match of every document that has one, ascending by document.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn matched(&self) -> Result<MatchedDocuments<'_>, StoreError> {
        self.matched_at(self.last(), 0..u64::MAX)
    }

    /// The match of every one of `documents` that had one at `commit`, when `generation` was current: ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub(crate) fn matched_at(
        &self,
        (generation, until): (Generation, CommitSeq),
        documents: Range<u64>,
    ) -> Result<MatchedDocuments<'_>, StoreError> {
        let key = |document| {
            let (removed, commit) = (DocId(document), CommitSeq(0));
            MatchKey { generation, removed, commit }.to_bytes()
        };
        let end = Some(key(documents.end));
        let rows = self.pinned().scan::<Matches>(&key(documents.start), end)?;
        Ok(MatchedDocuments { rows, until, newest: None, is_over: false })
    }

    /// The moment after which no row of this view's generation is.
    fn last(&self) -> (Generation, CommitSeq) {
        (self.generation(), CommitSeq(u64::MAX))
    }

    /// The documents whose witness this document is now, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn members(&self, witness: DocId) -> Result<Vec<DocId>, StoreError> {
        let key = MemberKey {
            generation: self.generation(),
            witness,
            removed: DocId(0),
            commit: CommitSeq(0),
        };
        let key = key.to_bytes();
        let mut rows = self.pinned().scan_prefix::<Members>(key.get(..12).unwrap_or_default())?;
        let mut found: Vec<DocId> = Vec::new();
        while let Some((key, joined)) = rows.next("member")? {
            // Rows of a pair are in commit order: the last one counts.
            if found.last() == Some(&key.removed) {
                found.pop();
            }
            if joined {
                found.push(key.removed);
            }
        }
        Ok(found)
    }
}

impl Iterator for MatchedDocuments<'_> {
    type Item = Result<(DocId, CommitSeq, Match), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let given = |(key, found): (MatchKey, Option<Match>)| {
            found.map(|found| Ok((key.removed, key.commit, found)))
        };
        while !self.is_over {
            match self.rows.next("match") {
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
                Ok(None) => {
                    self.is_over = true;
                    return self.newest.take().and_then(given);
                }
                Ok(Some((key, _))) if key.commit > self.until => {}
                Ok(Some((key, found))) => {
                    let removed = key.removed;
                    let before = self.newest.replace((key, found));
                    let before = before.filter(|(before, _)| before.removed != removed);
                    if let Some(done) = before.and_then(given) {
                        return Some(done);
                    }
                }
            }
        }
        None
    }
}

impl std::fmt::Debug for MatchedDocuments<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MatchedDocuments").finish_non_exhaustive()
    }
}
